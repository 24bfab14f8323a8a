"""Panels for any environment: maps over two variables, filmstrips, situations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rpd_basics.panel_axes import axes_of, ranked_pairs
from rpd_basics.panel_cards import grouped_cards, single_cards
from rpd_basics.panel_map import map_drawing
from rpd_basics.panel_tree import with_tree
from rpd_core.plugin.protocols import (
    Card,
    Drawing,
    Image,
    PanelFacts,
    PanelView,
    Picture,
    Polygon,
    Text,
)
from rpd_core.plugin.protocols.panel import Shape

_MAPS = 6
"""Pairs of variables in the menu."""


@dataclass(frozen=True)
class Vectors:
    """Losses over two variables, and situations told by them, where states are vectors."""

    fallback: ClassVar[bool] = True

    def applies(self, about: PanelFacts) -> bool:
        """Return whether states are vectors of a few numbers, or observations are."""
        return bool(about.observed) or (len(about.shape) == 1 and len(about.entries) > 1)

    def hero(self, view: PanelView) -> Sequence[Drawing]:
        """Draw the pair between which losses vary most, the next ones in the menu; rules below."""
        axes = axes_of(view)
        if len(axes) < 2:
            return []
        losses = view.losses(view.traces.smallest.trace)
        maps = [map_drawing(view, *pair, losses) for pair in ranked_pairs(axes, losses)[:_MAPS]]
        return [with_tree(one, view.decisions, view.about.observed) for one in maps]

    def cards(self, view: PanelView) -> Sequence[Card]:
        """Return a card for each rule, or for each group of states."""
        if len(view.decisions) <= 8 or any(one.bounds for one in view.decisions):
            return single_cards(view)
        return grouped_cards(view)


@dataclass(frozen=True)
class Filmstrip:
    """The typical episode in pictures, with the losses above them, and decisions as cards."""

    count: int = 8
    """Pictures in the strip."""

    fallback: ClassVar[bool] = True

    def applies(self, about: PanelFacts) -> bool:
        """Return always true: somebody has to."""
        return True

    def hero(self, view: PanelView) -> Sequence[Drawing]:
        """Draw the frames of the steps that matter most, in their order."""
        trace = view.traces.smallest.steps(view.traces.typical)
        losses = view.losses(trace)
        worth = [step for step in view.frames if losses[step] > 0]
        some = worth if len(worth) >= _COLUMNS else list(view.frames)
        shown = sorted(sorted(some, key=lambda step: (-losses[step], step))[: self.count])
        if not shown:
            return []
        return [strip_drawing(view.frames, shown, losses.tolist(), view.largest)]

    def cards(self, view: PanelView) -> Sequence[Card]:
        """Return a card for each decision that is worth most, with screens of steps in it."""
        return [replace(card, picture=examples(view, card.keys)) for card in single_cards(view)]


_EXAMPLES = 3
"""Screens that show what a state looks like."""
_ACROSS = 460.0
_COLUMNS = 4
_GAP = 8.0
_BAR = 34.0


def strip_drawing(
    frames: Mapping[int, Image], steps: Sequence[int], losses: Sequence[float], largest: float
) -> Drawing:
    """Draw frames in rows, each below a bar of the loss at its step."""
    columns = min(_COLUMNS, len(steps))
    wide = (_ACROSS - _GAP * (columns - 1)) / columns
    high = wide * _shape_of(frames[steps[0]])
    row_high = _BAR + high + 22
    rows = -(-len(steps) // columns)
    shapes: list[Shape] = []
    places: dict[int, tuple[float, float]] = {}
    for place, step in enumerate(steps):
        left, top = (place % columns) * (wide + _GAP), (place // columns) * row_high
        places[step] = left + wide / 2, top + _BAR + high / 2
        shapes += _cell(frames[step], step, losses[step] / largest, left, top, wide, high)
    track = tuple(places[min(steps, key=lambda one: abs(one - at))] for at in range(len(losses)))
    return Drawing(
        _ACROSS,
        rows * row_high,
        tuple(shapes),
        f"{len(steps)} frames of a typical episode: steps {', '.join(map(str, steps))}",
        "The steps at which most would be lost, in their order; the bar above each says how much.",
        "filmstrip",
        track,
    )


def examples(view: PanelView, keys: Sequence[int]) -> Drawing | None:
    """Draw frames of the typical episode in some states, side by side; None: there are not two."""
    trace = view.traces.smallest.steps(view.traces.typical)
    mine = np.isin(trace.key, np.array(keys, dtype=np.uint64)) & trace.kept
    steps = [step for step in sorted(view.frames) if mine[step]][:_EXAMPLES]
    if len(steps) < 2:
        return None
    wide = (_ACROSS - _GAP * (_EXAMPLES - 1)) / _EXAMPLES
    high = wide * _shape_of(view.frames[steps[0]])
    shapes: list[Shape] = []
    for place, step in enumerate(steps):
        left = place * (wide + _GAP)
        shapes.append(Picture((left, 0), wide, high, view.frames[step]))
        shapes.append(Text((left, high + 16), f"step {step}", 14, "start", "soft"))
    label = f"Such a state at steps {', '.join(map(str, steps))} of the typical episode"
    return Drawing(_ACROSS, high + 20, tuple(shapes), label)


def _cell(
    image: Image, step: int, share: float, left: float, top: float, wide: float, high: float
) -> Iterator[Shape]:
    bar = max(share * (_BAR - 8), 1.5)
    y = top + _BAR - 2 - bar
    corners = ((left, y), (left + wide, y), (left + wide, y + bar), (left, y + bar))
    yield Polygon(corners, f"loss:{min(share, 1.0):.3f}")
    yield Picture((left, top + _BAR), wide, high, image)
    yield Text((left, top + _BAR + high + 13), f"step {step}", 11, "start", "soft")


def _shape_of(image: Image) -> float:
    """Return the height of an image by its width."""
    import io

    from PIL import Image as Pillow  # only where a panel draws

    with Pillow.open(io.BytesIO(image.data)) as opened:
        return float(np.clip(opened.height / max(opened.width, 1), 0.2, 3.0))
