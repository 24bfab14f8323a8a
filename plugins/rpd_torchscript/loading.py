"""From a file to a module that can be called, with nothing run on the way unless trusted."""

from __future__ import annotations

from pathlib import Path

from rpd_core.errors import FitError
from rpd_core.untrusted.boundary import Refused
from rpd_core.untrusted.machine import Names, Reference
from rpd_core.untrusted.pickles import read_pickle
from rpd_core.untrusted.tensors import TENSORS, stored_row
from rpd_torchscript.archive import Archive, read_archive
from rpd_torchscript.script import load_script
from rpd_torchscript.signature import Loaded
from rpd_torchscript.trusted import (
    HOW_TO_SAVE,
    about_weights,
    load_export,
    load_pickled_module,
    load_trusted_script,
)

_COMMON = ("torch.", "__builtin__.", "builtins.")


def load_module(path: Path, trust: bool) -> Loaded:
    """Load a policy file: TorchScript evaluated by rpd, or whatever torch reads if trusted."""
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
    with path.open("rb") as stream:
        return stream.read(2) == b"PK"


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
        stored = read_pickle(pickles[0], Names(TENSORS, note, stored_row), archive.budget)
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
