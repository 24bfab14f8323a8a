"""Work items -> results: each comes back exactly once, and lost work is tried again."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

import cloudpickle

from rpd_core.errors import ExecutionError, RpdError, one_line
from rpd_core.plugin.protocols import Engine, Outcome, WorkItem
from rpd_core.plugin.specs import shortened

RETRIES = 3
"""How often work whose process died is tried again."""
_NAMED = 3
"""Items that a message names."""


class _Pending:
    """The queue that an engine takes from and lost work returns to.

    Items are made when they are taken, so that memory holds those under way and no others.
    """

    def __init__(self, items: Iterable[WorkItem]) -> None:
        self._fresh = iter(items)
        self._next: WorkItem | None = None
        self.expected: dict[str, WorkItem] = {}
        """Items that were taken and have not come back, by identity."""
        self.taken: set[str] = set()
        """Those of them that an engine has now."""
        self.lost: deque[WorkItem] = deque()
        """Those of them that are to be tried again."""
        self.finished = 0
        """Items that have come back."""
        self._advance()

    def __bool__(self) -> bool:
        return bool(self.expected) or self._next is not None

    def _advance(self) -> None:
        self._next = next(self._fresh, None)
        if self._next is not None and self._next.identity in self.expected:
            raise ExecutionError("two items of work have the same identity")

    def take(self) -> WorkItem | None:
        item = self._next
        if item is not None:
            self.expected[item.identity] = item
            self._advance()
        elif self.lost:
            item = self.lost.popleft()
        else:
            return None
        self.taken.add(item.identity)
        return item

    def left(self) -> Iterator[WorkItem]:
        """Yield all items that have not come back; nothing can be taken any more."""
        yield from self.expected.values()
        while self._next is not None:
            yield self._next
            self._next = next(self._fresh, None)

    def returned(self, outcome: object) -> WorkItem:
        """Return the item behind an outcome; refuse one that was not asked for, or came twice."""
        if not isinstance(outcome, Outcome):
            raise ExecutionError(
                f"the executor returned {shortened(repr(outcome))}, which is not an Outcome: use "
                "another executor"
            )
        item = self.expected.get(outcome.identity)
        if item is None or outcome.identity not in self.taken:
            raise ExecutionError(
                f"the executor returned {outcome.identity!r}, which it was not given or had "
                "returned before: its results cannot be relied on; use another executor"
            )
        self.taken.discard(outcome.identity)
        return item


Handle = Callable[[WorkItem, Any], None]
"""Takes an item of work and the value that it gave."""


def run_items(engine: Engine, items: Iterable[WorkItem], handle: Handle) -> None:
    """Run all items and hand each result on as it comes; raise if one does not come back.

    Items are asked for one at a time, shortly before an engine takes them.
    """
    pending = _Pending(items)
    tries: Counter[str] = Counter()
    while pending:
        before = pending.finished, sum(tries.values())
        with _listening(engine.execute(pending)) as outcomes:
            for outcome in outcomes:
                _receive(pending, outcome, tries, handle)
        if pending.taken or before == (pending.finished, sum(tries.values())):
            raise ExecutionError(_not_returned(pending))


def _receive(
    pending: _Pending,
    outcome: Outcome,
    tries: Counter[str],
    handle: Handle,
) -> None:
    item = pending.returned(outcome)
    outcome = _lost_where_memory_ran_out(outcome)
    if outcome.lost:
        tries[item.identity] += 1
        _give_up_after_retries(item, outcome, tries[item.identity])
        pending.lost.append(replace(item, attempt=tries[item.identity]))
        return
    if outcome.error is not None:
        raise as_rpd_error(outcome.error)
    del pending.expected[item.identity]
    pending.finished += 1
    handle(item, outcome.value)


def _lost_where_memory_ran_out(outcome: Outcome) -> Outcome:
    """Count work without enough memory as lost: later, or on another machine, there may be more."""
    if not isinstance(outcome.error, MemoryError):
        return outcome
    told = ExecutionError(f"the worker process ran out of memory ({one_line(outcome.error)})")
    return Outcome(outcome.identity, error=told, lost=True)


def _not_returned(pending: _Pending) -> str:
    left = pending.left()
    named = [item.label or item.identity for item in islice(left, _NAMED)]
    others = sum(1 for _ in left)
    more = f" and {others} more" if others else ""
    return (
        f"the executor ended without {', '.join(named)}{more}: what came back is stored; "
        "run the same command again, maybe with another --executor"
    )


@contextmanager
def _listening(outcomes: Iterator[Outcome]) -> Iterator[Iterator[Outcome]]:
    """Close the outcomes when nobody listens any more, so that the engine ends its work."""
    try:
        yield outcomes
    finally:
        if isinstance(outcomes, Generator):
            outcomes.close()


def _give_up_after_retries(item: WorkItem, outcome: Outcome, tries: int) -> None:
    if tries > RETRIES:
        how = outcome.error or "the worker process died"
        raise ExecutionError(f"{how}, {tries} times, while doing {item.label or item.identity}")


def as_rpd_error(error: BaseException) -> BaseException:
    """Explain errors of shipping work and attempts to end rpd; return all others as they are."""
    if isinstance(error, RpdError):
        return error
    if isinstance(error, SystemExit | KeyboardInterrupt):
        return ExecutionError(f"the policy or the environment wants to end rpd ({one_line(error)})")
    if isinstance(error, CannotShip):
        return ExecutionError(
            f"the work cannot be sent to other processes ({error}): use one worker, or name your "
            "function as python:module:attribute"
        )
    return error


class CannotShip(Exception):
    """Raised by an engine whose item cannot be pickled."""


def packed(item: WorkItem) -> bytes:
    """Return an item as bytes, or raise `CannotShip`.

    Functions and classes of a script or a notebook travel with their code: a worker process could
    not import them.
    """
    try:
        content: bytes = cloudpickle.dumps(item)
        return content
    except Exception as error:  # whatever a stranger's object raises while it is pickled
        raise CannotShip(one_line(error)) from error


def can_be_shipped(thing: object) -> bool:
    """Return whether something can be sent to another process."""
    try:
        cloudpickle.dumps(thing)
    except Exception:
        return False
    return True
