"""What a module takes and gives: observations, hidden states, outputs."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rpd_core.errors import FitError

TENSOR, OPTIONAL, TUPLE, DICT = "TensorType", "OptionalType", "TupleType", "DictType"


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
class Signature:
    """How to call a module: first observations, then hidden states."""

    observations: tuple[Argument, ...]
    states: tuple[Argument, ...] = ()

    @property
    def state_leaves(self) -> int:
        """Number of tensors that are carried from step to step."""
        return sum(argument.leaves for argument in self.states)


def read_signature(module: Any, parts: Sequence[str], recurrent: bool) -> Signature:
    """Tell observations from hidden states by names, types and what is returned.

    `parts` are the names of a dict observation; `recurrent` is what the user declared.
    """
    schema = getattr(getattr(module, "forward", None), "schema", None)
    if schema is None:
        return _plain_signature(module, parts, recurrent)
    arguments = [_argument(a) for a in schema.arguments[1:]]
    if not arguments:
        raise FitError("the module's forward takes no observation")
    returned = sum(_leaves(value.type) for value in schema.returns)
    signature = _divide(arguments, parts, returned)
    spare = all(argument.optional for argument in signature.states)
    if spare and not recurrent and not _has_recurrent_weights(module):
        return replace(signature, states=())  # an optional mask, say, beside a value head
    return signature


def _has_recurrent_weights(module: Any) -> bool:
    return any("weight_hh" in name for name, _ in module.named_parameters())


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


def _argument(argument: Any) -> Argument:
    kind = argument.type.kind()
    optional = kind == OPTIONAL or argument.has_default_value()
    inner = argument.type.getElementType() if kind == OPTIONAL else argument.type
    return Argument(
        argument.name,
        _leaves(inner),
        is_tuple=inner.kind() == TUPLE,
        is_dict=inner.kind() == DICT,
        optional=optional,
    )


def _leaves(kind: Any) -> int:
    """Count the tensors in a type."""
    if kind.kind() == TENSOR:
        return 1
    return sum(map(_leaves, kind.elements())) if kind.kind() == TUPLE else 0


def _plain_signature(module: Any, parts: Sequence[str], recurrent: bool) -> Signature:
    """Read the arguments of a module that is no TorchScript; hidden states must be declared."""
    parameters = list(inspect.signature(module.forward).parameters.values())
    arguments = [
        Argument(p.name, 1, optional=p.default is not p.empty)
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(arguments) < 1:  # a torch.export program takes anything
        arguments = [Argument("observation", 1)] + [Argument("hidden", 1)] * recurrent
    return _divide(arguments, parts, None if recurrent else 1)


def leaves_of(value: Any) -> list[Any]:
    """Give the tensors of an output in order."""
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in leaves_of(item)]
    return [value]
