"""What code is compiled to: a flat list of steps over a list of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from rpd_torchscript.functions.function import Function
from rpd_torchscript.limits import Fault
from rpd_torchscript.values import kind_of

Values = list[Any]
"""All values of one call; the first is its meter."""
Run = Callable[[Values], None]


@dataclass(frozen=True)
class Call:
    """What a step calls, if it is one plain call."""

    function: Function
    places: tuple[int, ...]
    out: int


@dataclass(frozen=True)
class Choice:
    """What a step chooses from, if it is a branch."""

    condition: int
    yes: Block
    no: Block


@dataclass(frozen=True)
class Step:
    """One deed, which values it reads and which it makes."""

    run: Run
    reads: frozenset[int]
    writes: frozenset[int]
    deed: Call | Choice | None = None


@dataclass
class Block:
    """Steps that are done one after the other."""

    steps: list[Step] = field(default_factory=list)
    nodes: int = 0
    """Nodes of code behind the steps."""

    def add(
        self,
        run: Run,
        reads: Iterable[int],
        writes: Iterable[int],
        deed: Call | Choice | None = None,
    ) -> None:
        """Add a step."""
        self.steps.append(Step(run, frozenset(reads), frozenset(writes), deed))

    def runs(self) -> list[Run]:
        """Return what the steps do."""
        return [step.run for step in self.steps]

    @property
    def reads(self) -> frozenset[int]:
        """All values that the steps read."""
        return frozenset().union(*(step.reads for step in self.steps))

    @property
    def writes(self) -> frozenset[int]:
        """All values that the steps make."""
        return frozenset().union(*(step.writes for step in self.steps))


def call(function: Callable[..., Any], places: Sequence[int], out: int) -> Run:
    """Return a step that calls a function of the table with its meter and some values."""
    if not places:

        def run_plain(values: Values) -> None:
            values[out] = function(values[0])

        return run_plain
    take = itemgetter(0, *places)

    def run(values: Values) -> None:
        values[out] = function(*take(values))

    return run


def call_named(
    function: Callable[..., Any], places: Sequence[int], named: dict[str, int], out: int
) -> Run:
    """Return a step that also passes values by name."""
    take = itemgetter(0, 0, *places)

    def run(values: Values) -> None:
        options = {name: values[place] for name, place in named.items()}
        values[out] = function(*take(values)[1:], **options)

    return run


def unpack(source: int, outs: Sequence[int]) -> Run:
    """Return a step that spreads a tuple or a list over several values."""

    def run(values: Values) -> None:
        items = values[source]
        if not isinstance(items, tuple | list) or len(items) != len(outs):
            raise Fault(f"{len(outs)} values are needed where the code has {kind_of(items)}")
        for out, item in zip(outs, items, strict=True):
            values[out] = item

    return run


def copy(sources: Sequence[int], outs: Sequence[int]) -> Run:
    """Return a step that copies all values at once, so that two may change places."""
    if len(sources) == 1:
        source, out = sources[0], outs[0]

        def run_one(values: Values) -> None:
            values[out] = values[source]

        return run_one

    def run(values: Values) -> None:
        for out, item in zip(outs, [values[source] for source in sources], strict=True):
            values[out] = item

    return run


def choose(condition: int, yes: Block, no: Block) -> Run:
    """Return a step that does one of two blocks."""
    ways = {True: yes.runs(), False: no.runs()}

    def run(values: Values) -> None:
        chosen = values[condition]
        if type(chosen) is not bool:
            raise Fault(f"a condition is {kind_of(chosen)}, not true or false")
        for step in ways[chosen]:
            step(values)

    return run


def count_loop(times: int, index: int, body: Block) -> Run:
    """Return a step that does a block for every whole number below a limit."""
    steps, cost = body.runs(), body.nodes + 1

    def run(values: Values) -> None:
        limit, meter = values[times], values[0]
        if type(limit) is not int:
            raise Fault(f"a loop runs {kind_of(limit)} times")
        for number in range(limit):
            meter.stepped(cost)
            values[index] = number
            for step in steps:
                step(values)

    return run


def while_loop(condition: int, body: Block) -> Run:
    """Return a step that does a block as long as a condition holds."""
    steps, cost = body.runs(), body.nodes + 1

    def run(values: Values) -> None:
        meter = values[0]
        while True:
            again = values[condition]
            if type(again) is not bool:
                raise Fault(f"a condition is {kind_of(again)}, not true or false")
            if not again:
                return
            meter.stepped(cost)
            for step in steps:
                step(values)

    return run
