"""Each family's layout gives what the same network gives in NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from zoo_graphs import (
    ACTIONS,
    SIZE,
    Builder,
    convolve,
    dopamine,
    dopamine_in_numpy,
    facts,
    pictures,
    seen,
)

from rpd_atari_zoo.layers import same_padding
from rpd_atari_zoo.loader import AtariZooFile
from rpd_core.plugin.registry import installed
from rpd_kit import check_component


def softmax(numbers: np.ndarray) -> np.ndarray:
    shifted = np.exp(numbers - numbers.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("batch", [-1, 1])
def test_dqn_takes_bytes_and_offers_action_values(tmp_path: Path, batch: int) -> None:
    builder = dopamine(Builder(), batch)
    expected = dopamine_in_numpy(builder.weights, pictures())
    policy = AtariZooFile(builder.save(tmp_path / "dqn.pb")).load(facts())
    choice = policy(seen(pictures()))
    np.testing.assert_allclose(choice.action_values, expected, atol=1e-5)
    assert choice.actions.tolist() == expected.argmax(axis=1).tolist()
    assert choice.probabilities is None
    assert policy.describe()["family"] == "dqn"
    assert ("mapped" in policy.describe()["batches"]) == (batch == 1)


def test_rainbow_gives_the_mean_of_each_action_s_atoms(tmp_path: Path) -> None:
    atoms = 5
    builder = dopamine(Builder(), outputs=ACTIONS * atoms)
    for name, value, dtype in (("a", -10, np.float32), ("b", 10, np.float32), ("n", 5, np.int32)):
        builder.constant(f"LinSpace/{name}", value, dtype)
    builder.node("LinSpace", "LinSpace", "LinSpace/a", "LinSpace/b", "LinSpace/n")
    builder.constant("Online/Reshape/shape", [-1, ACTIONS, atoms])
    flat = "Online/fully_connected_1/BiasAdd"
    builder.node("Reshape", "Online/Reshape", flat, "Online/Reshape/shape")
    builder.node("Softmax", "Online/softmax/Softmax", "Online/Reshape")
    builder.node("Mul", "Online/mul", "LinSpace", "Online/softmax/Softmax")
    builder.constant("Online/axis", 2)
    builder.node("Sum", "Online/Sum", "Online/mul", "Online/axis", keep_dims=False)
    logits = dopamine_in_numpy(builder.weights, pictures()).reshape(-1, ACTIONS, atoms)
    expected = softmax(logits) @ np.linspace(-10, 10, atoms)
    policy = AtariZooFile(builder.save(tmp_path / "rainbow.pb")).load(facts())
    np.testing.assert_allclose(policy(seen(pictures())).action_values, expected, atol=1e-4)
    assert policy.describe()["family"] == "rainbow"


def a2c(builder: Builder) -> Builder:
    builder.placeholder("X_t", [-1, SIZE, SIZE, 4])
    last = builder.convolution("a2c/conv1", "X_t", (4, 3, 4, 5))
    builder.dense("a2c/policy", builder.flatten("a2c/Flatten", last, 80), 80, ACTIONS)
    return builder


def test_a2c_takes_floats_of_0_to_1_and_draws_from_its_probabilities(tmp_path: Path) -> None:
    builder = a2c(Builder())
    weights = builder.weights
    hidden = convolve(pictures() / 255.0, weights["a2c/conv1/weights"], 3, "SAME")
    hidden = np.maximum(hidden + weights["a2c/conv1/biases"], 0).reshape(6, -1)
    expected = softmax(hidden @ weights["a2c/policy/weights"] + weights["a2c/policy/biases"])
    policy = AtariZooFile(builder.save(tmp_path / "a2c.pb")).load(facts())
    choices = [policy(seen(pictures(), step)) for step in range(400)]
    np.testing.assert_allclose(choices[0].probabilities, expected, atol=1e-5)
    assert choices[0].action_values is None
    drawn = np.stack([choice.actions for choice in choices])
    for action in range(ACTIONS):  # 400 draws: four standard errors are at most 0.1
        np.testing.assert_allclose((drawn == action).mean(axis=0), expected[:, action], atol=0.1)
    best = AtariZooFile(tmp_path / "a2c.pb", deterministic=True).load(facts())
    assert best(seen(pictures())).actions.tolist() == expected.argmax(axis=1).tolist()


def test_apex_has_channels_first_inside_and_a_dueling_head(tmp_path: Path) -> None:
    builder = Builder()
    builder.placeholder("X_t", [-1, SIZE, SIZE, 4])
    builder.constant("deepq/perm", [0, 3, 1, 2])
    first = builder.node("Transpose", "deepq/transpose", "X_t", "deepq/perm")
    last = builder.convolution("deepq/Conv", first, (3, 2, 4, 5), order=b"NCHW")
    flat = builder.flatten("deepq/Flatten", last, 180)
    advantage = builder.dense("deepq/advantage", flat, 180, ACTIONS)
    value = builder.dense("deepq/value", flat, 180, 1)
    builder.constant("deepq/one", 1)
    builder.node("Mean", "deepq/Mean", advantage, "deepq/one")
    builder.node("ExpandDims", "deepq/ExpandDims", "deepq/Mean", "deepq/one")
    builder.node("Sub", "deepq/sub", advantage, "deepq/ExpandDims")
    builder.node("Add", "deepq/add", value, "deepq/sub")
    builder.node("Identity", "deepq/q_func/q_values", "deepq/add")
    weights = builder.weights
    hidden = convolve(pictures() / 255.0, weights["deepq/Conv/weights"], 2, "SAME")
    hidden = np.maximum(hidden + weights["deepq/Conv/biases"], 0)
    rows = hidden.transpose(0, 3, 1, 2).reshape(6, -1)
    gains = rows @ weights["deepq/advantage/weights"] + weights["deepq/advantage/biases"]
    values = rows @ weights["deepq/value/weights"] + weights["deepq/value/biases"]
    expected = values + gains - gains.mean(axis=1, keepdims=True)
    policy = AtariZooFile(builder.save(tmp_path / "apex.pb")).load(facts())
    np.testing.assert_allclose(policy(seen(pictures())).action_values, expected, atol=1e-5)
    assert policy.describe()["family"] == "apex"


@pytest.mark.parametrize(
    ("family", "output"), [("ga", "ga/out/signal"), ("es", "es/layer5/out/out")]
)
def test_ga_and_es_have_a_population_axis_and_image_patches(
    tmp_path: Path, family: str, output: str
) -> None:
    builder = Builder()
    builder.placeholder("X_t", [-1, SIZE, SIZE, 4])
    builder.constant("zero", 0)
    builder.node("ExpandDims", "X", "X_t", "zero")  # population, rows, height, width, frames
    builder.constant("pictures", [-1, SIZE, SIZE, 4])
    builder.node("Reshape", "flat_pictures", "X", "pictures")
    builder.node(
        "ExtractImagePatches", "patches", "flat_pictures",
        ksizes=[1, 4, 4, 1], strides=[1, 3, 3, 1], rates=[1, 1, 1, 1], padding=b"SAME",
    )  # fmt: skip
    builder.constant("windows", [1, -1, 64])
    builder.node("Reshape", "windows/Reshape", "patches", "windows")
    builder.node("BatchMatMul", "hidden", "windows/Reshape", builder.weight("w", 1, 64, 5))
    builder.node("Add", "hidden/add", "hidden", builder.weight("b", 1, 1, 5))
    builder.node("Relu", "hidden/relu", "hidden/add")
    builder.constant("rows", [1, -1, 80])
    builder.node("Reshape", "rows/Reshape", "hidden/relu", "rows")
    builder.node("BatchMatMul", output, "rows/Reshape", builder.weight("v", 1, 80, ACTIONS))
    weights = builder.weights
    hidden = convolve(pictures() / 255.0, weights["w"].reshape(4, 4, 4, 5), 3, "SAME")
    hidden = np.maximum(hidden + weights["b"][0, 0], 0).reshape(6, -1)
    expected = hidden @ weights["v"][0]
    policy = AtariZooFile(builder.save(tmp_path / f"{family}.pb")).load(facts())
    choice = policy(seen(pictures()))
    assert choice.actions.tolist() == expected.argmax(axis=1).tolist()
    assert choice.action_values is None  # fitness was never about the size of these numbers
    assert choice.probabilities is None
    assert policy.describe()["family"] == family
    np.testing.assert_allclose(policy.rows(pictures().astype(np.float32)), expected, atol=1e-5)


def test_impala_enters_behind_the_queues_of_its_training(tmp_path: Path) -> None:
    agent, pixels = "agent_1/agent/unroll", 84 * 84 * 4
    builder = Builder()
    builder.node("FIFOQueueV2", "queue")
    builder.node("QueueDequeueV2", "dequeue", "queue")
    builder.constant("scale", 255.0, np.float32)
    enter = builder.node("RealDiv", f"{agent}/batch_apply/truediv", "dequeue", "scale")
    builder.constant("shape", [-1, pixels])
    builder.node("Reshape", "flat", enter, "shape")
    builder.node("MatMul", "product", "flat", builder.weight("w", pixels, ACTIONS))
    bias = builder.weight("b", ACTIONS)
    builder.node("Add", f"{agent}/batch_apply_1/policy_logits/add", "product", bias)
    frames = np.random.default_rng(3).integers(0, 256, (6, 84, 84, 4)).astype(np.uint8)
    expected = softmax(frames.reshape(6, -1) / 255.0 @ builder.weights["w"] + builder.weights["b"])
    policy = AtariZooFile(builder.save(tmp_path / "impala.pb")).load(facts(shape=(84, 84, 4)))
    np.testing.assert_allclose(policy(seen(frames)).probabilities, expected, atol=1e-3)
    assert policy.describe()["family"] == "impala"
    assert policy.describe()["action"] == "drawn"


def test_same_padding_puts_the_odd_pixel_after() -> None:
    assert same_padding(21, 4, 2) == (1, 2)
    assert same_padding(84, 8, 4) == (2, 2)
    assert same_padding(11, 3, 1) == (1, 1)
    assert same_padding(10, 2, 5) == (0, 0)


def test_epsilon_1_plays_at_random(tmp_path: Path) -> None:
    path = dopamine(Builder()).save(tmp_path / "dqn.pb")
    policy = AtariZooFile(path, epsilon=1.0).load(facts())
    actions = np.stack([policy(seen(pictures(), step)).actions for step in range(300)])
    counts = np.bincount(actions.ravel(), minlength=ACTIONS) / actions.size
    np.testing.assert_allclose(counts, 1 / ACTIONS, atol=0.05)  # 1800 draws, four errors are 0.045


def test_a_row_depends_on_itself_alone(tmp_path: Path) -> None:
    policy = AtariZooFile(dopamine(Builder()).save(tmp_path / "dqn.pb")).load(facts())
    order = np.array([3, 0, 5, 1, 4, 2])
    plain = policy(seen(pictures())).action_values
    shuffled = policy(seen(pictures()[order])).action_values
    assert plain is not None
    assert shuffled is not None
    assert np.array_equal(shuffled, plain[order])


def test_the_loader_is_found_by_its_name(tmp_path: Path) -> None:
    path = dopamine(Builder()).save(tmp_path / "model1_final.pb")
    loader = installed().make("policy", f"atari-zoo:{path},epsilon=0.001")
    assert loader == AtariZooFile(path, epsilon=0.001)


def test_a_loaded_file_conforms(tmp_path: Path) -> None:
    path = dopamine(Builder()).save(tmp_path / "dqn.pb")
    assert check_component("policy", f"atari-zoo:{path}") == []
