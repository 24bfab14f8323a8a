"""What rules ask about, and rules in words: joined bounds in units, as a person would say them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpd_basics.batches import Array
from rpd_basics.decimals import short
from rpd_basics.entry_names import is_text
from rpd_basics.tree_nodes import Box
from rpd_core.errors import SpecError
from rpd_core.plugin.protocols import Entry, Facts
from rpd_core.plugin.wording import interval_words

_DECIMALS = 9
"""Decimals that are written without an exponent."""


@dataclass(frozen=True)
class Column:
    """Something that rules may ask about, and how it is spoken of."""

    name: str
    unit: str = ""
    factor: float = 1.0
    """What its numbers are multiplied by before a rule asks about them."""
    whole: bool = False
    """Whether it only has whole numbers."""
    words: tuple[str, ...] = ()
    """What is said where it is 0, 1 and so on; empty where it never is."""
    ends: tuple[float, ...] = ()
    """The least and the largest of whole numbers."""

    @classmethod
    def of(cls, entry: Entry, numbers: Array) -> Column:
        """Return how an entry is spoken of that has such numbers."""
        whole = bool((np.rint(numbers) == numbers).all()) and entry.factor == 1
        words = entry.words
        if whole and not words and np.isin(numbers, (0, 1)).all():
            words = (f"{entry.name} = 0{entry.unit}", f"{entry.name} = 1{entry.unit}")
        if not whole or not np.isin(numbers, range(len(words))).all():
            words = ()
        seen = set(np.unique(numbers).tolist()) if words else set()
        said = tuple(word if value in seen else "" for value, word in enumerate(words))
        ends = (float(numbers.min()), float(numbers.max())) if whole else ()
        return cls(entry.name, entry.unit, float(entry.factor), whole, said, ends)

    @classmethod
    def restored(cls, stored: Any) -> Column:
        """Return a stored column, or refuse one that this program never wrote."""
        kinds = (str, str, float, bool, tuple, tuple)
        good = type(stored) is tuple and tuple(map(type, stored)) == kinds
        if not good or not stored[0] or not _are_texts((*stored[:2], *stored[4])):
            raise SpecError(f"rules: what was learned is no entry: {stored!r:.80}")
        if not 0 < stored[2] < math.inf or any(type(end) is not float for end in stored[5]):
            raise SpecError(f"rules: an entry cannot have such numbers: {stored!r:.80}")
        return cls(*stored)

    def tell(self, low: float, high: float) -> str:
        """Return what it means to be at least `low` and below `high`."""
        inside = [word for value, word in enumerate(self.words) if word and low <= value < high]
        if inside:
            return self._either(inside)
        if not self.whole:
            return interval_words(self.name, self._text(low), self._text(high))
        last = high - 1
        if self.ends:
            low, last = max(low, self.ends[0]), min(last, self.ends[-1])
        if low == last:
            return f"{self.name} = {self._text(low)}"
        if last in (math.inf, *self.ends[1:]):
            return f"{self.name} >= {self._text(low)}"
        least = "" if low in (-math.inf, *self.ends[:1]) else f"{self._text(low)} <= "
        return f"{least}{self.name} <= {self._text(last)}"

    def _either(self, inside: list[str]) -> str:
        """Return that one of some words holds; that another does not, where that is shorter."""
        outside = [word for word in self.words if word and word not in inside]
        if len(outside) == 1 < len(inside):
            return f"not {outside[0]}"
        return inside[0] if len(inside) == 1 else f"({' or '.join(inside)})"

    def _text(self, number: float) -> str:
        if not math.isfinite(number):
            return ""
        plain = f"{number + 0.0:.{_DECIMALS}f}".rstrip("0").rstrip(".")
        return f"{plain if float(plain) == number else short(number)}{self.unit}"


@dataclass(frozen=True)
class Questions:
    """What rules over vectors of some length may ask about: entries, then angles."""

    columns: tuple[Column, ...]
    angles: tuple[tuple[int, int], ...]
    """Entries that hold cosine and sine of each angle."""

    @classmethod
    def about(cls, facts: Facts, vectors: Array) -> Questions:
        """Return what can be asked about vectors like these."""
        entries = _entries_of(facts, vectors.shape[1])
        places = {entry.name: place for place, entry in enumerate(entries)}
        turns = [
            one for one in facts.entries if set(one.angle_of) and set(one.angle_of) <= set(places)
        ]
        pairs = [(places[one.angle_of[0]], places[one.angle_of[1]]) for one in turns]
        plain = [Column.of(entry, column) for entry, column in zip(entries, vectors.T, strict=True)]
        angles = [Column(one.name, one.unit, float(one.factor)) for one in turns]
        return cls((*plain, *angles), tuple(pairs))

    @property
    def length(self) -> int:
        """Numbers in a vector."""
        return len(self.columns) - len(self.angles)

    def open(self) -> Array:
        """Return which may be asked about: an angle stands for its cosine and its sine."""
        hidden = {place for pair in self.angles for place in pair}
        return np.array([place not in hidden for place in range(len(self.columns))])

    def __call__(self, vectors: Array) -> Array:
        """Return the numbers that rules ask about, in the units in which they are told."""
        rows = vectors.astype(np.float64)
        if self.angles:
            turns = [np.arctan2(rows[:, sine], rows[:, cosine]) for cosine, sine in self.angles]
            rows = np.column_stack([rows, *turns])
        factors = np.array([column.factor for column in self.columns])
        return rows * factors if (factors != 1).any() else rows


def _are_texts(texts: tuple[Any, ...]) -> bool:
    return all(type(text) is str and is_text(f"-{text}") for text in texts)


def _entries_of(facts: Facts, length: int) -> tuple[Entry, ...]:
    """Return how the entries of vectors are shown; numbered where names do not tell them apart."""
    known = {entry.name: entry for entry in facts.entries}
    named = tuple(known.get(name, Entry(name)) for name in facts.entry_names)
    for entries in (named, tuple(facts.entries)):
        names = {entry.name for entry in entries}
        if len(names) == len(entries) == length and all(map(is_text, names)):
            return entries
    return tuple(Entry(f"x{place}") for place in range(length))


def rule_in_words(box: Box, columns: Sequence[Column]) -> str:
    """Return what holds in a box, in the order in which the tree asks."""
    words = [columns[one].tell(low, high) for one, (low, high) in box.items()]
    return " and ".join(words) or "anything"
