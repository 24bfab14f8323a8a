"""What only CartPole can show: its states in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rpd_core.plugin.protocols import (
    Axis,
    Block,
    Layer,
    PanelFacts,
    PanelView,
    Paragraph,
    Plane,
)

_TILT, _SPIN = "tilt", "spin"


@dataclass(frozen=True)
class CartPolePlane:
    """CartPole's states over any two of position, speed, tilt and spin."""

    title: ClassVar[str] = "CartPole's plane"

    def applies(self, about: PanelFacts) -> bool:
        """Return whether this is CartPole, with states of four named numbers."""
        name = about.environment.partition(":")[0]
        cart = name == "cartpole" or "CartPole" in about.task
        return cart and about.shape == (4,) and len(about.entries) == 4

    def draw(self, view: PanelView) -> Sequence[Block]:
        """Draw score and frequency, first over tilt and spin of the pole."""
        values = np.asarray(view.values, dtype=np.float64)
        axes = tuple(
            Axis(f"{one.name} (bin)" if one.edges else one.name,
                 values[:, at] * (1.0 if one.edges else one.factor), "" if one.edges else one.unit)
            for at, one in enumerate(view.about.entries)
        )  # fmt: skip
        names = [axis.name for axis in axes]
        first = next((at for at, name in enumerate(names) if _TILT in name or "angle" in name), 2)
        other = next((at for at, name in enumerate(names) if _SPIN in name), 3)
        return [
            Paragraph(
                "Every cell holds the states with these two values, whatever the other two are: "
                f"on the left the largest score by {view.measure} among them, on the right the "
                "steps of the suite that were spent there. Where it is bright on the left and dark "
                "on the right, rare moments decide."
            ),
            Plane(
                axes,
                (
                    Layer(f"score by {view.measure}", view.scores, "max"),
                    Layer("steps in the suite", view.visits.astype(np.float64), "sum"),
                ),
                first,
                other,
            ),
        ]
