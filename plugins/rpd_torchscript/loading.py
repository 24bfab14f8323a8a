"""From a file to a module that can be called, with nothing run on the way unless trusted."""

from __future__ import annotations

from pathlib import Path

from rpd_core.errors import FitError
from rpd_torchscript.archive import Archive, pickled_names, read_archive, shown_name
from rpd_torchscript.pickles import BadPickle, read_pickle
from rpd_torchscript.script import load_script
from rpd_torchscript.signature import Loaded
from rpd_torchscript.trusted import (
    HOW_TO_SAVE,
    about_weights,
    load_export,
    load_pickled_module,
    load_trusted_script,
)

_DATA = ("torch ", "torch._utils ", "collections ", "numpy ", "numpy.", "_codecs ")
_COMMON = ("torch.", "__builtin__ ", "builtins ")


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
    try:
        with path.open("rb") as stream:
            return stream.read(2) == b"PK"
    except OSError as error:
        raise FitError(f"cannot read {str(path)!r}: {error.strerror}") from error


def _about_pickle(archive: Archive) -> str:
    """Return what a zip of pickled objects is and how to make a policy of it."""
    path = archive.path
    pickles = archive.ending("data.pkl")
    if not pickles:
        return (
            f"{path.name} is a zip file without TorchScript in it: save the policy with "
            f"{HOW_TO_SAVE}; zips of Stable-Baselines3 load with sb3:{path.name}"
        )
    names = pickled_names(path, pickles[0])
    strange = sorted(name for name in names if not name.startswith(_DATA))
    if strange:
        first = next((n for n in strange if not n.startswith(_COMMON)), strange[0])
        return (
            f"{path.name} is a pickled Python object that needs {shown_name(first)}, and "
            f"reading it may run code: save TorchScript instead, {HOW_TO_SAVE}, or add trust=true"
        )
    return about_weights(path, "state dict", _keys(pickles[0]))


def _keys(pickle: bytes) -> list[str]:
    """Return the first keys of a pickled dictionary, as far as they can be read."""
    try:
        stored = read_pickle(pickle)
    except BadPickle:  # they only make the message better
        return []
    return [str(key)[:80] for key in list(stored)[:4]] if isinstance(stored, dict) else []
