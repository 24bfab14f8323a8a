"""A stranger's TorchScript file as a module that rpd evaluates itself.

torch's own loader and interpreter are never given the file: the code is parsed, the pickles are
read, the tensors are built from their bytes, and every function is checked before it is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from rpd_torchscript.archive import Archive
from rpd_torchscript.limits import Refused, damaged, refused
from rpd_torchscript.pickles import BadPickle, Record, TensorNote, read_pickle
from rpd_torchscript.program import Program
from rpd_torchscript.signature import Loaded, argument_of, leaves_in
from rpd_torchscript.syntax import BadCode, Library, read_code
from rpd_torchscript.tensors import TensorShelf, unusual_values
from rpd_torchscript.values import Module, StoredDict, StoredList

_TODAY = 10
"""The version of files that say none."""


def load_script(archive: Archive) -> Loaded:
    """Read a TorchScript file without running anything of it."""
    path, members = archive.path, archive.below_root()
    if "model.json" in members:
        raise refused(path, "has the format of PyTorch before 1.4")
    if members.get("byteorder", b"little") != b"little":
        raise damaged(path, "its numbers are stored in an unusual order of bytes")
    try:
        library = read_code(members, _version(path, members))
        root = _read_values(path, "data", members)
        constants = _read_values(path, "constants", members) if "constants.pkl" in members else ()
    except (BadCode, BadPickle) as error:
        raise refused(path, f"cannot be read without running it: {error}") from error
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


def _read_values(path: Path, name: str, members: Mapping[str, bytes]) -> Any:
    note = read_pickle(members[f"{name}.pkl"])
    return _Values(TensorShelf(name, members)).convert(note)


class _Values:
    """Turns what a pickle says into modules, tensors, and lists that nobody may change."""

    def __init__(self, shelf: TensorShelf) -> None:
        self.shelf = shelf
        self.done: dict[int, tuple[Any, Any]] = {}

    def convert(self, note: Any) -> Any:
        """Convert a value; what was one object in the file stays one."""
        if not isinstance(note, Record | TensorNote | list | dict | tuple):
            return note
        if id(note) not in self.done:
            self.done[id(note)] = note, self._made(note)
        return self.done[id(note)][1]

    def _made(self, note: Any) -> Any:
        if isinstance(note, TensorNote):
            return self.shelf.tensor(note)
        if isinstance(note, Record):
            made = Module(note.kind)
            made.attributes = {name: self.convert(value) for name, value in note.state.items()}
            if "training" in made.attributes:
                made.attributes["training"] = False
            return made
        if isinstance(note, dict):
            return StoredDict((key, self.convert(value)) for key, value in note.items())
        items = [self.convert(item) for item in note]
        return tuple(items) if isinstance(note, tuple) else StoredList(items)


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
        raise Refused(f"{path.name} has no method 'forward', so nothing can be played: add one")
    if kind.names("__forward_hooks__") or kind.names("__forward_pre_hooks__"):
        raise Refused(
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
        unusual = unusual_values(tensor, id(tensor) in weights)
        if unusual:
            raise Refused(
                f"{path.name} holds {unusual} in {name[:200]!r}, so its answers mean nothing: save "
                "a checkpoint from before training went wrong"
            )


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
