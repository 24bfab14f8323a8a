"""Pickles read without running anything of theirs.

Every name that a pickle asks for is looked up in a table of exact names, and what stands there is
code of rpd: holders that keep what they are given, and readers of plain numbers. No function of
NumPy, Gymnasium, torch or stable-baselines3 is ever handed to a pickle.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any, BinaryIO, ClassVar

from rpd_core.errors import one_line
from rpd_core.untrusted.boundary import Budget, Flaw, Refused, printable
from rpd_core.untrusted.machine import AllowedNames, Fillable, Machine

_DEEPEST = 128
_MOST_PARTS = 1_000_000
LARGEST_PICKLE = 2**25
"""Bytes of a pickle: what it builds takes many times its size in memory."""


class Holder(Fillable):
    """Keeps the state of a pickled object and does nothing with it."""

    __slots__ = ("state",)
    kind: ClassVar[str] = ""

    def __init__(self, *args: Any) -> None:
        self.state: dict[str, Any] = {}

    def fill(self, state: Any) -> None:
        """Keep the attributes; a pair holds those of `__dict__` and those of slots."""
        both = state if isinstance(state, tuple) and len(state) == 2 else (state,)
        for part in both:
            if isinstance(part, dict):
                self.state |= part

    @classmethod
    def of(cls, kind: str) -> type[Holder]:
        return type(kind, (cls,), {"kind": kind, "__slots__": ()})


class Draft(Fillable):
    """Something in the making, which its finished value replaces in the end."""

    __slots__ = ()

    def finished(self) -> Any:
        raise NotImplementedError


def read_pickle(source: bytes | BinaryIO, names: AllowedNames, budget: Budget) -> Any:
    """Return what a pickle holds, or raise `Refused` with the name of what it wanted."""
    # Of a stream, the pickle at its position is read, and no more.
    stream = io.BytesIO(source) if isinstance(source, bytes) else source
    if isinstance(source, bytes) and len(source) > LARGEST_PICKLE:
        raise Refused(f"it is a pickle of {len(source):,} bytes, more than {LARGEST_PICKLE:,}")
    try:
        loaded = Machine(names, budget).run(stream)
        return _Finisher().finish(loaded, 0)[0]
    except Refused:
        raise
    except Flaw as error:  # of the budget
        raise Refused(str(error)) from error
    except Exception as error:  # a damaged pickle may fail in any way
        raise Refused(f"it cannot be read ({printable(one_line(error), 200)})") from error


class _Finisher:
    """Puts finished values in the place of drafts, at all depths, each part once."""

    def __init__(self) -> None:
        self.done: dict[int, tuple[Any, int]] = {}

    def finish(self, value: Any, depth: int) -> tuple[Any, int]:
        """Return the finished value and the number of its parts, shared ones counted each time."""
        # Lists of the same list of the same list are small in the file and endless for a reader.
        known = self.done.get(id(value))
        if known is not None:
            return known
        if depth > _DEEPEST:
            raise Refused("it is nested too deeply")
        made, parts = self._finished(value, depth + 1)
        if parts > _MOST_PARTS:
            raise Refused(f"it has more than {_MOST_PARTS:,} parts")
        self.done[id(value)] = made, parts
        return made, parts

    def _finished(self, value: Any, depth: int) -> tuple[Any, int]:
        if isinstance(value, Draft):
            return value.finished(), 1
        if isinstance(value, Holder):
            value.state, parts = self.finish(value.state, depth)
            return value, parts
        if isinstance(value, dict):
            items = {key: self.finish(item, depth) for key, item in value.items()}
            return {k: made for k, (made, _) in items.items()}, _total(items.values())
        if isinstance(value, list | tuple):
            rows = [self.finish(item, depth) for item in value]
            return type(value)(made for made, _ in rows), _total(rows)
        return value, 1


def _total(finished: Iterable[tuple[Any, int]]) -> int:
    return 1 + sum(parts for _, parts in finished)
