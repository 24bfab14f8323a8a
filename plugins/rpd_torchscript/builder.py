"""Gathers the steps of a program and the places of its values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rpd_torchscript import blocks
from rpd_torchscript.blocks import Block, Call
from rpd_torchscript.functions.table import Function
from rpd_torchscript.limits import Meter

_SCALARS = (int, float, bool, str, type(None), torch.device)
_FOLLOWED = ("aten::add", "aten::sub", "aten::to")


@dataclass(frozen=True, eq=False)
class Known:
    """A value that is the same at every call."""

    value: Any

    def same(self, other: Binding) -> bool:
        """Check whether another binding has the same value, too."""
        if not isinstance(other, Known) or type(self.value) is not type(other.value):
            return False
        return self.value is other.value or (
            isinstance(self.value, _SCALARS) and self.value == other.value
        )


Binding = Known | int
"""What a variable stands for: a known value, or the place of one that each call makes."""


class Builder:
    """Adds steps to the block that is being written."""

    def __init__(self) -> None:
        self.start: list[Any] = [None]
        self.block = Block()
        self.nodes = 0
        self.writes = self.reads = False
        self.constants: dict[Any, int] = {}
        self.makers: dict[int, tuple[str, tuple[Binding, ...]]] = {}
        """Which operator made a value, and of what."""

    def place(self, value: Any = None) -> int:
        """Return a new place for a value."""
        self.start.append(value)
        return len(self.start) - 1

    def place_of(self, binding: Binding) -> int:
        """Return where a binding's value stands while the program runs."""
        if isinstance(binding, int):
            return binding
        value = binding.value
        key = (type(value), str(value)) if isinstance(value, _SCALARS) else id(value)
        if key not in self.constants:
            self.constants[key] = self.place(value)
        return self.constants[key]

    @contextmanager
    def writing(self, block: Block) -> Iterator[Block]:
        """Add steps to another block for a while."""
        outer, before = self.block, self.nodes
        self.block = block
        yield block
        block.nodes += self.nodes - before
        self.block = outer

    def call(
        self,
        name: str,
        function: Function,
        arguments: Sequence[Binding],
        named: dict[str, Binding] | None = None,
    ) -> Binding:
        """Add a call; a harmless one of known values is done right now."""
        named = named or {}
        done = _done_now(function, arguments, named)
        if done is not None:
            return done
        self.writes = self.writes or function.writes
        self.reads = self.reads or function.reads
        places = [self.place_of(binding) for binding in arguments]
        options = {key: self.place_of(binding) for key, binding in named.items()}
        out = self.place()
        if options:
            run = blocks.call_named(function.call, places, options, out)
            self.block.add(run, [*places, *options.values()], [out])
        else:
            deed = Call(function, tuple(places), out)
            self.block.add(blocks.call(function.call, places, out), places, [out], deed)
        self.makers[out] = name, tuple(arguments)
        return out

    def unpack(self, source: Binding, count: int) -> list[Binding]:
        """Spread a tuple or a list over several values."""
        items = source.value if isinstance(source, Known) else None
        if isinstance(items, tuple | list) and len(items) == count:
            return [Known(item) for item in items]
        place, outs = self.place_of(source), [self.place() for _ in range(count)]
        self.block.add(blocks.unpack(place, outs), [place], outs)
        made = self.makers.get(place)
        if made is not None and outs:
            self.makers[outs[0]] = made
        return list(outs)

    def copy(self, sources: Sequence[Binding], outs: Sequence[int]) -> None:
        """Copy values to other places, all at once."""
        if not outs:
            return
        places = [self.place_of(binding) for binding in sources]
        self.block.add(blocks.copy(places, outs), places, outs)

    def last_operators(self, result: Binding) -> tuple[str, ...]:
        """Return the operators at the end of the first output, the last one first."""
        while isinstance(result, int) and result in self.makers:
            name, inputs = self.makers[result]
            if name != "prim::TupleConstruct" or not inputs:
                break
            result = inputs[0]
        names: list[str] = []
        level: list[Binding] = [result]
        for _ in range(3):
            made = [self.makers[b] for b in level if isinstance(b, int) and b in self.makers]
            names += [name for name, _ in made]
            level = [b for name, inputs in made if name in _FOLLOWED for b in inputs]
        return tuple(names)


def _done_now(
    function: Function, arguments: Sequence[Binding], named: dict[str, Binding]
) -> Known | None:
    """Call a function at once, if it works and gives a value that nobody can change."""
    everything = (*arguments, *named.values())
    if function.folds == "never" or not all(isinstance(b, Known) for b in everything):
        return None
    values = [b.value for b in arguments if isinstance(b, Known)]
    options = {key: b.value for key, b in named.items() if isinstance(b, Known)}
    tensors = any(isinstance(value, Tensor) for value in (*values, *options.values()))
    if tensors and function.folds == "plain":
        return None
    try:
        result = function.call(Meter(), *values, **options)
    except Exception:  # the place may never be reached: let the call fail there
        return None
    return Known(result) if isinstance(result, _SCALARS) else None
