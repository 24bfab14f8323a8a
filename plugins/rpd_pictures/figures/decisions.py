"""The first decisions of the smallest policy: losses with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from rpd_core.errors import ConfigError
from rpd_core.results.run import Run
from rpd_core.results.sentences import noun_for
from rpd_core.results.words import reached_words, shortened_states
from rpd_pictures.figures.style import BLACK, BLUE, GREY, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rpd_core.results.records import Decision

_LONGEST = 52
"""Characters of a line of a state; a rule gets as many lines as it takes."""
_MARKS = {True: (BLUE, "o", "needed"), False: (GREY, "v", "not shown to be needed")}


@house_style()
def draw_decisions(run: Run, count: int = 15) -> Figure:
    """Draw one line per decision, the first on top, with what is done and how often it is met."""
    rows = run.top(count)
    if not rows:
        raise ConfigError("no smallest policy is confirmed: there is no decision to draw")
    rule = noun_for(run.summary) == "rule"
    states = shortened_states([row.state for row in rows], _LONGEST, 20 if rule else 1)
    tallest = max(text.count("\n") for text in states)
    figure = new_figure(7.2, 0.9 + (0.24 + 0.16 * tallest) * len(rows))
    axes = figure.subplots()
    axes.axvline(0, color=BLACK, linewidth=0.8)
    for place, row in enumerate(rows):
        color, marker, _ = _MARKS[row.needed]
        axes.plot([row.loss_low, row.loss_high], [place, place], color=color, linewidth=1.6)
        axes.plot([row.loss], [place], marker=marker, color=color, markersize=5)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), _labels(rows, states))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("loss: mean return minus mean return without the decision, with 95% interval")
    _label_right(axes, rows)
    _add_legend(figure, axes, rows)
    return figure


def _label_right(axes: Axes, rows: Sequence[Decision]) -> None:
    """Write beside each decision what policy and default action do, and how often it is reached."""
    other = axes.secondary_yaxis("right")
    labels = [
        f"{_first(row.policy_action)} / {_first(row.default_action)},  {reached_words(row.reached)}"
        for row in rows
    ]
    other.set_yticks(range(len(rows)), labels, fontsize=7)
    other.tick_params(axis="y", length=0)
    other.spines["right"].set_visible(False)
    for x, side, words in (
        (1.01, "left", "policy / default,  reached"),
        (-0.01, "right", "state  rank"),
    ):
        axes.annotate(
            words, (x, 1.0), xycoords="axes fraction", ha=side, va="bottom", fontsize=7,
            xytext=(0, 2), textcoords="offset points", color="#444444",
        )  # fmt: skip


def _first(words: str) -> str:
    first = words if words.startswith("(") else words.partition(", ")[0]
    return first if len(first) <= 14 else f"{first[:13]}…"


def _add_legend(figure: Figure, axes: Axes, rows: Sequence[Decision]) -> None:
    found = {row.needed for row in rows}
    for needed, (color, marker, words) in _MARKS.items():
        if needed in found:
            axes.plot([], [], marker=marker, color=color, label=words)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)


def _labels(rows: Sequence[Decision], states: Sequence[str]) -> list[str]:
    return [f"{text}  {row.rank}" for row, text in zip(rows, states, strict=True)]
