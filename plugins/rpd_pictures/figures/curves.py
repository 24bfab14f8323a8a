"""Returns of pruned policies against shares of states and of steps, as in the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from rpd_core.errors import ConfigError, nearest
from rpd_core.pruning.curves import RANDOM, ShownCurve, shown_curves
from rpd_core.results.run import Run
from rpd_pictures.figures.style import (
    BLUE,
    GREY,
    RED,
    Line,
    house_style,
    in_percent,
    line_styles,
    new_figure,
    shared_legend,
    short_spec,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rpd_core.plugin.protocols import FloatArray
    from rpd_core.results.records import Policy

_GRID = np.linspace(0.0, 1.0, 101)
"""Shares at which curves of different runs are compared."""


@dataclass(frozen=True)
class CurvesData:
    """What the figure shows; returns are shares of the policy's own."""

    title: str
    curves: Mapping[str, ShownCurve]
    """By measure."""
    target: float
    """Share of the return that pruned policies are to keep."""
    confirmed: Policy | None
    """The confirmed pruned policy; none where there is none."""


def curves_data(run: Run, measures: Sequence[str] = ()) -> CurvesData:
    """Read the curves of some measures, or of all; random rankings are always among them."""
    summary = run.summary
    found = shown_curves(run.curves, run.random_curves)
    for name in measures:
        if name not in found:
            raise ConfigError(
                f"{name!r} was not pruned in this analysis.{nearest(name, found)} "
                f"There are: {', '.join(found)}"
            )
    chosen = {name: found[name] for name in found if not measures or name in (*measures, RANDOM)}
    original = summary.original
    fraction, policy = next(iter(summary.policies.items()))
    return CurvesData(
        f"{short_spec(summary.policy_spec)} on {short_spec(summary.env)}",
        {
            name: curve.rescaled(original.reference, original.return_mean)
            for name, curve in chosen.items()
        },
        float(fraction),
        policy if policy is not None and policy.met else None,
    )


@house_style()
def draw_curves(data: CurvesData) -> Figure:
    """Draw both axes beside each other, with 95 % bands over the test episodes."""
    figure, left, right = two_panels(3.7)
    styles = line_styles(list(data.curves))
    for name, curve in data.curves.items():
        draw_pruning(left, right, curve, styles[name], "random (mean)" if name == RANDOM else name)
    for axes, of_policy in ((left, "states"), (right, "steps")):
        axes.axhline(data.target, color=GREY, linewidth=0.8, zorder=1)
        axes.set_xlim(-0.015, 1.015)
        if data.confirmed is not None:
            place = getattr(data.confirmed, of_policy)
            path = [(getattr(one, of_policy), one.share) for one in data.confirmed.front]
            path.append((place, data.confirmed.share))
            axes.plot(
                *zip(*path, strict=True), color=RED, linewidth=1.0, marker=".", markersize=4,
                zorder=4, label="minimising",
            )  # fmt: skip
            axes.plot(
                [place], [data.confirmed.share], marker="*", markersize=11, color=RED, zorder=5,
                markeredgecolor="black", markeredgewidth=0.7, linestyle="none",
                label="smallest policy, confirmed", clip_on=False,
            )  # fmt: skip
    in_percent(left.yaxis)
    left.set_ylabel("return (% of the original policy's)")
    right.annotate(
        f"{data.target:.0%}", (1.0, data.target), xycoords=("axes fraction", "data"),
        xytext=(3, 0), textcoords="offset points", va="center", fontsize=7, color=GREY,
    )  # fmt: skip
    figure.suptitle(data.title, fontsize=9)
    shared_legend(figure, left)
    return figure


def two_panels(height: float) -> tuple[Figure, Axes, Axes]:
    """Return a figure for returns, over the share of states and over at most a share of steps."""
    figure = new_figure(7.2, height)
    left, right = figure.subplots(1, 2, sharey=True)
    in_percent(left.xaxis)
    in_percent(right.xaxis)
    left.set_xlabel("states restored to the policy (%)")
    right.set_xlabel("steps decided by the policy, at most (%)")
    return figure, left, right


def draw_pruning(left: Axes, right: Axes, curve: ShownCurve, style: Line, label: str) -> None:
    """Draw a curve with its band, and over steps the best that is known.

    Between two points over steps nothing is taken to lie on a straight line.
    """
    band: dict[str, Any] = {"color": style.color, "alpha": 0.08, "linewidth": 0}
    left.fill_between(curve.states, curve.low, curve.high, **band)
    left.plot(curve.states, curve.returns, label=label, **style.look)
    best = curve.best_by_steps()
    x = (*best.steps, 1.0)
    mean, low, high = ((*end, end[-1]) for end in (best.returns, best.low, best.high))
    right.fill_between(x, low, high, step="post", **band)
    right.plot(x, mean, drawstyle="steps-post", **style.look)


# -------------------------------------------------------------------------- many runs


@dataclass(frozen=True)
class _Band:
    """The best return with at most a share, over runs."""

    mean: FloatArray
    low: FloatArray
    """One standard deviation between runs below the mean, but no less than any run gave."""
    high: FloatArray
    """The same above it."""


def band_of(runs: Sequence[Sequence[ShownCurve]], axis: str) -> _Band:
    """Return the mean over runs of the best share of the return that at most a share gives."""
    rows = np.array([_best_at(curves, axis) for curves in runs])
    mean, least, most = rows.mean(axis=0), rows.min(axis=0), rows.max(axis=0)
    std = rows.std(axis=0, ddof=1) if len(rows) > 1 else 0.0
    return _Band(mean, np.clip(mean - std, least, most), np.clip(mean + std, least, most))


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
    figure, left, right = two_panels(3.5)
    styles = {**line_styles(list(runs)), "portfolio": Line(BLUE, "-", 2.0)}
    for axes, axis in ((left, "states"), (right, "steps")):
        for name, some in runs.items():
            band, style = band_of(some, axis), styles[name]
            axes.fill_between(_GRID, band.low, band.high, color=style.color, alpha=0.12, lw=0)
            axes.plot(_GRID, band.mean, label=name, **style.look)
        for target in targets:
            axes.axhline(target, color=GREY, linewidth=0.8, zorder=1)
        axes.set_xlim(0, 1)
    in_percent(left.yaxis)
    left.set_ylabel("return (% of the original policy's)")
    left.set_xlabel("states restored to the policy, at most (%)")
    figure.suptitle(title, fontsize=9)
    shared_legend(figure, left)
    return figure
