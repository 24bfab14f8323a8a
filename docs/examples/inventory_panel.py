"""A panel for the inventory: a week as a calendar, dark where ordering by rule matters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rpd_core import Drawing, PanelFacts, PanelView, Polygon, Text

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True)
class Week:
    """The mean loss by weekday."""

    def applies(self, about: PanelFacts) -> bool:
        return "inventory" in about.environment

    def hero(self, view: PanelView) -> Sequence[Drawing]:
        trace, shapes = view.traces.smallest.trace, []
        losses, day = view.losses(trace), trace.observation[:, 2].astype(int)
        for number, name in enumerate(DAYS):
            share = losses[day == number].mean() / view.largest
            x, corners = 60.0 * number, ((0, 0), (56, 0), (56, 56), (0, 56))
            place = tuple((x + right, float(down)) for right, down in corners)
            shapes += [Polygon(place, f"loss:{share:.2f}"), Text((x + 16, 74), name, 13)]
        today = view.traces.smallest.steps(view.traces.typical).observation[:, 2]
        track = tuple((60.0 * weekday + 28, 28.0) for weekday in np.asarray(today))
        return [Drawing(416, 84, tuple(shapes), "Mean loss by weekday", track=track)]
