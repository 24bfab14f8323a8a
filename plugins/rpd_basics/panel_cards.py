"""Situations of any environment: rules one by one, or states grouped by what tells them apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.plugin.protocols import Card, Entry, PanelDecision, PanelView

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray

_CARDS = 4
"""Groups that states are put into; single decisions may have two cards more."""
_SINGLE = 6
_SMALLEST = 3
"""Decisions in a group, at least."""


def single_cards(view: PanelView) -> list[Card]:
    """Return a card for each of the decisions that are worth most."""
    return [
        Card(one.state, action_words(view, [one]), (one.key,)) for one in needed_of(view)[:_SINGLE]
    ]


def needed_of(view: PanelView) -> list[PanelDecision]:
    """Return the decisions that are shown to be needed; all where none is."""
    needed = [one for one in view.decisions if one.needed]
    return needed or [one for one in view.decisions if one.loss > 0]


def action_words(view: PanelView, some: Sequence[PanelDecision]) -> str:
    """Return what the policy does in some states, and what the default action would do.

    Where both mostly do the same, those steps count at which they differ.
    """
    policy, default = (common_action([getattr(one, who) for one in some]) for who in
                       ("policy", "default"))  # fmt: skip
    if policy == default:
        policy, default = _where_they_differ(view, [one.key for one in some])
    if _are_numbered(view):
        policy, default = (f"action {one}" if one.isdecimal() else one for one in (policy, default))
    return f"The policy: {policy}. The default action would do: {default}."


def _are_numbered(view: PanelView) -> bool:
    """Return whether actions are numbers that stand for something, and not amounts."""
    return all(common_action([one.policy]).isdecimal() for one in view.decisions)


def _where_they_differ(view: PanelView, keys: Sequence[int]) -> tuple[str, str]:
    """Return the commonest pair of different actions in some states."""
    trace = view.traces.smallest.trace
    mine = np.isin(trace.key, np.array(keys, dtype=np.uint64)) & trace.override
    both = np.concatenate([trace.policy[mine], trace.default[mine]], axis=1)
    if not len(both):
        return "now this, now that", "the same, mostly"
    pairs, counts = np.unique(both, axis=0, return_counts=True)
    halves = np.split(pairs[int(counts.argmax())], 2)
    one, other = (_action_name(half, view.about.actions) for half in halves)
    return one, other


def _action_name(action: FloatArray, names: Sequence[str]) -> str:
    if len(action) == 1 and float(action[0]).is_integer() and 0 <= action[0] < len(names):
        return names[int(action[0])]
    return ", ".join(f"{number:.2g}" for number in action)


def common_action(texts: Sequence[str]) -> str:
    """Return the action that most of some texts begin with."""
    first = [text.split(", ")[0].rpartition(" ")[0] or text if "%" in text else text
             for text in texts]  # fmt: skip
    return max(dict.fromkeys(first), key=first.count)


@dataclass
class _Group:
    """Decisions, and what their entries lie between."""

    rows: list[int]
    bounds: dict[int, tuple[float, float]] = field(default_factory=dict)


def grouped_cards(view: PanelView) -> list[Card]:
    """Return cards for groups of states: split where losses differ most, entry by entry.

    Nothing where states have no named entries.
    """
    entries, decisions = view.about.entries, needed_of(view)
    values, known = _values(decisions)
    if len(entries) != values.shape[1] or any(e.edges for e in entries) or len(known) < _SMALLEST:
        return []
    losses = np.array([one.loss for one in known])
    groups = [_Group(list(range(len(known))))]
    while len(groups) < _CARDS:
        splits = [(split, at) for at, one in enumerate(groups)
                  if (split := _best_split(values, losses, one)) is not None]  # fmt: skip
        if not splits:
            break
        (_, below, above), at = max(splits, key=lambda pair: pair[0][0])
        groups[at : at + 1] = [below, above]
    groups.sort(key=lambda one: -float(losses[one.rows].sum()))
    return [_card(view, [known[row] for row in one.rows], one, entries) for one in groups]


def _values(decisions: Sequence[PanelDecision]) -> tuple[FloatArray, list[PanelDecision]]:
    """Return the values of the decisions that have one, and these decisions."""
    found = [one for one in decisions if one.value is not None]
    if not found:
        return np.zeros((0, 0)), []
    rows = [np.asarray(one.value, dtype=np.float64).reshape(-1) for one in found]
    return np.stack(rows), found


def _best_split(
    values: FloatArray, losses: FloatArray, group: _Group
) -> tuple[float, _Group, _Group] | None:
    """Return the split of a group after which losses differ least within the parts."""
    best: tuple[float, int, float] | None = None
    rows = np.array(group.rows)
    mine = losses[rows]
    for entry in range(values.shape[1]):
        column = values[rows, entry]
        for cut in _cuts(column):
            below = column < cut
            if min(int(below.sum()), int((~below).sum())) < _SMALLEST:
                continue
            gain = sum(
                float(mine[part].sum()) ** 2 / int(part.sum()) for part in (below, ~below)
            ) - float(mine.sum()) ** 2 / len(mine)
            if best is None or gain > best[0] + 1e-12:
                best = gain, entry, cut
    if best is None or best[0] <= 0:
        return None
    gain, entry, cut = best
    below = values[rows, entry] < cut
    low, high = group.bounds.get(entry, (-np.inf, np.inf))
    return (
        gain,
        _Group(rows[below].tolist(), {**group.bounds, entry: (low, cut)}),
        _Group(rows[~below].tolist(), {**group.bounds, entry: (cut, high)}),
    )


def _cuts(column: FloatArray) -> Iterator[float]:
    different = np.unique(column)
    yield from ((different[1:] + different[:-1]) / 2).tolist()


def _card(
    view: PanelView, some: list[PanelDecision], group: _Group, entries: tuple[Entry, ...]
) -> Card:
    words = [_bound_words(entries[at], *ends) for at, ends in sorted(group.bounds.items())]
    title = ", ".join(words) or some[0].state
    title = f"{title[0].upper()}{title[1:]}"
    some.sort(key=lambda one: -one.loss)
    text = f"{action_words(view, some)} {_of_such(view, group)}".strip()
    return Card(title, text, tuple(one.key for one in some))


def _of_such(view: PanelView, group: _Group) -> str:
    """Return in how many of the states within the bounds the policy decides, if not in all."""
    states = view.traces.smallest.states
    rows = states.value.reshape(len(states), -1).astype(np.float64)
    inside = np.ones(len(rows), dtype=np.bool_)
    for entry, (low, high) in group.bounds.items():
        inside &= (rows[:, entry] >= low) & (rows[:, entry] < high)
    kept = np.isin(states.key[inside], np.array([one.key for one in view.decisions], np.uint64))
    if kept.all():
        return ""
    return f"It decides in {int(kept.sum())} of {len(kept)} such states that are met."


def _bound_words(entry: Entry, low: float, high: float) -> str:
    if entry.words:
        return named_words(entry, low, high)
    texts = ["" if not np.isfinite(one) else f"{one * entry.factor:.2g}{entry.unit}"
             for one in (low, high)]  # fmt: skip
    if texts[0] and texts[1]:
        return f"{entry.name} {texts[0]} to {texts[1]}"
    return f"{entry.name} {f'at least {texts[0]}' if texts[0] else f'below {texts[1]}'}"


def named_words(entry: Entry, low: float, high: float) -> str:
    """Return which of the words of an entry can be said between two cuts."""
    said = [word for value, word in enumerate(entry.words) if low <= value < high]
    others = [word for value, word in enumerate(entry.words) if not low <= value < high]
    return " or ".join(said) if len(said) <= len(others) else f"not {' or '.join(others)}"
