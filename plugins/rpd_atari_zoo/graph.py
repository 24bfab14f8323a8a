"""A frozen graph as plain nodes: names, operations, inputs, attributes, constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from rpd_atari_zoo.protos import GraphDef
from rpd_core.errors import FitError, nearest

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
_LARGEST = 2**27  # elements; the largest layer of the zoo has two million


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
        return self.attributes[name].s.decode() if name in self.attributes else default

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
                f"node {self.name!r} ({self.op}) uses TensorFlow type {number}: no number"
            )
        return DTYPES[number]

    def shape(self) -> list[int] | None:
        """Return a placeholder's shape, -1 where a size is open; None if it says nothing."""
        if "shape" not in self.attributes or self.attributes["shape"].shape.unknown_rank:
            return None
        return [int(dim.size) for dim in self.attributes["shape"].shape.dim] or None


Graph = dict[str, Node]


def read_graph(path: Path) -> Graph:
    """Read a `.pb` file, or say that it is no frozen graph."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FitError(f"cannot read {str(path)!r}: {error.strerror}") from error
    return parse_graph(data, str(path))


def parse_graph(data: bytes, name: str) -> Graph:
    """Read the bytes of a GraphDef message."""
    message = GraphDef()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise FitError(
            f"{name!r} is no TensorFlow GraphDef, or only part of one: give the frozen .pb file of "
            "a network"
        ) from error
    nodes = [_node(entry) for entry in message.node]
    if not nodes or not all(node.name and node.op for node in nodes):
        raise FitError(f"{name!r} holds no TensorFlow graph: give the frozen .pb file of a network")
    return {node.name: node for node in nodes}


def _node(entry: Any) -> Node:
    inputs = tuple(source for source in entry.input if not source.startswith("^"))
    return Node(entry.name, entry.op, inputs, {item.key: item.value for item in entry.attr})


def source_name(reference: str) -> tuple[str, int]:
    """Split the name of an input into the node and which of its outputs is meant."""
    name, colon, number = reference.rpartition(":")
    return (name, int(number)) if colon and number.isdigit() else (reference, 0)


def find_node(graph: Graph, name: str, reader: str | None = None) -> Node:
    """Return a node, or say that it is missing and who wanted it."""
    if name in graph:
        return graph[name]
    wanted = f", which {reader!r} reads" if reader else ""
    raise FitError(f"the graph misses the node {name!r}{wanted}.{nearest(name, graph)}")


def constant(node: Node) -> Array:
    """Return the value of a Const node."""
    if "value" not in node.attributes:
        raise FitError(f"the constant {node.name!r} has no value")
    tensor = node.attributes["value"].tensor
    if tensor.dtype not in DTYPES:
        raise FitError(f"the constant {node.name!r} has TensorFlow type {tensor.dtype}: no number")
    dtype = np.dtype(DTYPES[tensor.dtype])
    shape = [int(dim.size) for dim in tensor.tensor_shape.dim]
    size = int(np.prod(shape, dtype=np.float64))
    if min(shape, default=1) < 0 or size > _LARGEST:
        raise FitError(f"the constant {node.name!r} cannot have the shape {shape}")
    if tensor.tensor_content:
        return _packed(node.name, tensor.tensor_content, dtype, shape, size)
    return _listed(tensor, dtype, shape, size)


def _packed(name: str, content: bytes, dtype: Any, shape: list[int], size: int) -> Array:
    if len(content) != size * dtype.itemsize:
        raise FitError(
            f"the constant {name!r} has {len(content)} bytes where its shape {shape} needs "
            f"{size * dtype.itemsize}: the file is damaged"
        )
    return np.frombuffer(content, dtype=dtype.newbyteorder("<")).astype(dtype).reshape(shape)


def _listed(tensor: Any, dtype: Any, shape: list[int], size: int) -> Array:
    """Read values given one by one; where there are fewer than elements, the last repeats."""
    raw = list(getattr(tensor, _VALUES[tensor.dtype]))[:size]
    if dtype == np.float16:  # stored as the 16 bits of each number
        values = np.array(raw, dtype=np.uint16).view(np.float16)
    else:
        values = np.array(raw).astype(dtype)
    full = np.zeros(size, dtype=dtype)
    full[: len(values)] = values
    if 0 < len(values) < size:
        full[len(values) :] = values[-1]
    return full.reshape(shape)
