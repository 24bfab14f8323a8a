"""From a recipe to a loaded policy, with nothing of its file run on the way unless trusted."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Facts, Policy
from rpd_core.untrusted.arrays import TENSORS, stored_row
from rpd_core.untrusted.boundary import Refused, boundary
from rpd_core.untrusted.files import check_regular, open_regular
from rpd_core.untrusted.pickles import AllowedNames, Reference, read_pickle
from rpd_torchscript.archive import Archive, read_archive
from rpd_torchscript.network import Network, fit_network
from rpd_torchscript.observations import find_sources, part_names
from rpd_torchscript.policy import (
    Output,
    ScriptPolicy,
    describe_module,
    expected_shapes,
    resolve_output,
)
from rpd_torchscript.script import load_script
from rpd_torchscript.signature import Loaded, read_signature
from rpd_torchscript.trusted import (
    HOW_TO_SAVE,
    about_weights,
    load_export,
    load_pickled_module,
    load_trusted_script,
)

if TYPE_CHECKING:
    from rpd_torchscript.loader import TorchScriptFile

_DAMAGED = "it is damaged or not a policy; copy it or save it again"
_COMMON = ("torch.", "__builtin__.", "builtins.")


def load_policy(file: TorchScriptFile, facts: Facts) -> Policy:
    """Load the module and fit it to the environment."""
    with boundary(file.path, _DAMAGED, FitError):
        loaded = load_module(file.path, file.trust)
        signature = read_signature(loaded, tuple(part_names(facts)), bool(file.hidden))
        sources = find_sources(facts, signature, file.preprocess, file.stack)
        unfitted = Network(loaded, signature, sources)
        network = fit_network(unfitted, file, facts, expected_shapes(facts))
        blanks = [source.blank(facts.lanes) for source in sources]
        result = network(blanks, network.start(facts.lanes))[0][0]
        _check_repeats(network, blanks, result, facts.lanes)
        output = resolve_output(file.output, loaded, result, facts)
        best = _takes_best(file, output, result)
        return ScriptPolicy(network, output, facts, best, file.epsilon)


def _check_repeats(network: Network, blanks: list[Any], result: torch.Tensor, lanes: int) -> None:
    """Refuse a module of Python's that answers the same question in several ways."""
    again = network(blanks, network.start(lanes))[0][0]
    if network.loaded.kind == "pickle" and not torch.equal(result, again):
        raise FitError(
            f"the module {network.loaded.name} draws random numbers itself, so no run could be "
            "repeated: hand over the network inside it, or a function that takes its best action"
        )


def describe_file(file: TorchScriptFile) -> dict[str, str]:
    """Return what the file says about the policy, without an environment."""
    with boundary(file.path, _DAMAGED, FitError):
        return describe_module(load_module(file.path, file.trust))


def _takes_best(file: TorchScriptFile, output: Output, result: torch.Tensor) -> bool:
    drawn = output.meaning in ("logits", "probabilities")
    if file.deterministic is False and not drawn:
        raise FitError(
            f"deterministic=false needs logits or probabilities, these are {output.meaning}"
        )
    if output.meaning == "probabilities":
        totals = result.sum(dim=1)
        if bool((result < 0).any()) or bool(((totals - 1.0).abs() > 1e-3).any()):
            raise FitError(
                f"output=probabilities needs rows that sum to 1, a row sums to "
                f"{float(totals[0]):g}: try output=logits"
            )
    return not drawn if file.deterministic is None else file.deterministic


def load_module(path: Path, trust: bool) -> Loaded:
    """Load a policy file: TorchScript evaluated by rpd, or whatever torch reads if trusted."""
    check_regular(path, "give the .pt file")
    if trust and not _is_zip(path):
        return load_pickled_module(path)
    archive = read_archive(path)
    if archive.kind == "script":
        return load_trusted_script(path) if trust else load_script(archive)
    if trust:
        return load_export(path) if archive.kind == "export" else load_pickled_module(path)
    if archive.kind == "export":
        raise FitError(
            f"{path.name} is a torch.export program, and reading one may run its code: add "
            f"trust=true if you trust whoever made it, or save TorchScript: {HOW_TO_SAVE}"
        )
    raise FitError(_about_pickle(archive))


def _is_zip(path: Path) -> bool:
    with open_regular(path, "give the .pt file") as stream:
        return zipfile.is_zipfile(stream)


def _about_pickle(archive: Archive) -> str:
    """Return what a zip of pickled objects is and how to make a policy of it."""
    path = archive.path
    pickles = [raw for name, raw in archive.members.items() if name.endswith("data.pkl")]
    if not pickles:
        return (
            f"{path.name} is a zip file without TorchScript in it: save the policy with "
            f"{HOW_TO_SAVE}; zips of Stable-Baselines3 load with sb3:{path.name}"
        )
    wanted: set[str] = set()

    def note(reference: Reference) -> Reference:
        wanted.add(str(reference))
        return reference

    try:
        stored = read_pickle(pickles[0], AllowedNames(TENSORS, note, stored_row), archive.budget)
    except Refused:  # it calls one of those names, or is damaged
        stored = None
    strange = sorted(wanted)
    if strange or stored is None:
        first = next((n for n in strange if not n.startswith(_COMMON)), [*strange, "more"][0])
        return (
            f"{path.name} is a pickled Python object that needs {first!r}, and reading it may run "
            f"code: save TorchScript instead, {HOW_TO_SAVE}, or add trust=true"
        )
    keys = [str(key)[:80] for key in list(stored)[:4]] if isinstance(stored, dict) else []
    return about_weights(path, "state dict", keys)
