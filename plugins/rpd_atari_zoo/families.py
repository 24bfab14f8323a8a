"""The zoo's families of networks: where pictures enter, what comes out and what it means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rpd_atari_zoo.graph import Graph, Node, constant, holds_one, source_name
from rpd_atari_zoo.network import nodes_behind
from rpd_core.errors import FitError
from rpd_core.untrusted.boundary import quoted

Meaning = Literal["q", "logits", "scores"]
Resize = Literal["area", "corners", "triangle"]


@dataclass(frozen=True)
class Family:
    """How the networks of one algorithm are laid out and what they were trained on."""

    name: str
    output: str
    """Node with one number per action."""
    meaning: Meaning
    """`q` action values, `logits` of a distribution, `scores` only to be compared."""
    enter: str = ""
    """Node that the picture replaces; empty: the placeholder."""
    resize: Resize = "area"
    """How frames were made smaller; see `frames`."""
    zeros_first: bool = False
    """Whether the stack starts with black frames rather than copies of the first one."""


FAMILIES: tuple[Family, ...] = (
    Family("rainbow", "Online/Sum", "q", zeros_first=True),
    Family("dqn", "Online/fully_connected_1/BiasAdd", "q", zeros_first=True),
    Family("a2c", "a2c/policy/BiasAdd", "logits", resize="corners"),
    Family("apex", "deepq/q_func/q_values", "q", resize="corners"),
    Family("ga", "ga/out/signal", "scores", resize="corners"),
    Family("es", "es/layer5/out/out", "scores", resize="corners"),
    Family(
        "impala",
        "agent_1/agent/unroll/batch_apply_1/policy_logits/add",
        "logits",
        enter="agent_1/agent/unroll/batch_apply/truediv",
        resize="triangle",
    ),
)
"""In the order in which they are looked for; a rainbow graph also has the node of dqn."""

_SHAPE_ONLY = ("Cast", "Identity", "ExpandDims", "Reshape", "Transpose", "Squeeze")
_FULL_SCALE = (255.0, 256.0)


def recognise(graph: Graph, wanted: str) -> Family:
    """Find the family of a graph by its output node, or say what the graph ends in."""
    candidates = [family for family in FAMILIES if wanted in ("auto", family.name)]
    for family in candidates:
        if family.output in graph:
            return family
    raise missing(graph, " or ".join(repr(family.output) for family in candidates))


def missing(graph: Graph, nodes: str) -> FitError:
    """Build the error for output nodes that a graph does not have; it names those it has."""
    return FitError(
        f"the graph misses the node {nodes}; it ends in {', '.join(ends(graph))}: give the node "
        "with one number per action as node=..."
    )


def ends(graph: Graph, most: int = 5) -> list[str]:
    """Return the names of nodes that no other node reads."""
    read = {source_name(source)[0] for node in graph.values() for source in node.inputs}
    return [
        quoted(name) for name, node in graph.items() if name not in read and node.op != "Const"
    ][-most:]


def find_feed(graph: Graph, family: Family) -> Node:
    """Return the node where pictures enter."""
    if family.enter in graph:
        return graph[family.enter]
    fed = [n for n in nodes_behind(graph, family.output) if n.op.startswith("Placeholder")]
    pictures = [node for node in fed if len(node.shape() or (0,) * 4) >= 4]
    if len(pictures) != 1:
        names = ", ".join(quoted(node.name) for node in fed[:5]) or "no placeholder"
        raise FitError(
            f"the output {quoted(family.output)} must depend on one placeholder for pictures, it "
            f"depends on {names}"
        )
    return pictures[0]


def takes_bytes(graph: Graph, feed: Node) -> bool:
    """Return whether the graph itself divides by 255, so that it wants pixels of 0 to 255."""
    typed = feed.op.startswith("Placeholder") and "dtype" in feed.attributes
    if typed and np.dtype(feed.dtype("dtype")).kind in "iu":
        return True
    readers = _readers(graph)
    waiting, met = [feed.name], {feed.name}
    while waiting:
        name = waiting.pop()
        for node, sources in readers.get(name, ()):
            if _divides(graph, node, sources):
                return True
            if node.op in _SHAPE_ONLY and sources[0] == name and node.name not in met:
                met.add(node.name)
                waiting.append(node.name)
    return False


def _readers(graph: Graph) -> dict[str, list[tuple[Node, list[str]]]]:
    """Return the nodes that read each node, with the names of all that they read."""
    found: dict[str, list[tuple[Node, list[str]]]] = {}
    for node in graph.values():
        sources = [source_name(source)[0] for source in node.inputs]
        for name in set(sources):
            found.setdefault(name, []).append((node, sources))
    return found


def _divides(graph: Graph, node: Node, sources: list[str]) -> bool:
    if node.op not in ("RealDiv", "Div", "Mul"):
        return False
    known = [graph[source] for source in sources if source in graph]
    factors = [float(constant(one)) for one in known if one.op == "Const" and holds_one(one)]
    if node.op == "Mul":
        factors = [1.0 / factor for factor in factors if factor]
    return any(_FULL_SCALE[0] - 0.5 <= factor <= _FULL_SCALE[1] + 0.5 for factor in factors)
