"""`auto`: the finest resolution that still covers fresh episodes."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from rpd_basics.auto import Auto
from rpd_basics.batches import flatten, pick_entries
from rpd_basics.entry_choice import JUDGED, informative_entries
from rpd_basics.resolution import Judge
from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Bound, Facts, FitSample

EPISODES = 40


def sample(values, episodes: np.ndarray) -> FitSample:
    return FitSample(
        values, {}, episodes, np.zeros(len(episodes)), Facts(None, None, 1), 0, 2000, 0.2
    )


def corridor(noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Walks along ten cells, the same in every episode; the second entry is noise alone."""
    generator = np.random.default_rng(0)
    place = np.tile(np.arange(10.0), EPISODES)
    rows = np.stack([place, generator.normal(0, noise, len(place))], axis=1)
    return rows, np.repeat(np.arange(EPISODES), 10)


def test_every_cell_of_a_corridor_is_told_apart() -> None:
    rows, episodes = corridor(noise=0.0)
    fitted = Auto().fit(sample(rows, episodes))
    assert (fitted.identified, fitted.covered) == (10, 1.0)
    assert len(np.unique(fitted(rows, {}), axis=0)) == 10
    assert fitted.show(fitted(rows, {})[3]) == "2.5 <= x0 < 3.5"
    assert fitted.bounds(fitted(rows, {})[3]) == (Bound("x0", (0,), 2.5, 3.5),)
    assert fitted.bounds(fitted(rows, {})[0]) == (Bound("x0", (0,), -math.inf, 0.5),)


def test_pictures_are_no_boxes() -> None:
    assert Auto(kind="picture").bounds(np.zeros((2, 2))) is None


def test_noise_is_cut_no_finer_than_fresh_episodes_can_be_covered() -> None:
    rows, episodes = corridor(noise=1.0)
    fitted = Auto().fit(sample(rows, episodes))
    assert fitted.covered >= 0.95
    assert fitted.identified >= 10
    exact = Judge.of(episodes, 20 / (2000 * 0.2), 0.95)(rows)
    assert exact.covered == 0.0  # told apart exactly, no step of a fresh episode is known
    assert exact.identified == 0


def test_a_judge_counts_by_hand() -> None:
    states = np.array([[1], [1], [2], [1], [3], [1], [1]])
    episodes = np.array([5, 5, 5, 6, 6, 8, 9])
    found = Judge.of(episodes, 0.5, 0.95)(states)
    # state 1 is in all 4 episodes, 2 and 3 in one each; of the 3 odd steps one is in state 3
    assert found.identified == 1
    assert found.covered == pytest.approx(2 / 3)


def test_a_larger_suite_identifies_more() -> None:
    generator = np.random.default_rng(3)
    rows = generator.normal(size=(EPISODES * 50, 2))
    episodes = np.repeat(np.arange(EPISODES), 50)
    small = Auto(episodes=200).fit(sample(rows, episodes))
    large = Auto(episodes=20_000).fit(sample(rows, episodes))
    assert large.identified > 5 * small.identified > 0
    assert large.covered >= 0.95


def test_a_suite_too_small_to_identify_anything_still_tells_states_apart() -> None:
    rows, episodes = corridor(noise=0.0)
    fitted = Auto(episodes=20).fit(sample(rows, episodes))  # 4 mutated episodes, 20 wanted
    assert len(np.unique(fitted(rows, {}), axis=0)) == 10


def test_a_large_grid_of_symbols_is_no_picture() -> None:
    place = np.tile(np.arange(10), EPISODES)
    grids = np.zeros((len(place), 16, 16, 3), dtype=np.uint8)
    grids[np.arange(len(place)), place, place] = [10, 2, 1]
    fitted = Auto().fit(sample(grids, np.repeat(np.arange(EPISODES), 10)))
    assert (fitted.kind, fitted.identified) == ("vector", 10)
    assert len(fitted.entries) <= 24


def test_pictures_of_floats_up_to_255_are_told_apart() -> None:
    place = np.tile(np.arange(4), EPISODES)
    screens = np.zeros((len(place), 40, 40), dtype=np.float32)
    for row, at in enumerate(place):
        screens[row, 10 * at : 10 * at + 10] = 250
    fitted = Auto().fit(sample(screens, np.repeat(np.arange(EPISODES), 4)))
    assert (fitted.kind, fitted.identified, fitted.span) == ("picture", 4, (0, 250))
    around = Auto().fit(sample(screens / 125 - 1, np.repeat(np.arange(EPISODES), 4)))
    assert (around.kind, around.identified, around.span) == ("picture", 4, (-1, 1))


def bars(count: int, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Pictures with a bar at one of four places, from 0 to 1."""
    place = np.tile(np.arange(4), count)
    screens = np.zeros((len(place), 40, 40), dtype=dtype)
    for row, at in enumerate(place):
        screens[row, 10 * at : 10 * at + 10] = 1
    return screens, np.repeat(np.arange(count), 4)


def test_pictures_brighter_than_any_in_the_sample_count_as_white() -> None:
    screens, episodes = bars(EPISODES, np.float32)
    fitted = Auto().fit(sample(screens, episodes))
    assert (fitted.kind, fitted.span) == ("picture", (0, 1))
    ones = np.ones_like(screens)
    assert (fitted(2 * ones, {}) == fitted.levels - 1).all()
    assert (fitted(-ones, {}) == 0).all()
    larger = Auto().fit(sample(screens * 90 - 5, episodes))
    assert larger.span == (-5, 85)
    assert (larger(86 * ones, {}) == larger.levels - 1).all()
    assert (larger(-6 * ones, {}) == 0).all()


def test_bytes_keep_their_whole_numbers() -> None:
    screens, episodes = bars(EPISODES, np.uint8)
    fitted = Auto().fit(sample(screens * 200, episodes))
    assert (fitted.span, fitted.identified) == ((), 4)
    assert (fitted(np.full_like(screens, 255), {}) == fitted.levels - 1).all()


@pytest.mark.parametrize("value", [7.0, -3.0, 1e20])
def test_pictures_that_never_change_are_one_state(value: float) -> None:
    screens = np.full((EPISODES, 40, 40), value)
    fitted = Auto().fit(sample(screens, np.arange(EPISODES)))
    assert fitted.span[0] == value < fitted.span[1]
    assert fitted(screens, {}).max() == 0
    assert fitted(screens + 2 * abs(value), {}).max() > 0


def test_nothing_is_learned_from_pictures_with_a_hole() -> None:
    screens, episodes = bars(EPISODES, np.float32)
    screens[3, 1, 2] = np.nan
    with pytest.raises(FitError, match="auto cannot learn from nan in entry 42"):
        Auto().fit(sample(screens, episodes))


def test_of_a_long_vector_the_entries_that_say_something_are_found() -> None:
    rows, episodes = corridor(noise=0.0)
    cells = (rows[:, :1] == np.arange(10)) * 1.0  # one cell of ten is lit
    scanner = np.repeat(cells, 30, axis=1)  # by thirty rays each
    assert len(informative_entries(scanner, 24)) == 10  # a ray that says what another did is no use
    assert informative_entries(np.zeros((5, 30)), 24) == ()
    fitted = Auto().fit(sample(scanner, episodes))
    assert (fitted.identified, fitted.covered) == (10, 1.0)
    assert len(np.unique(fitted(scanner, {}), axis=0)) == 10


def informative_by_definition(rows: np.ndarray, most: int) -> tuple[int, ...]:
    """Deviations and correlations of truth values, one entry after the other."""
    split = (rows > rows.mean(axis=0)).astype(float)
    picked: list[int] = []
    left = split.std(axis=0)
    while len(picked) < most:
        picked.append(int(left.argmax()))
        for entry, column in enumerate(split.T):
            with np.errstate(invalid="ignore"):
                shared = abs(np.nan_to_num(np.corrcoef(column, split[:, picked[-1]])[0, 1]))
            left[entry] = min(left[entry], column.std() * (1 - shared))
        left[picked] = 0
    return tuple(sorted(picked))


def mixed(count: int) -> dict[str, np.ndarray]:
    """A picture of bytes between numbers; each is lit at another rate, some go together."""
    generator = np.random.default_rng(4)
    numbers = generator.random((count, 20)) < np.linspace(0.3, 0.5, 20)
    numbers[:, 10:] |= numbers[:, :1]
    numbers[:, 3] = False
    picture = generator.random((count, 6, 5)) < np.linspace(0.1, 0.4, 30).reshape(6, 5)
    return {
        "c": numbers.astype(np.float32),
        "b": picture.astype(np.uint8) * 200,
        "a": generator.integers(0, 9, count),
    }


def test_informative_entries_are_those_of_the_definition() -> None:
    values = mixed(997)
    rows = flatten(values)
    assert rows.shape[1] == 51
    for most in (5, 24):
        assert informative_entries(values, most) == informative_by_definition(rows, most)


def test_of_many_steps_evenly_chosen_ones_pick_the_entries() -> None:
    values = mixed(3 * JUDGED)
    every_third = {key: part[::3] for key, part in values.items()}
    assert informative_entries(values, 24) == informative_entries(every_third, 24)


def test_picked_entries_are_those_of_the_joined_rows() -> None:
    values = mixed(7)
    entries = (0, 1, 30, 31, 50, 2)
    assert pick_entries(values, entries).dtype == flatten(values).dtype
    np.testing.assert_array_equal(pick_entries(values, entries), flatten(values)[:, entries])
    np.testing.assert_array_equal(
        pick_entries(values["b"], (3, 29)), flatten(values["b"])[:, (3, 29)]
    )


def test_every_entry_of_a_dict_must_be_finite_and_is_named_by_its_number() -> None:
    values = mixed(40)
    values["c"][5, 2] = np.inf
    values["d"] = np.zeros((40, 2))
    values["d"][4, 1] = np.nan
    with pytest.raises(FitError, match="auto cannot learn from nan in entry 52"):  # at step 4
        Auto().fit(sample(values, np.arange(40) // 4))
    values["d"][4, 1] = 0
    with pytest.raises(FitError, match="auto cannot learn from inf in entry 33"):
        Auto().fit(sample(values, np.arange(40) // 4))


def test_a_dict_with_a_picture_is_fitted_in_little_more_memory_than_it_takes() -> None:
    generator = np.random.default_rng(0)
    count = 400
    values = {
        "picture": generator.integers(0, 256, (count, 84, 84, 3), dtype=np.uint8),
        "numbers": generator.normal(size=(count, 2)).astype(np.float32),
    }
    asked = sample(values, np.arange(count) // 20)
    tracemalloc.start()
    fitted = Auto().fit(asked)
    fitted(values, {})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert fitted.length == 84 * 84 * 3 + 2
    assert peak < 2 * sum(part.nbytes for part in values.values())


def test_a_long_vector_that_never_changes_is_one_state() -> None:
    rows = np.ones((EPISODES * 5, 30))
    fitted = Auto().fit(sample(rows, np.repeat(np.arange(EPISODES), 5)))
    assert len(np.unique(fitted(rows, {}), axis=0)) == 1
    assert fitted.show(fitted(rows, {})[0]) == "anything"


def test_pictures_get_a_size_and_levels() -> None:
    generator = np.random.default_rng(0)
    place = generator.integers(0, 4, EPISODES * 20)
    screens = np.zeros((len(place), 40, 40, 3), dtype=np.uint8)
    for row, at in enumerate(place):
        screens[row, 10 * at : 10 * at + 10] = 255
    fitted = Auto().fit(sample(screens, np.repeat(np.arange(EPISODES), 20)))
    assert fitted.kind == "picture"
    assert fitted.identified == 4
    assert len(np.unique(fitted(screens, {}).reshape(len(place), -1), axis=0)) == 4


def test_small_grids_are_vectors_and_other_shapes_are_refused() -> None:
    grids = np.random.default_rng(0).integers(0, 2, (200, 3, 3)).astype(np.uint8)
    fitted = Auto().fit(sample(grids, np.repeat(np.arange(10), 20)))
    assert fitted.kind == "vector"
    with pytest.raises(FitError, match=r"fitted to shape \(9,\) and got shape \(2,\)"):
        fitted(np.zeros((1, 2)), {})
