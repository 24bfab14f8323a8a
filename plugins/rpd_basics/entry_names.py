"""What fitted abstractions call the entries of the vectors that they tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rpd_core.errors import SpecError
from rpd_core.plugin.protocols import FitSample
from rpd_core.plugin.wording import cut_texts, interval_words

_LONGEST = 100


def names_in(sample: FitSample, length: int) -> tuple[str, ...]:
    """Return what the entries are called, unless that would not tell them apart."""
    names = tuple(sample.facts.entry_names)
    good = len(set(names)) == length == len(names) and all(map(is_text, names))
    return names if good else ()


def check_names(who: str, names: Any, count: int) -> None:
    """Refuse names that this program never wrote; runs are also read that strangers made."""
    good = type(names) is tuple and len(names) in (0, count)
    if not good or not all(map(is_text, names)):
        raise SpecError(f"{who}: its {count} entries cannot be called {names!r:.80}")


def is_text(name: object) -> bool:
    """Return whether something can be shown as a name."""
    return isinstance(name, str) and name.isprintable() and 0 < len(name) <= _LONGEST


def bin_rules(value: Sequence[int], edges: Sequence[Sequence[float]], names: Sequence[str]) -> str:
    """Return between which edges each entry lies; entries that have one bin are left out."""
    words = []
    for name, place, inner in zip(names, value, edges, strict=True):
        if inner:
            texts = ("", *cut_texts(inner), "")
            words.append(interval_words(name, texts[place], texts[place + 1]))
    return ", ".join(words) or "anything"
