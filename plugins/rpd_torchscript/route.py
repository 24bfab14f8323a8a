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
Fetch = Callable[[list[Any]], Any]
"""Takes what is needed out of all values of a call."""
Step = tuple[Callable[..., Any], Fetch, int, Sequence[int]]
"""A function, what fetches its arguments, where its result goes, and what nobody needs any more."""


@dataclass(frozen=True)
class Route:
    """The tensor functions that one call goes through."""

    start: tuple[Any, ...] = field(repr=False)
    """The values before a call: weights, plain numbers, and gaps for all that is made."""
    inputs: tuple[int, ...]
    """Where the tensors of the input belong."""
    steps: tuple[Step, ...] = field(repr=False)
    result: Fetch = field(repr=False)
    """What fetches all that the call returns."""
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
        return self.result(values)


class _Noted(NamedTuple):
    """One step: a function, where its arguments stand, and where its result goes."""

    function: Callable[..., Any]
    sources: list[int]
    out: int
    writes: bool = False


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
        out = self._step(deed, result)
        items = result if isinstance(result, tuple | list) else [result]
        for number, item in enumerate(items):
            if item is not result:
                self.steps.append(_Noted(itemgetter(number), [out], self._new(item)))
            self.makers[id(item)] = name, deed.arguments

    def _step(self, deed: Deed, result: Any) -> int:
        """Note a call; return where its result stands."""
        function = partial(deed.function, **deed.named) if deed.named else deed.function
        sources = [self._place(argument) for argument in deed.arguments]
        out = self._new(result)
        self.steps.append(_Noted(function, sources, out, deed.writes))
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
                return self._step(Deed(lambda *items: items, argument, {}), None)
            argument = tuple(argument)
        return self._new(argument, argument)

    def route(self, result: Any) -> Route:
        """Return the way that was gone, without what nobody needs."""
        needed = set(self.inputs)
        fetch = self._returned(result, needed, count())
        steps = []
        for noted in reversed(self.steps):
            if noted.writes or noted.out in needed:
                spent = {noted.out, *noted.sources} - needed
                needed.update(noted.sources)
                places = tuple(place for place in spent if self.start[place] is None)
                steps.append((noted.function, _fetch(noted.sources), noted.out, places))
        writes = any(noted.writes for noted in self.steps)
        return Route(tuple(self.start), self.inputs, tuple(reversed(steps)), fetch, writes)

    def _returned(self, result: Any, needed: set[int], visits: Iterator[int]) -> Fetch:
        """Return what fetches a result, and note the places that it is made of."""
        if next(visits) > _MOST_RETURNED:
            raise Fault(f"more than {_MOST_RETURNED} values are returned")
        if type(result) is Tensor:
            place = self._place(result)
            needed.add(place)
            return itemgetter(place)
        if isinstance(result, dict):
            parts = {key: self._returned(item, needed, visits) for key, item in result.items()}
            return lambda values: {key: part(values) for key, part in parts.items()}
        if isinstance(result, tuple | list):
            items = [self._returned(item, needed, visits) for item in result]
            kind = tuple if isinstance(result, tuple) else list
            return lambda values: kind([item(values) for item in items])
        return lambda values: result

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


def _fetch(places: list[int]) -> Fetch:
    if len(places) == 1:
        return itemgetter(slice(places[0], places[0] + 1))
    return itemgetter(*places) if places else lambda values: ()
