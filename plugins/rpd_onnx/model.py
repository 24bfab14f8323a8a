"""What an ONNX file holds, read without onnxruntime and refused where it is no plain network."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import FitError
from rpd_core.untrusted.boundary import Budget, Flaw, Refused, file_name, quoted
from rpd_core.untrusted.files import read_bounded
from rpd_onnx.wire import Message

LARGEST = 2**30
"""Bytes of a model and of the weights beside it."""
KINDS: dict[int, Any] = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64,
    9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64,
}  # fmt: skip
"""ONNX's types of numbers that NumPy has."""
RANDOM = frozenset({
    "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial",
    "Bernoulli",
})  # fmt: skip
"""Operators whose results differ from call to call."""
_ENDLESS = ("Loop", "Scan", "SequenceMap")
_STANDARD = ("", "ai.onnx")
_DEEPEST = 8
_PER_BYTE = 2
"""Most numbers that a stored byte may stand for."""
_SPARSE = "it holds sparse tensors, which no policy needs: refused"
_MODEL = {"producer": 2, "producer_version": 3, "graph": 7, "training": 20, "functions": 25}
_GRAPH = {"node": 1, "name": 2, "tensor": 5, "input": 11, "output": 12, "sparse": 15}
_NODE = {"input": 1, "output": 2, "operator": 4, "attribute": 5, "domain": 7}
_TENSOR = {"size": 1, "kind": 2, "name": 8, "raw": 9, "external": 13, "place": 14}


@dataclass(frozen=True)
class Value:
    """An input or output of the graph."""

    name: str
    dtype: Any = None
    """NumPy's type; None for what is no tensor of numbers."""
    shape: tuple[int | str, ...] | None = None
    """Sizes, or names of sizes that are open; None where the file does not say."""

    def __str__(self) -> str:
        sizes = "?" if self.shape is None else ", ".join(str(size or "?") for size in self.shape)
        return f"{quoted(self.name)} [{sizes}]"


@dataclass(frozen=True)
class Node:
    """One operation."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Weights:
    """Numbers that lie in a file beside the model."""

    name: str
    dtype: Any
    shape: tuple[int, ...]
    location: str
    offset: int

    @property
    def size(self) -> int:
        """Bytes that they take."""
        return math.prod(self.shape) * int(np.dtype(self.dtype).itemsize)


@dataclass
class Model:
    """A network that was looked through and may be handed to onnxruntime."""

    path: Path
    content: bytes = field(repr=False)
    producer: str = ""
    inputs: tuple[Value, ...] = ()
    outputs: tuple[Value, ...] = ()
    nodes: list[Node] = field(default_factory=list, repr=False)
    names: list[str] = field(default_factory=list, repr=False)
    """Names of the stored tensors."""
    parameters: int = 0
    outside: list[Weights] = field(default_factory=list, repr=False)

    @cached_property
    def _makers(self) -> dict[str, Node]:
        return {name: node for node in self.nodes for name in node.outputs}

    def maker(self, name: str) -> Node | None:
        """Return the operation whose result has a name."""
        return self._makers.get(name)

    def behind(self, name: str) -> set[str]:
        """Return the operators that a result depends on."""
        found, seen, waiting = set(), set(), [name]
        while waiting:
            node = self.maker(waiting.pop())
            if node is not None and id(node) not in seen:
                seen.add(id(node))
                found.add(node.operator)
                waiting += node.inputs
        return found

    def draws(self, name: str) -> bool:
        """Return whether a result is drawn by the graph itself."""
        return bool(self.behind(name) & RANDOM)

    @cached_property
    def weights(self) -> dict[str, NDArray[Any]]:
        """Return the numbers of the file beside the model, by name; its bytes are checked."""
        if not self.outside:
            return {}
        beside = self.path.with_name(self.outside[0].location)
        data = read_bounded(beside, Budget(LARGEST), "copy it from where the model was exported")
        found = {}
        for one in self.outside:
            if one.offset + one.size > len(data):
                raise Flaw(
                    f"its weights {quoted(one.name)} end beyond the {len(data):,} bytes of "
                    f"{file_name(beside)}: copy both files again"
                )
            flat = np.frombuffer(data, one.dtype, math.prod(one.shape), one.offset)
            found[one.name] = flat.reshape(one.shape)
        return found


def read_model(path: Path) -> Model:
    """Read a file and check all of it, or raise an error that says what it asks for."""
    content = read_bounded(path, Budget(LARGEST), "give an .onnx file")
    try:
        message = Message(memoryview(content), Budget(0))
        graphs = message.messages(_MODEL["graph"])
    except Flaw as error:
        raise FitError(f"{file_name(path)} is no ONNX model, or {error}") from error
    if len(graphs) != 1:
        raise FitError(f"{file_name(path)} is no ONNX model: export one with torch.onnx.export")
    if message.fields.get(_MODEL["functions"]) or message.fields.get(_MODEL["training"]):
        raise Refused(
            f"{file_name(path)} holds functions of its own or a training graph: export it for "
            "inference, with its functions inlined (onnx.inliner.inline_local_functions)"
        )
    producer = f"{message.text(_MODEL['producer'])} {message.text(_MODEL['producer_version'])}"
    return _Reader(Model(path, content, producer.strip())).read(graphs[0])


def weights_beside(path: Path) -> tuple[Path, ...]:
    """Return the file with the weights of a model, if they lie beside it."""
    try:
        model = read_model(path)
    except (FitError, Flaw, OSError):  # loading says what is wrong
        return ()
    return tuple({path.with_name(one.location) for one in model.outside})


class _Reader:
    """Fills a model, part by part."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def read(self, graph: Message) -> Model:
        model = self.model
        model.nodes = self._graph(graph, 0)
        stored = set(model.names)
        values = [_value(one) for one in graph.messages(_GRAPH["input"])]
        model.inputs = tuple(value for value in values if value.name not in stored)
        model.outputs = tuple(_value(one) for one in graph.messages(_GRAPH["output"]))
        return model

    def _graph(self, graph: Message, depth: int) -> list[Node]:
        """Check a graph and the graphs inside it; return its operations."""
        if depth > _DEEPEST:
            raise Refused("its graphs are nested too deeply: refused")
        if graph.fields.get(_GRAPH["sparse"]):
            raise Refused(_SPARSE)
        for tensor in graph.messages(_GRAPH["tensor"]):
            self._tensor(tensor, inside=depth > 0)
        return [self._node(node, depth) for node in graph.messages(_GRAPH["node"])]

    def _node(self, node: Message, depth: int) -> Node:
        operator, domain = node.text(_NODE["operator"]), node.text(_NODE["domain"])
        if domain not in _STANDARD:
            raise Refused(
                f"it uses {quoted(operator)} of the domain {quoted(domain)}; only ONNX's standard "
                "operators are run: export it without extensions"
            )
        if operator in _ENDLESS:
            raise Refused(
                f"it uses {quoted(operator)}, which may go on for ever: export one step of the "
                "policy"
            )
        read = set(node.texts(_NODE["input"]))
        drawn = operator
        for attribute in node.messages(_NODE["attribute"]):
            for graph in self._attribute(attribute, operator):
                inner = self._graph(graph, depth + 1)
                read |= {name for one in inner for name in one.inputs}
                drawn = next((one.operator for one in inner if one.operator in RANDOM), drawn)
        return Node(drawn, tuple(sorted(read - {""})), node.texts(_NODE["output"]))

    def _attribute(self, attribute: Message, operator: str) -> Iterator[Message]:
        """Check the tensors of an attribute and yield its graphs."""
        if attribute.fields.get(22) or attribute.fields.get(23):
            raise Refused(_SPARSE)
        for tensor in (*attribute.messages(5), *attribute.messages(10)):
            self._tensor(tensor, inside=True)
        graphs = [*attribute.messages(6), *attribute.messages(11)]
        if graphs and operator != "If":
            raise Refused(f"{quoted(operator)} in it holds a graph of its own: refused")
        yield from graphs

    def _tensor(self, tensor: Message, inside: bool) -> None:
        name, shape = tensor.text(_TENSOR["name"]), tensor.numbers(_TENSOR["size"])
        if any(size < 0 for size in shape):
            raise Flaw(f"its weights {quoted(name)} are of a negative size: it is damaged")
        count = math.prod(shape)
        outside = tensor.messages(_TENSOR["external"])
        if outside or any(tensor.numbers(_TENSOR["place"])):
            self._outside(tensor, outside, name, shape, inside)
        elif count > _PER_BYTE * len(self.model.content):
            raise Flaw(
                f"its weights {quoted(name)} are of size {list(shape)[:8]}, more than the file "
                "holds: it is damaged"
            )
        self.model.parameters += count
        if not inside:
            self.model.names.append(name)

    def _outside(
        self, tensor: Message, entries: list[Message], name: str, shape: tuple[int, ...],
        inside: bool,
    ) -> None:  # fmt: skip
        """Note weights that lie in one further file in the model's own folder."""
        said = {one.text(1): one.text(2) for one in entries}
        location, dtype = said.get("location", ""), KINDS.get(tensor.number(_TENSOR["kind"]))
        known = {one.location for one in self.model.outside} or {location}
        plain = Path(location).name == location and location not in ("", ".", "..")
        if inside or dtype is None or not plain or known != {location} or "\0" in location:
            raise Refused(
                f"its weights {quoted(name)} lie in {quoted(location)}; only one file beside the "
                "model is read: export it with external_data=False"
            )
        offset, length = said.get("offset", "0"), said.get("length", "")
        if not (offset.isdecimal() and len(offset) < 16):
            raise Flaw(f"its weights {quoted(name)} begin nowhere: it is damaged")
        held = Weights(name, dtype, shape, location, int(offset))
        if held.size > LARGEST or (length and length != str(held.size)):
            raise Flaw(f"its weights {quoted(name)} are not of the size that they need: damaged")
        self.model.outside.append(held)


def _value(message: Message) -> Value:
    """Return what a file says about an input or output; sizes that are open by their names."""
    name = message.text(1)
    for kind in message.messages(2):
        for tensor in kind.messages(1):
            shapes = tensor.messages(2)
            sizes = tuple(_size(one) for one in shapes[-1].messages(1)) if shapes else None
            return Value(name, KINDS.get(tensor.number(1)), sizes)
    return Value(name)


def _size(dimension: Message) -> int | str:
    return dimension.number(1) if dimension.fields.get(1) else dimension.text(2)
