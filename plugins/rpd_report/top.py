"""The top of the page: what decides, where, when, in which situations, and how we know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from markupsafe import Markup

from rpd_core.errors import RpdError, counted, one_line
from rpd_core.plugin.protocols import Drawing, PanelView
from rpd_core.plugin.registry import installed
from rpd_core.results.run import Run
from rpd_core.results.words import few
from rpd_pictures.panels import Gathered, ShownPanels, panel_view, show_panels
from rpd_pictures.proof import proof_drawing
from rpd_pictures.stored import Pictures, data_uri, read_pictures
from rpd_pictures.svg import inline_svg
from rpd_pictures.timeline import Steps, barcode_drawing, timeline_drawing
from rpd_pictures.traces import read_traces
from rpd_report.film import ShownFilm, ShownNumber, number_alone, read_film
from rpd_report.markup import codes
from rpd_report.sentences import lead, title
from rpd_report.situations import Situations, shown_situations


@dataclass(frozen=True)
class Heroes:
    """Drawings that are shown at once, and their entry in the menu."""

    name: str
    drawings: tuple[Markup, ...]
    caption: str


@dataclass(frozen=True)
class Top:
    """What stands above the folds."""

    title: str
    lead: tuple[str, ...]
    heroes: tuple[Heroes, ...] = ()
    timeline: str = ""
    barcode: str = ""
    overridden: str = ""
    """At how many steps of the typical episode the policy decides, in words."""
    others: int = 0
    situations: Situations | None = None
    proof: str = ""
    film: ShownFilm | None = None
    number: ShownNumber | None = None
    """What stands in the place of a film."""
    frames: dict[str, str] = field(default_factory=dict)
    """Addresses of frames by step."""
    steps: dict[str, Any] = field(default_factory=dict)
    """What is said of each step, for the script."""
    notes: tuple[str, ...] = ()
    """What could not be read or drawn, and why."""


def read_top(run: Run) -> Top:
    """Read what the top of the page shows; what cannot be read is left out, and said."""
    summary, notes = run.summary, list[str]()
    pictures = _attempt(lambda: read_pictures(run.path, str(run.name)), "pictures", notes)
    traces = _attempt(lambda: read_traces(run), "traced episodes", notes)
    proof = _attempt(lambda: proof_drawing(run), "pruning curves", notes)
    if traces is None:
        return Top(title(summary, None), tuple(lead(summary, ())), notes=tuple(notes),
                   proof=_markup(proof))  # fmt: skip
    view = panel_view(run, traces, pictures)
    panels = show_panels(installed(), view, _gathered(run, pictures))
    steps = Steps.of(view, traces.typical)
    return Top(
        title(summary, steps),
        tuple(lead(summary, panels.cards)),
        _heroes(panels),
        Markup(inline_svg(timeline_drawing(view))),
        Markup(inline_svg(barcode_drawing(view))),
        f"it overrides the default action at {steps.deciding} of {counted(steps.length, 'step')}",
        len(traces.smallest),
        shown_situations(summary, panels.cards, dict(view.pictures)),
        _markup(proof),
        read_film(pictures, summary, run.path),
        number_alone(summary),
        {str(step): data_uri(one.data, one.media_type) for step, one in panels.frames.items()},
        _told(view, steps),
        (*notes, *panels.faults),
    )


def faults_of(run: Run) -> list[str]:
    """Return what the page of a finished run has to do without, because it cannot be read."""
    notes: list[str] = []
    if run.name is not None:
        _attempt(lambda: run.asked, "question of the analysis", notes)
        _attempt(lambda: read_traces(run), "traced episodes", notes)
    return notes


def _attempt(read: Any, what: str, notes: list[str]) -> Any:
    try:
        return read()
    except RpdError as error:  # what is damaged leaves the rest of the page as it is
        notes.append(f"The {what} cannot be shown: {one_line(error)}")
        return None


def _gathered(run: Run, pictures: Pictures | None) -> Gathered:
    return Gathered(run, pictures.panels if pictures is not None else {})


def _markup(drawing: Drawing | None) -> str:
    return "" if drawing is None else Markup(inline_svg(drawing))


def _heroes(panels: ShownPanels) -> tuple[Heroes, ...]:
    return tuple(
        Heroes(name, tuple(Markup(inline_svg(one)) for one in some), some[0].caption)
        for name, group in groupby(panels.hero, key=lambda one: one.name)
        for some in [list(group)]
    )


def _told(view: PanelView, steps: Steps) -> dict[str, Any]:
    """Return what is said of each step of the typical episode."""
    trace = steps.trace
    policy, default = (_named(rows, view.about.actions) for rows in (trace.policy, trace.default))
    texts = [
        _step_words(kept, override, one, other, loss)
        for kept, override, one, other, loss in zip(
            trace.kept.tolist(), trace.override.tolist(), policy, default, steps.losses.tolist(),
            strict=True,
        )
    ]  # fmt: skip
    return codes(texts)


def _step_words(kept: bool, override: bool, policy: str, default: str, loss: float) -> str:
    if not kept:
        return f"default acts: {default}" + (f" (policy would: {policy})" if override else "")
    if not override:
        return f"policy acts: {policy}; so would the default"
    worth = f"; {few(loss)} lost without this decision" if loss > 0 else ""
    return f"policy acts: {policy} (default would: {default}){worth}"


def _named(rows: Any, names: Sequence[str]) -> list[str]:
    whole = rows.shape[1] == 1 and bool((np.rint(rows) == rows).all())
    if whole and names:
        known = [int(one) for one in rows[:, 0]]
        return [names[one] if 0 <= one < len(names) else f"action {one}" for one in known]
    return [", ".join(f"{value:.2g}" for value in row) for row in rows.tolist()]
