"""Which steps of an episode are drawn."""

from __future__ import annotations

import numpy as np

from rpd_pictures.frames import steps_to_draw


def test_every_state_has_its_turn_before_the_second_step_of_another() -> None:
    losses = np.array([5.0] * 6 + [0.0] * 20 + [1.0] * 4)
    keys = np.array([1] * 6 + [2] * 20 + [3] * 4, dtype=np.uint64)
    drawn = steps_to_draw(losses, keys, most=8)
    assert {0, 1, 26, 27} <= {*drawn}, "two steps of either state that is worth something"
    assert len(drawn) <= 8


def test_a_short_episode_is_drawn_as_a_whole() -> None:
    assert steps_to_draw(np.zeros(3), np.zeros(3, dtype=np.uint64)) == (0, 1, 2)
