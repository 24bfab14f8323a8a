"""From scores to an order."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpd_core.analysis.ranking import evidence_for, random_ranking, rank
from rpd_core.analysis.spectrum import tally
from rpd_core.errors import ComponentError
from rpd_core.plugin.protocols import Evidence, Spectrum
from rpd_kit.measures import sample_suite


def evidence(keys: list[int]) -> Evidence:
    zeros = np.zeros(len(keys))
    return Evidence(Spectrum(zeros, zeros, zeros, zeros), np.array(keys, dtype=np.uint64))


def ranked(keys: list[int], scores: list[float]) -> Any:
    return rank("m", lambda given: np.array(scores), evidence(keys))


def test_states_stand_in_descending_score() -> None:
    assert ranked([1, 2, 3], [0.2, -1.0, 0.7]).ranked_keys.tolist() == [3, 1, 2]


def test_ties_are_broken_by_key_and_never_by_order() -> None:
    assert ranked([9, 2**64 - 1, 3, 5], [1, 1, 1, 2]).ranked_keys.tolist() == [5, 3, 9, 2**64 - 1]
    assert ranked([3, 4], [0.0, -0.0]).ranked_keys.tolist() == [3, 4]


@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 3)), unique_by=lambda p: p[0]), st.data()
)
def test_the_order_of_the_states_does_not_matter(pairs: list[tuple[int, int]], data: Any) -> None:
    shuffled = data.draw(st.permutations(pairs))
    one, two = (
        ranked([key for key, _ in some], [float(score) for _, score in some])
        for some in (pairs, shuffled)
    )
    assert one.ranked_keys.tolist() == two.ranked_keys.tolist()


def test_tie_blocks_are_reported_best_first() -> None:
    ranking = ranked([1, 2, 3, 4, 5, 6], [0.5, 2, 0.5, 1, 2, 0.5])
    assert ranking.tie_blocks().tolist() == [2, 3]
    assert ranked([1, 2], [1, 2]).tie_blocks().tolist() == []
    assert len(ranking) == 6


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_no_number_is_refused_with_its_cells(wrong: float) -> None:
    with pytest.raises(ComponentError, match=r"measure 'm' gave .* for a state with .*kept_failed"):
        ranked([1, 2], [0.5, wrong])


def test_the_wrong_number_of_scores_is_refused() -> None:
    with pytest.raises(ComponentError, match=r"gave scores of shape \(3,\) for 2 states"):
        ranked([1, 2], [1, 2, 3])


def test_a_measure_gets_the_suite_only_if_it_asks() -> None:
    class Asks:
        needs: ClassVar[tuple[str, ...]] = ("suite",)

    class Wants:
        needs: ClassVar[tuple[str, ...]] = ("crystal ball",)

    read: list[str] = []
    suite: Any = object()
    weights = np.ones(200)
    counted = tally([sample_suite()], weights)

    def whole() -> Any:
        read.append("all of it")
        return suite

    measure: Any = lambda given: given  # noqa: E731
    assert evidence_for(measure, counted, weights, whole).suite is None
    assert read == [], "reading all of a suite may take much memory"
    asks: Any = Asks()
    full = evidence_for(asks, counted, weights, whole)
    assert full.suite is suite
    assert full.weights is weights
    wants: Any = Wants()
    with pytest.raises(ComponentError, match="needs 'crystal ball'; only 'suite' is on offer"):
        evidence_for(wants, counted, weights, whole)


def test_random_rankings_differ_by_seed_and_are_fixed_by_it() -> None:
    keys = np.arange(500, dtype=np.uint64)
    one, again, other = (random_ranking(keys, seed) for seed in (0, 0, 1))
    assert one.ranked_keys.tolist() == again.ranked_keys.tolist()
    assert one.ranked_keys.tolist() != other.ranked_keys.tolist()
    assert sorted(one.ranked_keys.tolist()) == list(range(500))
    assert (one.name, other.name) == ("random:seed=0", "random:seed=1")
