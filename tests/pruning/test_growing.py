"""How many episodes a question takes that an abstraction asks while it grows."""

from __future__ import annotations

import numpy as np
import pytest

from rpd_core.pruning.growing import EPISODES, NOISY, _enough


@pytest.mark.parametrize(
    ("deviation", "error", "episodes"),
    [
        (0.0, 0.0, EPISODES),
        (30.0, 3.0, EPISODES),  # 100 in three looks would do
        (60.0, 3.0, 133),  # 400 in three
        (60.0, 0.1, NOISY),
        (60.0, 0.0, NOISY),
    ],
)
def test_where_returns_spread_a_question_takes_more_episodes(
    deviation: float, error: float, episodes: int
) -> None:
    assert _enough(deviation * np.array([-1.0, 1.0] * 200), error) == episodes
