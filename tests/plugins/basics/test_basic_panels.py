"""Panels for any environment."""

from __future__ import annotations

from typing import Any

import numpy as np
from page_worlds import PICTURE

from rpd_basics.panels import PictureGallery, Vectors
from rpd_core.plugin.protocols import Entry, Image, PanelFacts, PanelView, Plane

TILT = Entry("tilt", "°", factor=10.0)


def view(values: Any, entries: tuple[Entry, ...] = (), **more: Any) -> PanelView:
    values = np.asarray(values)
    count = len(values)
    return PanelView(
        about=PanelFacts("any", entries=entries, shape=values.shape[1:]), measure="effect",
        keys=np.arange(count, dtype=np.uint64), values=values, visits=np.arange(count) + 1,
        scores=np.arange(count) / 10, effects=np.zeros(count), ranks=np.arange(count), **more,
    )  # fmt: skip


def test_entries_that_differ_are_axes_in_their_own_units() -> None:
    seen = view(
        [[1.0, 7.0, 0.5], [2.0, 7.0, 0.1]], (TILT, Entry("same"), Entry("bin", edges=(3.0,)))
    )
    _, plane = Vectors().draw(seen)
    assert isinstance(plane, Plane)
    assert [axis.name for axis in plane.axes] == ["tilt", "bin (bin)"]
    assert plane.axes[0].values.tolist() == [10.0, 20.0]
    assert plane.axes[0].unit == "°"
    assert [layer.combine for layer in plane.layers] == ["max", "sum"]


def test_states_in_which_one_entry_differs_have_no_plane() -> None:
    assert Vectors().draw(view([[1.0, 7.0], [2.0, 7.0]])) == []
    assert not Vectors().applies(PanelFacts("any", shape=(7, 7, 3)))
    assert not Vectors().applies(PanelFacts("any", shape=(148,)))


def test_pictures_stand_by_rank_and_unlisted_states_are_left_out() -> None:
    seen = view([[1], [2], [3]], pictures={0: PICTURE, 2: PICTURE, 1: PICTURE}, words={1: "one"})
    shown = PictureGallery(count=2).draw(seen)
    assert [block.alt for block in shown if isinstance(block, Image)] == [
        "State of rank 1: one", "State of rank 2: not in words",
    ]  # fmt: skip
