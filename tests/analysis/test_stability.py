"""Does a list come back? Overlaps done by hand, and lists whose stability is known."""

from __future__ import annotations

import time
from dataclasses import fields

import numpy as np
import pytest

from rpd_core.analysis.intervals import agresti_caffo_parts, arm_sizes, effect_interval
from rpd_core.analysis.intervals import effect as effect_of
from rpd_core.analysis.spectrum import tally
from rpd_core.analysis.stability import (
    DrawnEpisodes,
    Listing,
    VisitDifferences,
    VisitSums,
    half_split,
    held_visits,
    overlap,
    rank_biased_overlap,
    rank_intervals,
)
from rpd_core.plugin.protocols import Episodes, States, Suite, Visits
from rpd_measures.shrinkage import shrunken


def effect(drawn: DrawnEpisodes) -> np.ndarray:
    return effect_of(drawn.spectrum)


def shrunken_score(drawn: DrawnEpisodes) -> np.ndarray:
    difference, error = agresti_caffo_parts(drawn.spectrum)
    mutated, kept = arm_sizes(drawn.spectrum)
    mean, deviation = shrunken(difference, error, (mutated >= 10) & (kept >= 10))
    return mean - deviation


def made(
    effects: np.ndarray, episodes: int, seed: int = 0, visited: float = 0.5
) -> tuple[VisitSums, dict[str, np.ndarray]]:
    """Return visits of episodes whose failures add up over the mutated states they visit."""
    generator = np.random.default_rng(seed)
    met = generator.random((episodes, len(effects))) < visited
    mutated = generator.random(met.shape) < 0.3
    risk = 0.2 + (met & mutated) @ effects
    weights = (generator.random(episodes) >= risk).astype(np.float64)
    episode, state = np.nonzero(met)
    columns = {"episode": episode, "state": state, "mutated": mutated[met], "weights": weights}
    return held_visits(**columns, states=len(effects)), columns


def drawn_of(*cells: list[int]) -> DrawnEpisodes:
    """Return episodes that visit one state each and fill these cells."""
    fates = [(True, 0.0), (True, 1.0), (False, 0.0), (False, 1.0)]
    rows = [
        (state, fate, weight)
        for cell, (fate, weight) in zip(cells, fates, strict=True)
        for state, size in enumerate(cell)
        for _ in range(size)
    ]
    state, mutated, weights = (np.array(column) for column in zip(*rows, strict=True))
    visits = held_visits(np.arange(len(rows)), state, mutated, weights, len(cells[0]))
    return visits.draw(np.ones(len(rows)))


def test_spectra_count_each_episode_as_often_as_asked() -> None:
    visits, columns = made(np.zeros(7), 50)
    counts = np.random.default_rng(1).integers(0, 4, size=50).astype(np.float64)
    expected = np.zeros((7, 2, 2))
    for episode, state, mutated in zip(
        columns["episode"], columns["state"], columns["mutated"], strict=True
    ):
        expected[state, int(mutated), int(columns["weights"][episode])] += counts[episode]
    given = visits.spectrum(counts)
    np.testing.assert_array_equal(given.mutated_failed, expected[:, 1, 0])
    np.testing.assert_array_equal(given.mutated_passed, expected[:, 1, 1])
    np.testing.assert_array_equal(given.kept_failed, expected[:, 0, 0])
    np.testing.assert_array_equal(given.kept_passed, expected[:, 0, 1])


def test_spectra_are_the_same_with_returns_beside_them() -> None:
    generator = np.random.default_rng(3)
    episode, state = generator.integers(200, size=5000), generator.integers(30, size=5000)
    mutated, weights = generator.random(5000) < 0.4, (np.arange(200) % 3 == 0).astype(float)
    returns = generator.random(200)
    apart = held_visits(episode, state, mutated, weights, 30)
    together = held_visits(episode, state, mutated, weights, 30, returns)
    counts = generator.integers(4, size=200).astype(float)
    for name, cells in vars(together.spectrum(counts)).items():
        assert np.array_equal(getattr(apart.spectrum(counts), name), cells)


def test_returns_add_up_over_the_episodes_that_are_drawn() -> None:
    """State 0 is visited by episodes 0 (mutated) and 1, state 1 by episodes 1 (mutated) and 2."""
    episode, state = np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1])
    mutated, weights = np.array([True, False, True, False]), np.ones(3)
    visits = held_visits(episode, state, mutated, weights, 2, np.array([3.0, 5.0, 7.0]))
    added = visits.draw(np.array([1.0, 2.0, 0.0])).part("returns")
    assert added is not None
    assert added.mutated_sum.tolist() == [3, 10]
    assert added.mutated_squares.tolist() == [9, 50]
    assert added.kept_sum.tolist() == [10, 0]
    assert added.kept_squares.tolist() == [50, 0]


def test_shares_that_differ_add_up_over_the_visits_that_are_drawn() -> None:
    """State 0: 3 of 4 visits in episode 0, drawn once, and 0 of 2 in episode 1, drawn twice."""
    episode, state = np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1])
    mutated, weights = np.array([True, False, True, False]), np.ones(3)
    first = np.array([True, False, True, False])
    differences = VisitDifferences(np.array([4, 2, 1, 9]), np.array([3, 0, 1, 9]), first)
    visits = held_visits(episode, state, mutated, weights, 3, None, differences)
    drawn = visits.draw(np.array([1.0, 2.0, 0.0]))
    assert drawn.part("differed") is not None
    assert drawn.part("differed").tolist() == [3 / 8, 1, 0]
    assert drawn.part("differed_first") is not None
    assert drawn.part("differed_first").tolist() == [1 / 3, 1, 0]
    bare = held_visits(episode, state, mutated, weights, 3).draw(np.ones(3))
    assert (bare.part("returns"), bare.part("differed"), bare.part("differed_first")) == (
        None,
        None,
        None,
    )


def test_states_that_nobody_visits_count_0() -> None:
    one = np.ones(1, dtype=np.int64)
    visits = held_visits(0 * one, 2 * one, one == 1, np.array([0.25]), states=4)
    given = visits.spectrum(np.ones(1))
    assert given.mutated_failed.tolist() == [0, 0, 0.75, 0]
    assert given.mutated_passed.tolist() == [0, 0, 0.25, 0]
    assert given.kept_failed.tolist() == [0, 0, 0, 0]
    none = held_visits(0 * one[:0], one[:0], one[:0] == 1, np.array([0.25]), states=2)
    assert none.spectrum(np.ones(1)).kept_failed.tolist() == [0, 0]


def test_overlap_is_the_share_in_common() -> None:
    one, two = np.array([5, 3, 8, 1]), np.array([3, 9, 5, 7])
    assert overlap(one, two, 1) == 0
    assert overlap(one, two, 2) == 0.5
    assert overlap(one, two, 3) == pytest.approx(2 / 3)
    assert overlap(one[:1], two[:1], 10) == 0
    assert overlap(one, two, 0) == 0


def test_rank_biased_overlap_matches_a_sum_done_by_hand() -> None:
    """Agreement 0, 1/2, 2/3 at depths 1, 2, 3; then it stays 2/3."""
    one, two = np.array([5, 3, 8]), np.array([3, 9, 5])
    expected = 0.5 * 0.5 * 0 + 0.5 * (0 + 0.5 * 0.5 + 0.25 * 2 / 3) + 0.125 * 2 / 3
    assert rank_biased_overlap(one, two, 0.5) == pytest.approx(expected)
    assert rank_biased_overlap(one, one) == pytest.approx(1)
    assert rank_biased_overlap(one, np.array([1, 2, 4])) == 0
    assert rank_biased_overlap(one, one[:0]) == 0


def test_the_first_ten_carry_86_percent_of_rank_biased_overlap() -> None:
    one = np.arange(100)
    two = np.r_[np.arange(10), np.arange(1000, 1090)]
    far = np.r_[np.arange(1000, 1010), np.arange(10, 100)]
    depth = np.arange(1, 101)
    series = 0.1 * 0.9 ** (depth - 1)
    # The definition of the weight of a prefix, summed over all depths it plays a part in.
    weight = (series * np.minimum(depth, 10) / depth).sum() + 0.9**100 * 10 / 100
    assert rank_biased_overlap(one, two) == pytest.approx(weight)
    assert weight == pytest.approx(0.86, abs=0.01)
    assert rank_biased_overlap(one, far) == pytest.approx(1 - weight)


def test_only_states_with_evidence_that_are_allowed_are_listed_best_first() -> None:
    given = drawn_of(  # mutated and failed, mutated and passed, kept and failed, kept and passed
        [9, 10, 20, 12, 12], [0, 0, 0, 8, 8], [0, 0, 6, 2, 2], [99, 10, 14, 18, 18]
    )
    assert Listing(effect).order(given).tolist() == [1, 2, 3, 4]
    assert Listing(effect, least=20).order(given).tolist() == [2, 3, 4]
    allowed = np.array([True, False, True, True, True])
    assert Listing(effect, allowed=allowed).order(given).tolist() == [2, 3, 4]
    assert Listing(effect).order(given, np.array([4, 3, 2, 1, 0])).tolist() == [1, 2, 4, 3]


def test_a_list_with_clear_effects_comes_back_and_one_by_chance_does_not() -> None:
    clear = np.where(np.arange(200) < 10, 0.15, 0.0)
    stable = half_split(made(clear, 9000, visited=0.2)[0], Listing(shrunken_score))
    assert stable.top10 > 0.9
    assert stable.rank_biased > 0.35  # the ten are alike, so their order is chance
    chance = half_split(made(0 * clear, 4000, visited=0.2)[0], Listing(shrunken_score))
    assert chance.top10 < 0.15  # of 200 states, ten are 5 %
    assert chance.top50 == pytest.approx(0.25, abs=0.1)
    assert chance.rank_biased < 0.15


def test_a_score_that_tells_no_states_apart_does_not_come_back() -> None:
    constant = Listing(lambda drawn: np.zeros(len(drawn.spectrum)))
    assert half_split(made(np.zeros(200), 2000)[0], constant).top10 < 0.15


def test_a_short_list_is_compared_as_long_as_it_is() -> None:
    visits, _ = made(np.zeros(4), 400)
    assert half_split(visits, Listing(effect)).top10 == 1
    nothing = half_split(visits, Listing(effect, least=1000))
    assert (nothing.top10, nothing.top50, nothing.rank_biased) == (0, 0, 0)


def test_the_same_seed_gives_the_same_figures() -> None:
    visits, _ = made(np.linspace(0, 0.02, 60), 800)
    listing = Listing(effect)
    assert half_split(visits, listing, seed=3) == half_split(visits, listing, seed=3)
    assert half_split(visits, listing, seed=3) != half_split(visits, listing, seed=4)


def test_rank_intervals_are_narrow_for_clear_effects_and_wide_for_none() -> None:
    effects = np.zeros(40)
    effects[:3] = 0.3, 0.2, 0.1
    visits, _ = made(effects, 3000, visited=0.4)
    found = rank_intervals(visits, Listing(effect), np.array([0, 1, 2, 20]), resamples=200)
    assert found.low.tolist()[:2] == [1, 2]
    assert found.high.tolist()[:2] == [1, 2]
    assert found.high[2] <= 8
    assert found.high[3] - found.low[3] > 10
    assert found.listed.tolist() == [1, 1, 1, 1]


def test_a_state_at_the_edge_of_evidence_is_listed_in_some_resamples() -> None:
    visits, columns = made(np.zeros(30), 300, visited=0.5)
    mutated, kept = arm_sizes(visits.spectrum(np.ones(300)))
    edge = int(mutated.argmin())
    listing = Listing(effect, least=mutated[edge])
    found = rank_intervals(visits, listing, np.array([edge]), resamples=200)
    assert 0.3 < found.listed[0] < 0.8
    assert found.low[0] < found.high[0] <= 31
    assert kept.min() > mutated.min()
    assert len(columns["weights"]) == 300


@pytest.mark.slow
def test_a_thousand_resamples_of_a_big_suite_take_under_thirty_seconds() -> None:
    """5000 episodes that visit 80 of 2000 states each, as on CartPole."""
    visits, columns = made(np.linspace(0, 0.01, 2000), 5000, visited=0.04)
    assert len(columns["state"]) > 390_000
    started = time.process_time()
    rank_intervals(visits, Listing(shrunken_score), np.arange(50), resamples=1000)
    assert time.process_time() - started < 30


def others_of(table: type, *known: str) -> list[str]:
    """Return the columns of a table that play no part."""
    return [one.name for one in fields(table) if one.name not in known]


@pytest.mark.slow
def test_effects_of_ten_million_visits_take_under_ten_seconds() -> None:
    generator = np.random.default_rng(0)
    count, episodes, states = 10_000_000, 100_000, 20_000
    blank, index, keys = np.zeros(count, np.int8), np.arange(episodes), np.arange(states) * 2**40
    visits = Visits(
        episode=np.sort(generator.integers(episodes, size=count)),
        key=keys[generator.integers(states, size=count)].astype(np.uint64),
        mutated=generator.random(count) < 0.3,
        **dict.fromkeys(others_of(Visits, "episode", "key", "mutated"), blank),
    )
    suite = Suite(
        Episodes(*[index] * 7),
        visits,
        States(keys.astype(np.uint64), **dict.fromkeys(others_of(States, "key"), keys)),
    )
    weights = (generator.random(episodes) < 0.6).astype(np.float64)
    started = time.process_time()
    found = effect_interval(tally([suite], weights).spectrum)
    assert time.process_time() - started < 10
    assert (found.low < found.high).all()
