"""One-sided tests of effects: the same as others compute, and exact where it counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom, hypergeom, norm
from test_intervals import random_spectrum, spectrum

from rpd_core.analysis.intervals import agresti_caffo_parts
from rpd_core.analysis.verdicts import chance_above, chance_below
from rpd_core.plugin.protocols import Spectrum


def test_above_0_is_the_mid_p_of_the_hypergeometric_distribution() -> None:
    given = random_spectrum(200, seed=8)
    seen, mutated = given.mutated_failed, given.mutated_failed + given.mutated_passed
    table = sum(vars(given).values()), seen + given.kept_failed, mutated
    expected = hypergeom.sf(seen, *table) + 0.5 * hypergeom.pmf(seen, *table)
    np.testing.assert_allclose(chance_above(given), expected, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(chance_below(given), 1 - expected, rtol=0, atol=1e-10)


def test_a_table_done_by_hand() -> None:
    """Of 4 failures among 3 mutated and 3 kept, all 3 mutated: 3 of the 15 ways, half of them."""
    np.testing.assert_allclose(chance_above(spectrum((3, 0, 1, 2))), 3 / 15 / 2)
    np.testing.assert_allclose(chance_below(spectrum((3, 0, 1, 2))), 1 - 3 / 15 / 2)


def test_far_tails_keep_their_relative_precision() -> None:
    given = spectrum((900, 100, 100, 900), (1000, 1000, 500, 1500))
    logs = [hypergeom.logsf(899, 2000, 1000, 1000), hypergeom.logsf(999, 4000, 1500, 2000)]
    assert (np.log(chance_above(given)) < np.array(logs)).all()
    assert (np.log(chance_above(given)) > np.array(logs) - np.log(2)).all()


def test_many_tables_are_summed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    given = random_spectrum(50, seed=9)
    at_once = chance_above(given)
    monkeypatch.setattr("rpd_core.analysis.verdicts._TERMS", 70)
    np.testing.assert_array_equal(chance_above(given), at_once)


def score(given: Spectrum, row: int, bound: float) -> float:
    """Return the score statistic with the likeliest risks at the bound, found by search."""
    failed, kept_failed = given.mutated_failed[row], given.kept_failed[row]
    mutated, kept = failed + given.mutated_passed[row], kept_failed + given.kept_passed[row]

    def unlikely(risk: float) -> float:
        return -(
            binom.logpmf(failed, mutated, risk + bound) + binom.logpmf(kept_failed, kept, risk)
        )

    ends = max(0.0, -bound), min(1.0, 1 - bound)
    risk = minimize_scalar(unlikely, bounds=ends, method="bounded", options={"xatol": 1e-12}).x
    variance = (risk + bound) * (1 - risk - bound) / mutated + risk * (1 - risk) / kept
    return (failed / mutated - kept_failed / kept - bound) / np.sqrt(variance)


@pytest.mark.parametrize("bound", [0.05, -0.05, 0.2])
def test_above_a_margin_is_the_larger_of_agresti_caffo_and_score(bound: float) -> None:
    given = random_spectrum(40, seed=10)
    difference, error = agresti_caffo_parts(given)
    found = chance_above(given, bound)
    for row in range(len(given)):
        z = min((difference[row] - bound) / error[row], score(given, row, bound))
        assert found[row] == pytest.approx(norm.sf(z), rel=1e-4, abs=1e-12)


def test_below_is_above_with_the_arms_exchanged() -> None:
    given = random_spectrum(40, seed=11)
    turned = Spectrum(
        given.kept_failed, given.kept_passed, given.mutated_failed, given.mutated_passed
    )
    for bound in (0.0, 0.05):
        np.testing.assert_array_equal(chance_below(given, bound), chance_above(turned, -bound))


def test_soft_counts_get_the_larger_of_agresti_caffo_and_pooled_risks() -> None:
    whole = random_spectrum(100, seed=12)
    given = Spectrum(**{name: cell + 0.25 for name, cell in vars(whole).items()})
    mutated = given.mutated_failed + given.mutated_passed
    kept = given.kept_failed + given.kept_passed
    risk = (given.mutated_failed + given.kept_failed) / (mutated + kept)
    pooled = given.mutated_failed / mutated - given.kept_failed / kept
    pooled /= np.sqrt(risk * (1 - risk) * (1 / mutated + 1 / kept))
    difference, error = agresti_caffo_parts(given)
    expected = norm.sf(np.minimum(difference / error, pooled))
    np.testing.assert_allclose(chance_above(given), expected, rtol=1e-6)


def test_an_empty_arm_rejects_nothing() -> None:
    given = spectrum((0, 0, 5, 7), (5, 7, 0, 0), (0, 0, 0, 0))
    for bound in (0.0, 0.05, -0.05):
        assert chance_above(given, bound).tolist() == [1, 1, 1]
        assert chance_below(given, bound).tolist() == [1, 1, 1]


@pytest.mark.parametrize("bound", [0.0, 0.05, -0.05])
def test_arms_that_always_fail_or_pass_give_probabilities(bound: float) -> None:
    given = spectrum((10, 0, 10, 0), (0, 10, 0, 10), (10, 0, 0, 10), (0, 10, 10, 0))
    chance = chance_above(given, bound)
    assert ((chance >= 0) & (chance <= 1)).all()
    assert chance[2] < 0.001 < 0.9 < chance[3]


@pytest.mark.parametrize(("mutated", "kept"), [(10, 10), (10, 40), (40, 10), (10, 200), (30, 70)])
def test_the_level_is_held_far_out_with_small_arms(mutated: int, kept: int) -> None:
    """Summed over all tables: a state without effect is rejected no more often than the level."""
    failed, kept_failed = (grid.ravel() for grid in np.mgrid[: mutated + 1, : kept + 1])
    cells = failed, mutated - failed, kept_failed, kept - kept_failed
    chance = chance_above(Spectrum(*(cell.astype(np.float64) for cell in cells)))
    for risk in (0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99):
        weight = binom.pmf(failed, mutated, risk) * binom.pmf(kept_failed, kept, risk)
        for level in (0.01, 1e-3, 1e-4, 1e-5):
            assert weight[chance <= level].sum() <= 1.05 * level
