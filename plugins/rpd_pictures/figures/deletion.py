"""Deletion: what is lost when the policy loses only its top states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from rpd_core.errors import ConfigError
from rpd_core.results.run import Run
from rpd_pictures.figures.style import (
    GREY,
    house_style,
    in_percent,
    line_styles,
    new_figure,
    shared_legend,
)

if TYPE_CHECKING:
    from rpd_core.pruning.deletion import Deletion


@dataclass(frozen=True)
class DeletionData:
    """What the figure shows."""

    curves: Mapping[str, Deletion]
    """By measure."""
    original: float
    """Mean return of the policy as it is."""
    default_everywhere: float
    """Mean return of acting by default everywhere."""


def deletion_data(run: Run) -> DeletionData:
    """Return the deletion curves of an analysis."""
    summary = run.summary
    if not summary.deletion:
        raise ConfigError(f"no deletion was measured in analysis {summary.analysis!r}")
    original = summary.original
    return DeletionData(summary.deletion, original.return_mean, original.default_everywhere)


@house_style()
def draw_deletion(data: DeletionData) -> Figure:
    """Draw the return against the share of states, and of steps, that act by default."""
    figure = new_figure(6.8, 3.0)
    left, right = figure.subplots(1, 2, sharey=True)
    styles = line_styles(list(data.curves))
    for name, one in data.curves.items():
        style = styles[name]
        look = {"color": style.color, "marker": "o", "markersize": 3.0}
        left.plot(one.states, one.returns, label=f"without the first states by {name}", **look)
        pairs = sorted(zip(one.steps, one.returns, strict=True))
        right.plot(*zip(*pairs, strict=True), **look)
    for axes in (left, right):
        axes.axhline(data.original, color=GREY, linewidth=0.8, label="policy as it is")
        axes.axhline(
            data.default_everywhere, color=GREY, linewidth=0.8, linestyle=(0, (3, 2)),
            label="default action everywhere",
        )  # fmt: skip
        in_percent(axes.xaxis)
    left.set_ylabel("mean return")
    left.set_xlabel("first states that act by default (%)")
    right.set_xlabel("steps decided by the default action (%)")
    shared_legend(figure, left, 3)
    return figure
