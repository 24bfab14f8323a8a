"""Curves and thresholds on numbers made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rpd_core.analysis.intervals import upper_t
from rpd_core.errors import EvidenceError
from rpd_core.plugin.protocols import Episodes
from rpd_core.plugin.protocols.suite import RANKED_STEPS
from rpd_core.pruning.curves import (
    Curve,
    ShownCurve,
    area_under,
    curve_from,
    cutoffs_for,
    fewest_states,
    fewest_steps,
    mean_curve,
    portfolio,
    reaching,
)
from rpd_core.pruning.records import PrunedPoint
from rpd_core.pruning.references import refuse_weak_policy, target_return

SHARES = (0.0, 0.25, 0.5, 1.0)


def curve(name: str, means: list[float], steps: list[float], kept: Any = (0, 2, 4, 8)) -> Curve:
    """Two episodes of ten steps per point, one above the mean and one below."""
    returns = np.array([[mean - 1, mean + 1] for mean in means], dtype=float)
    used = np.array([[share * 20, 0] for share in steps]).astype(np.int64)
    lengths = np.full_like(used, 10)
    ranked = np.full(used.shape, 4.0)
    return Curve(name, np.array(SHARES), np.array(kept), returns, lengths, used, used // 2, ranked)


A = curve("a", [0, 6, 5, 10], [0, 0.3, 0.2, 1.0])
B = curve("b", [0, 2, 9, 10], [0, 0.1, 0.4, 0.9])


def episodes(returns: Any, lengths: Any, policy_steps: Any) -> Episodes:
    count = len(returns)
    index = np.arange(count)
    info = {RANKED_STEPS: np.array(policy_steps) + 1.0}
    columns = np.array(returns, float), np.array(lengths), index * 0, np.array(policy_steps)
    return Episodes(index, index, *columns, columns[-1] // 2, info)


def test_shares_become_numbers_of_states_rounded_up() -> None:
    assert cutoffs_for((0, 0.01, 0.1, 0.5, 1), 15) == (0, 1, 2, 8, 15)
    assert cutoffs_for((0.07, 0.14, 0.29, 0.57), 100) == (7, 14, 29, 57)
    assert cutoffs_for((0.1, 0.3, 0.7), 1_000_000) == (100_000, 300_000, 700_000)


def test_episodes_are_arranged_by_point() -> None:
    played = episodes([1, 2, 3, 4, 5, 6], [10, 30, 5, 5, 8, 2], [1, 9, 5, 0, 8, 2])
    found = curve_from("m", (0, 0.5, 1), (0, 3, 6), played)
    assert found.mean_return.tolist() == [1.5, 3.5, 5.5]
    assert found.step_shares.tolist() == [10 / 40, 5 / 10, 1.0], "the ratio of totals"
    assert found.override_shares.tolist() == [4 / 40, 2 / 10, 5 / 10], "of all steps"
    assert found.coverage.tolist() == [12 / 40, 7 / 10, 12 / 10]
    assert found.returns.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert found.kept.tolist() == [0, 3, 6]


def fewest(curves: list[Curve], target: float) -> tuple[PrunedPoint | None, PrunedPoint | None]:
    points = reaching(curves, target)
    return fewest_states(points), fewest_steps(points)


def test_each_axis_has_its_own_pruned_policy_and_each_figure_belongs_to_it() -> None:
    """Fewest states: 2, which take 30 % of the steps; fewest steps: 20 %, which 4 states take."""
    states, steps = fewest([A], 5)
    assert states == PrunedPoint("a", 2, 0.25, 0.3, 0.15, 6.0, 2)
    assert steps == PrunedPoint("a", 4, 0.5, 0.2, 0.1, 5.0, 2)
    exact, _ = fewest([A], 6.0)
    assert exact == PrunedPoint("a", 2, 0.25, 0.3, 0.15, 6.0, 2), "exactly is met"


def test_a_target_that_no_point_meets_is_never_reached() -> None:
    assert fewest([A], 10.1) == (None, None)
    assert fewest([A, B], 10.1) == (None, None)
    assert fewest([], 0) == (None, None)


def test_a_target_that_the_default_meets_needs_nothing() -> None:
    nothing = PrunedPoint("a", 0, 0.0, 0.0, 0.0, 0.0, 2)
    assert fewest([A], -1) == (nothing, nothing)


def test_the_best_of_several_never_joins_figures_of_two_pruned_policies() -> None:
    assert fewest([A, B], 9) == (PrunedPoint("b", 4, 0.5, 0.4, 0.2, 9.0, 2),) * 2
    other = curve("c", [0, 0, 0, 9], [0, 0, 0, 0.3])
    states, steps = fewest([B, other], 9)
    assert states == PrunedPoint("b", 4, 0.5, 0.4, 0.2, 9.0, 2)
    assert steps == PrunedPoint("c", 8, 1.0, 0.3, 0.15, 9.0, 2)


def test_of_equals_the_one_that_is_smaller_on_the_other_axis_is_taken() -> None:
    one, two = curve("one", [9] * 4, [0.4, 0.2, 0.2, 1]), curve("two", [9] * 4, [0.3, 0.2, 0.2, 1])
    states, steps = fewest([one, two], 9)
    assert states is not None
    assert steps is not None
    assert (states.measure, states.kept, states.steps) == ("two", 0, 0.3)
    assert (steps.measure, steps.kept, steps.steps) == ("one", 2, 0.2)


def table(returns: list[list[float]]) -> Curve:
    """A point per row of returns; every episode has ten steps, of which the policy decides four."""
    some = np.array(returns, dtype=float)
    played = ~np.isnan(some)
    shares = np.linspace(0, 1, len(some))
    kept = np.arange(len(some))
    return Curve("m", shares, kept, some, 10 * played, 4 * played, played, 10.0 * played)


def test_the_band_of_a_ranking_is_students_over_test_episodes() -> None:
    """Returns 1, 2, 3, 4, 5: mean 3, variance 2.5, so the standard error is sqrt(1/2)."""
    found = table([[1, 2, 3, 4, 5], [7, 7, 7, 7, 7], [1, 3, np.nan, np.nan, np.nan]])
    half = found.half_band()
    assert half[0] == pytest.approx(2.776445 * 0.5**0.5, rel=1e-6)
    assert half[0] == pytest.approx(upper_t(0.025, 4) * 0.5**0.5, rel=1e-12)
    assert half[1] == 0
    assert half[2] == pytest.approx(upper_t(0.025, 1), rel=1e-12), "variance 2, two episodes"
    assert table([[4.0]]).half_band().tolist() == [0.0], "a single episode has no spread"


def test_in_a_band_a_test_episode_counts_once_however_many_rankings_were_played_on_it() -> None:
    """Episodes differ by 6 and rankings by 2: means 1, 4 and 7 with variance 9 over 3 episodes."""
    found = mean_curve("random", [table([[0, 3, 6]]), table([[2, 5, 8]])])
    assert found.rankings == 2
    assert found.by_test_episode().returns.tolist() == [[1, 4, 7]]
    assert found.half_band()[0] == pytest.approx(upper_t(0.025, 2) * 3**0.5, rel=1e-12)
    shown = found.shown()
    assert shown.returns == (4.0,)
    assert (shown.low[0] + shown.high[0]) / 2 == pytest.approx(4.0)
    assert shown.episodes == (3,)
    assert shown.steps == (0.4,)
    assert found.episodes.tolist() == [6], "what was played"


def test_the_same_ranking_twice_has_the_band_of_the_ranking() -> None:
    once = table([[1, 2, 3, 4, 5], [3, 1, 4, np.nan, np.nan]])
    twice = mean_curve("random", [once, once])
    assert twice.half_band().tolist() == once.half_band().tolist()


def test_a_mean_has_only_the_test_episodes_that_all_rankings_played() -> None:
    short, long = table([[1, 2, np.nan, np.nan]]), table([[3, 4, 50, 60]])
    found = mean_curve("random", [short, long]).shown()
    assert (found.returns, found.episodes) == ((2.5,), (2,))


def test_a_curve_in_shares_of_the_return_has_its_band_in_shares_too() -> None:
    shown = table([[1, 3], [5, 7]]).shown().rescaled(-4.0, 6.0)
    assert shown.returns == (0.6, 1.0)
    width = shown.high[0] - shown.low[0]
    assert width == pytest.approx(2 * upper_t(0.025, 1) / 10)


def test_over_steps_only_what_is_best_so_far_counts() -> None:
    steps, returns = (0.0, 0.3, 0.2, 0.6, 0.3), (0.1, 0.5, 0.6, 0.9, 0.55)
    low, high = (tuple(one + by for one in returns) for by in (-0.1, 0.1))
    states = (0.0, 0.25, 0.5, 0.75, 1.0)
    whole = ShownCurve("m", (0, 1, 2, 3, 4), states, steps, returns, low, high, (9,) * 5)
    best = whole.best_by_steps()
    assert (best.steps, best.returns) == ((0.0, 0.2, 0.6), (0.1, 0.6, 0.9))
    assert best.kept == (0, 2, 3)
    assert best.low == pytest.approx([0.0, 0.5, 0.8])


def test_the_mean_of_curves_pools_their_episodes() -> None:
    found = mean_curve("random", [A, B])
    assert found.mean_return.tolist() == [0, 4, 7, 10]
    assert found.step_shares.tolist() == pytest.approx([0, 0.2, 0.3, 0.95])
    assert found.returns.shape == (4, 4)


# ------------------------------------------------------------------------- thresholds


@pytest.mark.parametrize(
    ("fraction", "original", "reference", "expected"),
    [
        (0.9, 200.0, 0.0, 180.0),
        (0.5, -100.0, -500.0, -300.0),
        (0.9, -80.0, -500.0, -122.0),
        (0.9, 21.0, -21.0, 16.8),
        (1.0, -7.0, -9.0, -7.0),
        (0.0, -7.0, -9.0, -9.0),
    ],
)
def test_a_threshold_is_measured_from_the_reference(
    fraction: float, original: float, reference: float, expected: float
) -> None:
    assert target_return(fraction, original, reference) == pytest.approx(expected, rel=1e-12)


def test_with_negative_returns_a_worse_policy_misses_the_target() -> None:
    """90 % of -100 would be -90, better than the policy itself; from -500 it is -140."""
    target = target_return(0.9, -100, -500)
    found, _ = fewest([curve("d", [-500, -141, -139, -100], [0, 0.2, 0.5, 1])], target)
    assert found == PrunedPoint("d", 4, 0.5, 0.5, 0.25, -139.0, 2)


def test_a_policy_that_is_not_clearly_above_its_reference_is_refused() -> None:
    returns = np.array([8.0, 12.0, 8.0, 12.0])  # mean 10, standard error 1.1547
    refuse_weak_policy(returns, 7.6, "given")
    with pytest.raises(EvidenceError) as caught:
        refuse_weak_policy(returns, 7.8, "random play")
    assert str(caught.value).startswith(
        "the policy's return 10 is not clearly above the reference 7.8 (random play): the gain is "
        "2.2 +- 1.2 in 4 episodes whose returns spread by 2"
    )
    with pytest.raises(EvidenceError):
        refuse_weak_policy(np.full(5, 3.0), 3.0, "given")
    refuse_weak_policy(np.array([3.0]), 2.0, "given")


def test_the_uncertainty_of_random_play_counts_too() -> None:
    returns, wild = np.array([8.0, 12.0] * 2), np.array([-34.0, 46.0] * 2)
    refuse_weak_policy(returns, 6.0, "random play", np.full(4, 6.0))
    with pytest.raises(EvidenceError, match=r"the gain is 4 \+- 23 in 4 episodes"):
        refuse_weak_policy(returns, 6.0, "random play", wild)


def test_a_gain_that_is_tiny_beside_the_spread_is_refused_however_sure_it_is() -> None:
    """As a lander that earns -141 where random play earns -147, give or take a hundred."""
    many = np.resize([-241.0, -41.0], 40_000)
    with pytest.raises(EvidenceError, match=r"the gain is 6 .* whose returns spread by 1e\+02"):
        refuse_weak_policy(many, -147.0, "random play", many - 6)


def test_the_portfolio_is_made_of_the_papers_measures_at_hand() -> None:
    curves = {"a": A, "b": B, "tarantula": A}
    assert portfolio(curves, ("tarantula", "ochiai")) == [A]


@pytest.mark.parametrize(
    ("shares", "returns", "area"),
    [
        ([0.0, 1.0], [0.0, 1.0], 0.0),
        ([0.0, 0.25, 1.0], [0.0, 1.0, 1.0], 0.75),
        ([0.0, 0.5, 1.0], [0.4, 0.2, 0.8], 0.4),  # a fall takes nothing away
        ([0.5, 0.0, 1.0], [1.0, 0.0, 1.0], 0.5),  # in any order
        ([0.0, 0.5, 0.5], [0.0, 0.2, 0.6], 0.3),  # of equals the best, kept to the end
        ([0.2, 0.2], [0.5, 0.1], 0.4),  # nothing below the first point
        ([0.0, 0.5], [-3.0, 7.0], 0.5),  # cut to 0..1
        ([0.0], [1.0], 1.0),
    ],
)
def test_the_area_of_curves_made_by_hand(
    shares: list[float], returns: list[float], area: float
) -> None:
    assert area_under(np.array(shares), np.array(returns)) == pytest.approx(area, abs=1e-12)


def test_one_more_point_never_makes_an_area_smaller() -> None:
    shares, returns = np.array([0.0, 0.3, 1.0]), np.array([0.0, 0.2, 1.0])
    for share in (0.0, 0.2, 0.9, 1.0):
        for height in (0.0, 0.1, 0.7):
            more = area_under(np.append(shares, share), np.append(returns, height))
            assert more >= area_under(shares, returns)
