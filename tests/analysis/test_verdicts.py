"""Verdicts: what they say, and how often they are false in worlds whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from chains import Chain, chain, evidence_of, mixed_chain
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests
from test_intervals import spectrum

from rpd_core.analysis.verdicts import Verdict, Verdicts, benjamini_hochberg, judge
from rpd_core.errors import ConfigError
from rpd_core.plugin.protocols import Spectrum

EVERY = np.ones(1, dtype=np.bool_)
MARGIN = 0.05


@pytest.mark.parametrize("seed", range(20))
def test_benjamini_hochberg_rejects_what_scipy_and_statsmodels_do(seed: int) -> None:
    generator = np.random.default_rng(seed)
    chances = generator.random(200) ** generator.integers(1, 8, size=200)
    chances[generator.integers(200, size=30)] = chances[7]  # ties
    rejected = benjamini_hochberg(chances, 0.05)
    np.testing.assert_array_equal(rejected, multipletests(chances, 0.05, "fdr_bh")[0])
    np.testing.assert_array_equal(rejected, false_discovery_control(chances) <= 0.05)
    assert 0 < rejected.sum() < 200


def test_benjamini_hochberg_of_nothing_and_of_no_finding_is_empty() -> None:
    assert benjamini_hochberg(np.array([]), 0.05).tolist() == []
    assert benjamini_hochberg(np.array([0.04, 0.9]), 0.05).tolist() == [False, False]


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        ((90, 10, 10, 90), Verdict.MATTERS),
        ((10, 90, 90, 10), Verdict.DEFAULT_BETTER),
        ((1000, 1000, 1000, 1000), Verdict.HARMLESS),
        ((5, 5, 5, 5), Verdict.UNDECIDED),
        # A certain but small effect matters; whether it lies within the margin is not said.
        ((10300, 9700, 10000, 10000), Verdict.MATTERS),
        ((90.5, 9.5, 10, 90), Verdict.MATTERS),
        ((1000.5, 999.5, 1000, 1000), Verdict.HARMLESS),
    ],
)
def test_one_state_gets_its_verdict(cells: tuple[float, ...], verdict: Verdict) -> None:
    assert judge(spectrum(cells), EVERY).labels() == [verdict]  # type: ignore[arg-type]


def test_labels_are_the_words_that_people_read() -> None:
    assert list(Verdict) == ["matters", "default-better", "harmless", "undecided"]


def test_a_wider_margin_makes_more_harmless() -> None:
    given = spectrum((100, 100, 100, 100))
    assert judge(given, EVERY).are(Verdict.UNDECIDED)
    assert judge(given, EVERY, margin=0.2).are(Verdict.HARMLESS)


def test_states_without_evidence_are_not_judged_and_count_in_no_family() -> None:
    strong, clear, weak = (80, 20, 50, 50), (18, 2, 10, 10), (5, 5, 5, 5)
    crowd = spectrum(clear, strong, *[weak] * 200)
    few = np.arange(202) < 2
    assert judge(crowd, few).labels()[:2] == [Verdict.MATTERS, Verdict.MATTERS]
    assert judge(crowd, ~few | few).labels()[:2] == [Verdict.UNDECIDED, Verdict.MATTERS]
    found = judge(crowd, few)
    assert found.labels()[2:] == [None] * 200
    assert np.isinf(found.growth[2:]).all()


def test_no_state_with_evidence_gives_no_verdict() -> None:
    found = judge(spectrum((1, 1, 1, 1)), ~EVERY)
    assert found.labels() == [None]


def test_settled_states_need_no_more_episodes() -> None:
    found = judge(spectrum((90, 10, 10, 90), (12, 8, 8, 12)), np.ones(2, dtype=np.bool_))
    assert found.growth[0] == 1
    assert found.growth[1] > 1
    assert found.episodes_needed(500).tolist() == [500, np.ceil(500 * found.growth[1])]


@pytest.mark.parametrize(
    "cells", [(12, 8, 8, 12), (8, 12, 12, 8), (30, 300, 25, 310), (400, 400, 390, 410)]
)
def test_so_many_episodes_settle_the_state_and_much_fewer_do_not(cells: tuple[float, ...]) -> None:
    others = [(90, 10, 10, 90)] * 3 + [(500, 500, 490, 510)] * 30
    everyone = np.ones(34, dtype=np.bool_)

    def settled(factor: float) -> bool:
        grown = np.rint(np.array(cells) * factor)
        found = judge(spectrum(tuple(grown), *others), everyone)  # type: ignore[arg-type]
        return found.labels()[0] is not Verdict.UNDECIDED

    growth = judge(spectrum(cells, *others), everyone).growth[0]  # type: ignore[arg-type]
    assert 1 < growth < 100
    assert settled(1.15 * growth)
    assert not settled(0.8 * growth)


@pytest.mark.parametrize(("margin", "level"), [(0.0, 0.05), (5.0, 0.05), (0.05, 0.0), (0.05, 5.0)])
def test_a_margin_or_level_that_is_no_share_is_refused(margin: float, level: float) -> None:
    with pytest.raises(ConfigError, match="must lie in"):
        judge(spectrum((1, 1, 1, 1)), EVERY, margin, level)


# -------------------------------------------------------------------- how often they are false

REPEATS = 400


def false_share(given: Verdicts, effect: np.ndarray) -> float:
    """Return the share of the verdicts that the true effects contradict."""
    hair = 1e-9  # an effect made to lie on a bound may lie a rounding beside it
    wrong = given.are(Verdict.MATTERS) & (effect <= hair)
    wrong |= given.are(Verdict.DEFAULT_BETTER) & (effect >= -hair)
    wrong |= given.are(Verdict.HARMLESS) & (np.abs(effect) >= MARGIN - hair)
    count = (given.codes >= 0) & ~given.are(Verdict.UNDECIDED)
    return wrong.sum() / max(count.sum(), 1)


def no_effects() -> Chain:
    visited = np.append(np.linspace(0.1, 0.6, 59), 1.0)
    return chain(np.zeros(60), visited, 0.3)


def weak_effects() -> Chain:
    effects = np.where(np.arange(60) % 2, 0.003, 0.0)
    visited = np.append(np.linspace(0.1, 0.6, 59), 1.0)
    return chain(effects, visited, 0.3)


def test_the_true_effects_of_a_chain_are_what_a_big_suite_shows() -> None:
    world = mixed_chain(60)
    assert (np.abs(world.effect) < 1e-12).sum() == 30
    given = world.play(100_000, np.random.default_rng(5))
    mutated = given.mutated_failed + given.mutated_passed
    kept = given.kept_failed + given.kept_passed
    found = given.mutated_failed / mutated - given.kept_failed / kept
    error = np.sqrt(0.25 / mutated + 0.25 / kept)
    assert (np.abs(found - world.effect) < 4 * error).all()
    assert np.abs(world.effect).max() > 20 * np.median(error)


@pytest.mark.parametrize(
    ("world", "episodes"),
    [(mixed_chain(60), 1000), (no_effects(), 300), (weak_effects(), 300)],
    ids=["mixed", "none", "weak"],
)
def test_at_most_one_verdict_in_twenty_is_false(world: Chain, episodes: int) -> None:
    generator = np.random.default_rng(6)
    shares = []
    for _ in range(REPEATS):
        given = world.play(episodes, generator)
        shares.append(false_share(judge(given, evidence_of(given), MARGIN), world.effect))
    error = np.std(shares) / np.sqrt(REPEATS)
    assert np.mean(shares) <= 0.05 + 2 * error


@pytest.mark.parametrize(
    ("world", "episodes"), [(mixed_chain(60), 600), (no_effects(), 300)], ids=["mixed", "none"]
)
def test_soft_conditions_give_no_more_false_verdicts(world: Chain, episodes: int) -> None:
    generator, repeats = np.random.default_rng(8), REPEATS // 2
    shares, matter = [], 0
    for _ in range(repeats):
        given = world.play(episodes, generator, soft=True)
        found = judge(given, evidence_of(given), MARGIN)
        shares.append(false_share(found, 0.75 * world.effect))
        matter += int(found.are(Verdict.MATTERS).sum())
    assert np.mean(shares) <= 0.05 + 2 * np.std(shares) / np.sqrt(repeats)
    assert (matter > repeats) == bool(world.effect.any()), "it does find those that matter"


def test_in_a_mixed_world_verdicts_are_given() -> None:
    world = mixed_chain(60)
    given = world.play(8000, np.random.default_rng(7))
    found = judge(given, evidence_of(given), MARGIN)
    assert found.are(Verdict.MATTERS).sum() >= 10
    strong = (world.effect > 0.2) & evidence_of(given, 200)
    assert found.are(Verdict.MATTERS)[strong].all()
    assert found.are(Verdict.HARMLESS).any()


def test_in_the_far_tail_of_many_states_hardly_any_verdict_is_false() -> None:
    """Two thousand states without effect, arms of ten to forty episodes, risk as it comes."""
    generator = np.random.default_rng(8)
    shares = []
    for _ in range(100):
        risk = generator.random(2000)
        mutated, kept = generator.integers(10, [[15], [200]], size=(2, 2000))
        failed, kept_failed = generator.binomial(mutated, risk), generator.binomial(kept, risk)
        cells = failed, mutated - failed, kept_failed, kept - kept_failed
        given = Spectrum(*(cell.astype(np.float64) for cell in cells))
        shares.append(false_share(judge(given, np.ones(2000, dtype=np.bool_)), np.zeros(2000)))
    assert np.mean(shares) <= 0.05
