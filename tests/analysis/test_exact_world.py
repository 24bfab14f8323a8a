"""Estimates of a big suite against the enumerated truth of a small world.

Tolerances are multiples of the binomial standard error that the exact probabilities imply; the
seed is fixed, so the tests do not flicker.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
import worlds

from rpd_core.analysis.analysis import weigh
from rpd_core.analysis.ranking import evidence_for, rank
from rpd_core.analysis.spectrum import tally
from rpd_core.play.chunks import SuiteChunk, perform_suite
from rpd_core.play.recipe import Recipe
from rpd_core.plugin.protocols import Spectrum, Suite
from rpd_core.plugin.registry import Registry

EPISODES = 30_000
CELLS = ("mutated_failed", "mutated_passed", "kept_failed", "kept_passed")
ERRORS = 4.5
"""Standard errors that an estimate may lie off: chance of one false alarm per cell 7e-6."""


@dataclass(frozen=True)
class Estimated:
    suite: Suite
    weights: np.ndarray
    spectrum: Spectrum
    rows: np.ndarray
    """Row of each of the world's states."""

    def cell(self, name: str) -> np.ndarray:
        return getattr(self.spectrum, name)[self.rows]


@pytest.fixture(scope="module")
def exact() -> worlds.ExactTable:
    return worlds.enumerate_corridor()


@pytest.fixture(scope="module")
def estimated(registry: Registry) -> Estimated:
    recipe = Recipe(
        worlds.Corridor(), worlds.Goes(), worlds.Itself(), worlds.Drifts(), 3000, worlds.MAX_STEPS
    )
    suite = perform_suite(SuiteChunk(recipe, 11, worlds.MUTATION_RATE, 0, EPISODES - 1)).suite
    weights = weigh(registry.make("condition", worlds.CONDITION), suite.episodes)
    rows = np.searchsorted(suite.states.key, worlds.corridor_keys())
    return Estimated(suite, weights, tally([suite], weights).spectrum, rows)


def test_the_exact_table_is_a_distribution(exact: worlds.ExactTable) -> None:
    visited = sum(getattr(exact, name) for name in CELLS)
    assert (visited > 0.05).all()
    assert (visited < 1).all()
    # Whether a state is mutated is decided by its coin alone, however it was reached.
    mutated = exact.mutated_failed + exact.mutated_passed
    np.testing.assert_allclose(mutated / visited, worlds.MUTATION_RATE, atol=1e-12)
    assert exact.effect[worlds.IRRELEVANT] == pytest.approx(0, abs=1e-12)


def test_the_suite_meets_every_state_of_the_world(estimated: Estimated) -> None:
    assert len(estimated.suite.states) == worlds.STATES
    np.testing.assert_array_equal(
        estimated.suite.states.value[estimated.rows, 0], np.arange(worlds.STATES)
    )


@pytest.mark.parametrize("name", CELLS)
def test_spectrum_cells_have_their_exact_expectation(
    name: str, exact: worlds.ExactTable, estimated: Estimated
) -> None:
    chance = getattr(exact, name)
    allowed = ERRORS * np.sqrt(EPISODES * chance * (1 - chance))
    assert (np.abs(estimated.cell(name) - EPISODES * chance) <= allowed).all()


def test_risk_differences_estimate_the_exact_effects(
    exact: worlds.ExactTable, estimated: Estimated
) -> None:
    cells = {name: estimated.cell(name) for name in CELLS}
    mutated = cells["mutated_failed"] + cells["mutated_passed"]
    kept = cells["kept_failed"] + cells["kept_passed"]
    effect = cells["mutated_failed"] / mutated - cells["kept_failed"] / kept
    allowed = ERRORS * np.sqrt(0.25 / mutated + 0.25 / kept)
    assert (np.abs(effect - exact.effect) <= allowed).all()
    assert allowed.max() < 0.1, "the suite is too small to tell anything"


def exact_scores(name: str, exact: worlds.ExactTable) -> np.ndarray:
    if name == "wong2":
        return exact.mutated_failed - exact.kept_failed
    mutated = exact.mutated_failed / (exact.mutated_failed + exact.mutated_passed)
    kept = exact.kept_failed / (exact.kept_failed + exact.kept_passed)
    return mutated / (mutated + kept)


@pytest.mark.parametrize(("name", "gap"), [("tarantula", 0.02), ("wong2", 0.015)])
def test_measures_order_states_as_the_exact_table_does(
    name: str, gap: float, exact: worlds.ExactTable, estimated: Estimated, registry: Registry
) -> None:
    measure = registry.make("measure", name)
    suite = estimated.suite
    counted = tally([suite], estimated.weights)
    evidence = evidence_for(measure, counted, estimated.weights, lambda: suite)
    ranking = rank(name, measure, evidence)
    place = np.empty(worlds.STATES, dtype=int)
    place[ranking.order] = np.arange(worlds.STATES)
    place, truth = place[estimated.rows], exact_scores(name, exact)
    clear = [
        (one, two)
        for one, two in combinations(range(worlds.STATES), 2)
        if abs(truth[one] - truth[two]) > gap
    ]
    assert len(clear) > 80, "too few pairs are told apart by their exact scores"
    wrong = [(i, j) for i, j in clear if (truth[i] > truth[j]) != (place[i] < place[j])]
    assert wrong == []


def test_every_stored_episode_is_the_one_its_coins_and_start_lead_to(estimated: Estimated) -> None:
    """Given the fates of the states it visited, an episode of the world is fixed."""
    suite = estimated.suite
    state = np.argsort(estimated.rows)[suite.state_of_visit()]
    episode = suite.episode_of_visit()
    mutated = np.zeros((EPISODES, worlds.STATES), dtype=bool)
    mutated[episode, state] = suite.visits.mutated
    visited = np.zeros_like(mutated)
    visited[episode, state] = True
    returns, expected = worlds.play_fates(mutated, suite.episodes.seed & 1)
    np.testing.assert_array_equal(suite.episodes.total_return, returns)
    np.testing.assert_array_equal(visited, expected)


def test_coins_of_different_states_are_independent(estimated: Estimated) -> None:
    """The second state of each pair lies behind the first, so its coin is drawn afterwards."""
    suite = estimated.suite
    state = np.argsort(estimated.rows)[suite.state_of_visit()]
    fate = np.full((EPISODES, worlds.STATES), -1)
    fate[suite.episode_of_visit(), state] = suite.visits.mutated
    rate = worlds.MUTATION_RATE
    for earlier, later in [(2, 3), (2, 5), (5, 7), (2, 7), (9, 11)]:
        for fate_of_earlier in (0, 1):
            both = (fate[:, later] >= 0) & (fate[:, earlier] == fate_of_earlier)
            if both.any():
                error = np.sqrt(rate * (1 - rate) / both.sum())
                assert abs(fate[both, later].mean() - rate) < ERRORS * error
