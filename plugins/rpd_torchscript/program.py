"""A compiled function, and the short cut for inputs whose shapes were seen before.

The checks of a call look at types, sizes and plain numbers. Where no number inside a tensor decides
over any of these, all of them follow from the shapes of the inputs: a call that went well once may
be repeated for inputs of the same shapes without checking again. The branches taken and the plain
numbers are then known, too, and what remains is a list of tensor functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from torch import Tensor

from rpd_torchscript.blocks import Block, Call, Choice, Run, Step, Values
from rpd_torchscript.limits import Fault, Meter

_SCALARS = (int, float, bool, str, type(None))
_MOST_ROUTES = 32


@dataclass(frozen=True)
class Route:
    """The steps for inputs of certain shapes."""

    start: tuple[Any, ...]
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Program:
    """A compiled function."""

    block: Block = field(repr=False)
    start: tuple[Any, ...] = field(repr=False)
    """The values before a call: constants and weights in their places."""
    arguments: dict[str, int]
    """Where the arguments belong."""
    required: frozenset[str]
    result: int
    kept: frozenset[int] = field(repr=False)
    """Values that last as long as a call."""
    writes: bool
    """Whether anything is changed in place, so that inputs must be copied."""
    reads: bool
    """Whether numbers in a tensor decide over what is done."""
    last: tuple[str, ...]
    """The operators at the end of the first output, the last one first."""
    routes: dict[Any, Route] = field(default_factory=dict, repr=False)
    runs: list[Run] = field(default_factory=list, repr=False)

    def __call__(self, given: dict[str, Any], frozen: frozenset[int]) -> Any:
        """Run the program once; the memory that begins at `frozen` must not be changed."""
        if self.reads or self.writes:
            return self._run(given, frozen)
        key = tuple(map(_shapes, given.items()))
        route = self.routes.get(key)
        if route is not None:
            values = self._values(given, frozen, route.start)
            for run in route.runs:
                run(values)
            return values[self.result]
        return self._explore(given, frozen, key)

    def _run(self, given: dict[str, Any], frozen: frozenset[int]) -> Any:
        """Do every step with all checks."""
        if not self.runs:
            self.runs.extend(with_releases(self.block.steps, self.kept))
        values = self._values(given, frozen, self.start)
        for run in self.runs:
            run(values)
        return values[self.result]

    def _explore(self, given: dict[str, Any], frozen: frozenset[int], key: Any) -> Any:
        """Do every step with all checks, and note the way for the next time."""
        values = self._values(given, frozen, self.start)
        constants: dict[int, Any] = {}
        steps = _walk(self.block, values, constants)
        start = list(self.start)
        for place, value in constants.items():
            start[place] = value
        if len(self.routes) < _MOST_ROUTES:
            kept = self.kept | constants.keys()
            self.routes[key] = Route(tuple(start), with_releases(steps, kept))
        return values[self.result]

    def _values(
        self, given: dict[str, Any], frozen: frozenset[int], start: tuple[Any, ...]
    ) -> Values:
        if not self.required <= given.keys() <= self.arguments.keys():
            raise Fault(f"forward takes {', '.join(self.arguments)}")
        values = list(start)
        values[0] = Meter(frozen)
        for name, value in given.items():
            values[self.arguments[name]] = value
        return values


def _shapes(value: Any) -> Any:
    """Return what there is to know of an input besides its numbers."""
    if type(value) is Tensor:
        return value.shape, value.dtype, value.stride()
    if isinstance(value, tuple | list):
        return tuple(map(_shapes, value))
    return tuple(map(_shapes, value.items())) if isinstance(value, dict) else value


def _walk(block: Block, values: Values, constants: dict[int, Any]) -> list[Step]:
    """Run a block; return the steps that must be done again, with constants taken out."""
    steps = []
    for step in block.steps:
        if isinstance(step.deed, Choice):
            chosen = values[step.deed.condition]
            if type(chosen) is not bool:
                step.run(values)  # which raises the error
            steps += _walk(step.deed.yes if chosen else step.deed.no, values, constants)
        elif isinstance(step.deed, Call):
            steps += _walk_call(step, step.deed, values, constants)
        else:
            step.run(values)
            steps.append(step)
    return steps


def _walk_call(step: Step, call: Call, values: Values, constants: dict[int, Any]) -> list[Step]:
    arguments = [values[place] for place in call.places]
    step.run(values)
    if isinstance(values[call.out], _SCALARS):
        constants[call.out] = values[call.out]
        return []
    return [_bare(step, call, arguments, values[call.out])]


def _bare(step: Step, call: Call, arguments: list[Any], result: Any) -> Step:
    """Return the step without checks, if torch's own function takes the arguments as they are."""
    raw = call.function.raw
    if raw is None or not arguments or type(arguments[0]) is not Tensor:
        return step
    try:
        again = raw(*arguments)
    except Exception:  # written in a way that only the checked function understands
        return step
    if type(again) is not type(result) or not isinstance(again, Tensor):
        return step
    if again.shape != result.shape or again.dtype != result.dtype:
        return step
    return Step(_bare_run(raw, call.places, call.out), step.reads, step.writes)


def _bare_run(raw: Callable[..., Any], places: Sequence[int], out: int) -> Run:
    if len(places) == 1:
        place = places[0]

        def run_one(values: Values) -> None:
            values[out] = raw(values[place])

        return run_one
    take = itemgetter(*places)

    def run(values: Values) -> None:
        values[out] = raw(*take(values))

    return run


def with_releases(steps: Sequence[Step], kept: frozenset[int]) -> tuple[Run, ...]:
    """Return the runs of top-level steps, each of which drops what nobody reads any more."""
    last: dict[int, int] = {}
    for number, step in enumerate(steps):
        for place in step.reads | step.writes:
            last[place] = number
    dying: dict[int, list[int]] = {}
    for place, number in last.items():
        if place not in kept:
            dying.setdefault(number, []).append(place)
    return tuple(_releasing(step.run, dying.get(n, [])) for n, step in enumerate(steps))


def _releasing(run: Run, places: list[int]) -> Run:
    if not places:
        return run
    if len(places) == 1:
        place = places[0]

        def run_and_drop(values: Values) -> None:
            run(values)
            values[place] = None

        return run_and_drop

    def run_and_drop_all(values: Values) -> None:
        run(values)
        for place in places:
            values[place] = None

    return run_and_drop_all
