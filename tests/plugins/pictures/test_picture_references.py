"""A few pictures against stored ones, small and grey: other fonts may differ, other data may not.

`RPD_WRITE_REFERENCES=1 pytest tests/report/test_picture_references.py` draws them anew.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rpd_core.plugin.protocols import PanelFacts
from rpd_core.pruning.curves import ShownCurve
from rpd_kit import example_view
from rpd_pictures.cards import Card, draw_card
from rpd_pictures.figures.curves import CurvesData, draw_curves
from rpd_pictures.figures.style import rendered
from rpd_pictures.files import side_by_side
from rpd_pictures.paint import painted
from rpd_pictures.timeline import timeline_drawing

FOLDER = Path(__file__).parent / "references"
WIDTH = 160
TOLERANCE = 3.0
"""Mean difference of grey levels, of 255."""


def curves(shift: float) -> Image.Image:
    shares = np.linspace(0.0, 1.0, 11)
    found = {}
    for name, power in (("tarantula", 0.5), ("ochiai", 2.0), ("random", 1.0)):
        mean = np.clip(shares**power + shift, 0.0, 1.0)
        columns = (np.arange(11), shares, shares, mean, mean - 0.1, mean + 0.1, np.full(11, 9))
        found[name] = ShownCurve(name, *(tuple(column.tolist()) for column in columns))
    return _opened(rendered(draw_curves(CurvesData("a policy on a task", found, 0.9, None)), "png"))


def timeline(shift: float) -> Image.Image:
    """A made-up episode; a shift makes more of it matter."""
    values = [[float(at), 0.0] for at in range(12 - round(5 * shift))]
    view = example_view(values, PanelFacts("any", shape=(2,), actions=("left", "right")))
    return _opened(rendered(painted(timeline_drawing(view)), "png"))


def cards(shift: float) -> Image.Image:
    frame = np.full((160, 240, 3), 235, dtype=np.uint8)
    frame[40:120, 60:180] = int(40 + 160 * shift)
    policy = Card("policy", "left", 7, ("return so far 7; the default would: right", "pole 2°"))
    default = Card("default", "right", 7, ("return so far 7; the policy would: left", "pole 2°"))
    return side_by_side([draw_card(frame, policy), draw_card(frame, default)])


def _opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


def _small(picture: Image.Image) -> Image.Image:
    size = WIDTH, round(picture.height * WIDTH / picture.width)
    return picture.convert("L").resize(size, Image.Resampling.BOX)


def _difference(picture: Image.Image, reference: Path) -> float:
    stored = Image.open(reference)
    seen = _small(picture).resize(stored.size)
    return float(np.abs(np.asarray(seen, float) - np.asarray(stored, float)).mean())


@pytest.mark.parametrize("draw", [curves, timeline, cards])
def test_a_picture_looks_like_its_reference(draw: Callable[[float], Image.Image]) -> None:
    reference = FOLDER / f"{draw.__name__}.png"
    if os.environ.get("RPD_WRITE_REFERENCES") == "1":
        _small(draw(0.0)).save(reference, optimize=True)
    assert _difference(draw(0.0), reference) < TOLERANCE
    assert _difference(draw(1.0), reference) > TOLERANCE, "other data look otherwise"
