"""From a recipe to a loaded policy: module, inputs, meaning of its output, and how they fit."""

from __future__ import annotations

import torch

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Facts, Policy
from rpd_core.untrusted.boundary import boundary
from rpd_torchscript.inputs import find_sources
from rpd_torchscript.loader import TorchScriptFile
from rpd_torchscript.loading import load_module
from rpd_torchscript.meaning import Output, expected_shapes, resolve_output
from rpd_torchscript.network import Network, Settings, fit_network
from rpd_torchscript.observations import part_names
from rpd_torchscript.policy import ScriptPolicy, describe_module
from rpd_torchscript.signature import read_signature

_DAMAGED = "it is damaged or not a policy; copy it or save it again"


def load_policy(file: TorchScriptFile, facts: Facts) -> Policy:
    """Load the module and fit it to the environment."""
    with boundary(file.path, _DAMAGED, FitError):
        loaded = load_module(file.path, file.trust)
        signature = read_signature(loaded, tuple(part_names(facts)), bool(file.hidden))
        sources = find_sources(facts, signature, file.preprocess, file.stack)
        settings = Settings(
            file.layout, file.divide, file.hidden, file.hidden_axis, expected_shapes(facts)
        )
        where = facts.description or "the environment"
        network = fit_network(Network(loaded, signature, sources), settings, facts.lanes, where)
        blanks = [source.blank(facts.lanes) for source in sources]
        result = network(blanks, network.start(facts.lanes))[0][0]
        output = resolve_output(file.output, loaded, result, facts)
        best = _takes_best(file, output, result)
        return ScriptPolicy(network, output, facts, best, file.epsilon)


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
