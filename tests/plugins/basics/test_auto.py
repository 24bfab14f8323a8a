"""`auto`: the finest resolution that still covers fresh episodes."""

from __future__ import annotations

import numpy as np
import pytest

from rpd_basics.auto import Auto
from rpd_basics.resolution import Judge, telling_entries
from rpd_core.components import Facts, FitSample
from rpd_core.errors import FitError

EPISODES = 40


def sample(values: np.ndarray, episodes: np.ndarray) -> FitSample:
    return FitSample(
        values, {}, episodes, np.zeros(len(values)), Facts(None, None, 1), 0, 2000, 0.2
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
    assert len(telling_entries(scanner, 24)) == 10  # a ray that says what another did is no use
    assert telling_entries(np.zeros((5, 30)), 24) == ()
    fitted = Auto().fit(sample(scanner, episodes))
    assert (fitted.identified, fitted.covered) == (10, 1.0)
    assert len(np.unique(fitted(scanner, {}), axis=0)) == 10


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
