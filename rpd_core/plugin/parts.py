"""The parts of observations that are dicts, and the order in which their numbers are joined."""

from __future__ import annotations


def order_of_parts(name: str) -> list[tuple[bool, int, str]]:
    """Return what parts are ordered by: their names, those of tuples by number (2 before 10)."""
    words = name.split(".")
    return [(False, int(word), "") if word.isdecimal() else (True, 0, word) for word in words]
