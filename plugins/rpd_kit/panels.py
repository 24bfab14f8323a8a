"""Checks of panels: that they say when they apply, and draw what the page can show."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rpd_core.chance import state_keys
from rpd_core.errors import ComponentError, one_line
from rpd_core.plugin.protocols import Entry, Panel, PanelFacts, PanelView, Plotter
from rpd_kit.faults import Unchecked
from rpd_kit.scenes import Scene, parts_of
from rpd_report.blocks import Room, checked_blocks

_STATES = 12
_PICTURE = bytes.fromhex("524946461a000000574542505650384c0d0000002f00000010071011118888fe0700")
"""The smallest picture in WebP."""


def check_panel(panel: Panel, scenes: Sequence[Scene]) -> Iterator[str]:
    """Check it on states of every scene, with and without stored pictures."""
    title = getattr(panel, "title", None)
    if not isinstance(title, str) or not title.strip():
        yield f"its title must be text, got {title!r}"
    drawn = 0
    for view in _views(scenes):
        applies: object = panel.applies(view.about)
        if not isinstance(applies, bool):
            yield f"its applies() must return true or false, got {applies!r:.60}"
            return
        if applies:
            drawn += 1
            yield from _check_drawing(panel, view)
    if not drawn:
        yield Unchecked(
            "applies to none of the kit's runs, so its drawing was not checked: give it an "
            "environment, or call its draw() in a test of your own"
        )


def _check_drawing(panel: Panel, view: PanelView) -> Iterator[str]:
    before = copy.deepcopy(view)
    where = f"{view.about.environment}, states of shape {view.about.shape}"
    try:
        first = list(checked_blocks(panel.draw(view), Room()))
        second = list(checked_blocks(panel.draw(view), Room()))
    except ComponentError as error:
        yield f"{one_line(error)} ({where})"
        return
    except Exception as error:  # a stranger's panel may raise anything
        yield f"its draw() raised {one_line(error)} ({where})"
        return
    if isinstance(panel, Plotter):
        yield from _check_plot(panel, view, where)
    if not _same(first, second):
        yield f"its draw() gave something else when asked twice ({where})"
    if not _same(before, view):
        yield f"its draw() changed the view that it was given ({where})"


def _check_plot(panel: Plotter, view: PanelView, where: str) -> Iterator[str]:
    from rpd_pictures.figures.style import new_figure  # few panels draw figures

    try:
        drew: object = panel.plot(view, new_figure(4, 3))
    except Exception as error:  # a stranger's panel may raise anything
        yield f"its plot() raised {one_line(error)} ({where})"
        return
    if not isinstance(drew, bool):
        yield f"its plot() must return true or false, got {drew!r:.60} ({where})"


def _same(one: Any, other: Any) -> bool:
    """Return whether two things are equal, arrays inside them included."""
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
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
            entries=entries, shape=tuple(values.shape[1:]),
        )  # fmt: skip
        yield _view(about, values)
        yield _view(dataclasses.replace(about, pictures=True), values)


def _view(about: PanelFacts, values: Any) -> PanelView:
    flat = values.reshape(len(values), -1)
    order = np.argsort(state_keys(flat))
    keys, values = state_keys(flat)[order], values[order]
    count = len(keys)
    first = {int(key): f"state {place}" for place, key in enumerate(keys[:5])}
    return PanelView(
        about=about,
        measure="kit",
        keys=keys,
        values=values,
        visits=np.arange(1, count + 1),
        scores=np.linspace(-0.2, 1.0, count),
        effects=np.linspace(-0.1, 0.9, count),
        ranks=np.arange(count, 0, -1) % count,
        words=first,
        pictures=dict.fromkeys(first, _PICTURE) if about.pictures else {},
    )
