"""ONNX models that ask for far more memory or time than their size tells."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

_SIZES = (2**31 - 1, 2**40, 2**62)


def bomb(chance: random.Random, graph: Any) -> str:
    """Put something into a graph that unfolds when it is read, checked or run."""
    name = chance.choice(list(_BOMBS))
    return f"{name}: {_BOMBS[name](chance, graph)}"


def feed_head(graph: Any, nodes: list[Any], last: str) -> None:
    """Put operations before the head, which then needs the last value that they make."""
    total = helper.make_node("ReduceSum", [last], [f"total.{last}"], keepdims=0)
    added = helper.make_node("Add", ["row", f"total.{last}"], [f"sum.{last}"])
    head = graph.node[-1]
    if head.input:
        head.input[0] = f"sum.{last}"
    ordered = [*list(graph.node)[:-1], *nodes, total, added, head]
    copies = [type(one).FromString(one.SerializeToString()) for one in ordered]
    del graph.node[:]
    graph.node.extend(copies)


def deep_file(chance: random.Random, model: bytes) -> tuple[str, bytes]:
    """Return a model with a graph in a graph, deeper than its library would write."""
    depth, made = chance.choice([10, 30, 100, 3000]), b""
    for _ in range(depth):
        for field in (6, 5, 1):  # the graph of an attribute of a node of a graph
            made = _field(field, made)
    return f"graphs {depth} deep", model + _field(7, made)


def _field(number: int, content: bytes) -> bytes:
    """Return a field of a message of protocol buffers."""
    length, size = len(content), bytearray([number << 3 | 2])
    while length > 127:
        size.append(length & 127 | 128)
        length >>= 7
    return bytes([*size, length]) + content


def _many_nodes(chance: random.Random, graph: Any) -> str:
    """Add nodes that all make the same value."""
    count = chance.choice([20_000, 100_000])
    node = helper.make_node("Identity", ["row"], ["same"])
    graph.node.extend([node] * count)
    return f"{count} times the same"


def _many_links(chance: random.Random, graph: Any) -> str:
    """Add one node that takes one value very often."""
    count = chance.choice([10_000, 500_000])
    feed_head(graph, [helper.make_node("Concat", ["row"] * count, ["wide"], axis=1)], "wide")
    return f"{count} inputs"


def _doubling(chance: random.Random, graph: Any) -> str:
    """Double a row again and again, so that a few nodes make more than memory holds."""
    times, nodes, last = chance.choice([20, 40, 64]), [], "row"
    for number in range(times):
        nodes.append(helper.make_node("Concat", [last, last], [f"twice{number}"], axis=1))
        last = f"twice{number}"
    feed_head(graph, nodes, last)
    return f"{times} times"


def _claims(chance: random.Random, graph: Any) -> str:
    """Let a tensor of a few bytes claim a shape of many."""
    tensor, size = chance.choice(list(graph.initializer)), chance.choice(_SIZES)
    del tensor.dims[:]
    tensor.dims.extend([size] * chance.choice([1, 2, 30]))
    return f"{tensor.name[:40]} claims {size}"


def _sparse(chance: random.Random, graph: Any) -> str:
    """Add a tensor of one number that says it is one of many."""
    size = chance.choice(_SIZES)
    value = numpy_helper.from_array(np.ones(1, np.float32), "sparse")
    index = numpy_helper.from_array(np.zeros(1, np.int64), "index")
    graph.sparse_initializer.append(helper.make_sparse_tensor(value, index, [size]))
    return f"one of {size}"


def _many_tensors(chance: random.Random, graph: Any) -> str:
    count = chance.choice([10_000, 100_000])
    tensor = numpy_helper.from_array(np.zeros(0, np.float32), "many")
    graph.initializer.extend([tensor] * count)
    return f"{count} tensors of nothing"


def _constant(chance: random.Random, graph: Any) -> str:
    """Add a constant that is made of one number when the model is opened."""
    size = chance.choice(_SIZES)
    shape = numpy_helper.from_array(np.array([size], np.int64), "shape")
    graph.initializer.append(shape)
    feed_head(graph, [helper.make_node("ConstantOfShape", ["shape"], ["large"])], "large")
    return f"of {size}"


def _subgraphs(chance: random.Random, graph: Any) -> str:
    """Put a choice into both branches of a choice, and so on."""
    depth = chance.choice([1, 3, 10, 25])
    value = helper.make_tensor_value_info("inner", TensorProto.FLOAT, None)
    leaf = helper.make_graph([helper.make_node("Identity", ["row"], ["inner"])], "g", [], [value])
    inner = leaf
    for _ in range(depth):
        node = helper.make_node("If", ["truth"], ["inner"], then_branch=inner, else_branch=leaf)
        inner = helper.make_graph([node], "g", [], [value])
    graph.initializer.append(numpy_helper.from_array(np.array(True), "truth"))
    feed_head(graph, list(inner.node), "inner")
    return f"{depth} deep"


def _long_loop(chance: random.Random, graph: Any) -> str:
    """Count to a number that nobody waits for."""
    number = chance.choice(_SIZES)
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"])], "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []),
         helper.make_tensor_value_info("go", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, [])],
    )  # fmt: skip
    graph.initializer.append(numpy_helper.from_array(np.array(number, np.int64), "times"))
    graph.initializer.append(numpy_helper.from_array(np.array(True), "truth"))
    graph.node.append(helper.make_node("Loop", ["times", "truth"], [], body=body))
    return f"{number} times"


def _long_text(chance: random.Random, graph: Any) -> str:
    length = chance.choice([10**6, 10**8])
    place = chance.choice(["doc_string", "name"])
    setattr(graph, place, "x" * length)
    return f"{place} of {length}"


_BOMBS = {
    "nodes": _many_nodes, "links": _many_links, "doubling": _doubling, "claims": _claims,
    "sparse": _sparse, "tensors": _many_tensors, "constant": _constant,
    "subgraphs": _subgraphs, "loop": _long_loop, "text": _long_text,
}  # fmt: skip
