"""Checks of panels: that they say when they apply, and hand in what the page can show."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rpd_core.chance import state_keys
from rpd_core.errors import ComponentError, one_line
from rpd_core.play.entry_names import observed_entries
from rpd_core.plugin.protocols import (
    CardPanel,
    Entry,
    Episodes,
    FramePanel,
    HeroPanel,
    Image,
    Panel,
    PanelDecision,
    PanelFacts,
    PanelView,
    States,
    Trace,
    TracedEpisodes,
    Traces,
)
from rpd_kit.faults import Unchecked
from rpd_kit.scenes import Scene, parts_of
from rpd_pictures.checks import checked_cards, checked_frames, checked_hero

_STATES = 12
_EPISODES, _STEPS = 3, 10
_PICTURE = bytes.fromhex("524946461a000000574542505650384c0d0000002f00000010071011118888fe0700")
"""The smallest picture in WebP."""
_PLACES = (
    ("hero", HeroPanel, checked_hero),
    ("frames", FramePanel, checked_frames),
    ("cards", CardPanel, checked_cards),
)


def check_panel(panel: Panel, scenes: Sequence[Scene]) -> Iterator[str]:
    """Check it on states of every scene, with and without stored pictures."""
    if not isinstance(panel, HeroPanel | FramePanel | CardPanel):
        yield "it has neither hero() nor frames() nor cards()"
        return
    asked = 0
    for view in _views(scenes):
        applies: object = panel.applies(view.about)
        if not isinstance(applies, bool):
            yield f"its applies() must return true or false, got {applies!r:.60}"
            return
        if applies:
            asked += 1
            yield from _check_places(panel, view)
    if not asked:
        yield Unchecked(
            "applies to none of the kit's runs, so what it shows was not checked: give it an "
            "environment, or call its methods in a test of your own"
        )


def _check_places(panel: Panel, view: PanelView) -> Iterator[str]:
    where = f"{view.about.environment}, states of shape {view.about.shape}"
    places: Sequence[tuple[str, type, Any]] = _PLACES
    for place, kind, check in places:
        if not isinstance(panel, kind):
            continue
        before = copy.deepcopy(view)
        try:
            both = [check(getattr(panel, place)(view), view) for _ in range(2)]
        except ComponentError as error:
            yield f"{one_line(error)} ({where})"
            continue
        except Exception as error:  # a stranger's panel may raise anything
            yield f"its {place}() raised {one_line(error)} ({where})"
            continue
        if not _same(*both):
            yield f"its {place}() gave something else when asked twice ({where})"
        if not _same(before, view):
            yield f"its {place}() changed the view that it was given ({where})"


def _same(one: Any, other: Any) -> bool:
    """Return whether two things are equal, arrays inside them included."""
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one)]
        return type(one) is type(other) and all(
            _same(getattr(one, name), getattr(other, name)) for name in names
        )
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _views(scenes: Sequence[Scene]) -> Iterator[PanelView]:
    for scene in scenes:
        facts = scene.facts
        rows = scene.rows(_STATES, 0, ())
        values = np.unique(parts_of(rows.values)[0], axis=0)
        entries = tuple(Entry(name) for name in facts.entry_names)
        about = PanelFacts(
            environment=facts.description, task=facts.description, abstraction=("kit",),
            entries=entries, shape=tuple(values.shape[1:]), actions=tuple(facts.action_names),
            observed=observed_entries(facts), default_action="repeat",
        )  # fmt: skip
        yield example_view(values, about)
        seen = dataclasses.replace(about, pictures=True, frames=True)
        yield example_view(values, seen)


def example_view(values: Any, about: PanelFacts) -> PanelView:
    """Return a view of made-up episodes through some states, for tests of panels.

    `values` are abstract states, one row each. Three episodes go through them in turn; the policy
    decides in every second state, the first of which is worth most.
    """
    values = np.asarray(values)
    flat = values.reshape(len(values), -1)
    order = np.argsort(state_keys(flat))
    keys, values = state_keys(flat)[order], values[order]
    kept = keys[::2]
    decisions = tuple(
        PanelDecision(int(key), f"state {place}", "left", "right", 8.0 / 2**place,
                      10.0 - 8.0 / 2**place, place < 4, 0.05, (), values[2 * place])
        for place, key in enumerate(kept)
    )  # fmt: skip
    both = [_traced(keys, values, decided) for decided in (kept, keys)]
    first = [int(key) for key in kept[:5]]
    return PanelView(
        about,
        decisions,
        Traces(both[0], both[1], 1),
        dict.fromkeys(first, _PICTURE) if about.pictures else {},
        {step: Image(_PICTURE, "image/webp", f"Step {step}") for step in (0, 4)}
        if about.frames
        else {},
    )


def _traced(keys: Any, values: Any, kept: Any) -> TracedEpisodes:
    count, many = _EPISODES * _STEPS, len(keys)
    state = np.arange(count) % many
    numbers, ones = np.zeros(many), np.ones(_EPISODES, dtype=np.int64)
    wide = values.reshape(many, -1)
    decided = np.isin(keys[state], kept)
    trace = Trace(
        episode=np.repeat(np.arange(_EPISODES), _STEPS),
        step=np.tile(np.arange(_STEPS), _EPISODES),
        key=keys[state],
        kept=decided,
        override=np.arange(count) % 3 > 0,
        reward=np.ones(count),
        policy=(np.arange(count) % 2)[:, None].astype(np.float64),
        default=np.zeros((count, 1)),
        observation=wide[state].astype(np.float64) if wide.shape[1] <= 64 else np.zeros((count, 0)),
    )
    episodes = Episodes(
        np.arange(_EPISODES), np.arange(_EPISODES), np.full(_EPISODES, 10.0), _STEPS * ones,
        0 * ones, 5 * ones, 3 * ones,
    )  # fmt: skip
    none, whole = np.zeros((many, 0)), np.zeros(many, dtype=np.int64)
    states = States(
        keys, values, whole, whole, whole + 1, none.astype(np.int64), none.astype(np.int64), none,
        none, none, none, numbers, numbers, numbers,
    )  # fmt: skip
    return TracedEpisodes(episodes, trace, states)
