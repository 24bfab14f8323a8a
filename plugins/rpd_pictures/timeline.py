"""When it matters: a typical episode step by step, and below it the other episodes as a barcode."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.plugin.protocols import Circle, Drawing, Line, PanelView, Polygon, Text, Trace
from rpd_core.plugin.protocols.panel import Shape
from rpd_core.results.words import few
from rpd_pictures.colours import level_of

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray, IntArray

WIDTH = 720.0
"""Of both drawings."""
LEFT, RIGHT = 96.0, 8.0
"""Room for the words beside the bars."""
_BARS, _TOP = 118.0, 16.0
_COLUMNS = 220
"""Columns that an episode is folded to, where it has more steps."""
_MOST_ACTIONS = 8
"""Actions that have a row of their own."""
_ROW = 13.0
_STRIPE = 4.5
"""Height of an episode in the barcode."""


@dataclass(frozen=True)
class Steps:
    """The steps of an episode as the timeline shows them."""

    trace: Trace
    losses: FloatArray
    length: int
    """Steps of the whole episode, of which very long ones are stored in part."""

    @classmethod
    def of(cls, view: PanelView, episode: int) -> Steps:
        """Return those of a traced episode of the smallest policy."""
        trace = view.traces.smallest.steps(episode)
        length = int(view.traces.smallest.episodes.length[episode])
        return cls(trace, view.losses(trace), length)

    @property
    def deciding(self) -> int:
        """Steps at which the policy acts and the default action would do something else."""
        return int((self.trace.kept & self.trace.override).sum())


def rect(x: float, y: float, wide: float, high: float, fill: str) -> Polygon:
    """Return a rectangle."""
    corners = ((x, y), (x + wide, y), (x + wide, y + high), (x, y + high))
    return Polygon(corners, fill)


def fold_of(count: int) -> int:
    """Return how many steps stand in a column."""
    return max(1, -(-count // _COLUMNS))


@dataclass(frozen=True)
class Axes:
    """What a timeline has room for."""

    largest: float
    """Loss of the highest bar."""
    count: int
    """Steps."""

    @classmethod
    def over(cls, views: Sequence[PanelView]) -> Axes:
        """Return axes on which the typical episode of each has room."""
        counts = [len(one.traces.smallest.steps(one.traces.typical)) for one in views]
        return cls(max(one.largest for one in views), max(counts))


def timeline_drawing(view: PanelView, axes: Axes | None = None) -> Drawing:
    """Draw a bar for each step of the typical episode, and what is done below."""
    axes = axes or Axes.over((view,))
    steps = Steps.of(view, view.traces.typical)
    count, fold = len(steps.trace), fold_of(axes.count)
    wide = (WIDTH - LEFT - RIGHT) / -(-axes.count // fold)
    shapes = [*_scale(axes.largest), *_bars(steps, axes.largest, wide, fold)]
    rows, action_shapes = _actions(view, steps, wide, fold)
    height = _TOP + _BARS + 8 + rows * _ROW + 20
    shapes += [*action_shapes, *_step_axis(axes.count, wide / fold, height - 6)]
    track = tuple((LEFT + (at // fold + 0.5) * wide, _TOP + _BARS + 3) for at in range(count))
    label = (
        f"Typical episode of {steps.length} steps, a bar for each by the loss of its decision; "
        f"the policy decides {steps.deciding} of them otherwise than the default action would"
    )
    return Drawing(WIDTH, height, tuple(shapes), label, track=track)


def _scale(largest: float) -> Iterator[Shape]:
    power = 10.0 ** math.floor(math.log10(largest))
    step = next(power * one for one in (0.2, 0.5, 1, 2, 5) if largest / (power * one) <= 4)
    for part in range(int(largest / step) + 1):
        y = _TOP + _BARS * (1 - part * step / largest)
        yield Line(((LEFT, y), (WIDTH - RIGHT, y)), "line")
        yield Text((LEFT - 6, y + 4), few(part * step), 10.5, "end", "soft")
    yield Text((11, _TOP + _BARS / 2), "lost without it", 10.5, "middle", "soft", upright=True)


def _bars(steps: Steps, largest: float, wide: float, fold: int) -> Iterator[Shape]:
    gap = min(wide * 0.12, 3.0)
    for column, first in enumerate(range(0, len(steps.trace), fold)):
        some = slice(first, first + fold)
        x, loss = LEFT + column * wide + gap / 2, float(steps.losses[some].max())
        if loss > 0:
            high = max(loss / largest * _BARS, 2.5)
            fill = f"loss:{loss / largest:.3f}"
            yield rect(x, _TOP + _BARS - high, wide - gap, high, fill)
        elif bool((steps.trace.kept & steps.trace.override)[some].any()):
            yield rect(x, _TOP + _BARS - 3, wide - gap, 3, "loss:0")


def _done(trace: Trace) -> FloatArray:
    return np.where(trace.kept[:, None], trace.policy, trace.default)


def _actions(view: PanelView, steps: Steps, wide: float, fold: int) -> tuple[float, list[Shape]]:
    """Return the rows that actions take, and what is drawn there."""
    done, names = _done(steps.trace), view.about.actions
    top = _TOP + _BARS + 8
    if done.shape[1] == 1 and bool((np.rint(done) == done).all()):
        used = np.unique(done[:, 0]).astype(int).tolist()
        if len(used) <= _MOST_ACTIONS:
            return len(used), [*_rolled(steps, done[:, 0], used, names, wide, fold, top)]
    return 2.5, [*_plotted(steps, done[:, 0], wide, fold, top)]


def _rolled(
    steps: Steps, done: FloatArray, used: Sequence[int], names: Sequence[str], wide: float,
    fold: int, top: float,
) -> Iterator[Shape]:  # fmt: skip
    """Yield a row per action, and a mark at each step that takes it."""
    marks: dict[str, list[Shape]] = {"default": [], "soft": [], "policy": []}
    for row, action in enumerate(used):
        y, name = top + row * _ROW, names[action] if action < len(names) else str(action)
        yield Text((LEFT - 6, y + 9), shortened(name, 15), 10.5, "end", "soft")
        for column, first in enumerate(range(0, len(done), fold)):
            here = np.flatnonzero(done[first : first + fold] == action) + first
            if len(here):
                x = LEFT + column * wide
                gap, who = min(wide * 0.12, 3.0), _who(steps, here)
                marks[who].append(rect(x + gap / 2, y + 2, wide - gap, _ROW - 5, who))
    for some in marks.values():
        yield from some


def _who(steps: Steps, some: IntArray) -> str:
    """Return who acts at some steps; the policy where it matters at one of them."""
    kept, override = steps.trace.kept[some], steps.trace.override[some]
    if bool((kept & override).any()):
        return "policy"
    return "soft" if bool(kept.any()) else "default"


def _plotted(steps: Steps, done: FloatArray, wide: float, fold: int, top: float) -> Iterator[Shape]:
    """Yield the first number of each action as a dot."""
    low, high = float(done.min()), float(done.max())
    span, room = (high - low) or 1.0, 2.5 * _ROW - 6
    for value, y in ((high, top + 8), (low, top + room + 4)):
        yield Text((LEFT - 6, y), few(value), 10.5, "end", "soft")
    for column, first in enumerate(range(0, len(done), fold)):
        here = np.arange(first, min(first + fold, len(done)))
        y = top + 3 + room * (1 - (float(done[here].mean()) - low) / span)
        yield Circle((LEFT + (column + 0.5) * wide, y), 1.8, _who(steps, here))


def _step_axis(count: int, wide: float, y: float) -> Iterator[Shape]:
    every = nice_step(count / 8)
    for step in range(0, count, every):
        yield Text((LEFT + (step + 0.5) * wide, y), str(step), 10, "middle", "soft")
    yield Text((LEFT - 6, y), "step", 10, "end", "soft")


def nice_step(least: float) -> int:
    """Return a round number that is at least so large."""
    power = 10 ** max(math.floor(math.log10(max(least, 1))), 0)
    return int(next(power * one for one in (1, 2, 5, 10) if power * one >= least))


def shortened(text: str, room: int) -> str:
    """Return a text with no more signs than there is room for."""
    return text if len(text) <= room else f"{text[: room - 1]}…"


def barcode_drawing(view: PanelView) -> Drawing:
    """Draw the traced episodes of the smallest policy, one row each, shortest first.

    A few that are far longer than all others are cut, with an arrow where they go on.
    """
    episodes = view.traces.smallest.episodes
    order = [int(one) for one in np.lexsort((episodes.index, episodes.length))]
    lengths = np.array([len(view.traces.smallest.steps(one)) for one in order])
    longest = min(int(lengths.max()), math.ceil(2.5 * float(np.median(lengths))))
    fold = fold_of(longest)
    wide = (WIDTH - LEFT - RIGHT) / -(-longest // fold)
    rows = [*_stripes(view, order, wide, fold, longest)]
    rows.sort(key=lambda one: one.fill)  # of one colour together: the file is smaller
    height = len(order) * _STRIPE + 22
    axis: list[Shape] = [
        Text((LEFT, height - 6), "step 0", 10, "start", "soft"),
        Text((WIDTH - RIGHT, height - 6), f"step {longest - 1}", 10, "end", "soft"),
    ]
    for row in np.flatnonzero(lengths > longest).tolist():
        y = row * _STRIPE + (_STRIPE - 0.8) / 2
        tip = ((WIDTH - RIGHT + 1, y - 2.2), (WIDTH - 2, y), (WIDTH - RIGHT + 1, y + 2.2))
        axis.append(Polygon(tip, "soft"))
    label = f"{len(order)} episodes, one row each, shortest first; dark where much would be lost"
    return Drawing(WIDTH, height, (*rows, *axis), label)


def _stripes(
    view: PanelView, order: Sequence[int], wide: float, fold: int, longest: int
) -> Iterator[Polygon]:
    for row, episode in enumerate(order):
        steps = Steps.of(view, episode)
        fills = [
            _fill(steps, slice(first, first + fold), view.largest)
            for first in range(0, min(len(steps.trace), longest), fold)
        ]
        start = 0
        for at in range(1, len(fills) + 1):
            if at == len(fills) or fills[at] != fills[start]:
                x, y = LEFT + start * wide, row * _STRIPE
                yield rect(x, y, (at - start) * wide, _STRIPE - 0.8, fills[start])
                start = at


def _fill(steps: Steps, some: slice, largest: float) -> str:
    loss = float(steps.losses[some].max())
    if loss > 0:
        return f"loss:{(level_of(loss / largest) + 0.5) / 9:.3f}"
    decides = bool((steps.trace.kept & steps.trace.override)[some].any())
    return "loss:0" if decides else "line"
