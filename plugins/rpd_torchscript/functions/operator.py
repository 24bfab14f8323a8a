"""One of torch's operators, called as torch's own schema of it says.

A schema names and types every argument of an overload, its default, and whether the tensor is
changed. So nothing of this has to be said again: an operator is its name and a rule, which bounds
the size of the result and the work before torch is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rpd_torchscript.limits import AXES, PIECES, Fault, Meter, check_axes, check_count
from rpd_torchscript.values import TYPE_OF_CODE, kind_of

Given = dict[str, Any]
"""The arguments of a call by their names in torch's schema, defaults filled in."""
Rule = Callable[[Meter, Given], None]
"""Refuses a call, or counts its work before it is done."""

_FITS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda value: type(value) is Tensor,
    "int": lambda value: type(value) is int,
    "float": lambda value: type(value) in (int, float),
    "number": lambda value: type(value) in (int, float, bool),
    "bool": lambda value: type(value) is bool,
    "str": lambda value: type(value) is str,
    "Device": lambda value: isinstance(value, torch.device),
    "ScalarType": lambda value: type(value) is int and value in TYPE_OF_CODE,
    "MemoryFormat": lambda value: type(value) is int and 0 <= value <= 3,
    "Layout": lambda value: type(value) is int and value == 0,
}
"""Whether a value is of a type in a schema; a layout of 0 is the ordinary one."""
_STRANGE_TYPES = ("Dimname", "Generator", "complex", "(t[] ")
_STRANGE_OVERLOADS = ("aten::view.dtype", "aten::where.default", "aten::repeat_interleave.Tensor")
"""Bytes seen as other numbers; shapes that depend on numbers."""
_PIECES = ("split_size", "split_sizes")
"""Lists with an item for each piece of a tensor; others have one for each of its axes."""
_CODED = ("Device", "Layout", "MemoryFormat", "ScalarType")
_FASTEST = (torch._C._nn, torch._C._VariableFunctions, torch._C.TensorBase)


class Deed(NamedTuple):
    """What a call did, to do it again without checks."""

    function: Any
    arguments: Sequence[Any]
    named: dict[str, Any]
    writes: bool = False
    """Whether it changes one of its arguments."""


class Parameter(NamedTuple):
    """One argument of an overload."""

    name: str
    fits: Callable[[Any], bool]
    required: bool
    default: Any
    by_name: bool
    is_changed: bool
    is_coded: bool
    """Whether TorchScript writes it as a number where Python does not: types and the like."""

    @classmethod
    def of(cls, argument: Any) -> Parameter:
        """Read an argument of a schema."""
        kind = argument.real_type.annotation_str
        if argument.name == "dtype":  # some schemas call it a whole number, and torch believes it
            kind = kind.replace("int", "ScalarType")
        pieces = "Tensor" in kind or argument.name in _PIECES
        return cls(
            argument.name,
            _fits(kind, argument.N, PIECES if pieces else AXES),
            not argument.has_default_value(),
            argument.default_value,
            argument.kwarg_only,
            argument.alias_info is not None and argument.alias_info.is_write,
            any(word in kind for word in _CODED),
        )


def _fits(kind: str, width: int | None, longest: int) -> Callable[[Any], bool]:
    """Return the check of a type as a schema writes it; a list of fixed width may be one number.

    Torch recurses over some lists, and over the axes of what it makes of others.
    """
    if kind.startswith("Optional["):
        inner = _fits(kind[9:-1], width, longest)
        return lambda value: value is None or inner(value)
    if kind.startswith("List["):
        item = _fits(kind[5:-1], None, longest)
        return lambda value: (
            len(value) <= longest and all(map(item, value))
            if isinstance(value, list | tuple)
            else width is not None and item(value)
        )
    return _FITS[kind]


@dataclass(frozen=True)
class _Overload:
    """One schema of an operator."""

    operator: Any
    parameters: tuple[Parameter, ...]

    @property
    def writes(self) -> bool:
        """Whether a call changes one of its arguments."""
        return any(parameter.is_changed for parameter in self.parameters)

    def bind(self, arguments: Sequence[Any], named: dict[str, Any]) -> Given | None:
        """Return the arguments by name, or None where they do not fit."""
        positional = [parameter.name for parameter in self.parameters if not parameter.by_name]
        given = {**dict(zip(positional, arguments, strict=False)), **named}
        if len(given) != len(arguments) + len(named):
            return None
        if not given.keys() <= {parameter.name for parameter in self.parameters}:
            return None
        for parameter in self.parameters:
            if parameter.name not in given and parameter.required:
                return None
            if parameter.name in given and not parameter.fits(given[parameter.name]):
                return None
        return {p.name: given.get(p.name, p.default) for p in self.parameters}


@dataclass(frozen=True)
class Operator:
    """An operator of torch that is run for a stranger."""

    name: str
    rule: Rule

    @cached_property
    def overloads(self) -> tuple[_Overload, ...]:
        """The ways to call it."""
        packet = getattr(torch.ops.aten, self.name.removeprefix("aten::"))
        found = [getattr(packet, name) for name in _ordinary(self.name, packet)]
        return tuple(_Overload(op, tuple(map(Parameter.of, op._schema.arguments))) for op in found)

    @cached_property
    def fast(self) -> Callable[..., Any] | None:
        """Torch's own function of this name, which takes less time to call."""
        word = self.name.removeprefix("aten::")
        places = [place for place in _FASTEST if hasattr(place, word)]
        return getattr(places[0], word) if places else None

    def __call__(
        self, meter: Meter, arguments: Sequence[Any], named: dict[str, Any]
    ) -> tuple[Any, Deed]:
        """Check a call and do it; return the result and how to do it again."""
        overload, given = self._match(arguments, named)
        tensors = list(_tensors(given.values()))
        for tensor in tensors:
            if not tensor.numel():
                # a sum over an empty axis is as large as all the other axes
                check_count(prod(max(size, 1) for size in tensor.shape))
        self.rule(meter, given)
        for parameter in overload.parameters:
            if parameter.is_changed:
                meter.own(given[parameter.name])
        deed = self._deed(overload, given, arguments, named)
        result = deed.function(*deed.arguments, **deed.named)
        held = {tensor.untyped_storage().data_ptr() for tensor in tensors}
        results = list(_tensors([result]))
        for made in results:
            check_axes(made.dim())
            if made.untyped_storage().data_ptr() not in held:
                meter.made(made)
        if any(id(tensor) in meter.from_inputs for tensor in tensors):
            meter.from_inputs.update(map(id, results))
        return result, deed

    def _deed(
        self, overload: _Overload, given: Given, arguments: Sequence[Any], named: dict[str, Any]
    ) -> Deed:
        """Return the call, of the fast function where Python writes it like TorchScript."""
        coded = {p.name for p in overload.parameters if p.is_coded}
        told = any(p.name in coded and given[p.name] != p.default for p in overload.parameters)
        if self.fast is not None and not told:
            plain = {name: value for name, value in named.items() if name not in coded}
            return Deed(self.fast, arguments, plain, overload.writes)
        positional = [given[p.name] for p in overload.parameters if not p.by_name]
        by_name = {p.name: given[p.name] for p in overload.parameters if p.by_name}
        return Deed(overload.operator, positional, by_name, overload.writes)

    def _match(self, arguments: Sequence[Any], named: dict[str, Any]) -> tuple[_Overload, Given]:
        for overload in self.overloads:
            given = overload.bind(arguments, named)
            if given is not None:
                return overload, given
        kinds = ", ".join(map(_in_words, (*arguments, *named.values())))
        raise Fault(f"{self.name!r} does not take {kinds[:300] or 'nothing'}")


def _in_words(value: Any) -> str:
    long = isinstance(value, list | tuple) and len(value) > AXES
    return f"a {kind_of(value)} of {len(value)}" if long else kind_of(value)


def _ordinary(name: str, packet: Any) -> Iterator[str]:
    """Return the overloads that make or change tensors in the ordinary way."""
    for overload in packet.overloads():
        schema = getattr(packet, overload)._schema
        text = str(schema)
        writes_elsewhere = any(a.kwarg_only and a.alias_info is not None for a in schema.arguments)
        strange = writes_elsewhere or any(word in text for word in _STRANGE_TYPES)
        if "Tensor" in text and not strange and f"{name}.{overload}" not in _STRANGE_OVERLOADS:
            yield overload


def _tensors(values: Any) -> Iterator[Tensor]:
    for value in values:
        if type(value) is Tensor:
            yield value
        elif isinstance(value, list | tuple):
            yield from (item for item in value if type(item) is Tensor)
