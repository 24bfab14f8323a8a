"""Shrunken effects: what is known of all states tempers what one state seems to show."""

from __future__ import annotations

import numpy as np
import pytest

from rpd_measures.shrinkage import (
    fit_normal,
    hidden_spread,
    shrunken,
)

EVERY = np.ones(2, dtype=np.bool_)


def lower_bound(
    estimate: np.ndarray, error: np.ndarray, fitted_on: np.ndarray, z: float = 1.0
) -> np.ndarray:
    """Return what a measure ranks by: the shrunken effect minus z of its deviations."""
    mean, deviation = shrunken(estimate, error, fitted_on)
    return mean - z * deviation


def drawn(states: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return true effects around 0.1 with spread 0.15, their estimates and standard errors."""
    generator = np.random.default_rng(seed)
    truth = generator.normal(0.1, 0.15, states)
    error = generator.uniform(0.02, 0.4, states)
    return truth, generator.normal(truth, error), error


def test_two_states_done_by_hand() -> None:
    """Estimates 0 and 1 with error 0.1: spread^2 = 1/2 - 0.01, so the posterior draws in by 2 %."""
    estimate, error = np.array([0.0, 1.0]), np.array([0.1, 0.1])
    centre, spread = fit_normal(estimate, error)
    assert centre == pytest.approx(0.5)
    assert spread**2 == pytest.approx(0.49)
    mean, deviation = shrunken(estimate, error, EVERY)
    np.testing.assert_allclose(mean, [0.01, 0.99])
    np.testing.assert_allclose(deviation, np.sqrt(0.01 * 0.49 / 0.5))
    np.testing.assert_allclose(lower_bound(estimate, error, EVERY, z=2), mean - 2 * deviation)


def test_centre_and_spread_of_true_effects_are_found_again() -> None:
    _, estimate, error = drawn(5000)
    centre, spread = fit_normal(estimate, error)
    assert centre == pytest.approx(0.1, abs=0.01)
    assert spread == pytest.approx(0.15, abs=0.01)


def test_shrunken_effects_lie_nearer_the_truth_and_know_how_near() -> None:
    truth, estimate, error = drawn(5000, seed=1)
    mean, deviation = shrunken(estimate, error, np.ones(5000, dtype=np.bool_))
    assert np.square(mean - truth).mean() < 0.35 * np.square(estimate - truth).mean()
    assert np.square((mean - truth) / deviation).mean() == pytest.approx(1, abs=0.05)


def test_a_state_of_which_little_is_known_comes_after_a_well_known_one() -> None:
    estimate, error = np.array([0.5, 0.4, 0.0, 0.1]), np.array([0.4, 0.02, 0.02, 0.02])
    bound = lower_bound(estimate, error, error < 0.1)
    assert bound.argmax() == 1
    assert bound[0] < bound[1] - 0.1


def test_states_without_evidence_have_finite_scores_and_no_say_in_the_fit() -> None:
    _, estimate, error = drawn(100, seed=2)
    fitted_on = np.arange(100) < 50
    bound = lower_bound(estimate, error, fitted_on)
    wild = np.where(fitted_on, estimate, 100.0)
    np.testing.assert_array_equal(lower_bound(wild, error, fitted_on)[:50], bound[:50])
    assert np.isfinite(bound).all()


@pytest.mark.parametrize("known", [0, 1, 2])
def test_few_states_with_evidence_still_give_finite_scores(known: int) -> None:
    estimate, error = np.array([0.3, 0.1]), np.array([0.1, 0.2])
    mean, deviation = shrunken(estimate, error, np.arange(2) < known)
    assert np.isfinite(mean).all()
    assert (deviation > 0).all()


def test_estimates_that_chance_alone_explains_keep_their_order() -> None:
    estimate, error = np.array([0.02, 0.01, 0.0, 0.01]), np.full(4, 0.2)
    assert fit_normal(estimate, error) == (pytest.approx(0.01), 0.0)
    bound = lower_bound(estimate, error, np.ones(4, dtype=np.bool_))
    assert bound[0] > bound[1] == bound[3] > bound[2]


def test_what_chance_may_hide_is_one_error_of_a_fitted_variance() -> None:
    """Of 201 estimates with error 0.1 the variance has the error 0.01 * sqrt(2 / 200) = 0.001."""
    assert hidden_spread(np.full(201, 0.1)) ** 2 == pytest.approx(0.001)
    generator = np.random.default_rng(3)
    scatter = generator.normal(0.0, 0.1, (4000, 201)).var(axis=1, ddof=1) - 0.01
    assert scatter.std() == pytest.approx(0.001, rel=0.05)


def test_without_a_visible_spread_effects_still_tell_states_apart() -> None:
    """Else a state that does harm would come first, because many episodes visit it."""
    estimate, error = np.array([0.03, 0.05] * 50 + [-0.02, 0.12]), np.full(102, 0.1)
    assert fit_normal(estimate, error)[1] == 0.0
    episodes = np.array([100.0] * 100 + [200.0, 100.0])
    bound = lower_bound(estimate, error, np.ones(102, dtype=np.bool_))
    assert np.where(bound > 0, bound * episodes, bound).argmax() == 101
