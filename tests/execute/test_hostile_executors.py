"""Executors that break the contract: each fault is found, or does no harm."""

from __future__ import annotations

from typing import Any, get_args

import itemwork
import pytest

from rpd_core.errors import ExecutionError
from rpd_core.execute.items import RETRIES, perform, run_items
from rpd_core.plugin.protocols import WorkItem
from rpd_kit.hostile import Fault, Hostile

NOT_RELIABLE = "its results cannot be relied on; use another executor"
NOT_GIVEN = f"which it was not given or had returned before: {NOT_RELIABLE}"
TRY_AGAIN = "what came back is stored; run the same command again, maybe with another --executor"


def doubled(fault: Fault, count: int = 5) -> dict[str, Any]:
    """Return what comes back from a hostile executor, in spite of what it raises."""
    found: dict[str, Any] = {}
    items = [WorkItem(f"run/{n}", itemwork.double, n, f"episodes {n}") for n in range(count)]

    def handle(item: WorkItem, value: Any) -> None:
        assert item.identity not in found, "handed on twice"
        found[item.identity] = value

    with Hostile(fault).open(1) as engine:
        try:
            run_items(engine, items, handle)
        finally:
            assert all(found[name] == 2 * int(name[4:]) for name in found), "a wrong result"
    return found


@pytest.mark.parametrize("fault", ["copies", "drains once", "dies once"])
def test_what_the_contract_permits_or_a_retry_mends_gives_every_result(fault: Fault) -> None:
    assert doubled(fault) == {f"run/{n}": 2 * n for n in range(5)}


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("loses the last", f"the executor ended without episodes 4: {TRY_AGAIN}"),
        ("skips one", f"the executor ended without episodes 1: {TRY_AGAIN}"),
        ("repeats", f"the executor returned 'run/0', {NOT_GIVEN}"),
        ("invents", f"the executor returned 'run/0-or-so', {NOT_GIVEN}"),
        (
            "answers with anything",
            "the executor returned 'done', which is not an Outcome: use another executor",
        ),
        (
            "dies always",
            f"the worker process died, {RETRIES + 1} times, while doing episodes 0",
        ),
    ],
)
def test_a_broken_contract_is_one_line(fault: Fault, message: str) -> None:
    with pytest.raises(ExecutionError) as caught:
        doubled(fault)
    assert str(caught.value) == message


def test_every_fault_is_tried_here() -> None:
    tried = {
        "copies", "drains once", "dies once", "loses the last", "skips one", "repeats", "invents",
        "swaps", "answers with anything", "dies always",
    }  # fmt: skip
    assert set(get_args(Fault)) == tried


def test_values_that_are_exchanged_are_for_whoever_stores_them_to_refuse() -> None:
    """An engine that yields outcomes as they came cannot exchange them; parts know their range."""
    with pytest.raises(AssertionError, match="a wrong result"):
        doubled("swaps")


def test_of_many_that_are_lost_three_are_named() -> None:
    class Idle:
        def execute(self, queue: Any) -> Any:
            while queue.take() is not None:
                pass
            return iter(())

    items = [WorkItem(f"run/{n}", itemwork.double, n, f"episodes {n}") for n in range(5)]
    with pytest.raises(ExecutionError) as caught:
        run_items(Idle(), items, lambda item, value: None)
    assert str(caught.value) == (
        f"the executor ended without episodes 0, episodes 1, episodes 2 and 2 more: {TRY_AGAIN}"
    )


def test_an_executor_that_takes_nothing_is_not_asked_for_ever() -> None:
    class Deaf:
        def execute(self, queue: Any) -> Any:
            return iter(())

    with pytest.raises(ExecutionError, match=r"^the executor ended without episodes 0: "):
        run_items(Deaf(), [WorkItem("a", itemwork.double, 1, "episodes 0")], lambda *told: None)


def test_what_is_not_an_outcome_at_all_is_one_line() -> None:
    class Plain:
        def execute(self, queue: Any) -> Any:
            yield perform(queue.take()).value

    with pytest.raises(ExecutionError) as caught:
        run_items(Plain(), [WorkItem("a", itemwork.double, 1)], lambda item, value: None)
    assert str(caught.value) == (
        "the executor returned 2, which is not an Outcome: use another executor"
    )
