"""Executors that break the contract, each in one way: for testing what relies on executors."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

from rpd_core import perform
from rpd_core.plugin.protocols import Engine, Outcome, WorkItem, WorkQueue

Fault = Literal[
    "loses the last", "skips one", "repeats", "copies", "swaps", "drains once", "dies once",
    "dies always", "invents", "answers with anything",
]  # fmt: skip


@dataclass(frozen=True)
class Hostile:
    """Does all work in this process, but for one fault."""

    fault: Fault
    """What it does wrong."""

    @contextmanager
    def open(self, workers: int) -> Iterator[Engine]:
        """Open it for a run."""
        yield _HostileEngine(self.fault)


class _HostileEngine:
    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.died: set[str] = set()

    def execute(self, queue: WorkQueue) -> Iterator[Outcome]:
        """Yield outcomes, right ones and wrong ones."""
        if self.fault in ("loses the last", "skips one", "swaps", "drains once"):
            yield from self._all_at_once(queue)
            return
        while (item := queue.take()) is not None:
            yield from self._one(item)

    def _all_at_once(self, queue: WorkQueue) -> Iterator[Outcome]:
        items = []
        while (item := queue.take()) is not None:
            items.append(item)
        if self.fault == "loses the last":
            items = items[:-1]
        if self.fault == "skips one":
            items = items[:1] + items[2:]
        outcomes = [perform(one) for one in items]
        if self.fault == "swaps" and len(outcomes) > 1:
            first, second = outcomes[:2]
            outcomes[:2] = replace(first, value=second.value), replace(second, value=first.value)
        if self.fault == "drains once" and items and not self.died:
            self.died.add(items[0].identity)
            outcomes[0] = Outcome(items[0].identity, lost=True)
        yield from outcomes

    def _one(self, item: WorkItem) -> Iterator[Outcome]:
        if self.fault == "dies always" or (
            self.fault == "dies once" and item.identity not in self.died
        ):
            self.died.add(item.identity)
            yield Outcome(item.identity, lost=True)
            return
        if self.fault == "invents":
            yield replace(perform(item), identity=f"{item.identity}-or-so")
        if self.fault == "answers with anything":
            yield "done"  # type: ignore[misc]
            return
        outcome = perform(item)
        yield copy.deepcopy(outcome) if self.fault == "copies" else outcome
        if self.fault == "repeats":
            yield outcome
