"""Two policies side by side: where they agree, and how each can be pruned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from rpd_core.pruning.curves import RANDOM, ShownCurve
from rpd_pictures.figures.style import (
    BLUE,
    GREY,
    ORANGE,
    house_style,
    in_percent,
    line_styles,
    new_figure,
    shared_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rpd_compare.records import Comparison

_SIDES = {"A": BLUE, "B": ORANGE}


@house_style()
def draw_agreement(found: Comparison) -> Figure:
    """Draw the agreement in the first states by each ranking, as in the paper, with 95 % bands."""
    figure = new_figure(5.2, 3.4)
    axes = figure.subplots()
    styles = line_styles([curve.measure for curve in found.agreement])
    for curve in found.agreement:
        style, points = styles[curve.measure], curve.points
        x = [point.share for point in points]
        ends = [point.low for point in points], [point.high for point in points]
        axes.fill_between(x, *ends, color=style.color, alpha=0.1, linewidth=0)
        axes.plot(
            x, [point.agreement for point in points], color=style.color,
            linestyle=style.dashes, linewidth=style.width, label=curve.measure,
        )  # fmt: skip
    everywhere = found.agreement[0].points[-1].agreement
    axes.axhline(everywhere, color=GREY, linewidth=0.8, label=f"all states: {everywhere:.0%}")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)
    in_percent(axes.xaxis)
    in_percent(axes.yaxis)
    axes.set_xlabel("first states by A's ranking (%)")
    axes.set_ylabel("states in which both choose the same action (%)")
    shared_legend(figure, axes, 4)
    return figure


@house_style()
def draw_both_prunings(found: Comparison) -> Figure:
    """Draw the pruning curves of both runs by the first measure and at random, in returns."""
    first = found.agreement[0].measure
    names = [one for one in (first, RANDOM) if one in found.curves_a and one in found.curves_b]
    figure = new_figure(7.2, 3.5)
    left, right = figure.subplots(1, 2, sharey=True)
    for side, curves, whole in (
        ("A", found.curves_a, found.a.return_mean),
        ("B", found.curves_b, found.b.return_mean),
    ):
        for name in names:
            _draw_pruning(left, right, curves[name], _SIDES[side], f"{side}, {name}")
        for axes in (left, right):
            axes.axhline(whole, color=_SIDES[side], linewidth=0.8, alpha=0.7)
    for axes in (left, right):
        in_percent(axes.xaxis)
    left.set_ylabel("mean return (thin line: the whole policy)")
    left.set_xlabel("states restored to the policy (%)")
    right.set_xlabel("steps decided by the policy, at most (%)")
    shared_legend(figure, left, 4)
    return figure


def _draw_pruning(left: Axes, right: Axes, curve: ShownCurve, color: str, label: str) -> None:
    look: dict[str, Any] = {
        "color": color,
        "linestyle": (0, (2, 2)) if curve.measure == RANDOM else "-",
    }
    left.fill_between(curve.states, curve.low, curve.high, color=color, alpha=0.08, linewidth=0)
    left.plot(curve.states, curve.returns, label=label, **look)
    best = curve.best_by_steps()
    ends = (*best.steps, 1.0), (*best.returns, best.returns[-1])
    right.plot(*ends, drawstyle="steps-post", **look)
