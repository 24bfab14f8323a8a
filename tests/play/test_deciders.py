"""Keys are found among known ones, also where they share a place in the table."""

from __future__ import annotations

import numpy as np
import pytest

from rpd_core.play.deciders import KnownKeys, TopStates


@pytest.mark.parametrize("count", [0, 1, 3, 2000])
def test_known_keys_are_found_and_others_are_not(count: int) -> None:
    draw = np.random.default_rng(count)
    keys = draw.integers(2**63, size=count).astype(np.uint64)
    keys[: count // 2] &= np.uint64(0xFFFFFFFF00000007)  # many of the last bits in common
    others = np.r_[keys ^ np.uint64(2**62), np.array([0, 7], dtype=np.uint64)]
    asked = draw.permutation(np.r_[keys, others])
    known = KnownKeys(keys)
    places, found = known.find(asked)
    assert (found == np.isin(asked, keys)).all()
    assert (known.keys[places[found]] == asked[found]).all()


def test_ranks_are_made_once_for_items_with_the_same_rankings() -> None:
    keys, point = np.array([5, 3, 9], dtype=np.uint64), np.array([[0, 2]])
    first = TopStates([keys], point, False)
    again, other = TopStates([keys.copy()], point, False), TopStates([keys], point, True)
    assert again.ranks is first.ranks
    assert other.ranks is not first.ranks
    asked, episode = np.array([3, 9, 4], dtype=np.uint64), np.zeros(3, dtype=np.int64)
    assert again(asked, episode).tolist() == [True, False, False]
    assert other(asked, episode).tolist() == [True, False, True]
