"""When and where each policy matters: a typical episode of both, on the same axes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rpd_core.plugin.registry import installed
from rpd_core.results.run import Run
from rpd_pictures.panels import Gathered, panel_view, show_panels
from rpd_pictures.stored import Pictures, read_pictures
from rpd_pictures.timeline import Axes, timeline_drawing
from rpd_pictures.traces import read_traces

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Drawing, PanelView


@dataclass(frozen=True)
class Drawn:
    """What a page shows of two runs; each pair is of the first run and of the second."""

    timelines: tuple[Drawing, Drawing]
    """A bar for each step of a typical episode."""
    heroes: tuple[Drawing, Drawing] | None
    """What stands beside the timeline on a run's own page; None: not the same in both."""


def draw_both(a: Run, b: Run) -> Drawn | None:
    """Draw two runs; None where one of them stores no episode step by step."""
    found = [(run, read_traces(run)) for run in (a, b)]
    views = [panel_view(run, traces, _pictures(run)) for run, traces in found if traces is not None]
    if len(views) < 2:
        return None
    one, two = views
    axes = Axes.over((one, two))
    return Drawn(
        (timeline_drawing(one, axes), timeline_drawing(two, axes)),
        _alike(dict(_heroes(a, one, two)), dict(_heroes(b, two, one))),
    )


def _pictures(run: Run) -> Pictures | None:
    return read_pictures(run.path, str(run.name))


def _heroes(run: Run, mine: PanelView, other: PanelView) -> Iterator[tuple[str, Drawing]]:
    """Yield the first drawing of each name, on scales that have room for both runs."""
    pictures = _pictures(run)
    gathered = Gathered(run, {} if pictures is None else pictures.panels)
    view = replace(mine, beside=replace(other, beside=None))
    for one in reversed(show_panels(installed(), view, gathered).hero):
        yield one.name, one


def _alike(one: dict[str, Drawing], two: dict[str, Drawing]) -> tuple[Drawing, Drawing] | None:
    """Return the drawings of the first name that both have."""
    name = next((name for name in reversed(one) if name in two), None)
    return None if name is None else (one[name], two[name])
