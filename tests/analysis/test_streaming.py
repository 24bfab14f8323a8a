"""Spectra are added up part by part: the same as all at once, in memory that does not grow."""

from __future__ import annotations

import dataclasses
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from chunks import EPISODES, assert_same, chunk
from hypothesis import given, settings
from hypothesis import strategies as st

from rpd_core.analysis import spectrum as spectra
from rpd_core.analysis.analysis import weigh
from rpd_core.analysis.spectrum import Tally, identified, tally
from rpd_core.analysis.suite import merge
from rpd_core.plugin.protocols import Episodes, Spectrum, States, Suite, Visits

CELLS = ("mutated_failed", "mutated_passed", "kept_failed", "kept_passed")


@pytest.fixture(scope="module")
def whole() -> Suite:
    return chunk(0, EPISODES - 1)


def weights_of(count: int, kind: str) -> np.ndarray:
    """Return hard weights, or soft ones that no binary fraction equals."""
    chance = np.random.default_rng(3)
    given = chance.integers(0, 2, count) if kind == "hard" else chance.integers(0, 11, count) / 10
    zeros = np.zeros(count, dtype=np.int64)
    episodes = Episodes(np.arange(count), zeros, np.zeros(count), zeros + 1, zeros, zeros, zeros)
    return weigh(lambda some: given, episodes)


def assert_tally(found: Tally, whole: Suite, weights: np.ndarray) -> None:
    expected = tally([whole], weights).spectrum
    for name in CELLS:
        np.testing.assert_array_equal(getattr(found.spectrum, name), getattr(expected, name), name)
    assert_same(dataclasses.replace(whole, states=found.states), whole)
    for row, key in enumerate(whole.states.key):
        mine = whole.visits.key == key
        share = whole.visits.differed[mine].sum() / whole.visits.count[mine].sum()
        assert found.differed[row] == share


@settings(max_examples=6)
@given(st.lists(st.integers(1, EPISODES - 1), max_size=8), st.sampled_from(["hard", "soft"]))
def test_no_way_of_cutting_a_suite_changes_its_spectrum(cuts: list[int], kind: str) -> None:
    edges = [0, *sorted(set(cuts)), EPISODES]
    parts = [chunk(first, last - 1) for first, last in pairwise(edges)]
    weights = weights_of(EPISODES, kind)
    assert_tally(tally(iter(parts), weights), merge(parts), weights)


def test_single_episodes_add_up_to_the_whole(whole: Suite) -> None:
    weights = weights_of(EPISODES, "soft")
    parts = [chunk(index, index) for index in range(EPISODES)]
    assert_tally(tally(iter(parts), weights), whole, weights)


def test_adding_up_in_between_changes_nothing(
    whole: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in large suites, where what was collected is added up every so often."""
    monkeypatch.setattr(spectra, "_FOLD", 1)
    weights = weights_of(EPISODES, "hard")
    parts = [chunk(first, first + 3) for first in range(0, EPISODES, 4)]
    assert_tally(tally(iter(parts), weights), whole, weights)


def test_parts_that_do_not_begin_at_the_first_episode_take_their_own_weights(whole: Suite) -> None:
    """Weights go with the parts in order, also where a part in between is missing."""
    parts = [chunk(0, 9), chunk(30, 39)]
    joined = merge(parts)
    weights = weights_of(20, "hard")
    found = tally(iter(parts), weights)
    expected = tally([joined], weights).spectrum
    for name in CELLS:
        np.testing.assert_array_equal(getattr(found.spectrum, name), getattr(expected, name))


# ------------------------------------------------------------------------- memory

MOMENTS = ("action_sum", "action_squares", "default_sum", "default_squares")
STATES, PER_PART = 500, 50


def synthetic(parts: int) -> Iterator[Suite]:
    """Make parts of a suite whose episodes all visit the same states."""
    keys = np.arange(STATES, dtype=np.uint64) * 7919
    for part in range(parts):
        chance = np.random.default_rng(part)
        index = np.arange(part * PER_PART, (part + 1) * PER_PART)
        rows = len(index) * STATES
        zeros = np.zeros(rows, dtype=np.int64)
        yield Suite(
            Episodes(index, index, np.zeros(PER_PART), index, index * 0, index, index),
            Visits(
                episode=np.repeat(index, STATES), key=np.tile(keys, len(index)),
                mutated=chance.random(rows) < 0.3, mutation_rate=np.full(rows, 0.3),
                first_step=zeros, count=zeros + 1, return_before=np.zeros(rows), differed=zeros,
                differed_first=zeros > 0, overrides=zeros,
            ),
            States(
                key=keys, value=np.zeros((STATES, 2)), first_episode=np.full(STATES, index[0]),
                first_step=np.zeros(STATES, dtype=np.int64), visits=np.full(STATES, PER_PART),
                choices=np.zeros((STATES, 2), dtype=np.int64), value_gap=np.zeros(STATES),
                default_gap=np.zeros(STATES),
                entropy=np.zeros(STATES), default_choices=np.zeros((STATES, 2), dtype=np.int64),
                **dict.fromkeys(MOMENTS, np.zeros((STATES, 0))),
            ),
        )  # fmt: skip


def peak_of(parts: int) -> int:
    weights = np.ones(parts * PER_PART)
    tracemalloc.start()
    try:
        found = tally(synthetic(parts), weights)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found.states) == STATES
    assert found.spectrum.mutated_passed.sum() + found.spectrum.kept_passed.sum() == (
        parts * PER_PART * STATES
    )
    return peak


def test_the_memory_of_a_ranking_does_not_grow_with_the_number_of_episodes() -> None:
    few, many = peak_of(20), peak_of(200)
    assert many <= 1.3 * few, (few, many)


# ------------------------------------------------------------------------- identified


def test_a_state_is_identified_by_enough_episodes_in_each_arm() -> None:
    mutated, kept = np.array([20.0, 19, 40, 20]), np.array([20.0, 40, 19, 500])
    half = Spectrum(mutated / 2, mutated / 2, kept / 4, kept * 3 / 4)
    assert identified(half, 20).tolist() == [True, False, False, True]
