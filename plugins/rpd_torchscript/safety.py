"""A walk over everything a loaded TorchScript module could run, before it runs anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rpd_core.errors import FitError
from rpd_torchscript.archive import refused
from rpd_torchscript.operators import ALLOWED, RANDOM


def check_graphs(module: Any, path: Path) -> None:
    """Refuse a module that uses an operator outside the allow-list in any of its methods."""
    for node in module_nodes(module):
        kind = node.kind()
        if kind in RANDOM:
            raise FitError(
                f"{path.name} draws its actions itself ({kind!r}), which no seed could repeat: "
                "save a module that returns logits, and rpd draws from them"
            )
        if kind not in ALLOWED:
            raise refused(path, f"the operator {kind!r}, which no policy needs")
        _check_device(node, path)


def module_nodes(module: Any) -> Iterator[Any]:
    """Give the nodes of all methods of all submodules, with what they call put in place."""
    for part in module.modules():
        inner = part._c
        for name in inner._method_names():
            yield from block_nodes(inner._get_method(name).inlined_graph)


def block_nodes(block: Any) -> Iterator[Any]:
    """Give the nodes of a graph and of the blocks inside them."""
    waiting = [block]
    while waiting:
        for node in waiting.pop().nodes():
            yield node
            waiting.extend(node.blocks())
            waiting.extend(
                node.g(name) for name in node.attributeNames() if node.kindOf(name) == "g"
            )


def _check_device(node: Any, path: Path) -> None:
    """Say so if the graph itself names a graphics card; moving the weights does not help there."""
    if node.kind() != "prim::Constant" or node.output().type().kind() != "DeviceObjType":
        return
    device = str(node.output().toIValue())
    if not device.startswith("cpu"):
        raise FitError(
            f"{path.name} was traced on {device!r} and asks for it when called: move the module "
            "to the CPU, trace it again and save that"
        )
