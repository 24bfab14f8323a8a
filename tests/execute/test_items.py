"""Work items and what becomes of them, in this process and in others."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import itemwork
import pytest
import worlds
from benchmarks import core_cost
from faults import (
    check_a_process_that_stops,
    check_memory_that_is_refused,
    check_memory_that_the_kernel_ends,
)
from lines import Does, always

from rpd_core.errors import EpisodeError, ExecutionError, SpecError
from rpd_core.execute.items import (
    RETRIES,
    as_rpd_error,
    can_be_shipped,
    perform,
    run_items,
)
from rpd_core.execute.local import LocalProcesses, ThisProcess
from rpd_core.plugin.protocols import Engine, Outcome, WorkItem, WorkQueue


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Engine]:
    """Open two workers for all tests here that do not kill them."""
    with LocalProcesses().open(2) as engine:
        yield engine


@pytest.fixture(params=["this process", "two workers"])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "two workers":
        found: Engine = request.getfixturevalue("two_workers")
        return found
    return ThisProcess()


def results(function: Callable[[Any], Any], arguments: list[Any], workers: int = 1) -> list[Any]:
    with LocalProcesses().open(workers) as engine:
        return results_of(engine, function, arguments)


def results_of(engine: Engine, function: Callable[[Any], Any], arguments: list[Any]) -> list[Any]:
    found: dict[str, Any] = {}
    items = [
        WorkItem(str(place), function, argument, f"item {argument}")
        for place, argument in enumerate(arguments)
    ]
    run_items(engine, items, lambda item, value: found.setdefault(item.identity, value))
    return [found[item.identity] for item in items]


def test_memory_that_runs_out_costs_its_item_only(two_workers: Engine, tmp_path: Path) -> None:
    check_memory_that_is_refused(two_workers, tmp_path)
    check_memory_that_the_kernel_ends(two_workers)


def test_a_process_that_is_stopped_is_noticed() -> None:
    with LocalProcesses(stall_timeout=1).open(2) as engine:
        check_a_process_that_stops(engine)


def test_one_worker_is_this_process() -> None:
    assert results(itemwork.double, [1, 2, 3]) == [2, 4, 6]
    assert set(results(itemwork.process_id, [1, 2])) == {os.getpid()}


def test_two_workers_are_other_processes_with_one_thread_each(two_workers: Engine) -> None:
    assert results_of(two_workers, itemwork.double, list(range(12))) == list(range(0, 24, 2))
    assert os.getpid() not in results_of(two_workers, itemwork.process_id, [1, 2, 3, 4])
    assert results_of(two_workers, itemwork.threads, [1]) == ["1"]


def test_an_error_of_the_work_is_passed_on(engine: Engine) -> None:
    with pytest.raises(ValueError, match="no 7"):
        results_of(engine, itemwork.refuse, [7])


def test_work_whose_process_died_is_done_again(tmp_path: Path) -> None:
    assert results(itemwork.die_once, [str(tmp_path / "marker")], workers=2) == ["survived"]


def test_work_that_always_kills_its_process_is_given_up() -> None:
    with pytest.raises(
        ExecutionError, match=rf"exit code 9 .*, {RETRIES + 1} times, while doing item 1$"
    ):
        results(itemwork.die, [1], workers=2)


def test_work_that_cannot_be_sent_is_explained() -> None:
    held = threading.Lock()
    with pytest.raises(ExecutionError, match=r"cannot be sent to other processes .*one worker"):
        results(lambda number: (held, number), [1], workers=2)


def test_a_function_without_a_name_is_sent_with_its_code() -> None:
    more = 40
    assert results(lambda number: number + more, [1, 2], workers=2) == [41, 42]


class Losing:
    """An engine that loses every item some times before it does it."""

    def __init__(self, losses: int) -> None:
        self.losses = losses
        self.attempts: list[tuple[str, int]] = []

    def execute(self, queue: WorkQueue) -> Iterator[Outcome]:
        while (item := queue.take()) is not None:
            item = pickle.loads(pickle.dumps(item))  # an item that has travelled is another object
            self.attempts.append((item.identity, item.attempt))
            if item.attempt < self.losses:
                yield Outcome(item.identity, lost=True)
            else:
                yield perform(item)


def test_lost_work_is_tried_again_a_few_times_and_handed_on_once() -> None:
    found: list[int] = []
    items = [WorkItem(str(number), itemwork.double, number) for number in (1, 2)]
    engine = Losing(RETRIES)
    run_items(engine, items, lambda item, value: found.append(value))
    assert sorted(found) == [2, 4]
    assert engine.attempts == [(name, attempt) for attempt in range(4) for name in "12"]
    with pytest.raises(ExecutionError, match=rf"process died, {RETRIES + 1} times"):
        run_items(Losing(RETRIES + 1), items, lambda item, value: None)


def test_retries_are_counted_for_each_item_by_its_identity() -> None:
    """Equal work under two names has all its retries twice."""
    found: list[int] = []
    items = [WorkItem(name, itemwork.double, 7) for name in ("a", "b", "c")]
    run_items(Losing(RETRIES), items, lambda item, value: found.append(value))
    assert found == [14, 14, 14]


def test_two_items_of_one_identity_are_refused_before_any_work() -> None:
    items = [WorkItem("same", itemwork.double, number) for number in (1, 2)]
    with pytest.raises(ExecutionError, match=r"^two items of work have the same identity$"):
        run_items(Losing(0), items, lambda item, value: None)


def test_recipes_with_functions_are_shipped_and_those_with_locks_are_not() -> None:
    assert can_be_shipped(worlds.Goes())
    assert can_be_shipped(Does(always(1)))
    assert not can_be_shipped(Does(threading.Lock().acquire))


def test_an_error_that_mentions_no_shipping_is_left_alone() -> None:
    def fails(number: int) -> int:
        raise EpisodeError("the environment raised X in step 3 of episode 4")

    with pytest.raises(EpisodeError, match="step 3 of episode 4"):
        results(fails, [1])


def test_an_error_that_speaks_of_pickles_is_not_one_of_shipping(engine: Engine) -> None:
    error = SpecError("a.pt is a bare pickle: save it again")
    assert as_rpd_error(error) is error
    with pytest.raises(pickle.PicklingError, match="Can't pickle the pear"):
        results_of(engine, itemwork.fail_to_pickle, [1])


def test_an_attempt_to_end_rpd_is_explained(engine: Engine) -> None:
    with pytest.raises(ExecutionError, match=r"wants to end rpd \(SystemExit: 3\)$"):
        results_of(engine, itemwork.leave, [3])


def test_an_error_that_cannot_be_pickled_is_told_by_its_text() -> None:
    with LocalProcesses().open(2) as engine:
        _check_told_by_text(engine)


def _check_told_by_text(engine: Engine) -> None:
    with pytest.raises(ExecutionError, match=r"^Peculiar: fault 4 in the cellar$"):
        results_of(engine, itemwork.fail_peculiarly, [4])
    with pytest.raises(ExecutionError, match=r"^Locked: no key for door 5$"):
        results_of(engine, itemwork.fail_with_a_lock, [5])


def test_the_core_keeps_up_with_many_workers_and_holds_only_what_is_under_way() -> None:
    """Twenty times as fast as is asked of it, so that a busy machine does not decide."""
    passed = core_cost.pass_items(20_000, workers=1_000)
    lost = 20_000 // core_cost.LOSES
    assert passed.most_alive <= 1_000 + lost + 1
    assert 20_000 / passed.seconds > 2_000


def test_items_are_made_when_they_are_taken() -> None:
    made: list[int] = []

    def items() -> Iterator[WorkItem]:
        for number in range(5):
            made.append(number)
            yield WorkItem(str(number), itemwork.double, number)

    seen: list[int] = []
    run_items(ThisProcess(), items(), lambda item, value: seen.append(len(made)))
    assert seen == [2, 3, 4, 5, 5], "the one that comes next, and no more"
