"""Effects with intervals, on risk and on return, by hand and where the truth is known."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest
from measure_tables import TABLE, evidence, full_evidence

from rpd_core.analysis.intervals import agresti_caffo, agresti_caffo_parts, newcombe
from rpd_core.analysis.spectrum import tally
from rpd_core.errors import ComponentError, SpecError
from rpd_core.plugin.protocols import Evidence, Returns, Scores
from rpd_core.plugin.registry import installed
from rpd_kit.measures import sample_suite
from rpd_measures.shrinkage import shrunken


def found(spec: str, given: Evidence) -> Scores:
    scores = installed().make("measure", spec)(given)
    assert isinstance(scores, Scores)
    return scores


def returns_of(mutated: Any, kept: Any) -> Evidence:
    """Return evidence of one state with these returns."""
    arms = [np.asarray(arm, dtype=np.float64) for arm in (mutated, kept)]
    sums = [np.array([f(arm)]) for arm in arms for f in (np.sum, lambda a: np.sum(a**2))]
    bare = evidence([[len(arms[0]), 0, 0, len(arms[1])]])
    return replace(bare, returns=Returns(*sums))


# ------------------------------------------------------------------------------- risk


def test_effect_is_the_difference_with_one_of_each_added_minus_its_error() -> None:
    error = sqrt((4 / 6) * (2 / 6) / 6 + (3 / 10) * (7 / 10) / 10)
    for z in (0, 1, 2.5):
        scores = found(f"effect:z={z}", evidence(TABLE))
        assert scores.values[0] == pytest.approx(4 / 6 - 3 / 10 - z * error)
        assert scores.values[5] == pytest.approx(-z / 2), "nothing is known of it"


def test_effect_has_the_estimate_and_the_95_percent_interval_of_the_plain_difference() -> None:
    whole, soft = evidence(TABLE), evidence(TABLE + 0.25)
    for given, interval in (
        (whole, newcombe(whole.spectrum)),
        (soft, agresti_caffo(soft.spectrum)),
    ):
        scores = found("effect", given)
        np.testing.assert_array_equal(scores.low, interval.low)
        np.testing.assert_array_equal(scores.high, interval.high)
        np.testing.assert_array_equal(scores.estimate, interval.estimate)
        assert scores.level == 0.95
    np.testing.assert_allclose(found("effect", whole).estimate, [1 / 2, -1 / 2, 1, 0, 0, 0, -1 / 2])


def test_a_state_with_more_evidence_of_the_same_risks_comes_first() -> None:
    table = np.array([[3, 1, 1, 3]]) * np.array([[1], [2], [10], [100]])
    for spec in ("effect", "effect:z=2"):
        assert (np.diff(found(spec, evidence(table)).values) > 0).all()


def worlds() -> Evidence:
    """Return states with 5 to 5000 episodes in each arm and effects that scatter around 0.2."""
    chance = np.random.default_rng(5)
    size = np.repeat([5, 20, 200, 5000], 25)
    risks = chance.normal(0.5, 0.1, 100).clip(0, 1), chance.normal(0.3, 0.1, 100).clip(0, 1)
    (mf, kf) = (chance.binomial(size, risk) for risk in risks)
    table = np.stack([mf, size - mf, kf, size - kf], axis=1)
    given = full_evidence(table)
    return replace(given, returns=Returns(size - mf, size - mf, size - kf, size - kf))


@pytest.mark.parametrize("name", ["effect", "impact", "effect-return"])
def test_shrinking_draws_states_with_little_evidence_together(name: str) -> None:
    given = worlds()
    plain, drawn = (found(f"{name}:{kind},z=0", given) for kind in ("plain", "shrunken"))
    unit = 1 / (given.episodes / (2 * np.repeat([5, 20, 200, 5000], 25))) if name == "impact" else 1
    before, after = plain.values / unit, drawn.values / unit
    assert after[:25].std() < before[:25].std() / 2
    np.testing.assert_allclose(after[75:], before[75:], atol=0.01)
    assert abs(after[:25].mean() - 0.2) < 0.05


@pytest.mark.parametrize("name", ["effect", "impact", "effect-return"])
def test_shrinking_makes_bounds_of_scarce_states_tighter_and_leaves_intervals(name: str) -> None:
    given = worlds()
    plain, drawn = (found(f"{name}:{kind}", given) for kind in ("plain", "shrunken"))
    middles = [found(f"{name}:{kind},z=0", given).values for kind in ("plain", "shrunken")]
    widths = [middles[0] - plain.values, middles[1] - drawn.values]
    assert (widths[1] < widths[0]).all()
    for end in ("low", "high", "estimate"):
        np.testing.assert_array_equal(getattr(plain, end), getattr(drawn, end))


def test_shrunken_effect_is_that_of_the_states_with_ten_episodes_in_each_arm() -> None:
    given = worlds()
    difference, error = agresti_caffo_parts(given.spectrum)
    plenty = np.repeat([False, True, True, True], 25)
    mean, deviation = shrunken(difference, error, plenty)
    np.testing.assert_array_equal(found("effect:shrunken,z=2", given).values, mean - 2 * deviation)


@pytest.mark.parametrize("name", ["effect", "impact", "effect-return"])
@pytest.mark.parametrize("z", ["-1", "nan", "inf"])
def test_a_senseless_number_of_errors_is_refused(name: str, z: str) -> None:
    with pytest.raises(SpecError, match=f"{name}: z must be a finite number, at least 0"):
        installed().make("measure", f"{name}:z={z}")


# ----------------------------------------------------------------------------- impact


def test_impact_is_effect_times_the_share_of_episodes_that_visit() -> None:
    given = replace(evidence(TABLE), episodes=48)
    scores = found("impact:z=2", given)
    share, difference = 12 / 48, 4 / 6 - 3 / 10
    error = sqrt((4 / 6) * (2 / 6) / 6 + (3 / 10) * (7 / 10) / 10)
    both = sqrt((share * error) ** 2 + difference**2 * share * (1 - share) / 48)
    assert scores.values[0] == pytest.approx(share * difference - 2 * both)
    assert scores.estimate is not None
    assert scores.estimate[0] == pytest.approx(1 / 2 * 12 / 48)
    assert scores.values[5] == 0, "never visited"


def test_of_two_equal_effects_the_more_visited_has_the_greater_impact() -> None:
    table = [[30, 10, 10, 30], [60, 20, 20, 60]]
    rare, common = found("impact", replace(evidence(table), episodes=1000)).values
    assert 0 < 1.9 * rare < common


# ----------------------------------------------------------------------------- return


def test_effect_on_return_adds_two_returns_to_each_arm() -> None:
    scores = found("effect-return:z=1", returns_of([1, 3], [5, 7]))
    assert scores.values[0] == pytest.approx(2 - sqrt(29 / 12))
    assert scores.estimate is not None
    assert scores.estimate[0] == 4
    assert scores.low[0] == pytest.approx(2 - 1.959964 * sqrt(29 / 12))
    assert scores.high[0] == pytest.approx(2 + 1.959964 * sqrt(29 / 12))


def test_returns_may_be_shifted_and_scaled() -> None:
    chance = np.random.default_rng(0)
    mutated, kept = chance.normal(0, 1, 30), chance.normal(1, 1, 20)
    plain = found("effect-return", returns_of(mutated, kept)).values
    shifted = found("effect-return", returns_of(mutated + 1e4, kept + 1e4)).values
    scaled = found("effect-return", returns_of(mutated * 50, kept * 50)).values
    np.testing.assert_allclose(shifted, plain, rtol=1e-6)
    np.testing.assert_allclose(scaled, plain * 50)


def test_with_much_evidence_the_interval_is_welchs() -> None:
    chance = np.random.default_rng(1)
    mutated, kept = chance.normal(0, 1, 4000), chance.normal(0.1, 2, 6000)
    scores = found("effect-return", returns_of(mutated, kept))
    error = sqrt(mutated.var() / 4000 + kept.var() / 6000)
    difference = kept.mean() - mutated.mean()
    assert scores.low[0] == pytest.approx(difference - 1.96 * error, abs=1e-3)
    assert scores.high[0] == pytest.approx(difference + 1.96 * error, abs=1e-3)


def test_where_passing_is_the_return_both_effects_are_the_same() -> None:
    suite = sample_suite()
    passed = (suite.episodes.total_return > 0).astype(np.float64)
    suite = replace(suite, episodes=replace(suite.episodes, total_return=passed))
    given = tally([suite], passed).evidence()
    on_risk, on_return = found("effect", given), found("effect-return", given)
    np.testing.assert_allclose(on_return.estimate, on_risk.estimate, atol=1e-12)
    plenty = given.spectrum.mutated_failed + given.spectrum.mutated_passed > 30
    np.testing.assert_allclose(on_return.values[plenty], on_risk.values[plenty], atol=0.03)


def test_a_state_without_one_arm_has_no_interval_for_its_return() -> None:
    scores = found("effect-return", returns_of([1, 2, 3], []))
    assert np.isnan(scores.low[0])
    assert np.isnan(scores.high[0])
    assert scores.values[0] < 0


def test_equal_returns_are_no_effect() -> None:
    scores = found("effect-return", returns_of([5, 5], [5, 5, 5]))
    assert scores.values.tolist() == [0.0]
    assert (scores.low.tolist(), scores.high.tolist()) == ([0.0], [0.0])


# ------------------------------------------------------------------------ what is missing


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ("impact", "episodes"),
        ("effect-return", "returns"),
        ("differ", "differed"),
        ("differ:first", "differed_first"),
        ("differ:episodes", "differed_first"),
        ("value-gap", "states"),
        ("entropy", "states"),
        ("regression", "suite"),
    ],
)
def test_evidence_made_without_an_input_is_refused_in_one_line(spec: str, field: str) -> None:
    measure = installed().make("measure", spec)
    with pytest.raises(ComponentError, match=rf"looks at evidence\.{field}, which is None"):
        measure(evidence(TABLE))


def test_differ_by_visits_needs_their_number() -> None:
    given = replace(full_evidence(TABLE), states=None)
    with pytest.raises(ComponentError, match=r"measure 'differ' looks at evidence\.states"):
        installed().make("measure", "differ:visits")(given)
