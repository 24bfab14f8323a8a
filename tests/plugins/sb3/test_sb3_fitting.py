"""Observations are adapted where that is unambiguous, and refused in one line where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from sb3_toys import VECTOR, Toy, batch, facts_of, samples
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack

from rpd_core.errors import FitError
from rpd_sb3.fitting import FitOptions, fit
from rpd_sb3.statistics import Normal, Statistics

TWO = spaces.Discrete(2)
START = np.ones(6, dtype=bool)
VIEW = spaces.Box(0, 255, (7, 7, 3), np.uint8)
GRID = spaces.Dict({"image": VIEW, "direction": spaces.Discrete(4)})


def box(*shape: int, low: float = 0, high: float = 255, dtype: Any = np.uint8) -> spaces.Box:
    return spaces.Box(low, high, shape, dtype)


def fitted(ours: Any, theirs: Any, **options: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Return observations, what the model gets, and the notes."""
    fitting = fit(facts_of(ours, TWO), theirs, FitOptions(**options))
    rows = batch(samples(ours))
    return rows, fitting(rows, START, None)[0], fitting.notes


def test_observations_that_fit_pass_unchanged() -> None:
    rows, given, notes = fitted(VECTOR, VECTOR)
    assert given is rows
    assert notes == ()


def test_the_image_of_a_dictionary_is_turned_channels_first() -> None:
    rows, given, notes = fitted(GRID, box(3, 7, 7))
    np.testing.assert_array_equal(given, np.moveaxis(rows["image"], -1, 1))
    assert notes == ("'image': channels first",)


def test_channels_are_turned_last() -> None:
    rows, given, _ = fitted(box(3, 8, 9), box(8, 9, 3))
    np.testing.assert_array_equal(given, np.moveaxis(rows, 1, -1))


def test_an_image_is_flattened_row_by_row() -> None:
    rows, given, notes = fitted(GRID, box(147))
    np.testing.assert_array_equal(given, rows["image"].reshape(6, 147))
    assert notes == ("'image': flattened",)


def test_a_model_of_a_dictionary_gets_its_parts_each_fitted() -> None:
    wanted = spaces.Dict({"image": box(3, 7, 7), "direction": spaces.Discrete(4)})
    rows, given, _ = fitted(GRID, wanted)
    assert set(given) == {"image", "direction"}
    np.testing.assert_array_equal(given["direction"], rows["direction"])
    assert given["image"].shape == (6, 3, 7, 7)


def test_bytes_are_divided_for_a_model_of_fractions_and_the_reverse() -> None:
    unit = box(2, high=1.0, dtype=np.float32)
    rows, given, notes = fitted(box(2), unit)
    np.testing.assert_allclose(given, rows / 255)
    assert notes == ("divided by 255",)
    rows, given, notes = fitted(unit, box(2))
    assert given.dtype == np.uint8
    np.testing.assert_array_equal(given, np.rint(rows * 255))


def test_fractions_for_a_model_of_whole_numbers_are_refused() -> None:
    with pytest.raises(FitError, match="fractions"):
        fitted(box(2, low=-3, high=5, dtype=np.float32), box(2))


def stack_matches(ours: spaces.Box, count: int, **options: Any) -> None:
    """Compare with the library's own frame stack over two episodes."""
    env = VecFrameStack(DummyVecEnv([lambda: Toy(ours, TWO)]), count)
    theirs = env.observation_space
    fitting = fit(facts_of(ours, TWO), theirs, FitOptions(**options))
    env.seed(4)
    expected, start, kept = env.reset(), True, None
    for _ in range(9):
        newest = env.stacked_obs.stacked_obs
        channels_first = env.stacked_obs.channels_first
        size = ours.shape[0 if channels_first else -1]
        row = newest[:, -size:] if channels_first else newest[..., -size:]
        found, kept = fitting(row.copy(), np.array([start]), kept)
        np.testing.assert_array_equal(found, expected)
        expected, _, done, _ = env.step(np.array([0]))
        expected, start = expected.copy(), bool(done[0])


def test_vectors_are_stacked_as_the_library_does() -> None:
    stack_matches(VECTOR, 3)


def test_images_are_stacked_as_the_library_does() -> None:
    stack_matches(box(36, 36, 1), 4)
    stack_matches(box(3, 36, 36), 2)


def test_unbounded_vectors_are_stacked_only_on_demand() -> None:
    endless = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    with pytest.raises(FitError, match="set stack=3"):
        stack_matches(endless, 3)
    stack_matches(endless, 3, stack=3)


def test_a_stack_of_images_is_turned_channels_first() -> None:
    fitting = fit(facts_of(box(8, 9, 1), TWO), box(4, 8, 9), FitOptions())
    rows = batch(samples(box(8, 9, 1)))
    first, kept = fitting(rows, START, None)
    second, _ = fitting(rows + 1, np.arange(6) == 2, kept)
    assert (first[:, :3] == 0).all()
    np.testing.assert_array_equal(first[:, 3], rows[..., 0])
    np.testing.assert_array_equal(second[0, 2:], np.stack([rows[0, ..., 0], rows[0, ..., 0] + 1]))
    assert (second[2, :3] == 0).all()


def test_a_stack_on_an_axis_of_its_own_starts_with_copies() -> None:
    wanted = spaces.Box(-2.0, 3.0, (3, 4), np.float32)
    fitting = fit(facts_of(VECTOR, TWO), wanted, FitOptions())
    rows = batch(samples(VECTOR))
    first, kept = fitting(rows, START, None)
    second, _ = fitting(rows * 2, ~START, kept)
    np.testing.assert_array_equal(first, np.stack([rows] * 3, axis=1))
    np.testing.assert_array_equal(second, np.stack([rows, rows, rows * 2], axis=1))


def test_statistics_of_one_observation_come_before_the_stack_and_of_a_stack_after_it() -> None:
    wanted = spaces.Box(-2.0, 3.0, (8,), np.float32)
    for size in (4, 8):
        normal = Normal(np.full(size, 0.5), np.full(size, 2.0), 10.0)
        statistics = Statistics("s.pkl", whole=normal)
        rows, given, _ = fitted(VECTOR, wanted, statistics=statistics)
        padding = 0.0 if size == 4 else -0.25
        np.testing.assert_allclose(given[:, :4], padding)
        np.testing.assert_allclose(given[:, 4:], (rows - 0.5) / 2, rtol=1e-6)


def test_two_parts_that_would_both_do_are_refused_until_one_is_chosen() -> None:
    ours = spaces.Dict({"left": VECTOR, "right": VECTOR})
    with pytest.raises(FitError, match="'left' and 'right' would both do, choose with key="):
        fitted(ours, VECTOR)
    rows, given, _ = fitted(ours, VECTOR, key="right")
    assert given is rows["right"]


def test_the_part_that_fits_as_it_is_wins_over_one_to_be_changed() -> None:
    ours = spaces.Dict({"turned": box(7, 7, 3), "right": box(3, 7, 7)})
    _, _, notes = fitted(ours, box(3, 7, 7))
    assert notes == ("'right': as it is",)


def test_a_part_that_is_missing_is_named() -> None:
    wanted = spaces.Dict({"image": VIEW, "speed": VECTOR})
    with pytest.raises(FitError, match="there is no 'speed'"):
        fitted(GRID, wanted)


def test_a_discrete_observation_of_another_size_is_refused() -> None:
    with pytest.raises(FitError, match=r"sees Discrete\(5\), but the toy gives Discrete\(4\)"):
        fitted(spaces.Discrete(4), spaces.Discrete(5))
