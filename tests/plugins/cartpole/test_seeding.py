"""Starts drawn for many seeds at once are those that NumPy draws for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rpd_gym import seeding
from rpd_gym.seeding import FirstUniform, first_uniform

EDGES = [0, 1, 2, 2**31 - 1, 2**31, 2**32 - 1]


@pytest.mark.parametrize("count", [0, 1, 24, 25, 500])
def test_many_seeds_draw_what_each_draws_alone(count: int) -> None:
    seeds = np.array([*EDGES, *np.random.default_rng(3).integers(2**32, size=count)])[:count]
    alone = [np.random.default_rng(int(seed)).uniform(-0.05, 0.05, 4) for seed in seeds]
    assert np.array_equal(first_uniform(seeds, -0.05, 0.05, 4), np.array(alone).reshape(count, 4))


def test_seeds_that_come_again_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def draw(seeds: Any, *how: Any) -> Any:
        drawn.extend(seeds.tolist())
        return first_uniform(seeds, *how)

    monkeypatch.setattr(seeding, "first_uniform", draw)
    starts = FirstUniform(-0.05, 0.05, 4)
    for asked in ([7, 8], [8, 9, 7, 8], [9]):
        seeds = np.array(asked)
        assert np.array_equal(starts(seeds), first_uniform(seeds, -0.05, 0.05, 4))
    assert drawn == [7, 8, 9]
