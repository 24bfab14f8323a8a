"""A stranger's TorchScript file as a module that rpd evaluates itself.

torch's own loader and interpreter are never given the file: the code is parsed, the pickles are
read, the tensors are built from their bytes, and every function is checked before it is called.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rpd_core.errors import EpisodeError, RpdError
from rpd_core.untrusted.boundary import Budget
from rpd_torchscript.archive import Archive
from rpd_torchscript.evaluation import Evaluation
from rpd_torchscript.limits import Forbidden, Meter, contradiction, last_line, naming
from rpd_torchscript.route import LONGEST, Recorder, Route
from rpd_torchscript.signature import Loaded, argument_of, leaves_in
from rpd_torchscript.syntax import Library, read_code
from rpd_torchscript.values import Module

_TODAY = 10
"""The version of files that say none."""
_MOST_ROUTES = 32


def load_script(archive: Archive) -> Loaded:
    """Read a TorchScript file without running anything of it."""
    with naming(archive.path):
        script = archive.below_root()
        members = script.members
        if "model.json" in members:
            raise Forbidden("has the format of PyTorch before 1.4")
        if members.get("byteorder", b"little") != b"little":
            raise contradiction("its numbers are stored in an unusual order of bytes")
        library = read_code(members, _version(members))
        root = script.values("data")
        constants = script.values("constants") if "constants.pkl" in members else ()
        if not isinstance(root, Module) or not isinstance(constants, tuple):
            raise contradiction("it holds no module")
        library = replace(library, constants=constants)
        _check_classes(library, root, script.budget)
        tensors = list(_tensors(root, constants, script.budget))
        parameters = _parameters(library, root, script.budget)
        _check_numbers(tensors, parameters, script.budget)
    starts = {tensor.untyped_storage().data_ptr() for _, tensor in tensors}
    program = _Program(archive.path, library, root, frozenset(starts - {0}))
    return _loaded(program, parameters)


def _version(members: Mapping[str, bytes]) -> int:
    text = (members.get("version") or members.get(".data/version", b"")).strip()
    if text and (not text.isdigit() or len(text) > 9):
        raise contradiction("its version is no number")
    return int(text or _TODAY)


def _modules(root: Module, budget: Budget) -> Iterator[tuple[str, Module]]:
    """Return all modules with the dotted name under which each is found first."""
    waiting, seen = deque([("", root)]), {id(root)}
    while waiting:
        prefix, module = waiting.popleft()
        yield prefix, module
        for name, value in module.attributes.items():
            if isinstance(value, Module) and id(value) not in seen:
                budget.take_copy(prefix, name)
                seen.add(id(value))
                waiting.append((f"{prefix}{name}.", value))


def _check_classes(library: Library, root: Module, budget: Budget) -> None:
    for _, module in _modules(root, budget):
        if module.kind not in library.classes:
            raise contradiction(f"the code of {module.kind[:200]!r} is missing")
        if "__setstate__" in library.classes[module.kind].methods:
            raise Forbidden("has a '__setstate__', which runs while it is loaded")
    kind = library.classes[root.kind]
    if "forward" not in kind.methods:
        raise Forbidden("has no method 'forward', so nothing can be played", "add one")
    if kind.names("__forward_hooks__") or kind.names("__forward_pre_hooks__"):
        raise Forbidden(
            "has hooks on its outermost module, which a loaded file does not run",
            "put what they do into forward",
        )


def _tensors(
    root: Module, constants: tuple[Any, ...], budget: Budget
) -> Iterator[tuple[str, Tensor]]:
    """Return all tensors of the file with a name for each."""
    seen: set[int] = set()
    waiting: list[tuple[str, Any]] = [(f"constant {n}", item) for n, item in enumerate(constants)]
    for prefix, module in _modules(root, budget):
        for name, value in module.attributes.items():
            budget.take_copy(prefix, name)
            waiting.append((f"{prefix}{name}", value))
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, Module) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Tensor):
            yield name, value
        for key, item in _items(value):
            budget.take_copy(name, key)
            waiting.append((f"{name}[{key!r}]", item))


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)


def _parameters(library: Library, root: Module, budget: Budget) -> dict[str, Tensor]:
    """Return the parameters by their dotted names."""
    declared: dict[str, tuple[str, ...]] = {}
    found = {}
    for prefix, module in _modules(root, budget):
        if module.kind not in declared:
            declared[module.kind] = library.classes[module.kind].names("__parameters__")
        budget.take_operations(len(declared[module.kind]))
        for name in declared[module.kind]:
            value = module.attributes.get(name)
            if isinstance(value, Tensor):
                budget.take_copy(prefix, name)
                found[f"{prefix}{name}"] = value
    return found


def _check_numbers(
    tensors: list[tuple[str, Tensor]], parameters: dict[str, Tensor], budget: Budget
) -> None:
    """Refuse NaN; thousands of tensors may show the same numbers, which are searched once."""
    weights = {id(tensor) for tensor in parameters.values()}
    finite: dict[tuple[int, torch.dtype], bool] = {}
    for name, tensor in tensors:
        row = tensor.untyped_storage().data_ptr(), tensor.dtype
        if row not in finite:
            finite[row] = _all_finite(_whole(tensor))
        if finite[row]:
            continue
        budget.take_made(tensor.nbytes)
        unusual = _unusual(tensor, id(tensor) in weights)
        if unusual:
            raise Forbidden(
                f"holds {unusual} in {name[:200]!r}, so its answers mean nothing",
                "save a checkpoint from before training went wrong",
            )


def _whole(tensor: Tensor) -> Tensor:
    """Return all the numbers that a tensor is cut from."""
    count = tensor.untyped_storage().nbytes() // tensor.itemsize
    return tensor.as_strided((count,), (1,), 0)


def _all_finite(tensor: Tensor) -> bool:
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor).all())


def _unusual(tensor: Tensor, is_weight: bool) -> str | None:
    """Return 'NaN' or 'infinite values' if a tensor holds such; masks of 0 and -inf may."""
    if _all_finite(tensor):
        return None
    if bool(torch.isnan(tensor).any()):
        return "NaN"
    is_mask = bool(((tensor == 0) | (tensor == -torch.inf)).all())
    return None if is_mask and not is_weight else "infinite values"


def _loaded(program: _Program, parameters: Mapping[str, Tensor]) -> Loaded:
    library, root = program.library, program.module
    method = library.classes[root.kind].methods["forward"]
    first_default = len(method.args.args) - len(method.args.defaults)
    arguments = [argument_of(item.arg, item.annotation) for item in method.args.args]
    return Loaded(
        kind="script",
        name=root.kind.rpartition(".")[2],
        path=program.path,
        call=program,
        weights={name: tuple(tensor.shape) for name, tensor in parameters.items()},
        arguments=tuple(
            replace(argument, optional=argument.optional or number >= first_default)
            for number, argument in enumerate(arguments)
            if number
        ),
        returned=leaves_in(method.returns),
        last=lambda: tuple(program.last),
    )


@dataclass(frozen=True)
class _Program:
    """The method `forward` of a module that never changes."""

    path: Path
    library: Library = field(repr=False)
    module: Module
    frozen: frozenset[int] = field(repr=False)
    """Where the memory of weights and constants begins."""
    routes: dict[Any, Route | None] = field(default_factory=dict, repr=False)
    """By the shapes of the inputs; None: numbers decide, so every call is checked."""
    last: list[str] = field(default_factory=list)
    """The functions at the end of the first output of a call, the last one first."""

    def __call__(self, given: dict[str, Any]) -> Any:
        """Call `forward` with arguments by name; whatever goes wrong in it becomes one line."""
        key = tuple(map(_shapes, given.items()))
        route = self.routes.get(key)
        try:
            if route is not None:
                return route(list(_inputs(given)))
            with naming(self.path):
                return self._evaluate(given, key)
        except RpdError:
            raise
        except Exception as error:  # torch raises anything for arguments that do not fit
            line = f"{self.path.name} cannot be called: {last_line(error)}"
            raise EpisodeError(line) from error

    def _evaluate(self, given: dict[str, Any], key: Any) -> Any:
        """Do every step with all checks, and note the way for the next time."""
        given = _copied(given)  # the code may write to its input
        inputs = list(_inputs(given))
        meter = Meter(self.frozen)
        meter.from_inputs.update(map(id, inputs))
        records = key not in self.routes and len(self.routes) < _MOST_ROUTES
        recorder = Recorder(inputs) if records else None
        evaluation = Evaluation(self.library, meter, recorder)
        try:
            result = evaluation.method(self.module, "forward", [], given)
        except RecursionError as error:
            raise contradiction("its code is nested too deeply") from error
        if recorder is not None:
            self.last[:] = recorder.last_functions(result)
            repeats = not meter.steered and len(recorder.steps) <= LONGEST
            self.routes[key] = recorder.route(result) if repeats else None
        return result


def _shapes(value: Any) -> Any:
    """Return what there is to know of an input besides its numbers."""
    if type(value) is Tensor:
        return value.shape, value.dtype, value.stride()
    if isinstance(value, tuple | list):
        return tuple(map(_shapes, value))
    return tuple(map(_shapes, value.items())) if isinstance(value, dict) else value


def _inputs(value: Any) -> Iterator[Tensor]:
    """Return the tensors of the input in order."""
    if type(value) is Tensor:
        yield value
    elif isinstance(value, dict | tuple | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _inputs(item)


def _copied(value: Any) -> Any:
    if type(value) is Tensor:
        return value.clone()
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return tuple(map(_copied, value)) if isinstance(value, tuple | list) else value
