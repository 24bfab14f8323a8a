"""Bins and trees cut where the data differ and where people can read it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from rpd_basics.auto import Auto
from rpd_basics.bins import Bins, quantile_edges, uniform_edges
from rpd_basics.entry_choice import distinct_entries
from rpd_basics.images import Levels
from rpd_basics.readable import cells_of, resolution
from rpd_basics.rules import Rules
from rpd_core.config.configuration import learned_as_tuples, stored_fields
from rpd_core.errors import SpecError
from rpd_core.plugin.protocols import Facts, FitSample
from rpd_core.plugin.wording import cut_texts

FACTS = Facts(spaces.Box(-9, 9, (2,)), spaces.Discrete(2), 1, entry_names=("height", "speed"))
columns = arrays.arrays(
    st.sampled_from([np.float32, np.float64]),
    st.integers(1, 60),
    elements={"allow_nan": False, "min_value": -(2.0**100), "max_value": 2.0**100},
)


def sample(rows: Any, actions: Any = None, facts: Facts = FACTS) -> FitSample:
    steps = len(rows)
    chosen = np.zeros(steps, dtype=np.int64) if actions is None else actions
    return FitSample(rows, {}, np.arange(steps) % 8, chosen, facts, 0, 2000, 0.2)


@given(columns, st.integers(1, 12), st.sampled_from([quantile_edges, uniform_edges]))
def test_edges_ascend_part_the_data_and_read_differently(column, count, learn) -> None:
    edges = learn(column, count)
    assert len(edges) < max(count, 2)
    assert list(edges) == sorted(set(edges))
    assert len(set(cut_texts(edges))) == len(edges)
    if learn is quantile_edges and edges:
        numbers = np.searchsorted(np.array(edges), column.astype(np.float64), side="right")
        assert set(numbers.tolist()) == set(range(len(edges) + 1))  # no bin is empty


@given(columns)
def test_what_is_not_told_apart_is_near_and_stays_in_order(column) -> None:
    cells = cells_of(column)
    order = np.argsort(column.astype(np.float64), kind="stable")
    assert (np.diff(cells[order]) >= 0).all()


@pytest.mark.parametrize(
    ("column", "step"),
    [
        (np.linspace(-1, 1, 999), 0.001),
        (np.linspace(-0.07, 0.07, 999), 0.0001),
        (np.linspace(0.98, 1.0, 999), 0.001),  # three digits
        (np.linspace(0.99, 1.0, 999), 0.0001),  # three digits would leave fewer than 20 steps
        (np.r_[np.linspace(-1, 1, 999), 1e9], 0.001),  # an outlier does not count
        (np.r_[np.zeros(999), 1.0], 0.001),
        (np.full(9, 0.5), np.inf),
        (np.arange(256, dtype=np.uint8), 1.0),
    ],
)
def test_the_resolution_is_a_few_digits_of_the_usual_range(column, step) -> None:
    assert resolution(column) == step


def test_noise_in_the_last_places_is_not_cut() -> None:
    noise = np.tile([0.1, 0.2], 50) + np.random.default_rng(0).normal(size=100) * 1e-9
    assert quantile_edges(noise, 64) == (0.15,)
    constant = np.float32(0.7) + np.float32(6e-8) * np.arange(4, dtype=np.float32).repeat(9)
    assert quantile_edges(constant, 8) == ()
    actions = np.arange(100) % 3
    tree = Rules(leaves=8).fit(sample(np.stack([noise, noise], 1), actions))
    assert {cut for cut in tree.cuts if cut} <= {0.15, 0.2}


def test_many_bins_are_no_finer_than_people_read() -> None:
    column = np.random.default_rng(0).random(50_000)
    for spec in (Bins((30_000,)), Bins((30_000,), kind="uniform")):
        (edges,) = spec.fit(sample(column[:, None])).edges
        assert 500 < len(edges) < 1100
        assert np.diff(edges).min() > 0.0004
        assert max(map(len, cut_texts(edges))) <= len("0.12345")


def test_cosines_near_one_read_differently() -> None:
    angle = np.random.default_rng(0).normal(size=3000) * 0.05
    rows = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    fitted = Bins((8,)).fit(sample(rows))
    states = np.unique(fitted(rows, {}), axis=0)
    words = [fitted.show(state) for state in states]
    assert len(set(words)) == len(states)
    assert not [one for one in words if "0.999 <= height < 0.999" in one]
    for low, high in zip(cut_texts(fitted.edges[0]), cut_texts(fitted.edges[0])[1:], strict=False):
        assert float(low) < float(high)


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_fitted_cuts_are_stored_exactly_and_shown_rounded(seed) -> None:
    chance = np.random.default_rng(seed)
    rows = chance.normal(size=(200, 2)) * 10.0 ** chance.integers(-4, 5, 2)
    actions = (rows[:, 0] > 0) ^ (rows[:, 1] > np.median(rows[:, 1]))
    for recipe in (Bins((5,)), Auto(), Rules(leaves=6)):
        fitted = recipe.fit(sample(rows, actions.astype(np.int64)))
        stored = json.loads(json.dumps(stored_fields(fitted)))
        again = replace(recipe, **learned_as_tuples(stored))
        assert again == fitted
        states = np.unique(fitted(rows, {}), axis=0)
        assert len({again.show(state) for state in states}) == len(states)


def test_bins_and_auto_call_entries_by_their_names() -> None:
    rows = np.random.default_rng(0).integers(0, 2, (400, 2)) + np.array([0.0, 3.0])
    bins = Bins((2,)).fit(sample(rows))
    assert bins.show(np.array([0, 1])) == "height < 0.5, speed >= 3.5"
    auto = Auto().fit(sample(rows))
    assert auto.names == ("height", "speed")
    assert auto.show(np.array([1, 0])) == "height >= 0.5, speed < 3.5"
    unnamed = Bins((2,)).fit(sample(rows, facts=replace(FACTS, entry_names=())))
    assert unnamed.show(np.array([0, 1])) == "x0 < 0.5, x1 >= 3.5"


@pytest.mark.parametrize("names", [("one",), ("a", "b\n"), ["a", "b"], (1, 2), ("", "b")])
def test_names_that_nobody_learned_are_refused(names) -> None:
    edges = ((0.5,), (1.0,))
    with pytest.raises(SpecError, match="its 2 entries cannot be called"):
        Bins((2,), edges=edges, names=names)
    with pytest.raises(SpecError, match="its 2 entries cannot be called"):
        Auto(kind="vector", length=2, entries=(0, 1), edges=edges, names=names)


def test_entries_that_say_the_same_as_another_are_asked_about_once() -> None:
    chance = np.random.default_rng(0)
    top, free, flag = chance.random(500), chance.random(500), chance.integers(0, 2, 500)
    rows = np.stack([top, top + 0.2, free, 1 - top, flag, flag, np.round(top, 1)], axis=1)
    assert distinct_entries(rows, tuple(range(7))) == (0, 2, 4, 5, 6)


def test_pictures_are_told_apart_on_one_line() -> None:
    pictures = np.random.default_rng(0).integers(0, 9, (20, 3, 4))
    for levels in (Levels(9), Levels(20)):
        words = {levels.show(picture) for picture in pictures}
        assert len(words) == 20
        assert "\n" not in "".join(words)
    auto = Auto(kind="picture", size=(3, 4), levels=9)
    assert auto.show(np.arange(6).reshape(2, 3)) == "012/345"
