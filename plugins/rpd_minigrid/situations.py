"""Situations on a grid: what is ahead, what the policy does there, what the default would do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rpd_core.plugin.protocols import Card, PanelDecision, PanelView
from rpd_minigrid.abstraction import straight_ahead, view_of

_MOST = 6
_TURNS = ("left", "right")
_DOES = {
    "forward": "walks on",
    "pickup": "picks it up",
    "drop": "drops what it carries",
    "toggle": "opens it",
}
_ORDERS = {
    "turn": "turn",
    "forward": "go",
    "pickup": "pick it up",
    "toggle": "open it",
    "drop": "drop it",
}


def situation_cards(view: PanelView) -> list[Card]:
    """Return the decisions grouped by what is ahead and what the policy does."""
    needed = [one for one in view.decisions if one.needed] or list(view.decisions)
    groups: dict[tuple[str, str], list[PanelDecision]] = defaultdict(list)
    for one in needed:
        if one.value is not None:
            groups[_ahead(one.value), _kind_of(one.policy)].append(one)
    ranked = sorted(groups.items(), key=lambda pair: -sum(one.loss for one in pair[1]))
    repeats = view.about.default_action.startswith("repeat")
    such = _such_states(view)
    return [_card(ahead, does, some, repeats, such) for (ahead, does), some in ranked[:_MOST]]


def _such_states(view: PanelView) -> Mapping[str, tuple[int, int]]:
    """Return by what is ahead in how many of the states that are met the policy decides."""
    states = view.traces.smallest.states
    decided = {one.key for one in view.decisions}
    ahead = [_ahead(value) for value in states.value]
    kept = [words for words, key in zip(ahead, states.key.tolist(), strict=True) if key in decided]
    return {words: (kept.count(words), ahead.count(words)) for words in dict.fromkeys(ahead)}


def _ahead(value: Any) -> str:
    """Return what is first in the agent's way: what it is next to matters, and a goal in sight."""
    name, steps = straight_ahead(view_of(np.asarray(value)))
    if name == "goal":
        return "the goal straight ahead"
    if not name:
        return "free ahead"
    if steps == 1:
        return f"{_a(name)} right ahead"
    return "free ahead"


def _a(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _first(words: str) -> str:
    """Return the action that is done most often, of words that may have shares."""
    return words.split(", ")[0].split(" ")[0]


def _kind_of(words: str) -> str:
    first = _first(words)
    return "turn" if first in _TURNS else first


def _card(
    ahead: str, does: str, some: Sequence[PanelDecision], repeats: bool,
    such: Mapping[str, tuple[int, int]],
) -> Card:  # fmt: skip
    ordered = sorted(some, key=lambda one: -one.loss)
    mine = [_first(one.policy) for one in ordered]
    other = [_first(one.default) for one in ordered]
    policy = max(dict.fromkeys(mine), key=mine.count)
    default = max(dict.fromkeys(other), key=other.count)
    doing = "turns" if does == "turn" else _DOES.get(policy, f"does {policy}")
    who = "repeating the last action" if repeats else "the default action"
    text = f"The policy {doing}; {who} would {_instead(ahead, does, default)}."
    kept, met = such.get(ahead, (0, 0))
    if kept < met:
        text += f" With {ahead}, it decides in {kept} of {met} states that are met."
    title = f"{ahead[0].upper()}{ahead[1:]}: {_ORDERS.get(does, does)}"
    return Card(title, text, tuple(one.key for one in ordered))


def _instead(ahead: str, does: str, default: str) -> str:
    """Return what the default action would do there."""
    if default == "forward":
        blocked = ahead.startswith("a ") and "open" not in ahead
        thing = ahead.removesuffix(" right ahead").removeprefix("a ")
        return f"walk into the {thing}" if blocked else "walk straight on"
    if default in _TURNS:
        return "turn the other way" if does == "turn" else "turn on the spot"
    return _ORDERS.get(default, f"do {default}")
