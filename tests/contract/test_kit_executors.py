"""Executors with one fault each, which the kit must find, and the one that has none."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import get_args

import pytest

from rpd_core.execute.items import perform
from rpd_core.execute.local import LocalProcesses, ThisProcess
from rpd_core.execute.processes import LocalWorkers
from rpd_core.plugin.protocols import Outcome, WorkQueue
from rpd_kit import check_recipe
from rpd_kit import executors as runners
from rpd_kit.hostile import Fault, Hostile

HARMLESS = {"copies"}
"""What only looks like a fault."""


@pytest.mark.parametrize("workers", [1, 2])
def test_the_local_executor_passes(monkeypatch, workers):
    monkeypatch.setattr(runners, "WORKERS", (workers,))
    assert check_recipe("executor", LocalProcesses()) == []


@pytest.mark.parametrize("fault", get_args(Fault))
def test_the_kit_finds_every_hostile_executor(fault):
    assert bool(check_recipe("executor", Hostile(fault))) == (fault not in HARMLESS)


@dataclass(frozen=True)
class Faulty:
    """An executor in this process, or in others, that deals with a queue in a way of its own."""

    behaviour: Callable[..., Iterator[Outcome]]
    processes: bool = False

    @contextmanager
    def open(self, workers):
        processes = LocalWorkers(workers)
        try:
            yield Engine(self.behaviour, processes if self.processes else ThisProcess())
        finally:
            processes.dismiss()


@dataclass(frozen=True)
class Engine:
    behaviour: Callable[..., Iterator[Outcome]]
    inner: ThisProcess | LocalWorkers

    def execute(self, queue: WorkQueue) -> Iterator[Outcome]:
        return self.behaviour(self.inner, queue)


def taken(queue: WorkQueue) -> list:
    """Return all that a queue gives until it says None."""
    return list(iter(queue.take, None))


def drain_once(inner, queue):
    for item in taken(queue):
        yield perform(item)


def lose_the_last_that_is_late(inner, queue):
    for _ in range(2):
        for item in taken(queue):
            yield perform(item)


def repeat(inner, queue):
    for outcome in inner.execute(queue):
        yield outcome
        yield outcome


def repeat_forever(inner, queue):
    for outcome in inner.execute(queue):
        while True:
            yield outcome


def swap_values(inner, queue):
    last = None
    for outcome in inner.execute(queue):
        yield replace(outcome, value=last or outcome.value)
        last = outcome.value


def call_failures_lost(inner, queue):
    for outcome in inner.execute(queue):
        yield Outcome(outcome.identity, lost=True) if outcome.error is not None else outcome


def keep_failures(inner, queue):
    for outcome in inner.execute(queue):
        if outcome.error is None:
            yield outcome


def stop_at_a_failure(inner, queue):
    for outcome in inner.execute(queue):
        yield outcome
        if outcome.error is not None:
            return


def call_lost_items_failed(inner, queue):
    for outcome in inner.execute(queue):
        yield replace(outcome, lost=False)


def take_elsewhere(inner, queue):
    items: list = []
    while True:
        thread = threading.Thread(target=lambda: items.append(queue.take()))
        thread.start()
        thread.join()
        if (item := items.pop()) is None:
            return
        yield perform(item)


@pytest.mark.parametrize(
    ("behaviour", "fault"),
    [
        (drain_once, "lost the item square of 100, which came late"),
        (lose_the_last_that_is_late, "lost the item square of 200, which came late"),
        (repeat, "returned the item square of 1 2 times"),
        (repeat_forever, "returned the item square of 1 50 times"),
        (swap_values, "gave 1 for square of 2"),
        (call_failures_lost, "called a failing item lost; lost means that the worker died"),
        (keep_failures, "did not bring the error of a failing item back in its outcome"),
        (stop_at_a_failure, "did not go on after an item that failed"),
        (take_elsewhere, "takes work in another thread than the one that asks for outcomes"),
    ],
)
def test_the_kit_finds_the_fault_of_an_executor(behaviour, fault):
    faults = check_recipe("executor", Faulty(behaviour))
    assert any(fault in found for found in faults), faults


def test_an_item_whose_worker_died_must_be_called_lost():
    (fault,) = check_recipe("executor", Faulty(call_lost_items_failed, processes=True))
    assert fault.startswith("did not report an item whose worker died as lost")


def test_an_executor_that_hangs_on_a_dead_worker_is_given_up(monkeypatch):
    released = threading.Event()
    monkeypatch.setitem(globals(), "RELEASED", released)
    monkeypatch.setattr(runners, "PATIENCE", 6.0)
    monkeypatch.setattr(runners, "WORKERS", (2,))
    try:
        (fault,) = check_recipe("executor", Faulty(hang_on_a_dead_worker, processes=True))
    finally:
        released.set()
    assert fault.startswith("did not come back within 6 seconds after a worker died")


RELEASED = threading.Event()


def hang_on_a_dead_worker(inner, queue):
    for outcome in inner.execute(queue):
        if outcome.lost:
            RELEASED.wait(300)
        yield outcome


@dataclass(frozen=True)
class Closed:
    @contextmanager
    def open(self, workers):
        raise KeyError("no address")
        yield


def test_an_executor_that_cannot_be_opened_is_a_fault():
    assert check_recipe("executor", Closed()) == ["raised KeyError: 'no address'"]
