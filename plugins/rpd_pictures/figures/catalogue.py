"""Every figure by its name, and how it becomes a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from rpd_core.errors import nearest
from rpd_core.results.run import Run
from rpd_core.store.files import write_whole
from rpd_pictures.figures.asking import PlotError, PlotOptions
from rpd_pictures.figures.balance import balance_data, draw_balance
from rpd_pictures.figures.curves import curves_data, draw_curves
from rpd_pictures.figures.decisions import decisions_data, draw_decisions
from rpd_pictures.figures.deletion import deletion_data, draw_deletion
from rpd_pictures.figures.map import draw_map, map_data
from rpd_pictures.figures.names import KINDS, PLOTS
from rpd_pictures.figures.panels import draw_by_panel
from rpd_pictures.figures.rounds import draw_rounds, rounds_data
from rpd_pictures.figures.scores import draw_scores, scores_data
from rpd_pictures.figures.style import rendered

_DRAWN: dict[str, Callable[[Run, PlotOptions], Figure]] = {
    "curves": lambda run, asked: draw_curves(curves_data(run, asked.measures)),
    "scores": lambda run, asked: draw_scores(scores_data(run, asked.measures)),
    "decisions": lambda run, asked: draw_decisions(decisions_data(run, asked.count)),
    "map": lambda run, asked: _map(run, asked.pair),
    "deletion": lambda run, asked: draw_deletion(deletion_data(run)),
    "rounds": lambda run, asked: draw_rounds(rounds_data(run)),
    "balance": lambda run, asked: draw_balance(balance_data(run)),
}


def _map(run: Run, pair: tuple[str, str] | None) -> Figure:
    """Draw what the environment's own panel draws, or a plane of two entries."""
    own = draw_by_panel(run) if pair is None else None
    return own or draw_map(map_data(run, pair))


def draw(run: Run, name: str, asked: PlotOptions | None = None) -> Figure:
    """Draw one of the figures of a run."""
    if name not in _DRAWN:
        known = f" There are: {', '.join(PLOTS)}."
        raise PlotError(f"there is no plot {name!r}.{nearest(name, PLOTS)}{known}")
    return _DRAWN[name](run, asked or PlotOptions())


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as its suffix says; the same figure always gives the same bytes."""
    write_whole(path, rendered(figure, kind_of(path)))


def kind_of(path: Path) -> str:
    """Return the kind of file that a name's suffix asks for."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in KINDS:
        raise PlotError(
            f"{str(path)!r} must end in {', '.join(f'.{one}' for one in KINDS[:-1])} or "
            f".{KINDS[-1]}"
        )
    return kind


@dataclass(frozen=True)
class Plots:
    """The figures of a run, for notebooks: each call returns a matplotlib figure."""

    run: Run
    """What they are of."""

    def curves(self, *measures: str) -> Figure:
        """Draw the pruning curves of some measures, or of all."""
        return draw(self.run, "curves", PlotOptions(measures))

    def scores(self, *measures: str) -> Figure:
        """Draw scores by rank."""
        return draw(self.run, "scores", PlotOptions(measures))

    def decisions(self, count: int = 15) -> Figure:
        """Draw the first decisions with their effects."""
        return draw(self.run, "decisions", PlotOptions(count=count))

    def map(self, x: str | None = None, y: str | None = None) -> Figure:
        """Draw a map of the environment, or a plane of two entries: effect beside frequency."""
        if (x is None) != (y is None):
            raise PlotError("a plane needs two entries, or none to have them chosen")
        pair = None if x is None or y is None else (x, y)
        return draw(self.run, "map", PlotOptions(pair=pair))

    def deletion(self) -> Figure:
        """Draw what is lost without the first states."""
        return draw(self.run, "deletion")

    def rounds(self) -> Figure:
        """Draw the rounds of refining."""
        return draw(self.run, "rounds")

    def balance(self) -> Figure:
        """Draw how mutant episodes split into passed and failed."""
        return draw(self.run, "balance")
