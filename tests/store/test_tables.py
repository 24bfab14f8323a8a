"""Suites as tables and back."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chunks import EPISODES, assert_same, chunk
from gymnasium import spaces
from lines import Does, Line, plan, player

from rpd_core.analysis.suite import merge
from rpd_core.play.deciders import Coin
from rpd_core.play.recorder import play_suite
from rpd_core.plugin.blame import origin_of
from rpd_core.plugin.protocols import Suite
from rpd_core.store.parts import Parts
from rpd_core.store.tables import read_suite, suite_tables


@pytest.fixture(scope="module")
def whole() -> Suite:
    return chunk(0, EPISODES - 1)


def tables_of(suite: Suite) -> dict[str, Any]:
    words = [f"state {row}" for row in range(len(suite.states))]
    found = suite_tables(suite, words)
    assert found["states"]["words"].to_pylist() == words
    return found


def test_a_suite_survives_the_trip_to_disk(whole: Suite) -> None:
    assert_same(read_suite(tables_of(whole)), whole)


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8"], ids=lambda name: f"dtype-{name}"
)
@pytest.mark.parametrize("shape", [(), (3,), (2, 2)], ids=str)
def test_values_of_every_dtype_and_shape_survive(
    dtype: str, shape: tuple[int, ...], whole: Suite
) -> None:
    count = len(whole.states)
    values = np.arange(count * int(np.prod(shape)), dtype=float).reshape(count, *shape) % 7
    states = dataclasses.replace(whole.states, value=values.astype(dtype))
    suite = dataclasses.replace(whole, states=states)
    assert_same(read_suite(tables_of(suite)), suite)


def test_a_suite_of_continuous_actions_survives(tmp_path: Path) -> None:
    line = Line(space=spaces.Box(-1, 1, (2,)))

    def steers(seen: Any) -> Any:
        return (seen.draws.uniform(2) * 2 - 1).astype(np.float32)

    zeros = np.zeros((4, 2), dtype=np.float32)
    suite = play_suite(
        player(line, Does(steers), lambda moment: zeros, lanes=4), plan(9), Coin(plan(9), 0.4)
    )
    assert suite.states.choices.shape == (len(suite.states), 0)
    parts = Parts(tmp_path / "suite", ("states", "visits", "episodes"), "0" * 8, tmp_path)
    parts.write(0, 8, tables_of(suite), origin_of([]))
    assert_same(read_suite(parts.read(0, 8)), suite)
    assert_same(merge([read_suite(parts.read(0, 8))]), suite)


def test_states_without_entries_are_stored_and_read_again() -> None:
    suite = chunk(0, 3)
    bare = dataclasses.replace(suite.states, value=np.zeros((len(suite.states), 0), np.float32))
    bare_suite = dataclasses.replace(suite, states=bare)
    assert_same(read_suite(tables_of(bare_suite)), bare_suite)
