"""Two policies side by side: where they agree, and how each can be pruned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from rpd_core.pruning.curves import RANDOM
from rpd_pictures.figures.curves import draw_pruning, two_panels
from rpd_pictures.figures.style import (
    BLUE,
    GREY,
    ORANGE,
    Line,
    house_style,
    in_percent,
    line_styles,
    new_figure,
    shared_legend,
)

if TYPE_CHECKING:
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
        mean = [point.agreement for point in points]
        axes.plot(x, mean, label=curve.measure, **style.look)
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
    figure, left, right = two_panels(3.5)
    for side, curves, whole in (
        ("A", found.curves_a, found.a.return_mean),
        ("B", found.curves_b, found.b.return_mean),
    ):
        for name in names:
            style = Line(_SIDES[side], (0, (2, 2)) if name == RANDOM else "-")
            draw_pruning(left, right, curves[name], style, f"{side}, {name}")
        for axes in (left, right):
            axes.axhline(whole, color=_SIDES[side], linewidth=0.8, alpha=0.7)
    left.set_ylabel("mean return (thin line: the whole policy)")
    shared_legend(figure, left, 4)
    return figure
