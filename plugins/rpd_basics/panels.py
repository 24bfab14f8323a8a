"""Panels for any environment: states as points of a plane, and as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rpd_core.plugin.protocols import (
    Axis,
    Block,
    Entry,
    Image,
    Layer,
    PanelFacts,
    PanelView,
    Paragraph,
    Plane,
)

_MOST_ENTRIES = 40
"""Entries of a state beyond which pairs of them say nothing."""


@dataclass(frozen=True)
class Vectors:
    """States over any two of their entries: where the important ones lie, and the frequent ones."""

    title: ClassVar[str] = "Where the important states lie"
    fallback: ClassVar[bool] = True

    def applies(self, about: PanelFacts) -> bool:
        """Return whether states are vectors of a few numbers."""
        return len(about.shape) == 1 and 2 <= about.shape[0] <= _MOST_ENTRIES

    def draw(self, view: PanelView) -> Sequence[Block]:
        """Draw score and frequency over two entries that differ between states."""
        axes = _axes_of(np.asarray(view.values, dtype=np.float64), view.about.entries)
        if len(axes) < 2:
            return []
        return [
            Paragraph(
                "Every cell holds the states with these two entries, whatever their others are. "
                f"On the left the largest score by {view.measure}, on the right the steps of the "
                "suite that were spent there."
            ),
            Plane(axes, _layers_of(view)),
        ]


def _axes_of(values: NDArray[Any], entries: tuple[Entry, ...]) -> tuple[Axis, ...]:
    """Return the entries that are not the same in all states, by their names where they have any.

    An entry that is the number of a bin is shown as that number.
    """
    found = []
    for column in range(values.shape[1]):
        numbers = values[:, column]
        if not len(numbers) or np.ptp(numbers) == 0:
            continue
        entry = entries[column] if column < len(entries) else Entry(f"entry {column}")
        if entry.edges:
            found.append(Axis(f"{entry.name} (bin)", numbers))
        else:
            found.append(Axis(entry.name, numbers * entry.factor, entry.unit))
    return tuple(found)


def _layers_of(view: PanelView) -> tuple[Layer, ...]:
    """Return importance and frequency."""
    return (
        Layer(f"score by {view.measure}", view.scores, "max"),
        Layer("steps in the suite", view.visits.astype(np.float64), "sum"),
    )


@dataclass(frozen=True)
class PictureGallery:
    """The most important states as pictures."""

    count: int = 24
    """Pictures that are shown."""

    title: ClassVar[str] = "The most important states"

    def applies(self, about: PanelFacts) -> bool:
        """Return whether pictures are stored with the run."""
        return about.pictures

    def draw(self, view: PanelView) -> Sequence[Block]:
        """Show the first states of the list that have a picture."""
        place = dict(zip(view.keys.tolist(), view.ranks.tolist(), strict=True))
        first = sorted((place.get(key, 0), key) for key in view.pictures)
        return [
            Image(
                view.pictures[key],
                "image/webp",
                alt=f"State of rank {rank}: {_short(view.words.get(key, '')) or 'not in words'}",
                caption=f"{rank}. {_short(view.words.get(key, ''))}".strip(),
            )
            for rank, key in first
            if rank
        ][: self.count]


def _short(words: str, longest: int = 60) -> str:
    """Return the beginning of some words; nothing where they are a map in several lines."""
    if "\n" in words:
        return ""
    return words if len(words) <= longest else f"{words[: longest - 1]}…"
