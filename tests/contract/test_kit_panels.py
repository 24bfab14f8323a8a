"""Panels with one fault each, which the kit must find."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from rpd_core.plugin.protocols import Axis, Image, Layer, Paragraph, Plane
from rpd_kit import check_recipe

COUNTER = itertools.count()


@dataclass(frozen=True)
class Plain:
    """Without fault: says how many states there are."""

    title: ClassVar[Any] = "Plain"

    def applies(self, about: Any) -> Any:
        return True

    def draw(self, view: Any) -> Any:
        return [Paragraph(f"{len(view.keys)} states")]


class Untitled(Plain):
    title: ClassVar[Any] = ""


class Vague(Plain):
    def applies(self, about: Any) -> Any:
        return "yes"


class Raises(Plain):
    def draw(self, view: Any) -> Any:
        raise KeyError("nothing")


class Markup(Plain):
    def draw(self, view: Any) -> Any:
        return "<b>bold</b>"


class Fickle(Plain):
    def draw(self, view: Any) -> Any:
        return [Paragraph(str(next(COUNTER)))]


class Writes(Plain):
    def draw(self, view: Any) -> Any:
        view.visits[:] = 0
        return [Paragraph("done")]


class Mute(Plain):
    def draw(self, view: Any) -> Any:
        return [Image(b"GIF89a", "image/gif", "")]


class Uneven(Plain):
    def draw(self, view: Any) -> Any:
        axes = (Axis("a", np.zeros(3)), Axis("b", np.zeros(3)))
        return [Plane(axes, (Layer("c", np.zeros(2)),))]


class PlotsNot(Plain):
    def plot(self, view: Any, figure: Any) -> Any:
        raise KeyError("no map")


class PlotsMaybe(Plain):
    def plot(self, view: Any, figure: Any) -> Any:
        return None


class Never(Plain):
    def applies(self, about: Any) -> Any:
        return False


def test_a_panel_without_fault_passes() -> None:
    assert check_recipe("panel", Plain()) == []


@pytest.mark.parametrize(
    ("panel", "fault"),
    [
        (Untitled, "its title must be text"),
        (Vague, "its applies() must return true or false"),
        (Raises, "its draw() raised KeyError"),
        (Markup, "draw() must return a sequence of blocks"),
        (Fickle, "gave something else when asked twice"),
        (Writes, "changed the view"),
        (Mute, "an image has no alt text"),
        (Uneven, "different numbers of states"),
        (PlotsNot, "its plot() raised KeyError"),
        (PlotsMaybe, "its plot() must return true or false, got None"),
        (Never, "applies to none of the kit's runs"),
    ],
)
def test_the_kit_finds_the_fault(panel: Any, fault: str) -> None:
    faults = check_recipe("panel", panel())
    assert faults
    assert all(fault in line for line in faults)
