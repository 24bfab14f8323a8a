"""Scores by rank: how fast each measure falls off, and where it does not tell states apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from rpd_core.results.run import Run
from rpd_pictures.figures.style import house_style, in_whole_numbers, line_styles, new_figure

_COLUMNS = 3


@house_style()
def draw_scores(run: Run, measures: Sequence[str] = ()) -> Figure:
    """Draw one small panel for each of some measures, or of all, each on a scale of its own."""
    asked = run.asked
    names = measures or [name for name in asked.settings.measures if name in asked.sweep]
    read = run.ranked if measures else run.ranked_as_stored
    rankings = [read(name) for name in names]
    columns = min(_COLUMNS, len(rankings))
    rows = math.ceil(len(rankings) / columns)
    figure = new_figure(2.4 * columns, 1.6 * rows + 0.4)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True).ravel()
    styles = line_styles([one.name for one in rankings])
    for axes, one in zip(panels, rankings, strict=False):
        ranks, scores = np.arange(1, len(one) + 1), one.scores[one.order]
        color = styles[one.name].color
        axes.plot(ranks, scores, color=color, drawstyle="steps-mid")
        axes.fill_between(ranks, scores, color=color, alpha=0.12, step="mid", lw=0)
        axes.set_xscale("log")
        in_whole_numbers(axes.xaxis)
        tied = int(one.tie_blocks().sum()) / max(len(one), 1)
        axes.set_title(f"{one.name} ({tied:.0%} tied)", loc="left", fontsize=8)
    for axes in panels[len(rankings) :]:
        axes.remove()
    for axes in panels[max(len(rankings) - columns, 0) : len(rankings)]:
        axes.tick_params(labelbottom=True)  # also where the row below is not full
    figure.supxlabel("rank of the state", fontsize=8)
    figure.supylabel("score", fontsize=8)
    return figure
