"""Pruning curves of several runs as one: the mean over seeds, with a band of one deviation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from rpd_pictures.figures.style import (
    BLUE,
    GREY,
    Line,
    house_style,
    in_percent,
    line_styles,
    new_figure,
    shared_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rpd_core.plugin.protocols import FloatArray
    from rpd_core.pruning.curves import ShownCurve

_GRID = np.linspace(0.0, 1.0, 101)
"""Shares at which curves of different runs are compared."""
_PORTFOLIO = Line(BLUE, "-", 2.0)


@dataclass(frozen=True)
class Band:
    """The best return with at most a share, over runs."""

    mean: FloatArray
    low: FloatArray
    """One standard deviation between runs below the mean, but no less than any run gave."""
    high: FloatArray
    """The same above it."""


def band_of(runs: Sequence[Sequence[ShownCurve]], axis: str) -> Band:
    """Return the mean over runs of the best share of the return that at most a share gives."""
    rows = np.array([_best_at(curves, axis) for curves in runs])
    mean, least, most = rows.mean(axis=0), rows.min(axis=0), rows.max(axis=0)
    std = rows.std(axis=0, ddof=1) if len(rows) > 1 else 0.0
    return Band(mean, np.clip(mean - std, least, most), np.clip(mean + std, least, most))


def _best_at(curves: Sequence[ShownCurve], axis: str) -> FloatArray:
    """Return the best share of the return of some curves with at most each share of the grid.

    Below the smallest share that was tried stands what that one gave: nothing is known there.
    """
    x = np.concatenate([getattr(curve, axis) for curve in curves])
    order = np.argsort(x, kind="stable")
    returns = np.concatenate([curve.returns for curve in curves])
    best = np.maximum.accumulate(returns[order])
    place = np.searchsorted(x[order], _GRID + 1e-9, side="right") - 1
    return np.asarray(best[np.maximum(place, 0)])


@house_style()
def draw_bands(
    runs: Mapping[str, Sequence[Sequence[ShownCurve]]],
    title: str,
    targets: Sequence[float] = (0.9, 0.5),
) -> Figure:
    """Draw each ranking over both axes; its curves, in shares of the return, are of many runs."""
    figure = new_figure(7.2, 3.5)
    left, right = figure.subplots(1, 2, sharey=True)
    styles = {**line_styles(list(runs)), "portfolio": _PORTFOLIO}
    for axes, axis in ((left, "states"), (right, "steps")):
        for name, some in runs.items():
            _draw(axes, band_of(some, axis), styles[name], name)
        for target in targets:
            axes.axhline(target, color=GREY, linewidth=0.8, zorder=1)
        axes.set_xlim(0, 1)
        in_percent(axes.xaxis)
    in_percent(left.yaxis)
    left.set_ylabel("return (% of the original policy's)")
    left.set_xlabel("states restored to the policy, at most (%)")
    right.set_xlabel("steps decided by the policy, at most (%)")
    figure.suptitle(title, fontsize=9)
    shared_legend(figure, left)
    return figure


def _draw(axes: Axes, band: Band, style: Line, name: str) -> None:
    axes.fill_between(_GRID, band.low, band.high, color=style.color, alpha=0.12, linewidth=0)
    axes.plot(
        _GRID, band.mean, color=style.color, linestyle=style.dashes, linewidth=style.width,
        label=name,
    )  # fmt: skip
