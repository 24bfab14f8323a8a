"""Where the decisions that matter lie: a map that a panel draws, or a plane of two entries.

What only one environment can draw, such as the map of a maze, is for panels of its own plugin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LogNorm, TwoSlopeNorm
from matplotlib.figure import Figure

from rpd_core.analysis.decisions import judged_states
from rpd_core.analysis.intervals import effect
from rpd_core.errors import ConfigError, nearest, one_line
from rpd_core.plugin.protocols import Entry, Plotter
from rpd_core.plugin.registry import installed
from rpd_core.results.pictures import read_pictures
from rpd_core.results.run import Run
from rpd_pictures.figures.style import LIGHT, WHOLE, house_style, new_figure
from rpd_pictures.panels import WORDED, Gathered, panel_view, usable_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rpd_core.plugin.protocols import Array, FloatArray, IntArray

_MOST = 32
"""Entries beyond which a state is a picture rather than a vector."""
_TICKS = 8


@dataclass(frozen=True)
class MapData:
    """A table over the values of two entries; NaN where no state lies."""

    names: tuple[str, str]
    """Of the entries, with units."""
    columns: tuple[str, ...]
    """Values of the first, in words, ascending."""
    rows: tuple[str, ...]
    """Values of the second."""
    effects: FloatArray
    """Mean effect of the states there that have evidence, weighed by episodes; rows by columns."""
    visits: FloatArray
    """Steps of the suite spent there."""


def map_data(run: Run, pair: tuple[str, str] | None = None) -> MapData:
    """Sum the states up by two of their entries."""
    counted = run.analysis.counted
    values = counted.states.value.reshape(len(counted.states), -1)
    entries = run.directory.names().state_entries
    width = values.shape[1]
    if width < 2 or width > _MOST:
        kind = "one number each" if width < 2 else "pictures"
        raise ConfigError(
            f"the states of {str(run.path)!r} are {kind}, not vectors of 2 to {_MOST} entries: "
            "there is no plane to draw them on"
        )
    if len(entries) != width:
        entries = tuple(Entry(f"entry {number}") for number in range(width))
    x, y = _chosen(pair, entries, values)
    xs, column = np.unique(values[:, x], return_inverse=True)
    ys, row = np.unique(values[:, y], return_inverse=True)
    at = row * len(xs) + column
    spectrum = counted.spectrum
    episodes = np.sum(list(vars(spectrum).values()), axis=0)
    episodes = episodes * judged_states(counted, run.asked.settings.evidence)
    shape = len(ys), len(xs)
    weight = _summed(at, episodes, shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        effects = _summed(at, episodes * effect(spectrum), shape) / weight
    visits = _summed(at, counted.states.visits.astype(np.float64), shape)
    visits[visits == 0] = np.nan
    return MapData(
        (_titled(entries[x]), _titled(entries[y])),
        _in_words(xs, entries[x]),
        _in_words(ys, entries[y]),
        effects,
        visits,
    )


def _summed(at: IntArray, amounts: FloatArray, shape: tuple[int, int]) -> FloatArray:
    return np.asarray(np.bincount(at, amounts, shape[0] * shape[1]).reshape(shape), np.float64)


def _chosen(
    pair: tuple[str, str] | None, entries: tuple[Entry, ...], values: Array
) -> tuple[int, int]:
    """Return the numbers of two entries: those asked for, or those that take most values."""
    if pair is None:
        several = [len(np.unique(values[:, entry])) for entry in range(len(entries))]
        first, second = sorted(np.argsort([-count for count in several], kind="stable")[:2])
        return int(first), int(second)
    found = [_number(name.strip(), entries) for name in pair]
    if found[0] == found[1]:
        raise ConfigError(f"a plane needs two different entries, got {pair[0]!r} twice")
    return found[0], found[1]


def _number(name: str, entries: tuple[Entry, ...]) -> int:
    names = [one.name for one in entries]
    if name in names:
        return names.index(name)
    if name.isdecimal() and int(name) < len(names):
        return int(name)
    known = nearest(name, names) or f" There are: {', '.join(names)}."
    raise ConfigError(f"states have no entry {name!r}.{known}")


def _titled(entry: Entry) -> str:
    unit = entry.unit.strip()
    return f"{entry.name} ({unit})" if unit else entry.name


def _in_words(values: Array, entry: Entry) -> tuple[str, ...]:
    """Return the values of an entry as people read them; bins by where they begin."""
    if entry.edges:
        edges = [-np.inf, *entry.edges]
        return tuple(f"≥ {edges[min(int(v), len(edges) - 1)]:.3g}" for v in values.tolist())
    scaled = [value * entry.factor for value in values.tolist()]
    if entry.digits is not None:
        return tuple(f"{value:.{entry.digits}f}" for value in scaled)
    return tuple(f"{value:.4g}" for value in scaled)


def draw_map(run: Run, pair: tuple[str, str] | None = None) -> Figure:
    """Draw what a panel of the environment's plugin draws, or a plane: effect beside frequency."""
    own = _draw_by_panel(run) if pair is None else None
    return own or draw_plane(map_data(run, pair))


@house_style()
def _draw_by_panel(run: Run) -> Figure | None:
    """Return the figure of the first panel that has one for this run; None where none has."""
    panels = {
        name: panel for name, panel in usable_panels(installed()) if isinstance(panel, Plotter)
    }
    if not panels or not run.summary.list.listed:
        return None
    stored = read_pictures(run.path, str(run.name))
    gathered = Gathered(run, stored.panels if stored is not None else {})
    view = panel_view(run, run.decided(), run.effects(WORDED), {})
    for name, panel in panels.items():
        figure = new_figure(7.2, 3.6)
        try:
            mine = gathered.view_for(name, view)
            drew = panel.applies(mine.about) and panel.plot(mine, figure)
        except (Exception, SystemExit) as error:  # a stranger's panel may raise anything
            raise ConfigError(
                f"the panel {name!r} could not draw a map: {one_line(error)}"
            ) from error
        if drew:
            return figure
    return None


@house_style()
def draw_plane(data: MapData) -> Figure:
    figure = new_figure(7.2, 3.3)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    most = float(np.abs(data.effects[~np.isnan(data.effects)]).max(initial=0.0))
    norm = TwoSlopeNorm(0.0, -max(most, 1e-9), max(most, 1e-9))
    _draw(
        left,
        data,
        data.effects,
        "effect, where there is evidence",
        {"cmap": "PuOr_r", "norm": norm},
    )
    largest = max(float(np.nanmax(data.visits)), 2.0)
    logarithmic = LogNorm(1.0, largest)
    _draw(right, data, data.visits, "steps spent there", {"cmap": "cividis", "norm": logarithmic})
    left.set_ylabel(data.names[1])
    return figure


def _draw(axes: Axes, data: MapData, table: FloatArray, title: str, look: dict[str, Any]) -> None:
    """Draw a table with the values of both entries as ticks."""
    drawn = axes.pcolormesh(np.ma.masked_invalid(table), **look)
    for set_ticks, words in ((axes.set_xticks, data.columns), (axes.set_yticks, data.rows)):
        step = max(1, -(-len(words) // _TICKS))
        places = range(0, len(words), step)
        set_ticks([place + 0.5 for place in places], [words[place] for place in places])
    axes.grid(visible=False)
    axes.set_facecolor(LIGHT)
    axes.set_xlabel(data.names[0])
    axes.set_title(title, loc="left")
    figure = axes.get_figure()
    if figure is not None:
        figure.colorbar(
            drawn, ax=axes, pad=0.02, format=WHOLE if "cividis" in look.values() else None
        )
