"""Two policies side by side: how each can be pruned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from rpd_core.pruning.curves import RANDOM
from rpd_pictures.figures.curves import draw_pruning, two_panels
from rpd_pictures.figures.style import (
    BLUE,
    ORANGE,
    Line,
    house_style,
    shared_legend,
)

if TYPE_CHECKING:
    from rpd_compare.records import Comparison

_SIDES = {"A": BLUE, "B": ORANGE}


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
