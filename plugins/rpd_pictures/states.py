"""A state by its rank, its key or its words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.suite import StoredEpisodes
from rpd_core.errors import ConfigError, nearest

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import KeyArray

_HEX = re.compile(r"(?:0x)?([0-9a-f]{1,16})", re.IGNORECASE)
_SHOWN = 3
"""States that a refusal names."""
_LARGEST_KEY = 2**64 - 1


def find_state(
    keys: KeyArray, ranked: Sequence[int], stored: StoredEpisodes, name: str | int
) -> int:
    """Return the row of the state that is meant, or refuse a name that fits none or several.

    `ranked` has the keys of the decisions of the smallest policy, by loss: a number is a place
    among them.
    """
    text = str(name).strip()
    if not text:
        raise ConfigError("no state is named: write a rank, a key or a part of its words")
    if text.isdecimal() and len(text) < 16 and 1 <= int(text) <= len(ranked):
        return int(np.searchsorted(keys, np.uint64(ranked[int(text) - 1])))
    row = _by_key(keys, text)
    if row is not None:
        return row
    if re.fullmatch(r"[+-]?\d{1,15}", text):
        known, ranks = "no smallest policy is confirmed", ""
        if ranked:
            known = f"the smallest policy has {len(ranked)}"
            ranks = "1, or " if len(ranked) == 1 else f"1 to {len(ranked)}, or "
        raise ConfigError(
            f"there is no decision {text}: {known}; write {ranks}another state by its key or its "
            "words"
        )
    return _by_words(keys, stored, text)


def _by_key(keys: KeyArray, text: str) -> int | None:
    """Return the row of a key, in decimal or hexadecimal digits."""
    meant = [int(text)] if text.isdecimal() and text.isascii() and len(text) <= 20 else []
    match = _HEX.fullmatch(text)
    if match and (len(match[1]) == 16 or text[:2].lower() == "0x"):
        meant.append(int(match[1], 16))
    for key in meant:
        if key <= _LARGEST_KEY:
            row = int(np.searchsorted(keys, np.uint64(key)))
            if row < len(keys) and int(keys[row]) == key:
                return row
    return None


def _by_words(keys: KeyArray, stored: StoredEpisodes, text: str) -> int:
    """Return the row of the state whose words are these, or hold these and no other's do."""
    words = stored.words(keys)
    wanted = text.casefold()
    exact = [key for key, one in words.items() if one.casefold() == wanted]
    held = exact or [key for key, one in words.items() if wanted in one.casefold()]
    if not held:
        raise ConfigError(
            f"no state is called {text!r}.{nearest(text, words.values())} Write a rank, a key or "
            "a part of its words"
        )
    if len(held) > 1:
        first = "; ".join(words[key] for key in sorted(held)[:_SHOWN])
        raise ConfigError(
            f"{text!r} fits {len(held)} states ({first}{'; ...' * (len(held) > _SHOWN)}): write "
            "more of its words, its rank or its key"
        )
    return int(np.searchsorted(keys, np.uint64(held[0])))
