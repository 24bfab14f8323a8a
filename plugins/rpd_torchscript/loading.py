"""From a file to a module that can be called, with nothing run on the way unless trusted."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rpd_core.errors import FitError, one_line
from rpd_torchscript.archive import (
    Archive,
    Kind,
    check_loading,
    clean_copy,
    pickled_names,
    read_archive,
    shown_name,
)
from rpd_torchscript.safety import check_graphs
from rpd_torchscript.tensors import check_tensors

HOW_TO_SAVE = "torch.jit.script(module).save('policy.pt')"
_jit_load: Any = torch.jit.load  # torch leaves it untyped
_DATA = ("torch ", "torch._utils ", "collections ", "numpy ", "numpy.", "_codecs ")
_COMMON = ("torch.", "__builtin__ ", "builtins ")


@dataclass(frozen=True)
class Loaded:
    """A module and where it came from."""

    module: Any
    kind: Kind
    name: str
    """Name of the module's class, as far as it is known."""
    path: Path


def load_module(path: Path, trust: bool) -> Loaded:
    """Load a policy file; without trust only TorchScript whose operators are all allowed."""
    if trust and not _is_zip(path):
        return _load_pickle(path)
    archive = read_archive(path)
    if archive.kind == "script":
        return _load_script(archive, trust)
    if archive.kind == "export":
        return _load_export(path, trust)
    if trust:
        return _load_pickle(path)
    raise FitError(_about_pickle(archive))


def _is_zip(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(2) == b"PK"
    except OSError as error:
        raise FitError(f"cannot read {str(path)!r}: {error.strerror}") from error


def _load_script(archive: Archive, trust: bool) -> Loaded:
    if not trust:
        check_loading(archive)
        check_tensors(archive.path, archive.members)
    with _quiet(archive.path):
        module: Any = _jit_load(clean_copy(archive), map_location="cpu")
    if not trust:
        check_graphs(module, archive.path)
    if module._c._get_forward_hooks() or module._c._get_forward_pre_hooks():
        raise FitError(
            f"{archive.path.name} has hooks on its outermost module, which a loaded file does not "
            "run: put what they do into forward"
        )
    return Loaded(module.eval(), "script", str(module.original_name), archive.path)


def _load_export(path: Path, trust: bool) -> Loaded:
    if not trust:
        raise FitError(
            f"{path.name} is a torch.export program, and reading one may run its code: add "
            f"trust=true if you trust whoever made it, or save TorchScript: {HOW_TO_SAVE}"
        )
    with _quiet(path):
        module = torch.export.load(path).module()
    return Loaded(module, "export", "torch.export program", path)


def _load_pickle(path: Path) -> Loaded:
    with _quiet(path):
        module = torch.load(path, map_location="cpu", weights_only=False)
    if not isinstance(module, torch.nn.Module):
        keys = list(module)[:4] if isinstance(module, dict) else []
        raise FitError(_about_weights(path, type(module).__name__, keys))
    return Loaded(module.eval(), "pickle", type(module).__name__, path)


def _about_pickle(archive: Archive) -> str:
    """Say what a zip of pickled objects is and how to make a policy of it."""
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
    return _about_weights(path, "state dict", _keys(path))


def _keys(path: Path) -> list[str]:
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:  # only for a better message
        return []
    return [str(key) for key in list(stored)[:4]] if isinstance(stored, dict) else []


def _about_weights(path: Path, what: str, keys: list[str]) -> str:
    listed = f" ({', '.join(keys)}, ...)" if keys else ""
    return (
        f"{path.name} holds weights only, a {what}{listed}, and no network to put them in: build "
        f"the module, call its load_state_dict, then {HOW_TO_SAVE}"
    )


@contextmanager
def _quiet(path: Path) -> Iterator[None]:
    """Load without torch's remarks on TorchScript's age, and put failures in one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except Exception as error:  # torch raises anything for a damaged file
            raise FitError(f"torch cannot read {path.name}: {one_line(error)[:300]}") from error
