"""A frozen graph as a torch module: the nodes between a feed and an output, in order."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from rpd_atari_zoo.budget import Budget
from rpd_atari_zoo.graph import Graph, Node, constant, find_node, source_name
from rpd_atari_zoo.operators import OPERATORS
from rpd_core.errors import FitError, RpdError, nearest, one_line
from rpd_core.untrusted.boundary import printable, quoted

_MOST_NODES = 20_000
_MOST_NUMBERS = 2**26
"""Numbers in all constants together; the zoo's largest networks have four million."""
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
            raise FitError(
                f"the graph runs in a circle through {quoted(name)}: not a frozen network"
            )
        entered.add(name)
        if len(entered) > _MOST_NODES:
            raise FitError(
                f"the output {quoted(output)} depends on more than {_MOST_NODES:,} nodes: not a "
                "network of the zoo"
            )
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
            raise FitError(f"the output {quoted(output)} does not depend on {quoted(feed)}")
        if self.others:
            names = ", ".join(map(quoted, self.others[:5]))
            raise FitError(
                f"the output {quoted(output)} also needs {names}, which nothing feeds: choose "
                "another output with node=..."
            )
        _refuse_unknown(node for node in nodes if node.name != feed)
        self.steps = [node for node in nodes if node.op != "Const" and node.name != feed]
        self.spent = _spent_after(self.steps, output)
        self.buffer_of: dict[str, str] = {}
        self._keep([node for node in nodes if node.op == "Const" and node.name != feed])

    def _keep(self, constants: list[Node]) -> None:
        """Keep the values of constants, as long as there is room for all of them."""
        room = _MOST_NUMBERS
        for number, node in enumerate(constants):
            values = constant(node)
            room -= values.size
            if room < 0:
                raise FitError(
                    f"its constants are more than {_MOST_NUMBERS:,} numbers: not a network of the "
                    "zoo"
                )
            self.buffer_of[node.name] = f"constant_{number}"
            self.register_buffer(f"constant_{number}", torch.from_numpy(values))

    def forward(self, observations: Tensor, budget: Budget) -> Tensor:
        """Compute the output for a batch, as the graph says, node by node."""
        values: dict[str, Any] = {self.feed: observations}
        for name, buffer in self.buffer_of.items():
            values[name] = getattr(self, buffer)
        for node, spent in zip(self.steps, self.spent, strict=True):
            values[node.name] = _compute(node, values, budget)
            for name in spent:
                del values[name]
        result = values[self.output]
        return result[0] if isinstance(result, list) else result  # type: ignore[no-any-return]


def _spent_after(steps: list[Node], output: str) -> list[list[str]]:
    """Return, for each step, the values that no later step reads and that would pile up."""
    last: dict[str, int] = {}
    for place, node in enumerate(steps):
        last |= {source_name(reference)[0]: place for reference in node.inputs}
    spent: list[list[str]] = [[] for _ in steps]
    for name, place in last.items():
        if name != output:
            spent[place].append(name)
    return spent


def _compute(node: Node, values: dict[str, Any], budget: Budget) -> Any:
    try:
        inputs = [_input(reference, values) for reference in node.inputs]
        budget.spend(node, inputs)
        return OPERATORS[node.op](node, *inputs)
    except RpdError:
        raise
    except Exception as error:  # inputs that do not fit the operation fail in many ways
        reason = printable(one_line(error), 300)
        raise FitError(f"node {quoted(node.name)} ({node.op}) fails: {reason}") from error


def _input(reference: str, values: dict[str, Any]) -> Any:
    name, place = source_name(reference)
    value = values[name]
    if isinstance(value, list):
        return value[place]
    if place:
        raise IndexError(f"{quoted(name)} has no output {place}")
    return value


def _refuse_unknown(nodes: Any) -> None:
    for node in nodes:
        if node.op not in OPERATORS and node.op != "Const":
            raise FitError(
                f"node {quoted(node.name)} uses the operation {quoted(node.op)}, which rpd does "
                f"not know.{nearest(node.op[:100], OPERATORS)}"
            )
