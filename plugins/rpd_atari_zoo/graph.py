"""A frozen graph as plain nodes: names, operations, inputs, attributes, constants."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from rpd_atari_zoo.protos import GraphDef, message_layout
from rpd_atari_zoo.wire import has_more_parts
from rpd_core.errors import FitError, nearest
from rpd_core.untrusted.boundary import Budget, file_name, printable, quoted
from rpd_core.untrusted.files import read_bounded

Array = NDArray[Any]

DTYPES: dict[int, Any] = {
    1: np.float32,
    2: np.float64,
    3: np.int32,
    4: np.uint8,
    5: np.int16,
    6: np.int8,
    9: np.int64,
    10: np.bool_,
    19: np.float16,
}
"""TensorFlow's numbers for the types that networks use."""
_VALUES = {
    1: "float_val",
    2: "double_val",
    3: "int_val",
    4: "int_val",
    5: "int_val",
    6: "int_val",
    9: "int64_val",
    10: "bool_val",
    19: "half_val",
}
_LARGEST = 2**24  # elements; the largest layer of the zoo has four million
_LARGEST_FILE = 2**27
_MOST_PARTS = 500_000
_MOST_AXES = 16
_MOST_COMPARED, _LONGEST_NAME = 2000, 1000
_NAME = re.compile(rf"[\w.][\w./\\>-]{{0,{_LONGEST_NAME}}}", re.ASCII)
_OUTPUT = re.compile(r"(.*):([0-9]{1,6})")


@dataclass(frozen=True)
class Node:
    """One operation of the graph."""

    name: str
    op: str
    inputs: tuple[str, ...] = ()
    """Names of the nodes it reads, control inputs left out; `name:1` is a second output."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """AttrValue messages by name."""

    def text(self, name: str, default: str) -> str:
        """Return a text attribute, for example the padding."""
        held = self.attributes.get(name)
        return default if held is None else printable(held.s.decode("utf-8", "replace"), 40)

    def number(self, name: str, default: int) -> int:
        """Return a whole-number attribute."""
        return int(self.attributes[name].i) if name in self.attributes else default

    def real(self, name: str, default: float) -> float:
        """Return a floating-point attribute."""
        return float(self.attributes[name].f) if name in self.attributes else default

    def flag(self, name: str) -> bool:
        """Return a truth-value attribute, false where it is not given."""
        return bool(self.attributes[name].b) if name in self.attributes else False

    def numbers(self, name: str) -> list[int]:
        """Return a list of whole numbers, empty where it is not given."""
        return [int(i) for i in self.attributes[name].list.i] if name in self.attributes else []

    def dtype(self, name: str) -> Any:
        """Return the NumPy type that a type attribute names."""
        number = self.attributes[name].type if name in self.attributes else 0
        if number not in DTYPES:
            raise FitError(
                f"node {quoted(self.name)} ({self.op}) uses TensorFlow type {number}, which is "
                "not a number: freeze the graph again"
            )
        return DTYPES[number]

    def shape(self) -> list[int] | None:
        """Return a placeholder's shape, -1 where a size is open; None if it says nothing."""
        if "shape" not in self.attributes or self.attributes["shape"].shape.unknown_rank:
            return None
        return [int(dim.size) for dim in self.attributes["shape"].shape.dim] or None


Graph = dict[str, Node]


def read_graph(path: Path) -> Graph:
    """Read a `.pb` file, or say that it is not a frozen graph."""
    raw = read_bounded(path, Budget(_LARGEST_FILE), "give the frozen .pb file of the zoo's network")
    return parse_graph(raw, file_name(path))


def parse_graph(data: bytes, name: str) -> Graph:
    """Read the bytes of a GraphDef message."""
    if has_more_parts(data, message_layout("GraphDef"), _MOST_PARTS):
        raise FitError(f"{name!r} has more than {_MOST_PARTS:,} parts: not a network of the zoo")
    message = GraphDef()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise FitError(
            f"{name!r} is not a TensorFlow GraphDef, or only part of one: give the frozen .pb file "
            "of a network"
        ) from error
    nodes = [_node(entry) for entry in message.node]
    if not nodes or not all(node.name and node.op for node in nodes):
        raise FitError(f"{name!r} holds no TensorFlow graph: give the frozen .pb file of a network")
    odd = next((n.name for n in nodes if not _NAME.fullmatch(n.name)), None)
    if odd is not None:
        raise FitError(
            f"{name!r} has a node called {quoted(odd)}, which no graph can: copy it again"
        )
    return {node.name: node for node in nodes}


def _node(entry: Any) -> Node:
    inputs = tuple(source for source in entry.input if not source.startswith("^"))
    return Node(entry.name, entry.op, inputs, {item.key: item.value for item in entry.attr})


def source_name(reference: str) -> tuple[str, int]:
    """Split the name of an input into the node and which of its outputs is meant."""
    match = _OUTPUT.fullmatch(reference)
    return (match.group(1), int(match.group(2))) if match else (reference, 0)


def find_node(graph: Graph, name: str, reader: str | None = None) -> Node:
    """Return a node, or say that it is missing and who wanted it."""
    if name in graph:
        return graph[name]
    wanted = f", which {quoted(reader)} reads" if reader else ""
    raise FitError(f"the graph misses the node {quoted(name)}{wanted}.{similar_node(graph, name)}")


def similar_node(graph: Graph, name: str) -> str:
    """Return a suggestion of the closest name; long lists of names would take long to compare."""
    return nearest(name, list(graph)[:_MOST_COMPARED]) if len(name) <= _LONGEST_NAME else ""


def constant(node: Node) -> Array:
    """Return the value of a Const node."""
    name = quoted(node.name)
    if "value" not in node.attributes:
        raise FitError(f"the constant {name} has no value: freeze the graph again")
    tensor = node.attributes["value"].tensor
    if tensor.dtype not in DTYPES:
        raise FitError(f"the constant {name} has TensorFlow type {tensor.dtype}: not a number")
    dtype = np.dtype(DTYPES[tensor.dtype])
    shape = [int(dim.size) for dim in tensor.tensor_shape.dim[: _MOST_AXES + 1]]
    size = math.prod(shape)
    if len(shape) > _MOST_AXES or min(shape, default=1) < 0 or size > _LARGEST:
        raise FitError(f"the constant {name} cannot have the shape {shape}: the file is damaged")
    if tensor.tensor_content:
        values = _packed(name, tensor.tensor_content, dtype, shape, size)
    else:
        values = _listed(name, tensor, dtype, shape, size)
    if not np.isfinite(values).all():
        raise FitError(
            f"the constant {name} is not made of finite numbers: its training diverged or the "
            "file is damaged"
        )
    return values


def holds_one(node: Node) -> bool:
    """Return whether a Const node holds a single number: a large one is made of a few bytes."""
    held = node.attributes.get("value")
    sizes = [] if held is None else held.tensor.tensor_shape.dim[: _MOST_AXES + 1]
    return held is None or all(dim.size == 1 for dim in sizes)


def _packed(name: str, content: bytes, dtype: Any, shape: list[int], size: int) -> Array:
    if len(content) != size * dtype.itemsize:
        raise FitError(
            f"the constant {name} has {len(content)} bytes where its shape {shape} needs "
            f"{size * dtype.itemsize}: the file is damaged"
        )
    return np.frombuffer(content, dtype=dtype.newbyteorder("<")).astype(dtype).reshape(shape)


def _listed(name: str, tensor: Any, dtype: Any, shape: list[int], size: int) -> Array:
    """Read values given one by one; where there are fewer than elements, the last repeats."""
    held = getattr(tensor, _VALUES[tensor.dtype])
    try:
        values = _converted(np.array(held[:size]), dtype)
    except (OverflowError, ValueError) as error:
        raise FitError(f"the constant {name} holds numbers beyond its type: damaged") from error
    last = values[-1] if len(values) else dtype.type(0)
    filler = np.full(size - len(values), last, dtype=dtype)
    return np.concatenate([values, filler]).reshape(shape)


def _converted(raw: Array, dtype: Any) -> Array:
    if dtype != np.float16:
        return raw.astype(dtype)
    if len(raw) and not 0 <= raw.min() <= raw.max() < 2**16:
        raise OverflowError
    return raw.astype(np.uint16).view(np.float16)  # stored as the 16 bits of each number
