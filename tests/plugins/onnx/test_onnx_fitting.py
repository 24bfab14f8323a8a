"""Observations and outputs meet the inputs and actions they belong to, or an error says why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from onnx import helper
from onnx_files import LANES, VECTOR, by_hand, facts, loaded, numbers, rows, seen

from rpd_core.errors import ConfigError, EpisodeError, FitError, SpecError

IMAGE = spaces.Box(0, 255, (5, 6, 3), np.uint8)
WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3) % 5 - 2


def linear(path: Path, weights: Any = WEIGHTS, **more: Any) -> Path:
    """One number per action: the observation times weights."""
    nodes = [helper.make_node("MatMul", ["obs", "w"], ["out"])]
    return by_hand(path, nodes, tensors=[numbers("w", weights)], **more)


def flat(path: Path, shape: list[Any], size: int) -> Path:
    """The sum of the first three numbers of each row, times 0, 1 and 2, as an image has them."""
    nodes = [
        helper.make_node("Flatten", ["obs"], ["row"]),
        helper.make_node("MatMul", ["row", "w"], ["out"]),
    ]
    weights = np.zeros((size, 3), np.float32)
    weights[:3] = [0, 1, 2]
    return by_hand(path, nodes, [("obs", shape)], tensors=[numbers("w", weights)])


@pytest.mark.parametrize(
    ("shape", "layout", "words"),
    [
        (["n", 5, 6, 3], "same", "as it is"),
        (["n", 3, 5, 6], "first", "channels moved to the front"),
        (["n", 90], "reshaped", "reshaped"),
        (["n", "c", "h", "w"], "first", "channels moved to the front"),
    ],
)
def test_an_image_is_laid_out_as_the_model_takes_it(
    shape: list[Any], layout: Any, words: str, tmp_path: Path
) -> None:
    path = flat(tmp_path / "a.onnx", shape, 90)
    named = "auto" if layout != "first" or shape[1] == 3 else layout
    policy = loaded(path, facts(IMAGE, 3), layout=named, output="q")
    images = np.random.default_rng(0).integers(0, 255, (LANES, 5, 6, 3), np.uint8)
    moved = np.moveaxis(images, -1, 1) if layout == "first" else images
    total = moved.reshape(LANES, -1)[:, :3].sum(axis=1, dtype=np.float32)
    values = policy(seen(images)).action_values
    assert np.array_equal(values, total[:, None] * [0, 1, 2])
    assert policy.describe()["observation"] == words


def test_pixels_that_become_floats_need_a_word(tmp_path: Path) -> None:
    big = spaces.Box(0, 255, (32, 32, 1), np.uint8)
    path = flat(tmp_path / "a.onnx", ["n", 32, 32, 1], 1024)
    with pytest.raises(FitError, match="say divide=255"):
        loaded(path, facts(big, 3))
    values = loaded(path, facts(big, 3), divide=255.0, output="q")(
        seen(np.full((LANES, 32, 32, 1), 255, np.uint8))
    ).action_values
    assert np.array_equal(values[0], [0, 3, 6])


def test_a_discrete_observation_becomes_one_hot(tmp_path: Path) -> None:
    policy = loaded(linear(tmp_path / "a.onnx"), facts(spaces.Discrete(4), 3), output="q")
    states = np.array([0, 1, 2, 3, 0, 1])
    assert np.array_equal(policy(seen(states)).action_values, WEIGHTS[states])


def test_parts_of_a_dictionary_go_by_name_else_by_shape(tmp_path: Path) -> None:
    parts = spaces.Dict({"far": spaces.Box(-9, 9, (2,), np.float32), "near": VECTOR})
    given = {"far": rows(size=2), "near": rows(1)}
    nodes = [helper.make_node("MatMul", ["near", "w"], ["out"])]
    named = by_hand(
        tmp_path / "a.onnx", nodes, [("near", ["n", 4])], tensors=[numbers("w", WEIGHTS)]
    )
    for path in (named, linear(tmp_path / "b.onnx")):
        values = loaded(path, facts(parts, 3), output="q")(seen(given)).action_values
        assert np.allclose(values, rows(1) @ WEIGHTS, atol=1e-6)
    alike = spaces.Dict({"near": VECTOR, "nearer": VECTOR})
    with pytest.raises(FitError, match="'near' and 'nearer' would both fit"):
        loaded(tmp_path / "b.onnx", facts(alike, 3))


def test_a_model_without_an_axis_for_batches_gets_one_row_at_a_time(tmp_path: Path) -> None:
    path = linear(tmp_path / "a.onnx", inputs=[("obs", [4])])
    policy = loaded(path, output="q")
    assert np.allclose(policy(seen(rows())).action_values, rows() @ WEIGHTS, atol=1e-6)
    assert policy.describe()["batches"] == "one row at a time, as the graph has it"


def test_a_batch_of_fixed_size_is_filled_up(tmp_path: Path) -> None:
    policy = loaded(linear(tmp_path / "a.onnx", inputs=[("obs", [4, 4])]), output="q")
    assert np.allclose(policy(seen(rows())).action_values, rows() @ WEIGHTS, atol=1e-6)
    assert policy.describe()["batches"] == "4 rows at a time"


def test_a_size_that_the_graph_bakes_in_is_found_out(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Reshape", ["obs", "s"], ["row"]),
        helper.make_node("MatMul", ["row", "w"], ["out"]),
    ]
    tensors = [numbers("w", WEIGHTS), numbers("s", [1, 4], np.int64)]
    policy = loaded(by_hand(tmp_path / "a.onnx", nodes, tensors=tensors), output="q")
    assert policy.describe()["batches"] == "one row at a time, as the graph has it"
    assert np.allclose(policy(seen(rows())).action_values, rows() @ WEIGHTS, atol=1e-6)


def test_statistics_normalise_what_the_graph_does_not(tmp_path: Path) -> None:
    mean, var = np.arange(4.0), np.array([1.0, 4.0, 9.0, 1e-9])
    np.savez(tmp_path / "v.npz", mean=mean, var=var, epsilon=1e-8, clip_obs=2.0)
    policy = loaded(linear(tmp_path / "a.onnx"), vecnormalize=tmp_path / "v.npz", output="q")
    normal = np.clip((rows() - mean) / np.sqrt(var + 1e-8), -2, 2).astype(np.float32)
    assert np.allclose(policy(seen(rows())).action_values, normal @ WEIGHTS, atol=1e-6)
    assert policy.describe()["observation"] == "as it is, normalised and clipped at 2"
    np.savez(tmp_path / "v.npz", mean=mean[:3], var=var[:3])
    with pytest.raises(FitError, match="statistics are of 3 numbers"):
        loaded(tmp_path / "a.onnx", vecnormalize=tmp_path / "v.npz")
    (tmp_path / "v.pkl").write_bytes(b"\x80\x04N.")
    with pytest.raises(SpecError, match=r"give an \.npz with mean, var"):
        loaded(tmp_path / "a.onnx", vecnormalize=tmp_path / "v.pkl")


def two_heads(path: Path) -> Path:
    nodes = [
        helper.make_node("MatMul", ["obs", "w"], ["first"]),
        helper.make_node("Neg", ["first"], ["second"]),
        helper.make_node("Softmax", ["second"], ["chances"]),
    ]
    outputs = ("first", "second", "chances")
    return by_hand(path, nodes, outputs=outputs, tensors=[numbers("w", WEIGHTS)])


def test_the_output_and_its_meaning_can_be_named(tmp_path: Path) -> None:
    path = two_heads(tmp_path / "a.onnx")
    assert np.allclose(
        loaded(path, node="second", output="q")(seen(rows())).action_values, -(rows() @ WEIGHTS)
    )
    chances = loaded(path, node="chances")(seen(rows())).probabilities
    assert np.allclose(chances.sum(axis=1), 1)
    with pytest.raises(FitError, match="node=third is not an output"):
        loaded(path, node="third")
    with pytest.raises(FitError, match="needs rows that sum to 1"):
        loaded(path, output="probabilities")
    with pytest.raises(FitError, match="output=action does not fit 'first'"):
        loaded(path, output="action")


def test_what_does_not_fit_is_said_with_both_shapes(tmp_path: Path) -> None:
    path = linear(tmp_path / "a.onnx")
    with pytest.raises(FitError, match=r"the model takes 'obs' \[batch, 4\], which the observat"):
        loaded(path, facts(spaces.Box(0, 1, (7,), np.float32), 3))
    with pytest.raises(
        FitError, match=r"\('out' \[6, 3\]\) fits the actions of a world, Discrete\(5\)"
    ):
        loaded(path, facts(VECTOR, 5))
    with pytest.raises(FitError, match=r"input=obz is not an input.*'obs'"):
        loaded(path, input=("obz",))
    nodes = [helper.make_node("Add", ["obs", "more"], ["out"])]
    two = by_hand(tmp_path / "b.onnx", nodes, [("obs", ["n", 4]), ("more", ["n", 4])])
    with pytest.raises(FitError, match="also takes 'more'"):
        loaded(two, facts(VECTOR, 4))
    with pytest.raises(ConfigError, match="epsilon must lie"):
        loaded(path, epsilon=2.0)
    with pytest.raises(ConfigError, match="divide must be a number above 0, got inf"):
        loaded(path, divide=float("inf"))


def test_numbers_that_are_none_stop_the_episode_by_name(tmp_path: Path) -> None:
    path = linear(tmp_path / "a.onnx", WEIGHTS * np.float32(np.nan))
    with pytest.raises(EpisodeError, match=r"a\.onnx returned numbers that are not finite"):
        loaded(path, output="q")(seen(rows()))


def test_a_graph_that_is_laid_out_for_some_rows_alone_is_refused(tmp_path: Path) -> None:
    nodes = [helper.make_node("Reshape", ["obs", "sizes"], ["out"])]
    sizes = numbers("sizes", [4, 2, 4], np.int64)
    path = by_hand(tmp_path / "a.onnx", nodes, tensors=[sizes])
    with pytest.raises(FitError, match=r"^a\.onnx does not answer when it is called: The input .*"):
        loaded(path)
