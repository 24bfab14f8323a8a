"""Measures that look at no outcome: what differs, what the policy thinks; and the regression."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from measure_tables import TABLE, full_evidence

from rpd_core.analysis.ranking import evidence_for
from rpd_core.analysis.spectrum import tally
from rpd_core.errors import EvidenceError, SpecError
from rpd_core.plugin.protocols import Evidence, Suite
from rpd_core.plugin.registry import installed
from rpd_kit.measures import sample_suite


def scores(spec: str, given: Evidence) -> Any:
    return installed().make("measure", spec)(given)


def given(**columns: list[float]) -> Evidence:
    """Return evidence of the table's states in which these columns of `states` are set."""
    full = full_evidence(TABLE)
    assert full.states is not None
    return replace(full, states=replace(full.states, **_arrays(columns)))


def _arrays(columns: dict[str, list[float]]) -> dict[str, Any]:
    return {name: np.asarray(column) for name, column in columns.items()}


def test_differ_counts_visits_or_episodes_or_their_shares() -> None:
    shares = [0.5, 1, 0, 0.25, 0.5, 0, 1]
    first = [1, 0, 0.5, 0, 1, 0, 0.25]
    evidence = replace(
        given(visits=[20, 10, 8, 4, 6, 0, 9]),
        **_arrays({"differed": shares, "differed_first": first}),
    )
    assert scores("differ", evidence).tolist() == shares
    assert scores("differ:visits", evidence).tolist() == [10, 10, 0, 1, 3, 0, 9]
    assert scores("differ:episodes", evidence).tolist() == [12, 0, 4, 0, 4, 0, 2]
    assert scores("differ:first", evidence).tolist() == first


def test_value_gap_is_the_mean_over_visits() -> None:
    evidence = given(visits=[2, 1, 4, 1, 1, 0, 10], value_gap=[3, 1, 2, 0, 7, 0, 5])
    assert scores("value-gap", evidence).tolist() == [1.5, 1, 0.5, 0, 7, 0, 0.5]


def test_default_gap_is_the_mean_over_visits() -> None:
    evidence = given(visits=[2, 1, 4, 1, 1, 0, 10], default_gap=[3, 1, -2, 0, 7, 0, 5])
    assert scores("default-gap", evidence).tolist() == [1.5, 1, -0.5, 0, 7, 0, 0.5]


def test_the_most_certain_choice_scores_highest() -> None:
    evidence = given(visits=[2, 1, 4, 1, 1, 0, 10], entropy=[1, 0.25, 2, 0, 0.5, 0, 4])
    found = scores("entropy", evidence)
    assert found.tolist() == [-0.5, -0.25, -0.5, 0, -0.5, 0, -0.4]
    assert not np.signbit(found[3])


@pytest.mark.parametrize(
    ("spec", "column", "offer"),
    [
        ("value-gap", "value_gap", "action values"),
        ("entropy", "entropy", "action probabilities"),
        ("default-gap", "default_gap", "action values, probabilities or a log density"),
    ],
)
def test_a_policy_that_keeps_its_thoughts_to_itself_is_named_as_the_reason(
    spec: str, column: str, offer: str
) -> None:
    none = given(**{column: [np.nan] * 7})
    with pytest.raises(EvidenceError, match=f"{spec}.* needs {offer}, .* in this suite: use"):
        scores(spec, none)
    some = given(**{column: [1, 1, np.nan, 1, np.nan, 1, 1]})
    with pytest.raises(EvidenceError, match=f"needs {offer}, .* in 2 of the states: use"):
        scores(spec, some)


# ------------------------------------------------------------------------- regression


def with_effects(effects: Any) -> tuple[Suite, Any]:
    """Return a suite whose returns are exactly the centred coins times the effects."""
    suite = sample_suite(states=len(effects), episodes=400)
    coins = suite.visits.mutated - suite.visits.mutation_rate
    losses = np.bincount(suite.visits.episode, coins * effects[suite.state_of_visit()])
    return replace(suite, episodes=replace(suite.episodes, total_return=-losses)), losses


def regress(spec: str, suite: Suite, weights: Any) -> Any:
    measure = installed().make("measure", spec)
    return measure(evidence_for(measure, tally([suite], weights), weights, lambda: suite))


def test_regression_finds_the_effects_that_made_the_returns() -> None:
    effects = np.random.default_rng(0).normal(size=15)
    suite, losses = with_effects(effects)
    found = regress("regression:return,damping=0", suite, np.ones(400))
    centred = np.linalg.lstsq(_coins(suite), losses - losses.mean(), rcond=None)[0]
    np.testing.assert_allclose(found * losses.std(), centred, atol=1e-6)
    np.testing.assert_allclose(found * losses.std(), effects, atol=0.05)


def _coins(suite: Suite) -> Any:
    coins = np.zeros((len(suite.episodes), len(suite.states)))
    visits = suite.visits
    coins[visits.episode, suite.state_of_visit()] = visits.mutated - visits.mutation_rate
    return coins


def test_regression_takes_the_weights_of_the_condition() -> None:
    suite, losses = with_effects(np.linspace(-1, 1, 15))
    weights = np.clip(0.5 - losses / 10, 0, 1)
    found = regress("regression:damping=0", suite, weights)
    np.testing.assert_allclose(found, np.linspace(-0.1, 0.1, 15), atol=0.01)


def test_damping_is_ridge_regression() -> None:
    suite, losses = with_effects(np.linspace(-1, 1, 15))
    weights = np.clip(0.5 - losses / 10, 0, 1)
    coins = _coins(suite)
    outcome = (1 - weights) - (1 - weights).mean()
    ridge = np.linalg.solve(coins.T @ coins + 9 * np.eye(15), coins.T @ outcome)
    np.testing.assert_allclose(regress("regression:damping=3", suite, weights), ridge, atol=1e-8)


def test_equal_returns_teach_regression_nothing() -> None:
    suite = sample_suite(states=5, episodes=20)
    suite = replace(suite, episodes=replace(suite.episodes, total_return=np.full(20, 3.0)))
    assert regress("regression:return", suite, np.ones(20)).tolist() == [0.0] * 5


def test_a_senseless_damping_is_refused() -> None:
    with pytest.raises(SpecError, match="regression: damping must be finite and at least 0"):
        installed().make("measure", "regression:damping=-1")
