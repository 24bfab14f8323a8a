"""What a module takes and returns: observations, hidden states, outputs."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rpd_core.errors import FitError
from rpd_torchscript.archive import Kind

_MOST_LEAVES = 1000


@dataclass(frozen=True)
class Argument:
    """One argument of `forward`."""

    name: str
    leaves: int
    """Tensors in it: 1, or the size of a tuple; 0: something else."""
    is_tuple: bool = False
    is_dict: bool = False
    optional: bool = False


@dataclass(frozen=True)
class Loaded:
    """A module that can be called, and what its file says about it."""

    kind: Kind
    name: str
    """Name of the module's class, as far as it is known."""
    path: Path
    call: Callable[[dict[str, Any]], Any] = field(repr=False)
    """Takes the arguments of `forward` by name, returns what it returns."""
    weights: dict[str, tuple[int, ...]] = field(repr=False)
    """The shapes of the parameters."""
    arguments: tuple[Argument, ...] | None = None
    """What `forward` takes; None where the module does not say."""
    returned: int = 1
    """Tensors that come back."""
    last: Callable[[], tuple[str, ...]] = tuple
    """The functions at the end of the first output, the last one first, after a call."""


@dataclass(frozen=True)
class Signature:
    """How to call a module: first observations, then hidden states."""

    observations: tuple[Argument, ...]
    states: tuple[Argument, ...] = ()

    @property
    def state_leaves(self) -> int:
        """Number of tensors that are carried from step to step."""
        return sum(argument.leaves for argument in self.states)


def read_signature(loaded: Loaded, parts: Sequence[str], recurrent: bool) -> Signature:
    """Separate observations from hidden states by names, types and what is returned.

    `parts` are the names of a dict observation; `recurrent` is what the user declared.
    """
    if loaded.kind != "script":
        named = loaded.arguments or ()
        if not named:  # a torch.export program takes anything
            named = (Argument("observation", 1), *[Argument("hidden", 1)] * recurrent)
        return _divide(list(named), parts, None if recurrent else 1)
    arguments = list(loaded.arguments or ())
    if not arguments:
        raise FitError(f"{loaded.path.name}: the module's forward takes no observation")
    signature = _divide(arguments, parts, loaded.returned)
    spare = all(argument.optional for argument in signature.states)
    if spare and not recurrent and not any("weight_hh" in name for name in loaded.weights):
        return replace(signature, states=())  # an optional mask, say, beside a value head
    return signature


def _divide(arguments: list[Argument], parts: Sequence[str], returned: int | None) -> Signature:
    """Split the arguments; `returned` is the number of tensors that come back, if known."""
    named = [a for a in arguments if a.name in parts]
    seen = named if arguments[0] in named else [arguments[0]]
    rest = tuple(a for a in arguments if a not in seen)
    states = tuple(a for a in rest if a.leaves)
    leaves = sum(a.leaves for a in states)
    if leaves and (returned is None or returned >= 1 + leaves):
        unfilled = [a.name for a in rest if not a.leaves and not a.optional]
    else:
        states, unfilled = (), [a.name for a in rest if not a.optional]
    if unfilled:
        raise FitError(
            f"the module also takes {', '.join(map(repr, unfilled))}, which is neither an "
            "observation nor a hidden state that it returns"
        )
    return Signature(tuple(seen), states)


def argument_of(name: str, annotation: ast.expr | None) -> Argument:
    """Describe an argument by its annotation in TorchScript's code."""
    outer, inner = _parts(annotation)
    if outer == "Optional" and inner:
        return replace(argument_of(name, inner[0]), optional=True)
    return Argument(name, leaves_in(annotation), outer == "Tuple", outer == "Dict")


def leaves_in(annotation: ast.expr | None) -> int:
    """Count the tensors in a type."""
    outer, inner = _parts(annotation)
    if outer == "Tensor":
        return 1
    return sum(map(leaves_in, inner)) if outer == "Tuple" else 0


def _parts(annotation: ast.expr | None) -> tuple[str, list[ast.expr]]:
    """Return the name of a type and what stands in its brackets."""
    if isinstance(annotation, ast.Name):
        return annotation.id, []
    if isinstance(annotation, ast.Subscript) and isinstance(annotation.value, ast.Name):
        inside = annotation.slice
        return annotation.value.id, inside.elts if isinstance(inside, ast.Tuple) else [inside]
    return "", []


def argument_of_schema(argument: Any) -> Argument:
    """Describe an argument by torch's schema of a loaded module."""
    read = argument_of(argument.name, ast.parse(argument.type.annotation_str, mode="eval").body)
    return replace(read, optional=read.optional or argument.has_default_value())


def arguments_of_python(forward: Any) -> tuple[Argument, ...]:
    """Describe the arguments of a module that is no TorchScript."""
    parameters = list(inspect.signature(forward).parameters.values())
    return tuple(
        Argument(p.name, 1, optional=p.default is not p.empty)
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    )


def leaves_of(value: Any) -> list[Any]:
    """Return the tensors of an output in order."""
    found, waiting, visits = [], [value], 0
    while waiting:
        item, visits = waiting.pop(), visits + 1
        if visits > _MOST_LEAVES:
            raise FitError(f"the module returns more than {_MOST_LEAVES} values")
        if isinstance(item, tuple | list):
            waiting += reversed(item[: _MOST_LEAVES + 1])
        else:
            found.append(item)
    return found
