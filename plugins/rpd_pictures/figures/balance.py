"""The suite's health: how the returns of mutant episodes split into passed and failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from rpd_core.pilot import FILE as PILOT
from rpd_core.pilot import Pilot
from rpd_core.results.run import Run
from rpd_core.store.codec import from_plain
from rpd_pictures.figures.style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    house_style,
    in_percent,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rpd_core.plugin.protocols import FloatArray

_BINS = 30


@dataclass(frozen=True)
class _BalanceData:
    """What the figure shows."""

    condition: str
    """When an episode passed, in words."""
    mutation_rate: float
    """Chance that a state was mutated."""
    edges: FloatArray
    """Of the bins of returns."""
    passed: FloatArray
    """Episodes that passed in each bin; soft conditions pass fractions."""
    failed: FloatArray
    """Those that failed."""
    original: float
    """Mean return of the policy as it is."""
    default_everywhere: float
    """Mean return of acting by default everywhere."""
    pilot: Pilot | None
    """What a pilot found about other mutation rates; none where there was none."""


def balance_data(run: Run) -> _BalanceData:
    """Count the returns of the mutant episodes by outcome."""
    analysis, summary = run.analysis, run.summary
    returns, weights = analysis.episodes.total_return, analysis.weights
    ends = float(returns.min()), float(returns.max())
    edges = np.linspace(*ends, _BINS + 1) if ends[0] < ends[1] else np.array([-0.5, 0.5]) + ends[0]
    stored = run.directory.read_json(PILOT)
    where = repr(str(run.path / PILOT))
    return _BalanceData(
        summary.condition,
        summary.suite.mutation_rate,
        edges,
        np.histogram(returns, edges, weights=weights)[0],
        np.histogram(returns, edges, weights=1 - weights)[0],
        summary.original.return_mean,
        summary.original.default_everywhere,
        None if stored is None else from_plain(Pilot, stored, where),
    )


@house_style()
def draw_balance(data: _BalanceData) -> Figure:
    """Draw returns of mutant episodes, and beside them the pilot's shares where there was one."""
    panels = 1 if data.pilot is None else 2
    figure = new_figure(4.4 if panels == 1 else 7.2, 3.0)
    axes = figure.subplots(1, panels, squeeze=False)[0]
    _draw_returns(axes[0], data)
    if data.pilot is not None:
        _draw_pilot(axes[1], data.pilot)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _draw_returns(axes: Axes, data: _BalanceData) -> None:
    width = np.diff(data.edges)
    total = float((data.passed + data.failed).sum())
    shares = f"passed: {data.passed.sum() / total:.0%}", f"failed: {data.failed.sum() / total:.0%}"
    axes.bar(data.edges[:-1], data.failed, width, align="edge", color=ORANGE, label=shares[1],
             edgecolor="white", linewidth=0.4)  # fmt: skip
    axes.bar(data.edges[:-1], data.passed, width, align="edge", color=BLUE, label=shares[0],
             bottom=data.failed, edgecolor="white", linewidth=0.4)  # fmt: skip
    axes.axvline(data.original, color=BLACK, linewidth=1.2, label="policy unmutated (mean)")
    axes.axvline(data.default_everywhere, color=GREY, linewidth=1.2, linestyle=(0, (3, 2)),
                 label="default action everywhere (mean)")  # fmt: skip
    axes.set_xlabel("return of a mutant episode")
    axes.set_ylabel("episodes")
    axes.set_ylim(0, 1.05 * float((data.passed + data.failed).max()))
    axes.set_title(f"mutation rate {data.mutation_rate:g}; passed: {data.condition}", loc="left")


def _draw_pilot(axes: Axes, pilot: Pilot) -> None:
    axes.plot(pilot.rates, pilot.shares, color=BLUE, marker="o", markersize=4)
    axes.plot(
        [pilot.mutation_rate], [pilot.share], marker="o", markersize=8, color=ORANGE,
        linestyle="none", markeredgecolor="black",
    )  # fmt: skip
    axes.axhline(0.5, color=GREY, linewidth=0.8)
    axes.set_ylim(0, 1)
    in_percent(axes.yaxis)
    axes.set_xlabel("mutation rate")
    axes.set_ylabel("episodes that pass (%)")
    axes.set_title("pilot; the chosen rate is marked", loc="left")
