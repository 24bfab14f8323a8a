"""Shrinking and greying against OpenCV."""

from __future__ import annotations

import numpy as np
import pytest

from rpd_atari.pixels import Shrink, to_grey

cv2 = pytest.importorskip("cv2")


@pytest.mark.parametrize("height", [210, 214, 220, 230, 250])
@pytest.mark.parametrize("size", [84, 64])
def test_every_pixel_is_what_opencv_gives(height: int, size: int) -> None:
    pictures = np.random.default_rng(height).integers(0, 256, (9, height, 160)).astype(np.uint8)
    expected = [cv2.resize(one, (size, size), interpolation=cv2.INTER_AREA) for one in pictures]
    np.testing.assert_array_equal(Shrink(height, 160, (size, size))(pictures), expected)


def test_averages_between_two_levels_are_rounded_as_opencv_rounds_them() -> None:
    pictures = np.zeros((40, 210, 160), dtype=np.uint8)
    pictures[:] = (np.random.default_rng(0).integers(0, 2, pictures.shape) * 100).astype(np.uint8)
    expected = [cv2.resize(one, (84, 84), interpolation=cv2.INTER_AREA) for one in pictures]
    np.testing.assert_array_equal(Shrink(210, 160, (84, 84))(pictures), expected)


def test_grey_is_what_opencv_gives() -> None:
    colours = np.random.default_rng(0).integers(0, 256, (3, 200, 200, 3)).astype(np.uint8)
    expected = [cv2.cvtColor(one, cv2.COLOR_RGB2GRAY) for one in colours]
    np.testing.assert_array_equal(to_grey(colours), expected)
