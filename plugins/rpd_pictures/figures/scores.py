"""Scores by rank: how fast each measure falls off, and where it does not tell states apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from rpd_core.results.run import Run
from rpd_pictures.figures.style import house_style, in_whole_numbers, line_styles, new_figure

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray

_COLUMNS = 3


@dataclass(frozen=True)
class RankedScores:
    """The scores of one measure in rank order."""

    scores: FloatArray
    """The highest first."""
    tied: float
    """Share of the states that have the score of another."""


def scores_data(run: Run, measures: Sequence[str] = ()) -> Mapping[str, RankedScores]:
    """Rank the states by some measures, or by all of the analysis."""
    found = {}
    for name in measures or run.asked.settings.measures:
        ranking = run.ranked(name) if measures else run.ranked_as_stored(name)
        tied = int(ranking.tie_blocks().sum()) / max(len(ranking), 1)
        found[ranking.name] = RankedScores(ranking.scores[ranking.order], tied)
    return found


@house_style()
def draw_scores(data: Mapping[str, RankedScores]) -> Figure:
    """Draw one small panel per measure, each on a scale of its own."""
    columns = min(_COLUMNS, len(data))
    rows = math.ceil(len(data) / columns)
    figure = new_figure(2.4 * columns, 1.6 * rows + 0.4)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True).ravel()
    styles = line_styles(list(data))
    for axes, (name, one) in zip(panels, data.items(), strict=False):
        ranks = np.arange(1, len(one.scores) + 1)
        axes.plot(ranks, one.scores, color=styles[name].color, drawstyle="steps-mid")
        axes.fill_between(ranks, one.scores, color=styles[name].color, alpha=0.12, step="mid", lw=0)
        axes.set_xscale("log")
        in_whole_numbers(axes.xaxis)
        axes.set_title(f"{name} ({one.tied:.0%} tied)", loc="left", fontsize=8)
    for axes in panels[len(data) :]:
        axes.remove()
    for axes in panels[max(len(data) - columns, 0) : len(data)]:
        axes.tick_params(labelbottom=True)  # also where the row below is not full
    figure.supxlabel("rank of the state", fontsize=8)
    figure.supylabel("score", fontsize=8)
    return figure
