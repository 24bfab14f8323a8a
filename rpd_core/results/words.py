"""Numbers, actions and states in words: rounded and shortened here, and nowhere else."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray, IntArray, States

_SURE = 0.995
"""Share from which on an action is named alone."""


@dataclass(frozen=True)
class DecisionColumn:
    """How tables of decisions show a field of theirs."""

    name: str
    """The field."""
    heading: str
    """What stands above it."""
    words: Callable[[Any], str]
    """Its value as it is shown, rounded."""


def percent(share: float | None) -> str:
    """Return a share in percent, without making a little of it nothing; a dash: there is none."""
    if share is None:
        return "-"
    text = f"{100 * share:z.0f}%"
    return "<1%" if text == "0%" and share > 0 else text


def part_of(share: float | None) -> str:
    """Return a share of many states, or of a few steps: a small one with a digit more."""
    small = share is not None and 0.0005 <= share < 0.0995
    return f"{share:.1%}" if small else percent(share)


def few(value: float) -> str:
    """Return a return or a loss in as many digits as anybody reads, and no minus before nothing."""
    return f"{value + 0.0:.3g}" if abs(value) < 999.5 else f"{value:.0f}"


def alike(*values: float) -> tuple[str, ...]:
    """Return values with as many decimal places as the largest of them deserves."""
    top = max(map(abs, values))
    places = 0 if top >= 100 else 1 if top >= 10 else 2 if top >= 0.1 else 4
    return tuple(f"{value:z.{places}f}" for value in values)


def signed(value: float) -> str:
    """Return a difference with its sign, and no minus before nothing."""
    return f"{value:+z.2f}"


def without_folders(spec: str) -> str:
    """Return a spec without the folders of files in it, which mean nothing to other people."""
    return _FOLDERS.sub("", spec)


_FOLDERS = re.compile(r"(?:^|(?<=[:=,+]))(?:[A-Za-z]:)?[^:=,+]*[/\\](?=[^:=,+/\\])")
"""Folders in front of the name of a file, in a spec."""


def reached_words(share: float) -> str:
    """Return how often a state is reached."""
    return "never" if share == 0 else percent(share)


def policy_words(states: States, row: int, names: Sequence[str]) -> str:
    """Return what the policy does in a state; with shares where it does several things."""
    if states.choices.shape[1]:
        return chosen(states.choices[row], names)
    return spread(states.action_sum[row], states.action_squares[row], int(states.visits[row]))


def default_words(states: States, row: int, names: Sequence[str]) -> str:
    """Return what the default action does in a state."""
    if states.default_choices.shape[1]:
        return chosen(states.default_choices[row], names)
    return spread(states.default_sum[row], states.default_squares[row], int(states.visits[row]))


def chosen(counts: IntArray, names: Sequence[str]) -> str:
    """Return the actions that were chosen, most often first."""
    total = int(counts.sum())
    if not total:
        return "nothing"
    order = (-counts).argsort(kind="stable")
    if counts[order[0]] >= _SURE * total:
        return _name(int(order[0]), names)
    words = [
        f"{_name(action, names)} ({percent(counts[action] / total)})"
        for action in order.tolist()
        if counts[action]
    ]
    return ", ".join(words)


def most_often(words: str, count: int = 2) -> str:
    """Return the first of several actions in words, for a place with little room."""
    actions = words.split(", ")
    if words.startswith("(") or len(actions) <= count:
        return words
    return f"{', '.join(actions[:count])}, ..."


def spread(sums: FloatArray, squares: FloatArray, count: int) -> str:
    """Return the mean of an action that is a vector, with its standard deviation."""
    mean = sums / count
    deviation = (squares / count - mean**2).clip(0.0) ** 0.5
    words = [
        f"{m:.2g}" + (f"±{d:.1g}" if d >= 0.005 * max(abs(m), 1.0) else "")
        for m, d in zip((mean + 0.0).tolist(), deviation.tolist(), strict=True)
    ]
    return words[0] if len(words) == 1 else f"({', '.join(words)})"


def _name(action: int, names: Sequence[str]) -> str:
    return names[action] if action < len(names) else str(action)


_RANGES = 3
"""Ranges that are named."""


def ranges_in_words(ranges: Sequence[tuple[int, int]]) -> str:
    """Return ranges of episodes as the subject of a sentence, with its verb."""
    named = [f"{first} to {last}" if last > first else str(first) for first, last in ranges]
    more = len(named) - _RANGES
    shown = [*named[:_RANGES], f"{more} more {'range' if more == 1 else 'ranges'}"]
    shown = shown if more > 0 else named
    one = len(named) == 1 and ranges[0][0] == ranges[0][1]
    joined = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"{'episode' if one else 'episodes'} {joined} {'is' if one else 'are'}"


_PARTS = re.compile(r"( and |; |, | (?=\([^()]*\)$))")
"""What stands between the parts of a state in words; a remark at the end is one, too."""
_LONGEST = 2000
"""Characters of each end of a text that are looked at; some are of megabytes."""
_GAP = "…"
_DRAWING = re.compile(r"^(.*) \[([^\[\]]*)\]$")
"""A state in words, and drawn with characters behind them."""
_ROWS = re.compile(r"(/)")
"""What stands between the rows of a drawing."""
_LEAST_DRAWING = 8
"""Characters of a drawing that are worth showing."""


def cut(text: str, room: int) -> str:
    """Return a text on one line and no longer than the room, its middle left out."""
    text = _on_one_line(text)
    if len(text) <= room:
        return text
    tail = max(room - 1, 0) // 3
    return f"{text[: max(room - 1 - tail, 0)]}{_GAP}{text[len(text) - tail :]}"


def shortened_states(texts: Sequence[str], width: int, lines: int = 1) -> list[str]:
    """Return texts broken into at most so many lines of a width.

    Of one that is too long those parts are left out first that most of the others have, too, then
    remarks in brackets. A drawing behind the words gets what is left of their last line, or one of
    its own where the words are those of another text.
    """
    words, drawings = zip(*map(_split_drawing, texts), strict=True) if texts else ((), ())
    fitted = _fitted_all([_PARTS.split(one) for one in words], [width] * len(texts), lines)
    same = Counter(words)
    for one, broken, drawing in zip(words, fitted, drawings, strict=True):
        if drawing and same[one] > 1 and len(broken) < lines and not _room(broken, width):
            broken.append("")
    rooms = [max(_room(broken, width), 1) for broken in fitted]
    drawn = _fitted_all([_ROWS.split(one) for one in drawings], rooms, 1)
    for one, broken, drawing, rows in zip(words, fitted, drawings, drawn, strict=True):
        shown = "".join(rows)
        whole_row = {*drawing.split("/")} & {*shown.split("/")}
        if drawing and _room(broken, width) and (whole_row or same[one] > 1):
            broken[-1] = f"{broken[-1]} [{shown}]".strip()
    return ["\n".join(broken) for broken in fitted]


def _split_drawing(text: str) -> tuple[str, str]:
    """Return the words of a text and what is drawn behind them."""
    text = _on_one_line(text)
    match = _DRAWING.match(text)
    return (match[1], match[2]) if match else (text, "")


def _room(broken: list[str], width: int) -> int:
    """Return the characters that a drawing has behind some words, without its brackets."""
    room = width - len(broken[-1] if broken else "") - 3
    return room if room >= _LEAST_DRAWING else 0


def _on_one_line(text: str) -> str:
    if len(text) > 2 * _LONGEST:
        text = f"{text[:_LONGEST]}{_GAP}{text[-_LONGEST:]}"
    return " ".join(text.split())


def _fitted_all(texts: Sequence[list[str]], widths: Sequence[int], lines: int) -> list[list[str]]:
    """Return each text, split into its parts, within its width."""
    common = Counter(part for one in texts for part in {*one[::2]})
    return [_fitted(one, common, width, lines) for one, width in zip(texts, widths, strict=True)]


def _fitted(split: list[str], common: Counter[str], width: int, lines: int) -> list[str]:
    parts = split[::2]
    middle = (len(parts) - 1) / 2

    def worth(at: int) -> tuple[int, bool, float]:
        return -common[parts[at]], not parts[at].startswith("("), abs(at - middle)

    spare = sorted(range(len(parts)), key=worth)

    def without(dropped: set[int]) -> list[str]:
        return textwrap.wrap(_joined(split, dropped), width)

    count = 0
    while len(without({*spare[:count]})) > lines:
        count += 1
        if count == len(parts):
            return _broken(_joined(split, {*spare[:-1]}), width, lines)
    dropped = {*spare[:count]}
    for at in reversed(spare[:count]):  # a short one may fit where a long one did not
        if len(without(dropped - {at})) <= lines:
            dropped.remove(at)
    return without(dropped)


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
        between = split[2 * at - 1] if at else ""
        if at in dropped and words[-1:] == [_GAP]:
            continue
        if at in dropped or words[-1:] == [_GAP]:
            between = between.replace(" and ", " ")
        words += [between, _GAP if at in dropped else part]
    return "".join(words)
