"""The pruning curves, as in the paper: return against shares of states and of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from rpd_core.errors import ConfigError, nearest
from rpd_core.pruning.curves import RANDOM, ShownCurve, shown_curves
from rpd_core.results.run import Run
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

    from rpd_core.results.records import Policy


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
    figure = new_figure(7.2, 3.7)
    left, right = figure.subplots(1, 2, sharey=True)
    styles = line_styles(list(data.curves))
    for name, curve in data.curves.items():
        _draw(left, curve, styles[name])
        _draw_best(right, curve.best_by_steps(), styles[name])
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


def _draw(axes: Axes, curve: ShownCurve, style: Line) -> None:
    ends = curve.low, curve.high
    axes.fill_between(curve.states, *ends, color=style.color, alpha=0.08, linewidth=0)
    axes.plot(
        curve.states, curve.returns, color=style.color, linestyle=style.dashes,
        linewidth=style.width, label="random (mean)" if curve.measure == RANDOM else curve.measure,
    )  # fmt: skip


def _draw_best(axes: Axes, best: ShownCurve, style: Line) -> None:
    """Draw what is known: between two points nothing is taken to lie on a straight line."""
    x = (*best.steps, 1.0)
    mean, low, high = ((*end, end[-1]) for end in (best.returns, best.low, best.high))
    axes.fill_between(x, low, high, color=style.color, alpha=0.08, linewidth=0, step="post")
    axes.plot(
        x, mean, color=style.color, linestyle=style.dashes, linewidth=style.width,
        drawstyle="steps-post",
    )  # fmt: skip
