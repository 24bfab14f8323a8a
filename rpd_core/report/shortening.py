"""States cut to fit a screen: what tells them apart stays, the whole text is in `explain`."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Sequence

_PARTS = re.compile(r"( and |; |, )")
"""What stands between the parts of a state in words."""
_LONGEST = 2000
"""Characters of each end of a text that are looked at; some are of megabytes."""
_GAP = "…"
_DRAWING = re.compile(r" \[[^\[\]]*\]$")
"""A state drawn with characters, behind its words."""
_LEAST_DRAWING = 4
"""Characters of a drawing that are worth showing."""


def cut(text: str, room: int) -> str:
    """Return a text on one line and no longer than the room, its middle left out."""
    text = _on_one_line(text)
    if len(text) <= room:
        return text
    tail = max(room - 1, 0) // 3
    return f"{text[: max(room - 1 - tail, 0)]}{_GAP}{text[len(text) - tail :]}"


def shortened(texts: Sequence[str], width: int, lines: int = 1) -> list[str]:
    """Return texts broken into at most so many lines of a width.

    Of one that is too long those parts are left out first that most of the others have, too.
    """
    split = [_PARTS.split(_without_drawing(text, width)) for text in texts]
    common = Counter(part for one in split for part in {*one[::2]})
    return ["\n".join(_fitted(one, common, width, lines)) for one in split]


def _without_drawing(text: str, width: int) -> str:
    """Return a text whose words fit a line with what is left of the drawing behind them."""
    text = _on_one_line(text)
    drawing = _DRAWING.search(text)
    if drawing is None or len(text) <= width or drawing.start() > width:
        return text
    room = width - drawing.start()
    return f"{text[: width - 1]}{_GAP}" if room > _LEAST_DRAWING else text[: drawing.start()]


def _on_one_line(text: str) -> str:
    if len(text) > 2 * _LONGEST:
        text = f"{text[:_LONGEST]}{_GAP}{text[-_LONGEST:]}"
    return " ".join(text.split())


def _fitted(split: list[str], common: Counter[str], width: int, lines: int) -> list[str]:
    parts = split[::2]
    middle = (len(parts) - 1) / 2
    spare = sorted(range(len(parts)), key=lambda at: (-common[parts[at]], abs(at - middle)))
    dropped: set[int] = set()
    while len(broken := textwrap.wrap(_joined(split, dropped), width)) > lines:
        if len(dropped) == len(parts) - 1:
            return _broken(parts[spare[-1]], width, lines)
        dropped.add(spare[len(dropped)])
    return broken


def _broken(text: str, width: int, lines: int) -> list[str]:
    """Return one part with as much of its middle left out as it takes to fit."""
    for room in range(width * lines, width, -1):
        if len(broken := textwrap.wrap(cut(text, room), width)) <= lines:
            return broken
    return textwrap.wrap(cut(text, width), width)[:lines]


def _joined(split: list[str], dropped: set[int]) -> str:
    """Return the parts that are left, with a mark where some are missing."""
    words: list[str] = []
    for at, part in enumerate(split[::2]):
        if at not in dropped or words[-1:] != [_GAP]:
            words += [*split[2 * at - 1 : 2 * at], _GAP if at in dropped else part]
    return "".join(words)
