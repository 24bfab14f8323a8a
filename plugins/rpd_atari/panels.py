"""What only a console can show: where the ball is when the policy matters, on the game's screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpd_atari.memory import BALL_SIZE, SCREEN
from rpd_core.plugin.protocols import Circle, Drawing, PanelFacts, PanelView, Picture, Text, Trace
from rpd_core.plugin.protocols.panel import Point, Shape
from rpd_core.results.words import few

Array = NDArray[Any]

_BALL = ("ball x", "ball y")
_READERS = ("pong", "breakout")
"""Abstractions whose positions are pixels of the screen."""
_ZOOM = 2.2
"""Size of the screen's pixels."""
_LEFT, _TOP = 54.0, 26.0
_WIDE = 460.0
_CAPTION = (
    "The game's own screen, and circles where the ball is: the larger, the more often. Colour: "
    "mean loss at the steps there when the default action acts instead, up to {}. Empty: nothing "
    "is lost there."
)


@dataclass(frozen=True)
class BallOnScreen:
    """Losses by the position of the ball, over a frame of the typical episode."""

    def applies(self, about: PanelFacts) -> bool:
        """Return whether states hold the ball's place on the screen, and there are frames."""
        named = {entry.name for entry in about.entries}
        return about.frames and named.issuperset(_BALL) and _name(about.abstraction) in _READERS

    def hero(self, view: PanelView) -> Sequence[Drawing]:
        """Draw the places of the ball on the frame at which most would be lost."""
        smallest = view.traces.smallest
        places, losses = _places(view, smallest.trace), view.losses(smallest.trace)
        typical = smallest.steps(view.traces.typical)
        step = max(view.frames, key=lambda at: (view.losses(typical)[at], -at))
        high, wide = SCREEN
        screen = Picture((_LEFT, _TOP), wide * _ZOOM, high * _ZOOM, view.frames[step])
        shapes: list[Shape] = [Text((_LEFT, 16), f"screen at step {step}", 11, fill="soft"), screen]
        shapes += _circles(places, losses, view.largest)
        worst = places[int(losses.argmax())].tolist()
        label = f"Loss by the place of the ball on the screen; most at {worst[0]}, {worst[1]}"
        track = tuple(_track(_places(view, typical)))
        caption, below = _CAPTION.format(few(view.largest)), _TOP + high * _ZOOM + 8
        name = "ball on the screen"
        return [Drawing(_WIDE, below, tuple(shapes), label, caption, name, track)]


def _name(abstraction: Sequence[str]) -> str:
    """Return what the last abstraction is called."""
    return abstraction[-1].partition(":")[0]


def _places(view: PanelView, trace: Trace) -> Array:
    """Return the ball's place at each step, in pixels; below 0 where it is gone."""
    states = view.traces.smallest.states
    columns = [[entry.name for entry in view.about.entries].index(name) for name in _BALL]
    return np.asarray(states.value[np.searchsorted(states.key, trace.key)][:, columns])


def _at(x: float, y: float) -> Point:
    tall, wide = BALL_SIZE
    return _LEFT + (x + wide / 2) * _ZOOM, _TOP + (y + tall / 2) * _ZOOM


def _circles(places: Array, losses: Array, largest: float) -> Iterator[Shape]:
    """Yield a circle for each place, those at which most is lost last."""
    there = (places >= 0).all(axis=1)
    cells, cell, counts = np.unique(places[there], axis=0, return_inverse=True, return_counts=True)
    means = np.bincount(cell.reshape(-1), losses[there]) / counts
    room = _ZOOM * min(_spacing(column) for column in cells.T) / 2
    for one in np.argsort(means, kind="stable").tolist():
        radius = max(room * float(np.sqrt(counts[one] / counts.max())), 2.0)
        share = float(means[one]) / largest
        fill = f"loss:{share:.3f}" if share > 0 else "none"
        yield Circle(_at(*map(float, cells[one])), radius, fill, "paper", 1.2)


def _spacing(column: Array) -> float:
    """Return the smallest distance between different values; that of many where all are one."""
    different = np.unique(column)
    return float(np.diff(different).min()) if len(different) > 1 else 10.0


def _track(places: Array) -> Iterator[Point]:
    """Yield where the ball is at each step; where it was last, while it is gone."""
    last = _at(SCREEN[1] / 2, SCREEN[0] / 2)
    for x, y in places.tolist():
        last = _at(x, y) if min(x, y) >= 0 else last
        yield last
