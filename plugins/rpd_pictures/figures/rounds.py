"""Refining, round by round: how small the pruned policy became."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from rpd_core.errors import ConfigError, shell_word
from rpd_core.results.run import Run
from rpd_pictures.figures.style import BLUE, RED, house_style, in_percent, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rpd_core.results.records import RoundFacts


@dataclass(frozen=True)
class _RoundsData:
    """What the figure shows."""

    centre: int
    """Kept states of the pruned policy that the first round began with."""
    rounds: tuple[RoundFacts, ...]
    """Those in which a smaller policy was tried."""
    silent: tuple[int, ...]
    """Numbers of the rounds that found nothing smaller."""


def rounds_data(run: Run) -> _RoundsData:
    """Return the rounds of refining."""
    rounds = run.summary.rounds
    if not rounds:
        raise ConfigError(
            "no round of refining was played, so none is drawn; "
            f"rpd refine {shell_word(run.path)} says why"
        )
    return _RoundsData(
        rounds[0].centre,
        tuple(one for one in rounds if one.kept is not None),
        tuple(one.number for one in rounds if one.kept is None),
    )


@house_style()
def draw_rounds(data: _RoundsData) -> Figure:
    """Draw kept states and share of steps by round; hollow where fresh episodes did not confirm."""
    figure = new_figure(6.4, 2.9)
    left, right = figure.subplots(1, 2)
    left.plot([0], [data.centre], marker="s", color=BLUE, linestyle="none", label="begun with")
    _draw(left, data.rounds, [float(one.kept or 0) for one in data.rounds], BLUE)
    _draw(right, data.rounds, [one.steps or 0.0 for one in data.rounds], RED)
    last = max([0, *(one.number for one in data.rounds), *data.silent])
    for axes in (left, right):
        axes.set_xlim(-0.4, last + 0.4)
        if axes.lines:  # else every round found nothing smaller
            axes.set_ylim(0, 1.12 * axes.dataLim.y1)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("round of refining")
        for number in data.silent:
            axes.annotate(
                "nothing\nsmaller", (number, 0), ha="center", va="bottom", fontsize=7,
                xytext=(0, 3), textcoords="offset points",
            )  # fmt: skip
    left.set_ylabel("states that keep the policy")
    right.set_ylabel("steps decided by the policy (%)")
    in_percent(right.yaxis)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _draw(axes: Axes, rounds: Sequence[RoundFacts], values: Sequence[float], color: str) -> None:
    axes.plot([one.number for one in rounds], values, color=color, linewidth=1, alpha=0.6)
    for met, words in ((True, "confirmed"), (False, "not confirmed")):
        some = [place for place, one in enumerate(rounds) if (one.outcome == "met") == met]
        if some:
            axes.plot(
                [rounds[place].number for place in some], [values[place] for place in some],
                marker="o", color=color, linestyle="none", label=words,
                markerfacecolor=color if met else "white",
            )  # fmt: skip
