"""From what an environment shows to what the networks take."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from zoo_graphs import SIZE, Builder, dopamine, dopamine_in_numpy, facts, pictures, seen

from rpd_atari_zoo.families import FAMILIES
from rpd_atari_zoo.frames import (
    Picture,
    area_weights,
    corner_weights,
    fit_frames,
    triangle_weights,
)
from rpd_atari_zoo.loader import AtariZooFile

BY_NAME = {family.name: family for family in FAMILIES}
SMALL = Picture(SIZE, SIZE, 4)


def test_channels_may_come_first(tmp_path: Path) -> None:
    builder = dopamine(Builder())
    path = builder.save(tmp_path / "dqn.pb")
    policy = AtariZooFile(path).load(facts(shape=(4, SIZE, SIZE)))
    choice = policy(seen(np.moveaxis(pictures(), -1, 1)))
    expected = dopamine_in_numpy(builder.weights, pictures())
    np.testing.assert_allclose(choice.action_values, expected, atol=1e-5)


def test_single_frames_are_stacked_oldest_first_and_begin_black_for_dopamine(
    tmp_path: Path,
) -> None:
    builder = dopamine(Builder())
    policy = AtariZooFile(builder.save(tmp_path / "dqn.pb")).load(facts(2, shape=(SIZE, SIZE)))
    frames = np.random.default_rng(5).integers(1, 256, (6, 2, SIZE, SIZE)).astype(np.uint8)
    memory, history = None, [np.zeros((4, SIZE, SIZE)) for _ in range(2)]
    for step in range(6):
        starts = np.array([step == 0, step in (0, 3)])
        for lane in range(2):
            before = np.zeros((4, SIZE, SIZE)) if starts[lane] else history[lane]
            history[lane] = np.concatenate([before[1:], frames[step, lane][None]])
        choice = policy(seen(frames[step], step, starts=starts, memory=memory))
        memory = choice.memory
        expected = dopamine_in_numpy(builder.weights, np.moveaxis(np.stack(history), 1, -1))
        np.testing.assert_allclose(choice.action_values, expected, atol=1e-5)


def test_other_families_begin_with_copies_of_the_first_frame() -> None:
    framing = fit_frames(facts(1, shape=(SIZE, SIZE, 1)), SMALL, BY_NAME["a2c"])
    frame = pictures(1)[..., :1]
    stack, _ = framing(frame, {}, np.array([True]), None)
    assert np.array_equal(stack, np.repeat(frame, 4, axis=3))


def test_area_weights_average_the_pixels_covered() -> None:
    assert area_weights(4, 2).tolist() == [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]]
    expected = [[0.4, 0.4, 0.2, 0, 0], [0, 0, 0.2, 0.4, 0.4]]
    np.testing.assert_allclose(area_weights(5, 2), expected, atol=1e-7)


def test_corner_weights_keep_the_corners() -> None:
    expected = [[1, 0, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(corner_weights(4, 3), expected, atol=1e-7)


def test_triangle_weights_fall_with_distance() -> None:
    weights = triangle_weights(8, 4)
    np.testing.assert_allclose(weights[1], [0, 0.125, 0.375, 0.375, 0.125, 0, 0, 0], atol=1e-7)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-6)


def test_a_raw_screen_is_made_grey_and_small() -> None:
    framing = fit_frames(facts(1, shape=(210, 160, 3)), Picture(), BY_NAME["dqn"])
    screen = np.zeros((1, 210, 160, 3), dtype=np.uint8)
    screen[:, :105] = (200, 100, 50)
    stack, _ = framing(screen, {}, np.array([True]), None)
    assert stack.shape == (1, 84, 84, 4)
    assert stack[0, :, :, :3].max() == 0.0
    grey = round(0.299 * 200 + 0.587 * 100 + 0.114 * 50)
    assert np.unique(stack[0, :42, :, 3]).tolist() == [grey]
    assert np.unique(stack[0, 42:, :, 3]).tolist() == [0.0]


def test_of_two_raw_screens_the_brighter_pixels_count() -> None:
    framing = fit_frames(facts(1, shape=(2, 210, 160, 3)), Picture(), BY_NAME["dqn"])
    pair = np.zeros((1, 2, 210, 160, 3), dtype=np.uint8)
    pair[:, 0, :, :80] = 90
    pair[:, 1, :, 80:] = 60
    stack, _ = framing(pair, {}, np.array([True]), None)
    assert np.unique(stack[0, :, :42, 3]).tolist() == [90.0]
    assert np.unique(stack[0, :, 42:, 3]).tolist() == [60.0]


def test_without_pictures_in_the_observation_the_view_is_used() -> None:
    ram = facts(1, shape=(128,), views=("screen", "ram"))
    framing = fit_frames(ram, Picture(), BY_NAME["dqn"])
    assert framing.needs == ("screen",)
    screen = np.full((1, 210, 160, 3), 100, dtype=np.uint8)
    stack, _ = framing(np.zeros((1, 128)), {"screen": screen}, np.array([True]), None)
    assert np.unique(stack[..., 3]).tolist() == [100.0]
