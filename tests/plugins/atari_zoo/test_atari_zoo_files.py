"""Constants in every form, and what is said about files that cannot be used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from zoo_graphs import ACTIONS, SIZE, Builder, dopamine, facts

from rpd_atari_zoo.graph import constant, parse_graph
from rpd_atari_zoo.loader import AtariZooFile
from rpd_core.errors import FitError, RpdError, SpecError


def listed(dtype: int, field: str, values: list[float], shape: list[int]) -> np.ndarray:
    builder = Builder()
    builder.constant("c", 0.0, np.float32)
    tensor = builder.message.node[0].attr[0].value.tensor
    tensor.Clear()
    tensor.dtype = dtype
    getattr(tensor, field).extend(values)
    for size in shape:
        tensor.tensor_shape.dim.add(size=size)
    return constant(parse_graph(builder.message.SerializeToString(), "c.pb")["c"])


def test_constants_given_one_by_one_repeat_their_last_value() -> None:
    assert listed(1, "float_val", [1.5, 2.5], [2, 2]).tolist() == [[1.5, 2.5], [2.5, 2.5]]
    assert listed(3, "int_val", [7], [3]).tolist() == [7, 7, 7]
    assert listed(9, "int64_val", [2**40], []).item() == 2**40
    assert listed(10, "bool_val", [True, False], [2]).tolist() == [True, False]
    assert listed(1, "float_val", [], [2]).tolist() == [0.0, 0.0]


def test_half_precision_is_read_from_its_bits() -> None:
    assert listed(19, "half_val", [0x3C00, 0xC000], [2]).tolist() == [1.0, -2.0]


def test_a_constant_of_absurd_size_is_refused_before_it_is_made() -> None:
    with pytest.raises(FitError, match="cannot have the shape"):
        listed(1, "float_val", [1.0], [2**40])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "holds no TensorFlow graph"),
        (b"PK\x03\x04 some zip file", "not a TensorFlow GraphDef"),
        (bytes(range(256)), "not a TensorFlow GraphDef"),
        (b"hello, this is text", "not a TensorFlow GraphDef"),
    ],
)
def test_a_file_that_is_no_graph_is_named(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "model.pb"
    path.write_bytes(data)
    with pytest.raises(FitError, match=words) as caught:
        AtariZooFile(path).load(facts())
    assert "model.pb" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_half_a_file_is_refused(tmp_path: Path) -> None:
    path = dopamine(Builder()).save(tmp_path / "dqn.pb")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(FitError, match="only part of one"):
        AtariZooFile(path).load(facts())


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"nowhere\.pb.*does not exist: give the frozen \.pb"):
        AtariZooFile(tmp_path / "nowhere.pb").load(facts())


def test_a_missing_output_shows_what_the_graph_ends_in(tmp_path: Path) -> None:
    builder = Builder()
    builder.placeholder("X_t", [-1, SIZE, SIZE, 4])
    builder.node("Relu", "my/network/out", "X_t")
    with pytest.raises(FitError, match=r"'my/network/out'.*node=") as caught:
        AtariZooFile(builder.save(tmp_path / "own.pb")).load(facts())
    assert "'Online/Sum'" in str(caught.value)


def test_a_missing_inner_node_is_named_with_its_reader(tmp_path: Path) -> None:
    builder = dopamine(Builder())
    kept = [n for n in builder.message.node if n.name != "Online/div"]
    del builder.message.node[:]
    builder.message.node.extend(kept)
    path = builder.save(tmp_path / "dqn.pb")
    with pytest.raises(FitError, match="misses the node 'Online/div', which 'Online/Conv/Conv2D'"):
        AtariZooFile(path).load(facts())


def test_an_unknown_operation_is_named_with_its_node(tmp_path: Path) -> None:
    builder = dopamine(Builder())
    next(n for n in builder.message.node if n.op == "Relu").op = "WriteFile"
    path = builder.save(tmp_path / "dqn.pb")
    with pytest.raises(FitError, match="'Online/Conv/Relu' uses the operation 'WriteFile'"):
        AtariZooFile(path).load(facts())


def test_another_number_of_actions_is_refused(tmp_path: Path) -> None:
    path = dopamine(Builder()).save(tmp_path / "dqn.pb")
    with pytest.raises(FitError, match=f"between {ACTIONS} actions, a game has Discrete\\(6\\)"):
        AtariZooFile(path).load(facts(actions=6))


def test_an_environment_without_pictures_is_refused(tmp_path: Path) -> None:
    path = dopamine(Builder()).save(tmp_path / "dqn.pb")
    with pytest.raises(FitError, match=r"takes 4 grey frames of 12x12; a game gives Box"):
        AtariZooFile(path).load(facts(shape=(4,)))


def test_a_graph_with_names_of_its_own_works_with_its_node(tmp_path: Path) -> None:
    builder = Builder()
    builder.placeholder("pixels", [-1, SIZE, SIZE, 4])
    flat = builder.flatten("flat", "pixels", SIZE * SIZE * 4)
    builder.dense("head", flat, SIZE * SIZE * 4, ACTIONS)
    path = builder.save(tmp_path / "own.pb")
    policy = AtariZooFile(path, node="head/BiasAdd", output="q").load(facts())
    assert policy.describe()["output"] == "head/BiasAdd: q of 3 actions"
    with pytest.raises(FitError, match="Did you mean 'head/BiasAdd'"):
        AtariZooFile(path, node="head/BiassAdd").load(facts())


def test_sampling_needs_logits(tmp_path: Path) -> None:
    path = dopamine(Builder()).save(tmp_path / "dqn.pb")
    with pytest.raises(FitError, match="deterministic=false needs logits"):
        AtariZooFile(path, deterministic=False).load(facts())


def test_epsilon_outside_0_to_1_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RpdError, match="between 0 and 1, got 2"):
        AtariZooFile(tmp_path / "a.pb", epsilon=2.0)
