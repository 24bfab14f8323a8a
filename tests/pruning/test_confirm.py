"""The rule of confirmation: bounds by hand, and how often it errs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rpd_core.pruning.confirm import (
    BLOCKS,
    LOOKS,
    Goal,
    Paired,
    Share,
    block_of,
    confirm,
    kept_share,
    level_of,
    mean_bounds,
    quantile,
)

GOAL = Goal(0.9, 0.02)
Draw = Callable[[np.random.Generator, int], tuple[Any, Any]]


@pytest.mark.parametrize(
    ("level", "degrees", "expected"),
    [(0.025, 10, 2.2281), (0.05, 30, 1.6973), (0.005, 20, 2.8453), (0.025, 1_000_000, 1.95996)],
)
def test_quantiles_are_those_of_the_t_distribution(
    level: float, degrees: int, expected: float
) -> None:
    assert quantile(level, degrees) == pytest.approx(expected, abs=2e-4)


def test_without_spread_the_share_is_known_exactly() -> None:
    played = Paired(np.full(5, -140.0), np.full(5, -100.0), -500.0)
    assert kept_share(played, 0.01) == Share(0.9, 0.9, 0.9)
    assert mean_bounds(played.pruned, 0.01) == (-140.0, -140.0)


def test_bounds_end_where_the_contrast_is_no_longer_clearly_off() -> None:
    """At each bound, pruned - s * original - (1 - s) * reference is z standard errors from 0."""
    chance = np.random.default_rng(1)
    original = chance.normal(10, 3, 200)
    played = Paired(0.8 * original + chance.normal(0, 2, 200), original, 1.5, 0.04)
    share = kept_share(played, 0.025)
    for s, sign in ((share.low, 1), (share.high, -1)):
        contrast = played.pruned - s * played.original
        mean = contrast.mean() - (1 - s) * 1.5
        error = np.sqrt(contrast.var(ddof=1) / 200 + (1 - s) ** 2 * 0.04)
        assert mean / error == pytest.approx(sign * quantile(0.025, 199), rel=1e-9)


def test_an_uncertain_reference_widens_the_bounds() -> None:
    chance = np.random.default_rng(2)
    original = chance.normal(10, 3, 200)
    sure = kept_share(Paired(original - 4, original, 0.0), 0.05)
    unsure = kept_share(Paired(original - 4, original, 0.0, 0.25), 0.05)
    assert unsure.estimate == sure.estimate
    assert unsure.low < sure.low
    assert unsure.high > sure.high


def test_where_the_original_is_hardly_above_the_reference_every_share_is_possible() -> None:
    original = np.array([-1.0, 1.2, -1.0, 1.2])
    share = kept_share(Paired(original, original, 0.0), 0.05)
    assert (share.low, share.high) == (-np.inf, np.inf)
    assert GOAL.outcome(share) == "undecided"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.881, 0.95, "met"),
        (0.88, 0.95, "met"),
        (0.881, 0.895, "met"),
        (0.879, 0.95, "undecided"),
        (0.7, 0.9, "undecided"),
        (0.7, 0.899, "missed"),
        (0.879, 0.899, "missed"),
    ],
)
def test_what_bounds_say(low: float, high: float, expected: str) -> None:
    assert GOAL.outcome(Share((low + high) / 2, low, high)) == expected


def test_a_share_that_is_exactly_the_target_meets_it_without_any_margin() -> None:
    share = kept_share(Paired(np.full(3, 0.9), np.full(3, 1.0), 0.0), 0.01)
    assert Goal(0.9, 0.0).outcome(share) == "met"


def test_the_parts_of_the_five_percent_add_up_to_no_more() -> None:
    spent = [level_of(number) * LOOKS for number in range(1, 1000)]
    assert spent[0] == pytest.approx(0.025)
    assert 0.0499 < sum(spent) < 0.05


def test_looks_extend_the_same_episodes() -> None:
    assert (LOOKS, sum(BLOCKS[:2]), sum(BLOCKS)) == (3, 2, 4)
    places = [block_of(index, 400) for index in (0, 399, 400, 799, 800, 1599)]
    assert places == [(0, 0), (0, 399), (1, 0), (1, 399), (2, 0), (2, 799)]
    with pytest.raises(IndexError):
        block_of(1600, 400)


@pytest.mark.parametrize(("share", "expected"), [(1.0, "met"), (0.5, "missed")])
def test_what_is_clear_at_once_needs_no_further_look(share: float, expected: str) -> None:
    chance = np.random.default_rng(3)

    def play(look: int) -> Paired:
        original = chance.normal(10, 1, 100 * 2**look)
        return Paired(original * share, original, 0.0)

    found = confirm(GOAL, 1, play)
    assert (found.outcome, found.looks, len(found.played.pruned)) == (expected, 1, 100)


def normal(chance: np.random.Generator, count: int) -> tuple[Any, Any]:
    original = chance.normal(10, 3, count)
    return 0.88 * original + chance.normal(0, 4, count), original


def all_or_nothing(chance: np.random.Generator, count: int) -> tuple[Any, Any]:
    original = chance.random(count) < 0.9
    return (original & (chance.random(count) < 0.88)).astype(float), original.astype(float)


def cut_short(chance: np.random.Generator, count: int) -> tuple[Any, Any]:
    """As on CartPole: most episodes last, a few fall early; the original never does."""
    lengths = np.where(chance.random(count) < 0.16, chance.uniform(0, 100, count), 200.0)
    return lengths, np.full(count, 200.0)


@pytest.mark.parametrize("draw", [normal, all_or_nothing, cut_short])
def test_policies_that_keep_too_little_are_said_to_meet_it_in_at_most_five_percent(
    draw: Draw,
) -> None:
    """Six candidates in turn, all exactly at the target less the margin, 2000 repeats."""
    chance = np.random.default_rng(4)
    repeats, first, met = 2000, 100, 0
    for _ in range(repeats):
        for number in range(1, 7):
            pruned, original = draw(chance, first * sum(BLOCKS))
            assert len(pruned) == 400

            def play(look: int, pruned: Any = pruned, original: Any = original) -> Paired:
                until = first * sum(BLOCKS[: look + 1])
                return Paired(pruned[:until], original[:until], 0.0)

            if confirm(GOAL, number, play).outcome == "met":
                met += 1
                break
    assert 0 < met <= 0.05 * repeats


def test_the_true_shares_of_the_worlds_above_are_the_target_less_the_margin() -> None:
    chance = np.random.default_rng(5)
    for draw, expected in ((normal, 0.88), (all_or_nothing, 0.88), (cut_short, 0.88)):
        pruned, original = draw(chance, 400_000)
        assert pruned.mean() / original.mean() == pytest.approx(expected, abs=0.003)


def test_the_share_bound_holds_with_a_measured_reference_as_often_as_it_says() -> None:
    chance = np.random.default_rng(6)
    wrong = 0
    for _ in range(2000):
        original = chance.normal(10, 3, 100)
        pruned = 0.5 * original + chance.normal(1, 2, 100)  # true share from 2: (6 - 2) / 8
        reference = chance.normal(2, 4, 50)
        played = Paired(pruned, original, reference.mean(), reference.var(ddof=1) / 50)
        wrong += kept_share(played, 0.05).low > 0.5
    assert 0.035 < wrong / 2000 < 0.065
