"""Parts of a suite merge into one, and neither chunks nor order ever show."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from chunks import EPISODES, assert_same, chunk
from hypothesis import given, settings
from hypothesis import strategies as st

from rpd_core.analysis.spectrum import outcome_spread, tally
from rpd_core.analysis.suite import merge
from rpd_core.errors import EvidenceError
from rpd_core.plugin.protocols import Spectrum, Suite


@pytest.fixture(scope="module")
def whole() -> Suite:
    return chunk(0, EPISODES - 1)


@settings(max_examples=8)
@given(st.lists(st.integers(1, EPISODES - 1), max_size=6), st.randoms())
def test_neither_chunks_nor_the_order_of_merging_change_a_suite(
    cuts: list[int], random: Any
) -> None:
    edges = [0, *sorted(set(cuts)), EPISODES]
    parts = [chunk(first, last - 1) for first, last in pairwise(edges)]
    random.shuffle(parts)
    assert_same(merge(parts), chunk(0, EPISODES - 1))


def test_merging_merged_parts_is_merging_all(whole: Suite) -> None:
    left = merge([chunk(13, 20), chunk(0, 12)])
    assert_same(merge([merge([chunk(21, 39)]), left]), whole)


def test_overlapping_parts_are_refused() -> None:
    with pytest.raises(EvidenceError, match="parts of the suite overlap"):
        merge([chunk(0, 10), chunk(10, 12)])
    with pytest.raises(EvidenceError, match="no episodes to merge"):
        merge([])


def test_parts_with_different_infos_are_filled_with_gaps(whole: Suite) -> None:
    extra = chunk(EPISODES, EPISODES + 1)
    bare = dataclasses.replace(extra, episodes=dataclasses.replace(extra.episodes, info={}))
    merged = merge([whole, bare]).episodes.info["at_goal"]
    assert np.isnan(merged).tolist() == [False] * EPISODES + [True] * 2


# ------------------------------------------------------------------------- spectrum


def test_a_spectrum_by_hand() -> None:
    """Episode 0 passed, 1 failed, 2 half; the first state is kept, mutated, mutated."""
    suite = chunk(0, 2)
    rows = {name: column[:2] for name, column in vars(suite.states).items() if column is not None}
    states = dataclasses.replace(suite.states, **rows)
    visits = dataclasses.replace(
        suite.visits,
        **{
            name: getattr(suite.visits, name)[:5]
            for name in (
                "mutation_rate",
                "first_step",
                "return_before",
                "differed",
                "differed_first",
            )
        },
        episode=np.array([0, 0, 1, 2, 2]),
        key=states.key[[0, 1, 0, 0, 1]],
        mutated=np.array([False, True, True, True, False]),
        count=np.array([7, 1, 3, 1, 1]),
    )
    suite = dataclasses.replace(suite, visits=visits, states=states)
    found = tally([suite], np.array([1.0, 0.0, 0.5])).spectrum
    assert isinstance(found, Spectrum)
    assert found.mutated_failed.tolist() == [1.5, 0.0]
    assert found.mutated_passed.tolist() == [0.5, 1.0]
    assert found.kept_failed.tolist() == [0.0, 0.5]
    assert found.kept_passed.tolist() == [1.0, 0.5]


def test_outcomes_of_a_soft_condition_vary_less_than_all_or_nothing() -> None:
    assert outcome_spread(np.array([0.0, 1.0, 1.0])) == 1.0
    assert outcome_spread(np.array([0.25, 0.75])) == pytest.approx(0.5)  # 1/16 of variance, not 1/4
    assert outcome_spread(np.ones(3)) == outcome_spread(np.zeros(0)) == 1.0
