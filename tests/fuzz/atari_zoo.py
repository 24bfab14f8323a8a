"""Hostile variants of small frozen graphs, and one attempt to use each."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from rpd_atari_zoo.graph import DTYPES
from rpd_atari_zoo.loader import AtariZooFile
from rpd_atari_zoo.operators import OPERATORS
from rpd_atari_zoo.protos import GraphDef
from rpd_core.chance import Draws
from rpd_core.errors import RpdError
from rpd_core.plugin.protocols import Facts, PolicyInput
from tests.fuzz.mutations import flipped

SUFFIX = ".pb"
CASES = 300
"""Cases for each seed."""
_ROWS, _SIZE, _ACTIONS = 3, 12, 3
_NUMBERS = {np.dtype(dtype): number for number, dtype in DTYPES.items()}
_INTEGERS = (0, 1, -1, 2, 3, 255, 10**4, 2**31 - 1, 2**40, 2**62, -(2**62))
_REALS = (0.0, -1.0, float("nan"), float("inf"), 1e38, 1e-38)
_NAMES = ("", "\x1b[31m", "a b", "x" * 3000, "state_ph", "Online/div", "Online/Cast:1", "n:²", "^")


class _Writer:
    """Writes nodes one after the other."""

    def __init__(self) -> None:
        self.message = GraphDef()
        self.random = np.random.default_rng(0)

    def node(self, op: str, name: str, *inputs: str, **attributes: Any) -> str:
        node = self.message.node.add(name=name, op=op)
        node.input.extend(inputs)
        for key, value in attributes.items():
            held = node.attr.add(key=key).value
            if isinstance(value, list):
                held.list.i.extend(value)
            elif isinstance(value, bytes):
                held.s = value
            else:
                held.type = _NUMBERS[np.dtype(value)]
        return name

    def constant(self, name: str, value: Any, dtype: Any = np.float32) -> str:
        array = np.asarray(value, dtype)
        tensor = self.message.node.add(name=name, op="Const").attr.add(key="value").value.tensor
        tensor.dtype = _NUMBERS[array.dtype]
        for size in array.shape:
            tensor.tensor_shape.dim.add(size=size)
        tensor.tensor_content = array.tobytes()
        return name

    def weight(self, name: str, *shape: int) -> str:
        return self.constant(name, self.random.normal(0, 0.3, shape))


@functools.cache
def _graph() -> bytes:
    """Return a small network in the layout of dqn: convolution, pool, dense layer."""
    writer = _Writer()
    writer.node("Placeholder", "state_ph", dtype=np.uint8)
    shape = writer.message.node[-1].attr.add(key="shape").value.shape
    for size in (-1, _SIZE, _SIZE, 4):
        shape.dim.add(size=size)
    writer.node("Cast", "Online/Cast", "state_ph", DstT=np.float32)
    writer.node("RealDiv", "Online/div", "Online/Cast", writer.constant("Online/y", 255.0))
    writer.node(
        "Conv2D", "Online/Conv", "Online/div", writer.weight("Online/w", 4, 4, 4, 5),
        strides=[1, 2, 2, 1], padding=b"SAME", data_format=b"NHWC",
    )  # fmt: skip
    writer.node(
        "MaxPool", "Online/Pool", "Online/Conv", ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1],
        padding=b"VALID", data_format=b"NHWC",
    )  # fmt: skip
    writer.node("Relu", "Online/Relu", "Online/Pool")
    rest = writer.constant("Online/shape", [-1, 45], np.int32)
    writer.node("Reshape", "Online/Reshape", "Online/Relu", rest)
    writer.node(
        "MatMul", "Online/MatMul", "Online/Reshape", writer.weight("Online/v", 45, _ACTIONS)
    )
    output = "Online/fully_connected_1/BiasAdd"
    writer.node("BiasAdd", output, "Online/MatMul", writer.weight("Online/b", _ACTIONS))
    raw: bytes = writer.message.SerializeToString()
    return raw


def cases(seed: int) -> Iterator[tuple[str, bytes]]:
    """Return what was done to a graph, and the file."""
    chance = random.Random(seed)
    for number in range(CASES):
        if chance.random() < 0.25:
            what, raw = flipped(chance, _graph(), most=1000)
        else:
            what, raw = _changed(chance, chance.choice([1, 1, 1, 2, 4]))
        yield f"{seed}.{number} {what}", raw


def attempt(path: Path) -> None:
    """Load a graph and ask it once; an `RpdError` must be one line."""
    space = spaces.Box(0, 255, (_SIZE, _SIZE, 4), np.uint8)
    facts = Facts(space, spaces.Discrete(_ACTIONS), _ROWS, description="the fuzz")
    rows = np.full((_ROWS, _SIZE, _SIZE, 4), 7, np.uint8)
    draws = Draws(np.arange(_ROWS, dtype=np.uint64), np.zeros(_ROWS, np.int64))
    starts, zeros = np.ones(_ROWS, dtype=bool), np.zeros(_ROWS)
    try:
        policy = AtariZooFile(path).load(facts)
        policy(PolicyInput(rows, {}, starts, None, draws, zeros, zeros))
    except RpdError as error:
        line = str(error)
        assert line.isprintable(), f"the message is more than a line: {line!r}"
        assert len(line) <= 600, f"the message is too long: {line!r}"
        raise


# ----------------------------------------------------------------------- changes


def _changed(chance: random.Random, times: int) -> tuple[str, bytes]:
    """Change some nodes of the graph."""
    message = GraphDef()
    message.ParseFromString(_graph())
    ways: list[Callable[[random.Random, Any, Any], str]] = [
        _other_operation, _other_input, _other_attribute, _other_constant, _other_name, _grown,
        _chain,
    ]  # fmt: skip
    done = [
        chance.choice(ways)(chance, message, chance.choice(list(message.node)))
        for _ in range(times)
    ]
    raw: bytes = message.SerializeToString()
    return "; ".join(done), raw


def _other_operation(chance: random.Random, message: Any, node: Any) -> str:
    node.op = chance.choice([*OPERATORS, "Const", "Placeholder", "WriteFile", "\x1b"])
    return f"{node.name[:40]} does {node.op!r}"


def _other_input(chance: random.Random, message: Any, node: Any) -> str:
    source = chance.choice([*(one.name for one in message.node), *_NAMES])
    if node.input and chance.random() < 0.7:
        node.input[chance.randrange(len(node.input))] = source
    else:
        node.input.append(source)
    return f"{node.name[:40]} reads {source[:40]!r}"


def _other_attribute(chance: random.Random, message: Any, node: Any) -> str:
    if not node.attr:
        return _other_input(chance, message, node)
    item = chance.choice(list(node.attr))
    kind = chance.choice(["i", "list", "s", "type", "shape", "b", "gone"])
    number = chance.choice(_INTEGERS)
    if kind == "i":
        item.value.i = number
    elif kind == "list":
        numbers = item.value.list.i
        if numbers:
            numbers[chance.randrange(len(numbers))] = number
        else:
            numbers.extend([number] * chance.choice([1, 4]))
    elif kind == "s":
        item.value.s = chance.choice([b"", b"SAME", b"VALID", b"NCHW", b"\xff\x1b[31m"])
    elif kind == "type":
        item.value.type = chance.choice([0, 1, 3, 4, 7, 10, 19, 99, -1])
    elif kind == "shape":
        item.value.shape.dim.add(size=number)
    elif kind == "b":
        item.value.b = True
    else:
        item.value.Clear()
    return f"{node.name[:40]}: {kind} of {item.key} {number}"


def _other_constant(chance: random.Random, message: Any, node: Any) -> str:
    constants = [one for one in message.node if one.op == "Const" and one.attr]
    if not constants:
        return _other_name(chance, message, node)
    node = chance.choice(constants)
    tensor = node.attr[0].value.tensor
    what = chance.choice(["number", "shape", "axis", "short", "listed", "type"])
    if what == "number":
        values = np.frombuffer(tensor.tensor_content[: len(tensor.tensor_content) // 4 * 4], "<f4")
        with np.errstate(all="ignore"):
            tensor.tensor_content = (values * np.float32(chance.choice(_REALS))).tobytes()
    elif what == "shape" and tensor.tensor_shape.dim:
        chance.choice(list(tensor.tensor_shape.dim)).size = chance.choice(_INTEGERS)
    elif what == "axis":
        tensor.tensor_shape.dim.add(size=chance.choice(_INTEGERS))
    elif what == "short":
        tensor.tensor_content = tensor.tensor_content[: chance.randrange(16)]
    elif what == "listed":
        tensor.tensor_content = b""
        tensor.float_val.append(chance.choice(_REALS))
        tensor.int_val.append(chance.choice([0, -1, 2, 2**31 - 1]))
    else:
        tensor.dtype = chance.choice([0, 1, 2, 3, 4, 7, 9, 10, 19, 99])
    return f"{node.name[:40]}: {what}"


def _other_name(chance: random.Random, message: Any, node: Any) -> str:
    before, node.name = node.name, chance.choice(_NAMES)
    return f"{before[:40]} is called {node.name[:40]!r}"


def _insert(message: Any, made: GraphDef, output: str, reader: str) -> None:
    """Put nodes between a node and what it reads first."""
    for node in message.node:
        if node.name == reader and node.input:
            node.input[0] = output
    message.node.extend(made.node)


def _grown(chance: random.Random, message: Any, node: Any) -> str:
    """Insert a node that gives far more than it takes."""
    source = node.input[0] if node.input else "Online/div"
    op = chance.choice(["Tile", "Fill", "Pad", "LinSpace", "ConcatV2", "Mul", "MatMul"])
    number, mark = chance.choice(_INTEGERS[:8]), chance.randrange(10**6)
    writer = _Writer()
    last = source
    if op in ("ConcatV2", "Mul", "MatMul"):
        for place in range(chance.choice([1, 30])):
            inputs = [last, last]
            if op == "ConcatV2":
                inputs.append(writer.constant(f"axis{mark}.{place}", 1, np.int32))
            last = writer.node(op, f"grown{mark}.{place}", *inputs)
    else:
        shape = {"Tile": [4], "Fill": [2], "Pad": [4, 2], "LinSpace": []}[op]
        many = writer.constant(f"many{mark}", np.full(shape, number), np.int32)
        one = writer.constant(f"one{mark}", 1.0)
        inputs = {"Fill": [many, one], "LinSpace": [one, one, many]}.get(op, [last, many])
        last = writer.node(op, f"grown{mark}", *inputs)
    _insert(message, writer.message, last, node.name)
    return f"{op} of {number} before {node.name[:40]}"


def _chain(chance: random.Random, message: Any, node: Any) -> str:
    """Insert a long chain, which may end in itself."""
    writer = _Writer()
    length, mark = chance.choice([10, 5000]), chance.randrange(10**6)
    op = chance.choice(["Identity", "Relu", "Reshape", "Softmax"])
    source = node.input[0] if node.input else "Online/div"
    last = chance.choice([source, f"link{mark}.{length - 1}"])
    for place in range(length):
        inputs = [last, "Online/shape"] if op == "Reshape" else [last]
        last = writer.node(op, f"link{mark}.{place}", *inputs)
    _insert(message, writer.message, last, node.name)
    return f"{length} times {op} before {node.name[:40]}"
