"""Checks of executors."""

from __future__ import annotations

from collections.abc import Iterator

from rpd_core.execute.work import Executor, Outcome, WorkItem


def square(number: int) -> int:
    """Give the square; negative numbers raise."""
    if number < 0:
        raise ValueError(f"no square of {number} today")
    return number * number


class _Growing:
    """A queue that gets one more item when all others were taken."""

    def __init__(self, numbers: list[int]) -> None:
        self.items = [WorkItem(square, number, str(number)) for number in numbers]
        self.grown = False

    def take(self) -> WorkItem | None:
        if self.items:
            return self.items.pop(0)
        if not self.grown:
            self.grown = True
            return WorkItem(square, 100, "late")
        return None


def check_executor(executor: Executor) -> Iterator[str]:
    """Check that every item comes back once, failures as outcomes, late items too."""
    outcomes = list(executor.execute(_Growing([1, 2, 3, -1]), workers=1))
    values = sorted(outcome.value for outcome in outcomes if outcome.error is None)
    if values != [1, 4, 9, 10000]:
        yield f"gave the results {values} for the squares of 1, 2, 3 and a late 100"
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    yield from _check_failures(failed)


def _check_failures(failed: list[Outcome]) -> Iterator[str]:
    if len(failed) != 1 or not isinstance(failed[0].error, ValueError):
        yield "did not give the error of a failing item as its outcome"
    elif failed[0].lost:
        yield "called a failing item lost; lost means that the worker died"
