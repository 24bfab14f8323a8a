"""A stranger's TorchScript file as a module that rpd evaluates itself.

torch's own loader and interpreter are never given the file: the code is parsed, the pickles are
read, the tensors are built from their bytes, and every function is checked before it is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rpd_core.untrusted.boundary import Flaw, Refused
from rpd_torchscript.archive import Archive
from rpd_torchscript.limits import Unusable, damaged, refused
from rpd_torchscript.program import Program
from rpd_torchscript.signature import Loaded, argument_of, leaves_in
from rpd_torchscript.syntax import Library, read_code
from rpd_torchscript.values import Module

_TODAY = 10
"""The version of files that say none."""


def load_script(archive: Archive) -> Loaded:
    """Read a TorchScript file without running anything of it."""
    path, script = archive.path, archive.below_root()
    members = script.members
    if "model.json" in members:
        raise refused(path, "has the format of PyTorch before 1.4")
    if members.get("byteorder", b"little") != b"little":
        raise damaged(path, "its numbers are stored in an unusual order of bytes")
    try:
        library = read_code(members, _version(path, members))
        root = script.values("data")
        constants = script.values("constants") if "constants.pkl" in members else ()
    except Refused as error:
        raise refused(path, f"cannot be read without running it: {error}") from error
    except Flaw as error:
        raise Unusable(f"{path.name}: {error}") from error
    if not isinstance(root, Module) or not isinstance(constants, tuple):
        raise damaged(path, "it holds no module")
    _check_classes(path, library, root)
    _check_numbers(path, library, root, constants)
    tensors = [tensor for _, tensor in _tensors(root, constants)]
    return _loaded(library, root, Program(path, library, constants, root, tensors))


def _version(path: Path, members: Mapping[str, bytes]) -> int:
    text = (members.get("version") or members.get(".data/version", b"")).strip()
    if not text:
        return _TODAY
    if not text.isdigit() or len(text) > 9:
        raise damaged(path, "its version is no number")
    return int(text)


def _modules(root: Module) -> Iterator[tuple[str, Module]]:
    """Return all modules with the dotted name under which each is found first."""
    waiting, seen = [("", root)], {id(root)}
    while waiting:
        prefix, module = waiting.pop(0)
        yield prefix, module
        for name, value in module.attributes.items():
            if isinstance(value, Module) and id(value) not in seen:
                seen.add(id(value))
                waiting.append((f"{prefix}{name}.", value))


def _check_classes(path: Path, library: Library, root: Module) -> None:
    for _, module in _modules(root):
        if module.kind not in library.classes:
            raise damaged(path, f"the code of {module.kind[:200]!r} is missing")
        if "__setstate__" in library.classes[module.kind].methods:
            raise refused(path, "has a '__setstate__', which runs while it is loaded")
    kind = library.classes[root.kind]
    if "forward" not in kind.methods:
        raise Unusable(f"{path.name} has no method 'forward', so nothing can be played: add one")
    if kind.names("__forward_hooks__") or kind.names("__forward_pre_hooks__"):
        raise Unusable(
            f"{path.name} has hooks on its outermost module, which a loaded file does not run: put "
            "what they do into forward"
        )


def _tensors(root: Module, constants: tuple[Any, ...]) -> Iterator[tuple[str, Tensor]]:
    """Return all tensors of the file with a name for each."""
    seen: set[int] = set()
    waiting: list[tuple[str, Any]] = [(f"constant {n}", item) for n, item in enumerate(constants)]
    for prefix, module in _modules(root):
        waiting += [(f"{prefix}{name}", value) for name, value in module.attributes.items()]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, Module) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Tensor):
            yield name, value
        elif isinstance(value, list | tuple):
            waiting += [(f"{name}[{place}]", item) for place, item in enumerate(value)]
        elif isinstance(value, dict):
            waiting += [(f"{name}[{key!r}]", item) for key, item in value.items()]


def _parameters(library: Library, root: Module) -> dict[str, Tensor]:
    """Return the parameters by their dotted names."""
    found = {}
    for prefix, module in _modules(root):
        for name in library.classes[module.kind].names("__parameters__"):
            value = module.attributes.get(name)
            if isinstance(value, Tensor):
                found[f"{prefix}{name}"] = value
    return found


def _check_numbers(path: Path, library: Library, root: Module, constants: tuple[Any, ...]) -> None:
    weights = {id(tensor) for tensor in _parameters(library, root).values()}
    for name, tensor in _tensors(root, constants):
        unusual = _unusual(tensor, id(tensor) in weights)
        if unusual:
            raise Unusable(
                f"{path.name} holds {unusual} in {name[:200]!r}, so its answers mean nothing: save "
                "a checkpoint from before training went wrong"
            )


def _unusual(tensor: Tensor, is_weight: bool) -> str | None:
    """Return 'NaN' or 'infinite values' if a tensor holds such; masks of 0 and -inf may."""
    if not tensor.is_floating_point() or bool(torch.isfinite(tensor).all()):
        return None
    if bool(torch.isnan(tensor).any()):
        return "NaN"
    is_mask = bool(((tensor == 0) | (tensor == -torch.inf)).all())
    return None if is_mask and not is_weight else "infinite values"


def _loaded(library: Library, root: Module, program: Program) -> Loaded:
    method = library.classes[root.kind].methods["forward"]
    first_default = len(method.args.args) - len(method.args.defaults)
    arguments = [argument_of(item.arg, item.annotation) for item in method.args.args]
    return Loaded(
        kind="script",
        name=root.kind.rpartition(".")[2],
        path=program.path,
        call=program,
        weights={n: tuple(p.shape) for n, p in _parameters(library, root).items()},
        arguments=tuple(
            replace(argument, optional=argument.optional or number >= first_default)
            for number, argument in enumerate(arguments)
            if number
        ),
        returned=leaves_in(method.returns),
        last=lambda: program.last,
    )
