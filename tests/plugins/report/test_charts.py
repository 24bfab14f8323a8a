"""Charts of the page: what BokehJS gets is what Bokeh's own classes would give it."""

from __future__ import annotations

import json
import subprocess
import sys

import bokeh_charts
import pytest

from rpd_report import charts
from rpd_report.sweep import Line, Role


def line(name: str, role: Role = "measure", steps: tuple[float, ...] = (0.0, 0.4, 1.0)) -> Line:
    return Line(
        name=name,
        role=role,
        states=(0.0, 0.25, 1.0),
        steps=steps,
        mean=(9.36, 123.456789, 200.0),
        low=(9.0, 120.0, 200.0),
        high=(9.7, 126.0, float("nan")),
        kept=(0, 10, 40),
        episodes=(100, 100, 50),
    )


LINES = (
    line("effect", "list"),
    line("ochiai", steps=(0.0, 0.7, 0.6)),
    line("random", "baseline"),
    line("freqvis", "baseline"),
)


@pytest.mark.parametrize("axis", ["states", "steps"])
@pytest.mark.parametrize("target", [180.0, None])
@pytest.mark.parametrize("point", [(0.03, 184.25), None])
def test_curves_are_what_bokeh_would_make_of_them(
    axis: str, target: float | None, point: tuple[float, float] | None
) -> None:
    ours, theirs = (
        module.curve_chart(LINES, axis, target, point) for module in (charts, bokeh_charts)
    )
    assert json.dumps(ours) == json.dumps(theirs)


@pytest.mark.parametrize("logarithmic", [True, False])
def test_planes_are_what_bokeh_would_make_of_them(logarithmic: bool) -> None:
    ours, theirs = (
        module.plane_chart("<states> @here", logarithmic) for module in (charts, bokeh_charts)
    )
    assert json.dumps(ours) == json.dumps(theirs)


def test_charts_do_without_the_classes_that_take_a_second_to_import() -> None:
    program = "import sys, rpd_report.charts as c; c.plane_chart('a', True); c.library();"
    shown = "print([name for name in ('bokeh.models', 'bokeh.plotting') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"{program} {shown}"], check=True, capture_output=True, text=True
    )
    assert done.stdout == "[]\n"
