"""A frozen graph as a torch module: the nodes between a feed and an output, in order."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from rpd_atari_zoo.graph import Graph, Node, constant, find_node, source_name
from rpd_atari_zoo.operators import OPERATORS
from rpd_core.errors import FitError, nearest, one_line

_FED = ("Placeholder", "PlaceholderWithDefault")


def nodes_behind(graph: Graph, output: str, feed: str = "") -> list[Node]:
    """Return the nodes that an output depends on, inputs first, stopping at the feed."""
    done: dict[str, Node] = {}
    waiting = [(output, "", False)]
    entered: set[str] = set()
    while waiting:
        name, reader, ready = waiting.pop()
        if name in done:
            continue
        node = find_node(graph, name, reader)
        if ready or name == feed:
            done[name] = node
            continue
        if name in entered:
            raise FitError(f"the graph runs in a circle through {name!r}: not a frozen network")
        entered.add(name)
        waiting.append((name, reader, True))
        waiting += [
            (source, name, False)
            for source, _ in map(source_name, reversed(node.inputs))
            if source not in done
        ]
    return list(done.values())


class FrozenNetwork(nn.Module):
    """The part of a graph that leads from the feed to the output; takes what the feed takes."""

    def __init__(self, graph: Graph, feed: str, output: str) -> None:
        super().__init__()
        self.feed, self.output = feed, output
        nodes = nodes_behind(graph, output, feed)
        self.others = [n.name for n in nodes if n.op in _FED and n.name != feed]
        if feed not in {node.name for node in nodes}:
            raise FitError(f"the output {output!r} does not depend on {feed!r}")
        if self.others:
            raise FitError(
                f"the output {output!r} also needs {', '.join(map(repr, self.others))}, which "
                "nothing feeds: choose another output with node=..."
            )
        _refuse_unknown(node for node in nodes if node.name != feed)
        self.steps = [node for node in nodes if node.op != "Const" and node.name != feed]
        self.buffer_of = {}
        for number, node in enumerate(n for n in nodes if n.op == "Const" and n.name != feed):
            self.buffer_of[node.name] = f"constant_{number}"
            self.register_buffer(f"constant_{number}", torch.from_numpy(constant(node)))

    def forward(self, observations: Tensor) -> Tensor:
        """Compute the output for a batch, as the graph says, node by node."""
        values: dict[str, Any] = {self.feed: observations}
        for name, buffer in self.buffer_of.items():
            values[name] = getattr(self, buffer)
        for node in self.steps:
            values[node.name] = _run(node, values)
        result = values[self.output]
        return result[0] if isinstance(result, list) else result  # type: ignore[no-any-return]


def _run(node: Node, values: dict[str, Any]) -> Any:
    inputs = []
    for reference in node.inputs:
        name, place = source_name(reference)
        value = values[name]
        inputs.append(value[place] if isinstance(value, list) else value)
    try:
        return OPERATORS[node.op](node, *inputs)
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        raise FitError(f"node {node.name!r} ({node.op}) fails: {one_line(error)}") from error


def _refuse_unknown(nodes: Any) -> None:
    for node in nodes:
        if node.op not in OPERATORS and node.op != "Const":
            raise FitError(
                f"node {node.name!r} uses the operation {node.op!r}, which rpd does not know."
                f"{nearest(node.op, OPERATORS)}"
            )
