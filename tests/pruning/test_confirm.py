"""The rule of confirmation: bounds by hand, and how often it errs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rpd_core.analysis.intervals import upper_t
from rpd_core.pruning.confirm import (
    BLOCKS,
    LOOKS,
    Goal,
    Paired,
    block_of,
    confirm,
    keeps_less,
    kept_share,
    level_of,
    mean_bounds,
)

GOAL = Goal(0.9, 0.02)
Draw = Callable[[np.random.Generator, int], tuple[Any, Any]]


def test_without_spread_only_what_was_never_seen_is_uncertain() -> None:
    """None of n episodes differed: a total loss happens in less than 1 - level ** (1 / n)."""
    played = Paired(np.full(400, -140.0), np.full(400, -100.0), -500.0)
    share = kept_share(played, 0.025)
    assert share.estimate == 0.9
    assert share.high == pytest.approx(0.9, abs=1e-6)
    assert share.low == pytest.approx(0.9 * 0.025 ** (1 / 400), abs=4e-3)
    low, high = mean_bounds(played.pruned, 0.025, -500.0)
    assert high == pytest.approx(-140, abs=1e-3)
    assert low == pytest.approx(-500 + 360 * 0.025 ** (1 / 400), abs=1.0)


def test_bounds_of_passed_or_failed_returns_are_nearly_the_exact_ones() -> None:
    """Clopper and Pearson: 380 of 400 passed, one-sided at 2.5 %: from 0.9238 to 0.9692."""
    passed = (np.arange(400) < 380).astype(float)
    low, high = mean_bounds(passed, 0.025, 0.0)
    assert low == pytest.approx(0.9238, abs=0.002)
    assert high == pytest.approx(0.9692, abs=0.004)


def test_bounds_of_returns_without_skew_are_those_of_the_t_test() -> None:
    """At each bound, pruned - s * original - (1 - s) * reference is z standard errors from 0."""
    chance = np.random.default_rng(1)
    original = chance.normal(10, 1, 2000)
    played = Paired(0.8 * original + chance.normal(0, 2, 2000), original, 1.5, 0.0004)
    share = kept_share(played, 0.025)
    for s, sign in ((share.low, 1), (share.high, -1)):
        contrast = played.pruned - s * played.original
        mean = contrast.mean() - (1 - s) * 1.5
        error = np.sqrt(contrast.var(ddof=1) / 2000 + (1 - s) ** 2 * 0.0004)
        assert mean / error == pytest.approx(sign * upper_t(0.025, 1999), rel=0.12)


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
    played = Paired(original, original, 0.0)
    share = kept_share(played, 0.05)
    assert (share.low, share.high) == (-np.inf, np.inf)
    assert GOAL.outcome(played, 0.05) == "undecided"


@pytest.mark.parametrize(
    ("share", "spread", "expected"),
    [
        (1.0, 0.0, "met"),
        (0.9, 0.0, "met"),
        (0.895, 0.0, "met"),
        (0.881, 0.0, "missed"),
        (0.879, 0.0, "missed"),
        (0.9, 0.5, "undecided"),
        (0.88, 0.5, "undecided"),
        (0.97, 0.5, "met"),
        (0.8, 0.5, "missed"),
    ],
)
def test_what_episodes_say(share: float, spread: float, expected: str) -> None:
    pruned = share + np.resize([-spread, spread], 1600)
    assert GOAL.outcome(Paired(pruned, np.ones(1600), 0.0), 0.01) == expected


def test_what_is_met_and_missed_agrees_with_the_bounds() -> None:
    chance = np.random.default_rng(9)
    seen = set()
    for share in np.linspace(0.8, 1.0, 41):
        original = chance.normal(10, 3, 400)
        played = Paired(share * original + chance.normal(0, 2, 400), original, 0.0)
        bounds = kept_share(played, 0.01)
        expected = "met" if bounds.low > 0.88 else "missed" if bounds.high < 0.9 else "undecided"
        assert GOAL.outcome(played, 0.01) == expected
        seen.add(expected)
    assert seen == {"met", "missed", "undecided"}


def test_the_parts_of_the_five_percent_add_up_to_no_more() -> None:
    spent = [level_of(number) * LOOKS for number in range(1, 1000)]
    assert spent[0] == pytest.approx(0.025)
    assert 0.0499 < sum(spent) < 0.05


def test_looks_extend_the_same_episodes() -> None:
    assert (LOOKS, sum(BLOCKS[:2]), sum(BLOCKS)) == (4, 2, 8)
    places = [block_of(index, 400) for index in (0, 399, 400, 799, 800, 1599, 1600, 3199)]
    assert places == [(0, 0), (0, 399), (1, 0), (1, 399), (2, 0), (2, 799), (3, 0), (3, 1599)]
    with pytest.raises(IndexError):
        block_of(3200, 400)


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


def seldom_paid(chance: np.random.Generator, count: int) -> tuple[Any, Any]:
    """The original itself earns something in one episode of ten."""
    original = chance.random(count) < 0.1
    return (original & (chance.random(count) < 0.88)).astype(float), original.astype(float)


WORLDS = [normal, all_or_nothing, cut_short, seldom_paid]


@pytest.mark.parametrize("draw", WORLDS)
def test_policies_that_keep_too_little_are_said_to_meet_it_in_at_most_five_percent(
    draw: Draw,
) -> None:
    """Three candidates in turn, all exactly at the target less the margin, 2000 repeats."""
    chance = np.random.default_rng(4)
    repeats, first, met = 2000, 100, 0
    for _ in range(repeats):
        for number in range(1, 4):
            pruned, original = draw(chance, first * sum(BLOCKS))

            def play(look: int, pruned: Any = pruned, original: Any = original) -> Paired:
                until = first * sum(BLOCKS[: look + 1])
                return Paired(pruned[:until], original[:until], 0.0)

            if confirm(GOAL, number, play).outcome == "met":
                met += 1
                break
    assert met <= 0.05 * repeats


def test_the_true_shares_of_the_worlds_above_are_the_target_less_the_margin() -> None:
    chance = np.random.default_rng(5)
    for draw in WORLDS:
        pruned, original = draw(chance, 400_000)
        assert pruned.mean() / original.mean() == pytest.approx(0.88, abs=0.005)


def test_a_measured_reference_is_as_uncertain_as_it_says() -> None:
    chance = np.random.default_rng(6)
    wrong, repeats = 0, 2000
    for _ in range(repeats):
        original = chance.normal(10, 3, 100)
        pruned = 0.5 * original + chance.normal(1, 2, 100)  # true share from 2: (6 - 2) / 8
        reference = chance.normal(2, 4, 50)
        played = Paired(pruned, original, reference.mean(), reference.var(ddof=1) / 50)
        wrong += keeps_less(played, 0.5, 0.05)
    assert 0.035 < wrong / repeats < 0.065
