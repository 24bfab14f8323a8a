"""Deletion: what is lost when the policy loses only its top states."""

from __future__ import annotations

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


@house_style()
def draw_deletion(run: Run) -> Figure:
    """Draw the return against the share of states, and of steps, that act by default."""
    curves, original = run.summary.deletion, run.summary.original
    if not curves:
        raise ConfigError(f"no deletion was measured in analysis {run.summary.analysis!r}")
    figure = new_figure(6.8, 3.0)
    left, right = figure.subplots(1, 2, sharey=True)
    styles = line_styles(list(curves))
    for name, one in curves.items():
        style = styles[name]
        look = {"color": style.color, "marker": "o", "markersize": 3.0}
        left.plot(one.states, one.returns, label=f"without the first states by {name}", **look)
        pairs = sorted(zip(one.steps, one.returns, strict=True))
        right.plot(*zip(*pairs, strict=True), **look)
    for axes in (left, right):
        axes.axhline(original.return_mean, color=GREY, linewidth=0.8, label="policy as it is")
        axes.axhline(
            original.default_everywhere, color=GREY, linewidth=0.8, linestyle=(0, (3, 2)),
            label="default action everywhere",
        )  # fmt: skip
        in_percent(axes.xaxis)
    left.set_ylabel("mean return")
    left.set_xlabel("first states that act by default (%)")
    right.set_xlabel("steps decided by the default action (%)")
    shared_legend(figure, left, 3)
    return figure
