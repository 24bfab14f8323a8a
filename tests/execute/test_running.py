"""Work items and what becomes of them, in this process and in others."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import errands
import pytest
import worlds
from lines import Does, always

from rpd_core.errors import EpisodeError, ExecutionError, SpecError
from rpd_core.execute.local import (
    RETRIES,
    LocalProcesses,
    as_rpd_error,
    can_be_shipped,
    run_items,
)
from rpd_core.plugin.protocols import Outcome, WorkItem


def results(function: Callable[[Any], Any], arguments: list[Any], workers: int = 1) -> list[Any]:
    found: list[tuple[int, Any]] = []
    items = [WorkItem(function, argument, f"item {argument}") for argument in arguments]
    run_items(
        LocalProcesses(),
        workers,
        items,
        lambda item, value: found.append((items.index(item), value)),
    )
    return [value for _, value in sorted(found)]


def test_one_worker_is_this_process() -> None:
    assert results(errands.double, [1, 2, 3]) == [2, 4, 6]
    assert set(results(errands.process_id, [1, 2])) == {os.getpid()}


def test_two_workers_are_other_processes_with_one_thread_each() -> None:
    assert results(errands.double, list(range(12)), workers=2) == list(range(0, 24, 2))
    assert os.getpid() not in results(errands.process_id, [1, 2, 3, 4], workers=2)
    assert results(errands.threads, [1], workers=2) == ["1"]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_the_work_is_passed_on(workers: int) -> None:
    with pytest.raises(ValueError, match="no 7"):
        results(errands.refuse, [7], workers)


def test_work_whose_process_died_is_done_again(tmp_path: Path) -> None:
    assert results(errands.die_once, [str(tmp_path / "marker")], workers=2) == ["survived"]


def test_work_that_always_kills_its_process_is_given_up() -> None:
    with pytest.raises(
        ExecutionError, match=rf"exit code 9 .*, {RETRIES + 1} times, while doing item 1$"
    ):
        results(errands.die, [1], workers=2)


def test_work_that_cannot_be_sent_is_explained() -> None:
    with pytest.raises(ExecutionError, match=r"cannot be sent to other processes .*one worker"):
        results(lambda number: number, [1], workers=2)


class Losing:
    """An executor that loses every item some times before it does it."""

    def __init__(self, losses: int) -> None:
        self.losses = losses
        self.seen: dict[int, int] = {}

    def execute(self, queue: Any, workers: int) -> Any:
        while (item := queue.take()) is not None:
            self.seen[item.argument] = self.seen.get(item.argument, 0) + 1
            if self.seen[item.argument] <= self.losses:
                yield Outcome(item, lost=True)
            else:
                yield Outcome(item, value=item.function(item.argument))


def test_lost_work_is_tried_again_a_few_times_and_handed_on_once() -> None:
    found: list[int] = []
    items = [WorkItem(errands.double, number) for number in (1, 2)]
    run_items(Losing(RETRIES), 1, items, lambda item, value: found.append(value))
    assert sorted(found) == [2, 4]
    with pytest.raises(ExecutionError, match=rf"process died, {RETRIES + 1} times"):
        run_items(Losing(RETRIES + 1), 1, items, lambda item, value: None)


def test_recipes_with_functions_are_not_shipped() -> None:
    assert can_be_shipped(worlds.Goes())
    assert not can_be_shipped(Does(always(1)))


def test_an_error_that_mentions_no_shipping_is_left_alone() -> None:
    def fails(number: int) -> int:
        raise EpisodeError("the environment raised X in step 3 of episode 4")

    with pytest.raises(EpisodeError, match="step 3 of episode 4"):
        results(fails, [1])


def test_an_error_of_ours_that_speaks_of_pickles_stays_as_it_is() -> None:
    error = SpecError("a.pt is a bare pickle: save it again")
    assert as_rpd_error(error) is error
