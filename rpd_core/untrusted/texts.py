"""JSON from strangers: how much it will take is known before it is parsed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from rpd_core.untrusted.boundary import Flaw
from rpd_core.untrusted.budget import ITEM, Budget

Table = Callable[[list[tuple[str, Any]]], Any]
_DEEPEST = 100
"""Lists and tables inside one another."""
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""Also one that does not end: nothing is looked at twice."""
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_BEFORE_VALUES = b",", b":", b"[", b"{"
"""What stands before every value but the first; inside texts it counts as well."""


def read_json(content: bytes, budget: Budget, table: Table | None = None) -> Any:
    """Return the value of a JSON text in UTF-8; every value in it is charged to the budget.

    `table` makes a table of its names and values, where Python's own is not wanted.
    """
    budget.take_made(len(content) + ITEM * sum(map(content.count, _BEFORE_VALUES)))
    if _is_too_deep(content):
        raise Flaw("its JSON is nested too deeply: refused")
    return json.loads(content.decode(), object_pairs_hook=table)


def _is_too_deep(content: bytes) -> bool:
    """Take away pairs of brackets with nothing between them, as often as there may be levels."""
    left = _TEXT.sub(b"", content).translate(None, _NO_BRACKETS)
    for _ in range(_DEEPEST):
        rest = left.replace(b"[]", b"").replace(b"{}", b"")
        if rest == left:  # nothing is left, or what was never closed
            return left.count(b"[") + left.count(b"{") > _DEEPEST
        left = rest
    return len(left) > 0
