"""ONNX files from strangers are read within bounds or refused in one line."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_files import VECTOR, by_hand, facts, loaded, numbers, rows, seen

from rpd_core.errors import RpdError
from rpd_core.untrusted.boundary import Budget
from rpd_onnx import trial
from rpd_onnx.loader import OnnxFile
from rpd_onnx.model import read_model
from rpd_onnx.wire import Message

ADD = helper.make_node("Add", ["obs", "r"], ["out"])


def refusal(path: Path, where: Any = None) -> str:
    with pytest.raises(RpdError) as caught:
        loaded(path, where or facts(VECTOR, 4))
    line = str(caught.value)
    assert line.isprintable()
    return line


def stored_elsewhere(location: str, **entries: str) -> Any:
    tensor = TensorProto(name="r", data_type=TensorProto.FLOAT, dims=[4])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


@pytest.mark.parametrize(
    "location", ["../weights", "/etc/hostname", "a/b", "", "..", "w\0", "/proc/self/mem"]
)
def test_weights_outside_the_folder_are_refused(location: str, tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(bytes(16))
    path = by_hand(tmp_path / "in.onnx", [ADD], tensors=[stored_elsewhere(location)])
    assert "only one file beside the model is read" in refusal(path)
    assert OnnxFile(path).inputs() == ()


def test_weights_beside_the_model_must_be_all_there_and_a_file(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    good = by_hand(tmp_path / "a.onnx", [ADD], tensors=[stored_elsewhere("w")])
    values = loaded(good, facts(VECTOR, 4), output="q")(seen(rows())).action_values
    assert np.array_equal(values, rows() + np.arange(4, dtype=np.float32))
    for entries in ({"offset": "4"}, {"offset": "-4"}, {"length": "999"}, {"offset": "9" * 30}):
        path = by_hand(tmp_path / "b.onnx", [ADD], tensors=[stored_elsewhere("w", **entries)])
        assert "its weights 'r'" in refusal(path)
    os.mkfifo(tmp_path / "pipe")
    path = by_hand(tmp_path / "c.onnx", [ADD], tensors=[stored_elsewhere("pipe")])
    assert "not a regular file" in refusal(path)


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (helper.make_node("FusedMatMul", ["obs", "r"], ["out"], domain="com.microsoft"), "domain"),
        (helper.make_node("Evil", ["obs"], ["out"], domain="evil\x1b[31m"), "domain 'evil?[31m'"),
        (helper.make_node("Loop", ["n", "c", "obs"], ["out"]), "may go on for ever"),
        (helper.make_node("Scan", ["obs"], ["out"]), "may go on for ever"),
        (
            helper.make_node("Relu", ["obs"], ["out"], body=helper.make_graph([], "g", [], [])),
            "'Relu' in it holds a graph",
        ),
        (helper.make_node("NoSuchThing", ["obs"], ["out"]), "onnxruntime does not load it"),
    ],
)
def test_operators_beyond_a_plain_network_are_refused_by_name(
    node: Any, reason: str, tmp_path: Path
) -> None:
    path = by_hand(tmp_path / "a.onnx", [node], tensors=[numbers("r", np.ones(4))])
    assert reason in refusal(path)


def test_functions_and_sparse_tensors_are_refused(tmp_path: Path) -> None:
    function = helper.make_function(
        "mine", "F", ["x"], ["y"], [helper.make_node("Relu", ["x"], ["y"])],
        [helper.make_opsetid("", 17)],
    )  # fmt: skip
    nodes = [helper.make_node("Relu", ["obs"], ["out"])]
    path = by_hand(tmp_path / "a.onnx", nodes, functions=[function])
    assert "holds functions of its own" in refusal(path)
    model = onnx.load(by_hand(path, nodes))
    model.graph.sparse_initializer.add()
    path.write_bytes(model.SerializeToString())
    assert "sparse tensors" in refusal(path)


def test_a_weight_larger_than_its_file_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    tensor = TensorProto(name="r", data_type=TensorProto.FLOAT, dims=[2**40, 2**20])
    path = by_hand(tmp_path / "a.onnx", [ADD], tensors=[tensor])
    assert "more than the file holds" in refusal(path)
    tensor.dims[:] = [-4]
    path = by_hand(tmp_path / "a.onnx", [ADD], tensors=[tensor])
    assert "negative size" in refusal(path)


def test_graphs_within_graphs_have_an_end(tmp_path: Path) -> None:
    node = helper.make_node("Relu", ["obs"], ["out"])
    for _ in range(20):
        graph = helper.make_graph([node], "g", [], [])
        node = helper.make_node("If", ["c"], ["out"], then_branch=graph)
    path = by_hand(tmp_path / "a.onnx", [node])
    assert "nested too deeply" in refusal(path)


def test_a_graph_that_goes_round_in_a_circle_is_refused(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["back"], ["on"]), helper.make_node("Neg", ["on"], ["back"])]
    path = by_hand(tmp_path / "a.onnx", [*nodes, helper.make_node("Add", ["obs", "on"], ["out"])])
    assert "not acyclic" in refusal(path)


def test_a_choice_between_graphs_is_played(tmp_path: Path) -> None:
    branches = {
        name: helper.make_graph(
            [helper.make_node(op, ["obs"], ["inner"]), helper.make_node("Abs", ["inner"], [name])],
            name,
            [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)],
        )
        for name, op in (("then_branch", "Neg"), ("else_branch", "Relu"))
    }
    node = helper.make_node("If", ["c"], ["out"], **branches)
    path = by_hand(tmp_path / "a.onnx", [node], tensors=[numbers("c", True, np.bool_)])
    values = loaded(path, facts(VECTOR, 4), output="q")(seen(rows())).action_values
    assert np.array_equal(values, np.abs(rows()))


def test_memory_that_a_few_bytes_ask_for_is_refused(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("ConstantOfShape", ["s"], ["z"]),
        helper.make_node("ReduceSum", ["z"], ["r"]),
        ADD,
    ]
    tensors = [numbers("s", [2**31], np.int64)]
    path = by_hand(tmp_path / "a.onnx", nodes, tensors=tensors)
    line = refusal(path)
    assert "memory" in line.lower() or "alloc" in line.lower()


def test_work_that_never_ends_is_ended_in_another_process(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(trial, "_WALL", 3)
    nodes = [
        helper.make_node("ConstantOfShape", ["s"], ["z"]),
        helper.make_node("MatMul", ["z", "z"], ["m"]),
        helper.make_node("MatMul", ["m", "m"], ["n"]),
        helper.make_node("ReduceSum", ["n"], ["r"]),
        ADD,
    ]
    path = by_hand(tmp_path / "a.onnx", nodes, tensors=[numbers("s", [9000, 9000], np.int64)])
    assert path.stat().st_size < 400
    begin = time.monotonic()
    assert "does not answer within" in refusal(path)
    assert time.monotonic() - begin < 60


def test_a_file_is_tried_out_once_for_as_long_as_it_stays_as_it_is(
    tmp_path: Path, monkeypatch: Any
) -> None:
    nodes = [helper.make_node("Relu", ["obs"], ["out"])]
    path = by_hand(tmp_path / "a.onnx", nodes)
    started = []
    run = trial.subprocess.run

    def counted(*args: Any, **more: Any) -> Any:
        started.append(args)
        return run(*args, **more)

    monkeypatch.setattr(trial.subprocess, "run", counted)
    for _ in range(3):
        loaded(path, facts(VECTOR, 4))
    assert len(started) == 1
    by_hand(path, [helper.make_node("Neg", ["obs"], ["out"])])
    loaded(path, facts(VECTOR, 4))
    assert len(started) == 2


def test_random_bytes_are_no_model(tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    path.write_bytes(b"\x08\x09" + bytes(range(256)))
    assert "is no ONNX model" in refusal(path)
    path.write_bytes(b"")
    assert "is no ONNX model" in refusal(path)


def test_fields_are_read_packed_or_one_by_one_and_signed() -> None:
    for dims in (b"\x08\x03\x08" + b"\xff" * 9 + b"\x01", b"\x0a\x0b\x03" + b"\xff" * 9 + b"\x01"):
        assert Message(memoryview(dims), Budget(0)).numbers(1) == (3, -1)


def test_a_file_of_many_small_parts_has_an_end(tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    path.write_bytes(b"\x08\x01" * 2_000_000)
    with pytest.raises(RpdError, match="more steps to read than any policy needs"):
        read_model(path)
