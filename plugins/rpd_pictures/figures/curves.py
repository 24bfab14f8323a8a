"""The pruning curves, as in the paper: return against shares of states and of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from rpd_core.errors import ConfigError, nearest
from rpd_core.results.run import Run
from rpd_pictures.figures.data import PlottedCurve, curves_of
from rpd_pictures.figures.style import (
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


@dataclass(frozen=True)
class CurvesData:
    """What the figure shows; returns are shares of the policy's own."""

    title: str
    curves: Mapping[str, PlottedCurve]
    """By measure."""
    target: float
    """Share of the return that pruned policies are to keep."""
    confirmed: Policy | None
    """The confirmed pruned policy; none where there is none."""


def curves_data(run: Run, measures: Sequence[str] = ()) -> CurvesData:
    """Read the curves of some measures, or of all; random rankings are always among them."""
    summary = run.summary
    found = curves_of(run)
    for name in measures:
        if name not in found:
            raise ConfigError(
                f"{name!r} was not pruned in this analysis.{nearest(name, found)} "
                f"There are: {', '.join(found)}"
            )
    chosen = {name: found[name] for name in found if not measures or name in (*measures, "random")}
    floor = summary.original.reference
    scale = summary.original.return_mean - floor
    fraction, policy = next(iter(summary.policies.items()))
    return CurvesData(
        f"{short_spec(summary.policy_spec)} on {short_spec(summary.env)}",
        {name: _as_share(curve, floor, scale) for name, curve in chosen.items()},
        float(fraction),
        policy if policy is not None and policy.met else None,
    )


def _as_share(curve: PlottedCurve, floor: float, scale: float) -> PlottedCurve:
    """Return a curve in shares of the policy's return, measured from the reference."""
    ends = ((end - floor) / scale for end in (curve.mean, curve.low, curve.high))
    return PlottedCurve(curve.name, curve.states, curve.steps, *ends)


@house_style()
def draw_curves(data: CurvesData) -> Figure:
    """Draw both axes beside each other, with 95 % bands over the test episodes."""
    figure = new_figure(7.2, 3.7)
    left, right = figure.subplots(1, 2, sharey=True)
    styles = line_styles(list(data.curves))
    for name, curve in data.curves.items():
        _draw(left, curve.states, curve, styles[name])
        _draw_best(right, best_within(curve), styles[name])
    for axes, of_policy in ((left, "states"), (right, "steps")):
        axes.axhline(data.target, color=GREY, linewidth=0.8, zorder=1)
        axes.set_xlim(-0.015, 1.015)
        in_percent(axes.xaxis)
        if data.confirmed is not None:
            place = getattr(data.confirmed, of_policy)
            axes.plot(
                [place], [data.confirmed.share], marker="*", markersize=11, color=RED, zorder=5,
                markeredgecolor="black", markeredgewidth=0.7, linestyle="none",
                label="confirmed policy", clip_on=False,
            )  # fmt: skip
    in_percent(left.yaxis)
    left.set_ylabel("return (% of the original policy's)")
    left.set_xlabel("states restored to the policy (%)")
    right.set_xlabel("steps decided by the policy, at most (%)")
    right.annotate(
        f"{data.target:.0%}", (1.0, data.target), xycoords=("axes fraction", "data"),
        xytext=(3, 0), textcoords="offset points", va="center", fontsize=7, color=GREY,
    )  # fmt: skip
    figure.suptitle(data.title, fontsize=9)
    shared_legend(figure, left)
    return figure


def best_within(curve: PlottedCurve) -> PlottedCurve:
    """Return the best pruned policies in ascending share of steps, as the paper draws them.

    A point counts only if it returns more than every one with fewer steps: steps need not ascend
    with states, and a policy that does worse with more of them is of no use.
    """
    order = np.lexsort((-curve.mean, curve.steps))
    mean = curve.mean[order]
    best = np.r_[True, mean[1:] > np.maximum.accumulate(mean)[:-1]]
    rows = order[best]
    return PlottedCurve(
        curve.name,
        *(
            column[rows]
            for column in (curve.states, curve.steps, curve.mean, curve.low, curve.high)
        ),
    )


def _draw(axes: Axes, shares: FloatArray, curve: PlottedCurve, style: Line) -> None:
    axes.fill_between(shares, curve.low, curve.high, color=style.color, alpha=0.08, linewidth=0)
    axes.plot(
        shares, curve.mean, color=style.color, linestyle=style.dashes, linewidth=style.width,
        label="random (mean)" if curve.name == "random" else curve.name,
    )  # fmt: skip


def _draw_best(axes: Axes, best: PlottedCurve, style: Line) -> None:
    """Draw what is known: between two points nothing is taken to lie on a straight line."""
    x = np.r_[best.steps, 1.0]
    mean, low, high = (np.r_[end, end[-1]] for end in (best.mean, best.low, best.high))
    axes.fill_between(x, low, high, color=style.color, alpha=0.08, linewidth=0, step="post")
    axes.plot(
        x, mean, color=style.color, linestyle=style.dashes, linewidth=style.width,
        drawstyle="steps-post",
    )  # fmt: skip
