"""Numbers and values in words that people can read: rounded, told apart, in order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from rpd_core.plugin.protocols.abstraction import Entry
from rpd_core.plugin.protocols.arrays import Array

_SHOWN = 12  # numbers of a value that are shown
_EASY = 3  # significant digits that are always easy to read
_EXACT = 17  # significant digits that tell any two floats apart
_NEAR = 0.1  # share of the distance to the next cut by which a shown cut may be off
_ALONE = 0.005  # share of itself by which the only cut may be off: it has three digits
_WHOLE = 10**6  # numbers below this are shown without an exponent
_SMALL = 10  # numbers below this are not rounded to whole ones
_DECIMALS = 15
"""Decimals of a number, at most; those asked for stand in a file that anyone may have written."""


def cut_texts(cuts: Sequence[float]) -> tuple[str, ...]:
    """Return ascending cuts in the fewest digits at which neighbours clearly differ."""
    # A cut that three digits hold is written as it is; any other is off by less than a tenth of its
    # distance to a neighbour, and of itself, so that different cuts have different texts, and is
    # not made a small whole number.
    return _cut_texts(tuple(float(cut) + 0.0 for cut in cuts))  # + 0.0 turns -0.0 into 0.0


@lru_cache(maxsize=1024)
def _cut_texts(numbers: tuple[float, ...]) -> tuple[str, ...]:
    if len(numbers) == 1:
        return (_rounded(numbers[0], _ALONE * abs(numbers[0])),)
    gaps = [high - low for low, high in pairwise(numbers)]
    return tuple(
        _rounded(number, _NEAR * min([abs(number), *gaps[max(place - 1, 0) : place + 1]]))
        for place, number in enumerate(numbers)
    )


def _rounded(number: float, tolerance: float) -> str:
    text = f"{number:.{_EASY}g}"
    if float(text) == number and abs(number) < _WHOLE:
        return text if abs(number) < 1 else f"{number:g}"
    fewest = len(str(int(abs(number)))) if abs(number) < _WHOLE else 1
    for digits in range(fewest, _EXACT):
        text = f"{number:.{digits}g}"
        shown = float(text)
        # 0.9998 is not 1: a cosine below 1 would say nothing
        vacuous = shown.is_integer() and abs(number) < _SMALL
        if abs(shown - number) < tolerance and not vacuous:
            return text
    return repr(number)


def interval_words(name: str, low: str, high: str) -> str:
    """Return between which cuts an entry lies; an empty cut asks nothing."""
    if low and high:
        return f"{low} <= {name} < {high}"
    return f"{name} < {high}" if high else f"{name} >= {low}" if low else f"{name} anything"


def bin_words(entry: Entry, place: int) -> str:
    texts = ("", *(f"{one}{entry.unit}" for one in edge_texts(entry)), "")
    place = min(max(place, 0), len(entry.edges))
    return interval_words(entry.name, texts[place], texts[place + 1])


def edge_texts(entry: Entry) -> tuple[str, ...]:
    return cut_texts([edge * entry.factor for edge in entry.edges])


def value_words(value: Array, entries: Sequence[Entry] = ()) -> str:
    """Return an abstract state entry by entry, or as plain numbers where names add nothing."""
    flat = value.ravel()
    shown = flat[:_SHOWN]
    unnamed = all(entry == Entry(f"x{place}") for place, entry in enumerate(entries))
    if len(entries) == len(flat) and not unnamed:
        texts = [_entry_words(*pair) for pair in zip(entries, shown, strict=False)]
    else:
        texts = [_number_text(number) for number in shown]
    if len(flat) <= _SHOWN:
        return ", ".join(texts)
    return f"{', '.join(texts)}, ... ({len(flat)} numbers, {digest_of(value)})"


def digest_of(value: Array) -> str:
    """Return a few letters that tell a value apart which is too long to be shown."""
    return hashlib.blake2b(value.tobytes(), digest_size=4).hexdigest()


def _entry_words(entry: Entry, value: Any) -> str:
    if entry.edges:
        return bin_words(entry, int(value))
    if entry.digits is not None:
        number = f"{value * entry.factor:.{min(max(entry.digits, 0), _DECIMALS)}f}"
    else:
        number = _number_text(value if entry.factor == 1 else type(value)(value * entry.factor))
    return f"{entry.name} {number}{entry.unit}"


def _number_text(number: Any) -> str:
    """Return a NumPy number in the fewest digits that no other number of its type has."""
    if number.dtype.kind != "f":
        return str(int(number))
    short = f"{number:g}"
    return short if type(number)(short) == number else str(number)


def order_of_parts(name: str) -> list[tuple[bool, int, str]]:
    """Return what parts are ordered by: their names, those of tuples by number (2 before 10)."""
    words = name.split(".")
    return [(False, int(word), "") if word.isdecimal() else (True, 0, word) for word in words]
