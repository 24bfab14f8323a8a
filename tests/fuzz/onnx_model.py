"""Hostile variants of a small recurrent ONNX model, and one attempt to use each."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from gymnasium import spaces
from onnx import TensorProto, helper

from rpd_core.chance import Draws
from rpd_core.errors import RpdError
from rpd_core.plugin.protocols import Facts, PolicyInput
from rpd_onnx.loader import OnnxFile
from tests.fuzz.mutations import flipped
from tests.fuzz.onnx_bombs import bomb, deep_file, feed_head

SUFFIX = ".onnx"
CASES = 200
"""Cases for each seed; each takes a process of its own where it passes the checks."""
_ROWS = 3
_INTEGERS = (0, 1, -1, 2, 3, 255, 10**4, 2**31 - 1, 2**40, 2**62, -(2**62))
_REALS = (0.0, -1.0, float("nan"), float("inf"), 1e38, 1e-38)
_NAMES = ("", "\x1b[31m", "a b", "x" * 3000, "obs", "h_in", "actions", "n:²", "../w", "/etc/passwd")
_OPERATORS = (
    "Relu", "Gemm", "MatMul", "Conv", "LSTM", "Loop", "If", "Scan", "Expand", "Tile", "Reshape",
    "ConstantOfShape", "RandomNormal", "StringNormalizer", "NonZero", "TopK", "Nothing", "\x1b",
)  # fmt: skip


@functools.cache
def _model() -> bytes:
    """Return a model with a layer, a hidden state and logits."""
    chance = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> Any:
        return onnx.numpy_helper.from_array(chance.normal(0, 0.3, shape).astype(np.float32), name)

    nodes = [
        helper.make_node("Gemm", ["obs", "w", "b"], ["one"], name="layer", alpha=1.0, transB=0),
        helper.make_node("Add", ["one", "h_in"], ["two"], name="memory"),
        helper.make_node("Tanh", ["two"], ["h_out"], name="state"),
        helper.make_node("Reshape", ["h_out", "s"], ["row"], name="shape"),
        helper.make_node("Gemm", ["row", "v"], ["actions"], name="head"),
    ]
    tensors = [weight("w", 4, 5), weight("b", 5), weight("v", 5, 3)]
    tensors.append(onnx.numpy_helper.from_array(np.array([-1, 5]), "s"))
    pairs = {"obs": 4, "h_in": 5, "actions": 3, "h_out": 5}
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size])
        for name, size in pairs.items()
    ]
    graph = helper.make_graph(nodes, "fuzz", values[:2], values[2:], tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    raw: bytes = made.SerializeToString()
    return raw


def cases(seed: int) -> Iterator[tuple[str, bytes]]:
    """Return what was done to a model, and the file."""
    chance = random.Random(seed)
    for number in range(CASES):
        if chance.random() < 0.4:
            what, raw = flipped(chance, _model(), most=1000)
        elif chance.random() < 0.05:
            what, raw = deep_file(chance, _model())
        else:
            what, raw = _changed(chance, chance.choice([1, 1, 1, 2, 4]))
        yield f"{seed}.{number} {what}", raw


def attempt(path: Path) -> None:
    """Load a model and ask it twice; an `RpdError` must be one line."""
    space = spaces.Box(-1, 1, (4,), np.float32)
    facts = Facts(space, spaces.Discrete(3), _ROWS, description="the fuzz")
    rows = np.full((_ROWS, 4), 0.5, np.float32)
    draws = Draws(np.arange(_ROWS, dtype=np.uint64), np.zeros(_ROWS, np.int64))
    starts, zeros = np.ones(_ROWS, dtype=bool), np.zeros(_ROWS)
    try:
        policy = OnnxFile(path).load(facts)
        choice = policy(PolicyInput(rows, {}, starts, None, draws, zeros, zeros))
        policy(PolicyInput(rows, {}, ~starts, choice.memory, draws, zeros, zeros))
    except RpdError as error:
        line = str(error)
        assert line.isprintable(), f"the message is more than a line: {line!r}"
        assert len(line) <= 600, f"the message is too long: {line!r}"
        raise


# ----------------------------------------------------------------------- changes


def _changed(chance: random.Random, times: int) -> tuple[str, bytes]:
    model = onnx.ModelProto()
    model.ParseFromString(_model())
    ways: list[Callable[[random.Random, Any], str]] = [
        _other_operation, _other_link, _other_attribute, _other_tensor, _other_value, _grown,
        _chain, bomb,
    ]  # fmt: skip
    done = [chance.choice(ways)(chance, model.graph) for _ in range(times)]
    raw: bytes = model.SerializeToString()
    return "; ".join(done), raw


def _other_operation(chance: random.Random, graph: Any) -> str:
    node = chance.choice(list(graph.node))
    node.op_type = chance.choice(_OPERATORS)
    if chance.random() < 0.2:
        node.domain = chance.choice(["com.microsoft", "ai.onnx.ml", "\x1b"])
    return f"{node.name} does {node.op_type!r}"


def _other_link(chance: random.Random, graph: Any) -> str:
    node = chance.choice(list(graph.node))
    ends = chance.choice([node.input, node.output])
    name = chance.choice([*(end for one in graph.node for end in one.output), *_NAMES])
    if ends and chance.random() < 0.7:
        ends[chance.randrange(len(ends))] = name
    else:
        ends.append(name)
    return f"{node.name[:40]} is linked with {name[:40]!r}"


def _other_attribute(chance: random.Random, graph: Any) -> str:
    node = chance.choice(list(graph.node))
    name = chance.choice(["alpha", "transB", "axis", "allowzero", "to", "value", "then_branch"])
    value = chance.choice([*_INTEGERS, *_REALS, "text", graph])
    kept = [one for one in node.attribute if one.name != name]
    del node.attribute[:]
    if isinstance(value, int) and abs(value) >= 2**63:
        value = 0
    node.attribute.extend([*kept, helper.make_attribute(name, value)])
    return f"{node.name[:40]}: {name} is a {type(value).__name__}"


def _other_tensor(chance: random.Random, graph: Any) -> str:
    tensor = chance.choice(list(graph.initializer))
    what = chance.choice(["size", "axis", "short", "type", "outside", "number", "name"])
    if what == "size":
        tensor.dims[0] = chance.choice(_INTEGERS)
    elif what == "axis":
        tensor.dims.extend([chance.choice(_INTEGERS)] * chance.choice([1, 40]))
    elif what == "short":
        tensor.raw_data = tensor.raw_data[: chance.randrange(16)]
    elif what == "type":
        tensor.data_type = chance.randrange(30)
    elif what == "outside":
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=chance.choice([*_NAMES, "case.onnx"]))
        tensor.external_data.add(key="offset", value=str(chance.choice(_INTEGERS)))
    elif what == "number":
        tensor.raw_data = np.full(8, chance.choice(_REALS), np.float32).tobytes()
    else:
        tensor.name = chance.choice(_NAMES)
    return f"{what} of {tensor.name[:40]!r}"


def _other_value(chance: random.Random, graph: Any) -> str:
    value = chance.choice([*graph.input, *graph.output])
    kind = value.type.tensor_type
    what = chance.choice(["name", "type", "size", "open", "none"])
    if what == "name":
        value.name = chance.choice(_NAMES)
    elif what == "type":
        kind.elem_type = chance.randrange(30)
    elif what == "size":
        chance.choice(list(kind.shape.dim)).dim_value = chance.choice(_INTEGERS)
    elif what == "open":
        kind.shape.dim.add().dim_param = chance.choice(_NAMES)
    else:
        value.ClearField("type")
    return f"{what} of {value.name[:40]!r}"


def _grown(chance: random.Random, graph: Any) -> str:
    """Put an operation that gives far more than it takes before the head."""
    mark, number = chance.randrange(10**6), chance.choice(_INTEGERS)
    op = chance.choice(["Expand", "Tile", "ConstantOfShape", "Range", "MatMul", "Pad"])
    sizes = [number] * {"Pad": 4, "ConstantOfShape": chance.choice([1, 2])}.get(op, 2)
    many = onnx.numpy_helper.from_array(np.array(sizes, np.int64), f"many{mark}")
    graph.initializer.append(many)
    inputs = {"ConstantOfShape": [many.name], "Range": [many.name] * 3, "MatMul": ["row", "row"]}
    node = helper.make_node(op, inputs.get(op, ["row", many.name]), [f"grown{mark}"])
    feed_head(graph, [node], f"grown{mark}")
    return f"{op} of {number}"


def _chain(chance: random.Random, graph: Any) -> str:
    """Add a long chain, which may end in itself."""
    length, mark = chance.choice([10, 5000]), chance.randrange(10**6)
    last = chance.choice(["row", f"link{mark}.{length - 1}"])
    op = chance.choice(["Identity", "Relu", "Softmax"])
    for place in range(length):
        graph.node.append(helper.make_node(op, [last], [f"link{mark}.{place}"]))
        last = f"link{mark}.{place}"
    return f"{length} times {op}"
