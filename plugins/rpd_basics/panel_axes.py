"""The variables that steps can be laid out by: entries of states or observations, and angles."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.plugin.protocols import Entry, PanelView

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, FloatArray, IntArray, Trace

MOST_ENTRIES = 40
"""Entries beyond which pairs of them say nothing."""
_CANDIDATES = 10
"""Axes that are tried in pairs: those that explain most alone."""
_BINS = 26
_MOST_STEPS = 40
"""Places of a grid that are shown one by one."""


@dataclass(frozen=True)
class Axis:
    """A variable."""

    name: str
    unit: str
    smallest: FloatArray
    """At each traced step of the smallest policy."""
    whole: FloatArray
    """At each traced step of the whole policy."""
    entries: tuple[int, ...]
    """Of an observation: those that it comes from; none where it is an entry of a state."""
    words: tuple[str, ...] = ()
    """What is said where it is 0, 1 and so on."""
    beside: tuple[FloatArray, ...] = ()
    """The same two of a run that is shown on the same axes."""

    @property
    def title(self) -> str:
        """Its name with its unit."""
        unit = self.unit.strip()
        return f"{self.name} ({unit})" if unit else self.name


@dataclass(frozen=True)
class Scale:
    """An axis cut into bins of equal width."""

    start: float
    """Where the first bin begins."""
    width: float
    count: int

    def place(self, values: Array) -> IntArray:
        """Return the bin of each value; those beyond the ends are in the last ones."""
        bins = np.floor((np.asarray(values) - self.start) / self.width)
        return np.clip(bins, 0, self.count - 1).astype(np.int64)

    def share(self, value: float) -> float:
        """Return where a value lies, from 0 at the beginning to 1 at the end."""
        return min(max((value - self.start) / (self.width * self.count), 0.0), 1.0)


def axes_of(view: PanelView) -> list[Axis]:
    """Return what steps can be laid out by; nothing where states and observations are no vectors.

    Named entries of a state, unless they are numbers of bins; else those of the observation, with
    an angle in place of its cosine and sine.
    """
    axes = [axis for axis in _axes(view) if np.ptp(axis.smallest) > 0]
    if view.beside is None:
        return axes
    others = {axis.name: (axis.smallest, axis.whole) for axis in _axes(view.beside)}
    return [replace(axis, beside=others.get(axis.name, ())) for axis in axes]


def _axes(view: PanelView) -> list[Axis]:
    about, traces = view.about, view.traces
    named = len(about.shape) == 1 and len(about.entries) == about.shape[0]
    if named and 2 <= about.shape[0] <= MOST_ENTRIES and not any(e.edges for e in about.entries):
        both = [_state_values(one.states, one.trace) for one in (traces.smallest, traces.whole)]
        return [_axis(entry, (), *(rows[:, at] for rows in both))
                for at, entry in enumerate(about.entries)]  # fmt: skip
    return _observed_axes(view)


def _state_values(states: object, trace: Trace) -> FloatArray:
    keys, values = states.key, states.value  # type: ignore[attr-defined]
    return np.asarray(values[np.searchsorted(keys, trace.key)], dtype=np.float64)


def _observed_axes(view: PanelView) -> list[Axis]:
    both = [one.trace.observation for one in (view.traces.smallest, view.traces.whole)]
    width = both[0].shape[1]
    if not 2 <= width <= MOST_ENTRIES:
        return []
    known = view.about.observed[:width]
    entries = [*known, *(Entry(f"x{at}") for at in range(len(known), width))]
    places = {entry.name: at for at, entry in enumerate(entries)}
    turns = [e for e in view.about.observed[width:] if set(e.angle_of) <= set(places)]
    hidden = {places[name] for entry in turns for name in entry.angle_of}
    found = [_axis(entry, (at,), *(rows[:, at] for rows in both))
             for at, entry in enumerate(entries) if at not in hidden]  # fmt: skip
    for entry in turns:
        cosine, sine = (places[name] for name in entry.angle_of)
        angles = [np.arctan2(rows[:, sine], rows[:, cosine]) for rows in both]
        found.append(_axis(entry, (cosine, sine), *angles))
    return found


def _axis(entry: Entry, entries: tuple[int, ...], smallest: Array, whole: Array) -> Axis:
    rows = [np.asarray(one, dtype=np.float64) * entry.factor for one in (smallest, whole)]
    return Axis(entry.name, entry.unit, rows[0], rows[1], entries, entry.words)


def scale_of(axis: Axis) -> Scale:
    """Return bins for an axis: one per step where values lie on a grid, else a few dozen.

    Rare values at the ends are left out: they lie in the last bins.
    """
    values = np.concatenate([axis.smallest, axis.whole, *axis.beside])
    low, high = (float(end) for end in np.quantile(values, (0.005, 0.995)))
    if high <= low:
        low, high = float(values.min()), float(values.max())
    different = np.unique(np.round(values[(values >= low) & (values <= high)], 9))
    if 1 < len(different) <= _MOST_STEPS:
        width = float(np.diff(different).min())
        steps = (different - different[0]) / width
        if np.abs(steps - np.rint(steps)).max() < 0.05 and steps[-1] < 2 * _MOST_STEPS:
            return Scale(float(different[0]) - width / 2, width, int(np.rint(steps[-1])) + 1)
    return Scale(low, (high - low) / _BINS, _BINS)


def round_ticks(scale: Scale, most: int = 6) -> list[float]:
    """Return a few round numbers within a scale."""
    low, high = scale.start, scale.start + scale.width * scale.count
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(power * one for one in (1, 2, 5, 10) if (high - low) / (power * one) <= most)
    first = math.ceil(low / step - 1e-9)
    return [step * at for at in range(first, math.floor(high / step + 1e-9) + 1)]


def ranked_pairs(axes: list[Axis], losses: FloatArray) -> list[tuple[Axis, Axis]]:
    """Return pairs of axes, first those between whose cells the losses vary most."""
    scales = {axis.name: scale_of(axis) for axis in axes}
    bins = {axis.name: _coarse(scales[axis.name].place(axis.smallest)) for axis in axes}
    alone = sorted(axes, key=lambda axis: -explained(losses, bins[axis.name]))[:_CANDIDATES]
    chosen = [axis for axis in axes if axis in alone]

    def worth(pair: tuple[Axis, Axis]) -> float:
        one, other = (bins[axis.name] for axis in pair)
        return explained(losses, one * 64 + other)

    return sorted(combinations(chosen, 2), key=lambda pair: -worth(pair))


def _coarse(bins: IntArray) -> IntArray:
    """Return at most a dozen bins, so that no pair is chosen for having many cells."""
    return np.asarray(bins * 12 // max(int(bins.max()) + 1, 12))


def explained(losses: FloatArray, group: IntArray) -> float:
    """Return how much of the variance of losses lies between groups, their number allowed for."""
    _, place = np.unique(group, return_inverse=True)
    counts = np.bincount(place)
    sums = np.bincount(place, losses)
    total = float(((losses - losses.mean()) ** 2).sum())
    if total <= 0 or len(losses) <= len(counts):
        return 0.0
    within = total - float((sums**2 / counts).sum() - losses.sum() ** 2 / len(losses))
    return 1 - within / (len(losses) - len(counts)) / (total / (len(losses) - 1))
