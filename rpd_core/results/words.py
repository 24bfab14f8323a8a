"""Numbers, actions and ranges of episodes in words: rounded here, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray, IntArray, States

_SURE = 0.995
"""Share from which on an action is named alone."""


@dataclass(frozen=True)
class Column:
    """How tables of decisions show a field of theirs."""

    name: str
    """The field."""
    heading: str
    """What stands above it."""
    words: Callable[[Any], str]
    """Its value as it is shown, rounded."""


def percent(share: float | None) -> str:
    """Return a share in percent; a dash where there is none."""
    return "-" if share is None else f"{100 * share:z.0f}%"


def signed(value: float) -> str:
    """Return a difference with its sign, and no minus before nothing."""
    return f"{value:+z.2f}"


def reached_words(share: float) -> str:
    """Return how often a state is reached, without making a little of it nothing."""
    return "never" if share == 0 else "<1%" if share < 0.01 else f"{share:.0%}"


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
        f"{_name(action, names)} {_share(counts[action] / total)}"
        for action in order.tolist()
        if counts[action]
    ]
    return ", ".join(words)


def _share(share: float) -> str:
    return f"{share:.0%}" if share >= 0.005 else "<1%"


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
