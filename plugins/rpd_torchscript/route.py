"""A call that went well, noted down to be repeated for inputs of the same shapes without checks.

The checks of a call look at types, sizes and plain numbers. Where no number inside a tensor decides
over any of these, all of them follow from the shapes of the inputs. The branches taken and the
plain numbers are then known, too, and what remains is a list of tensor functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from operator import itemgetter
from typing import Any, NamedTuple

from torch import Tensor

from rpd_torchscript.functions.operator import Deed
from rpd_torchscript.limits import Fault

LONGEST = 20_000
"""Steps of a route; longer calls are checked every time."""
_MOST_RETURNED = 1000
_FOLLOWED = ("aten::add", "aten::sub", "aten::to")
Step = tuple[Callable[..., Any], Callable[[list[Any]], Sequence[Any]], int, Sequence[int]]
"""A function, what fetches its arguments, where its result goes, and what nobody needs any more."""


@dataclass(frozen=True)
class Route:
    """The tensor functions that one call goes through."""

    start: tuple[Any, ...] = field(repr=False)
    """The values before a call: weights, plain numbers, and gaps for all that is made."""
    inputs: tuple[int, ...]
    """Where the tensors of the input belong."""
    steps: tuple[Step, ...] = field(repr=False)
    result: Any = field(repr=False)
    """What the call returns, with a `Place` for each tensor."""
    writes: bool
    """Whether anything is changed in place, so that inputs must be copied."""

    def __call__(self, inputs: Sequence[Tensor]) -> Any:
        """Do every step."""
        values = list(self.start)
        for place, tensor in zip(self.inputs, inputs, strict=True):
            values[place] = tensor.clone() if self.writes else tensor
        for function, fetch, out, spent in self.steps:
            values[out] = function(*fetch(values))
            for place in spent:
                values[place] = None
        return _filled(self.result, values)


@dataclass(frozen=True)
class Place:
    """Stands for the tensor at a place."""

    number: int


def _filled(result: Any, values: list[Any]) -> Any:
    if isinstance(result, Place):
        return values[result.number]
    if isinstance(result, tuple | list):
        return type(result)([_filled(item, values) for item in result])
    if isinstance(result, dict):
        return {key: _filled(item, values) for key, item in result.items()}
    return result


class _Noted(NamedTuple):
    """One step: a function, where its arguments stand, and where its result goes."""

    function: Callable[..., Any]
    sources: list[int]
    out: int
    writes: bool = False


def _all(*items: Any) -> tuple[Any, ...]:
    return items


class Recorder:
    """Notes the tensor functions of one call while they are done."""

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        self.start: list[Any] = []
        self.places: dict[int, int] = {}
        """Where each tensor stands, by its id."""
        self.steps: list[_Noted] = []
        self.makers: dict[int, tuple[str, Sequence[Any]]] = {}
        """Which function made a tensor, and of what."""
        self.held: list[Any] = []
        """Everything that was seen, so that no id is given twice."""
        self.inputs = tuple(self._new(tensor) for tensor in inputs)

    def note(self, name: str, deed: Deed, result: Any) -> None:
        """Note a call and what it returned."""
        if len(self.steps) > LONGEST:
            return
        function = partial(deed.function, **deed.named) if deed.named else deed.function
        out = self._step(function, deed.arguments, result, deed.writes)
        items = result if isinstance(result, tuple | list) else [result]
        for number, item in enumerate(items):
            if item is not result:
                self.steps.append(_Noted(itemgetter(number), [out], self._new(item)))
            self.makers[id(item)] = name, deed.arguments

    def _step(
        self,
        function: Callable[..., Any],
        arguments: Sequence[Any],
        result: Any,
        writes: bool = False,
    ) -> int:
        sources = [self._place(argument) for argument in arguments]
        out = self._new(result)
        self.steps.append(_Noted(function, sources, out, writes))
        return out

    def _new(self, thing: Any, value: Any = None) -> int:
        """Return a new place for a thing, where this value stands before a call."""
        self.start.append(value)
        self.held.append(thing)
        self.places[id(thing)] = len(self.start) - 1
        return len(self.start) - 1

    def _place(self, argument: Any) -> int:
        """Return where an argument stands; what no step has made is the same in every call."""
        if type(argument) is Tensor and id(argument) in self.places:
            return self.places[id(argument)]
        if isinstance(argument, list | tuple):
            if any(type(item) is Tensor for item in argument):
                return self._step(_all, argument, None)
            argument = tuple(argument)
        return self._new(argument, argument)

    def route(self, result: Any) -> Route:
        """Return the way that was gone, without what nobody needs."""
        shape = self._places_of(result, count())
        needed = set(_numbers_of(shape))
        kept, steps = set(self.inputs) | needed, []
        for noted in reversed(self.steps):
            if noted.writes or noted.out in needed:
                spent = {noted.out, *noted.sources} - needed - kept
                needed.update(noted.sources)
                places = tuple(place for place in spent if self.start[place] is None)
                steps.append((noted.function, _fetch(noted.sources), noted.out, places))
        writes = any(noted.writes for noted in self.steps)
        return Route(tuple(self.start), self.inputs, tuple(reversed(steps)), shape, writes)

    def _places_of(self, result: Any, visits: Iterator[int]) -> Any:
        if next(visits) > _MOST_RETURNED:
            raise Fault(f"more than {_MOST_RETURNED} values are returned")
        if type(result) is Tensor:
            return Place(self._place(result))
        if isinstance(result, tuple | list):
            kind = tuple if isinstance(result, tuple) else list
            return kind([self._places_of(item, visits) for item in result])
        if isinstance(result, dict):
            return {key: self._places_of(item, visits) for key, item in result.items()}
        return result

    def last_functions(self, result: Any) -> tuple[str, ...]:
        """Return the functions at the end of the first output, the last one first."""
        if isinstance(result, tuple | list) and result:
            result = result[0]
        names: list[str] = []
        level = [result]
        for _ in range(3):
            made = [self.makers[id(value)] for value in level if id(value) in self.makers]
            names += [name for name, _ in made]
            level = [v for name, sources in made if name in _FOLLOWED for v in sources]
        return tuple(names)


def _fetch(places: list[int]) -> Callable[[list[Any]], Sequence[Any]]:
    if len(places) == 1:
        return itemgetter(slice(places[0], places[0] + 1))
    return itemgetter(*places) if places else lambda values: ()


def _numbers_of(shape: Any) -> list[int]:
    """Return the places of all tensors that are returned."""
    if isinstance(shape, Place):
        return [shape.number]
    items = shape.values() if isinstance(shape, dict) else shape
    if not isinstance(shape, dict | tuple | list):
        return []
    return [number for item in items for number in _numbers_of(item)]
