"""Intervals of effects: the same as others compute, and right as often as they promise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import worlds
from statsmodels.stats.proportion import confint_proportions_2indep

from rpd_core.analysis.intervals import (
    Interval,
    agresti_caffo,
    agresti_caffo_parts,
    effect,
    effect_interval,
    has_fractions,
    newcombe,
)
from rpd_core.errors import ConfigError
from rpd_core.plugin.protocols import Spectrum

Method = Callable[..., Interval]
METHODS = {"newcomb": newcombe, "agresti-caffo": agresti_caffo}


def spectrum(*rows: tuple[float, float, float, float]) -> Spectrum:
    """Return the spectrum of rows of mutated failed, mutated passed, kept failed, kept passed."""
    return Spectrum(*np.array(rows, dtype=np.float64).T)


def random_spectrum(states: int, seed: int) -> Spectrum:
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, [[5], [5], [80], [3000]], size=(4, states)).ravel()
    others = generator.permutation(sizes)
    failed = generator.binomial(sizes, generator.random(len(sizes)))
    others_failed = generator.binomial(others, generator.random(len(sizes)))
    cells = (failed, sizes - failed, others_failed, others - others_failed)
    return Spectrum(*(cell.astype(np.float64) for cell in cells))


@pytest.mark.parametrize("level", [0.95, 0.99])
@pytest.mark.parametrize("name", METHODS)
def test_intervals_are_those_of_statsmodels(name: str, level: float) -> None:
    given = random_spectrum(150, seed=3)
    found = METHODS[name](given, level)
    for row in range(len(given)):
        mutated = given.mutated_failed[row], given.mutated_failed[row] + given.mutated_passed[row]
        kept = given.kept_failed[row], given.kept_failed[row] + given.kept_passed[row]
        expected = confint_proportions_2indep(*mutated, *kept, method=name, alpha=1 - level)
        ends = np.clip(expected, -1, 1)  # which statsmodels leaves to its caller
        np.testing.assert_allclose((found.low[row], found.high[row]), ends, rtol=0, atol=1e-12)
    assert len(given) == 600


def test_the_estimate_is_the_difference_of_the_risks() -> None:
    given = spectrum((3, 1, 1, 3), (0, 4, 2, 2))
    for found in (newcombe(given), agresti_caffo(given)):
        assert found.estimate.tolist() == [0.5, -0.5]


def test_parts_of_agresti_caffo_match_a_table_done_by_hand() -> None:
    difference, error = agresti_caffo_parts(spectrum((3, 1, 1, 3)))
    assert difference[0] == pytest.approx(4 / 6 - 2 / 6)
    assert error[0] == pytest.approx(np.sqrt(2 * (4 / 6) * (2 / 6) / 6))


@pytest.mark.parametrize("method", METHODS.values())
def test_an_empty_arm_gives_the_widest_interval(method: Method) -> None:
    found = method(spectrum((0, 0, 5, 7), (5, 7, 0, 0), (0, 0, 0, 0)))
    assert found.estimate.tolist() == [0, 0, 0]
    assert found.low.tolist() == [-1, -1, -1]
    assert found.high.tolist() == [1, 1, 1]


@pytest.mark.parametrize("level", [0.05, 0.5, 0.95, 0.9999])
@pytest.mark.parametrize("method", METHODS.values())
def test_an_interval_contains_its_estimate(method: Method, level: float) -> None:
    given = random_spectrum(200, seed=5)
    found = method(given, level)
    assert (found.low <= found.estimate).all()
    assert (found.estimate <= found.high).all()
    assert (found.low >= -1).all()
    assert (found.high <= 1).all()
    np.testing.assert_array_equal(found.estimate, effect(given))


def test_soft_counts_get_agresti_caffo_and_whole_ones_newcombe() -> None:
    whole, soft = spectrum((3, 9, 2, 30)), spectrum((3.25, 8.75, 2, 30))
    assert not has_fractions(whole)
    assert has_fractions(soft)
    assert effect_interval(whole).low == newcombe(whole).low
    assert effect_interval(soft).low == agresti_caffo(soft).low
    assert newcombe(soft).low != agresti_caffo(soft).low


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_that_is_no_share_is_refused(level: float) -> None:
    with pytest.raises(ConfigError, match="must lie in"):
        newcombe(spectrum((1, 1, 1, 1)), level)


# ------------------------------------------------------------------ how often they are right

SUITES, EPISODES, LEAST = 600, 400, 10


def simulate(weigh: Callable[[np.ndarray], np.ndarray], generator: np.random.Generator) -> Spectrum:
    """Return the spectra of all suites, one row per state of the corridor and suite."""
    shape = SUITES, EPISODES, worlds.STATES
    mutated = generator.random(shape) < worlds.MUTATION_RATE
    starts = generator.integers(2, size=SUITES * EPISODES)
    returns, visited = worlds.play_fates(mutated.reshape(-1, worlds.STATES), starts)
    passed = weigh(returns).reshape(SUITES, EPISODES, 1)
    visited = visited.reshape(shape)

    def add(fate: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return ((fate & visited) * weight).sum(axis=1).ravel()

    fates = ((mutated, 1 - passed), (mutated, passed), (~mutated, 1 - passed), (~mutated, passed))
    return Spectrum(*(add(*fate) for fate in fates))


def covered(found: Interval, given: Spectrum, truth: np.ndarray) -> float:
    """Return how often intervals contain the truth, as the mean over states with evidence."""
    mutated = given.mutated_failed + given.mutated_passed
    kept = given.kept_failed + given.kept_passed
    judged = ((mutated >= LEAST) & (kept >= LEAST)).reshape(SUITES, -1)
    inside = (found.low <= np.tile(truth, SUITES)) & (np.tile(truth, SUITES) <= found.high)
    share = (inside.reshape(SUITES, -1) & judged).sum(axis=0) / judged.sum(axis=0)
    assert judged.sum(axis=0).min() > 100
    assert share.min() > 0.9
    return float(share.mean())


@pytest.mark.parametrize("method", METHODS.values())
def test_95_percent_intervals_cover_the_truth_of_the_corridor(method: Method) -> None:
    given = simulate(lambda returns: returns >= 2.5, np.random.default_rng(2))
    coverage = covered(method(given), given, worlds.enumerate_corridor().effect)
    assert 0.93 <= coverage <= 0.97


def test_intervals_of_soft_counts_cover_the_truth_at_least_as_often() -> None:
    def soft(returns: np.ndarray) -> np.ndarray:
        return np.clip(returns / 4, 0, 1)

    codes = np.arange(2 ** (worlds.STATES + 1))
    mutated = (codes[:, None] >> np.arange(worlds.STATES)) & 1 == 1
    returns, visited = worlds.play_fates(mutated, codes >> worlds.STATES)
    rate = worlds.MUTATION_RATE
    chance = np.where(mutated, rate, 1 - rate).prod(axis=1)[:, None]
    risk = [
        ((fate & visited) * chance * (1 - soft(returns))[:, None]).sum(axis=0)
        / ((fate & visited) * chance).sum(axis=0)
        for fate in (mutated, ~mutated)
    ]
    given = simulate(soft, np.random.default_rng(4))
    assert has_fractions(given)
    assert covered(effect_interval(given), given, risk[0] - risk[1]) >= 0.95
