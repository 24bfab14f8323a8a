"""When each policy matters: a typical episode of both, on the same axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rpd_core.results.run import Run
from rpd_pictures.panels import panel_view
from rpd_pictures.timeline import Axes, timeline_drawing

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Drawing, PanelView


def both_timelines(a: Run, b: Run) -> tuple[Drawing, Drawing] | None:
    """Return a timeline of each; None where one of the runs stores no episode step by step."""
    one, two = _view(a), _view(b)
    if one is None or two is None:
        return None
    axes = Axes.over((one, two))
    return timeline_drawing(one, axes), timeline_drawing(two, axes)


def _view(run: Run) -> PanelView | None:
    return None if run.traces is None else panel_view(run, run.traces, None)
