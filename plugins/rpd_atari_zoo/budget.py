"""A bound on the memory and work that a graph may take, checked before each operation.

Sizes multiply from node to node: a few bytes of a graph could ask for any amount of memory, and two
moderate matrices for hours of work. So the size of each result is estimated, from above, before it
is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from torch import Tensor

from rpd_atari_zoo.graph import Node
from rpd_atari_zoo.layers import spatial
from rpd_atari_zoo.operators import list_sizes
from rpd_core.errors import FitError
from rpd_core.untrusted.boundary import check_loading, quoted

_NUMBERS = 2**24, 2**23
"""Numbers that all results together may have: for constants, and for each picture more."""
_PRODUCTS = 2**30, 2**28
"""Multiplications likewise; the zoo's networks need some ten million for a picture."""
Cost = tuple[int, int]
"""Numbers in a result, and multiplications that it takes."""


@dataclass
class Budget:
    """What is left for the rest of a graph."""

    numbers: int
    products: int

    @classmethod
    def for_rows(cls, rows: int, one_by_one: bool) -> Budget:
        """Return the budget of a batch, or the share of one row if each is computed alone."""
        whole = [base + rows * each for base, each in (_NUMBERS, _PRODUCTS)]
        share = max(rows, 1) if one_by_one else 1
        return cls(whole[0] // share, whole[1] // share)

    def spend(self, node: Node, inputs: Sequence[Any]) -> None:
        """Take the cost of an operation off, or refuse the operation."""
        check_loading()
        numbers, products = estimate(node, inputs)
        self.numbers -= numbers
        self.products -= products
        if self.numbers < 0 or self.products < 0:
            raise FitError(
                f"node {quoted(node.name)} ({node.op}) takes the graph beyond what networks of the "
                "zoo compute: it is damaged or not one of them"
            )


def estimate(node: Node, inputs: Sequence[Any]) -> Cost:
    """Return at least the cost of an operation; most give no more numbers than they take."""
    rule = _RULES.get(node.op)
    if rule is not None:
        return rule(node, *inputs)
    largest = max((part.numel() for part in inputs if isinstance(part, Tensor)), default=1)
    return largest, largest


def _common(node: Node, *inputs: Tensor) -> Cost:
    """Cover operations that stretch their inputs to a common shape."""
    sizes = math.prod(_stretched([part.shape for part in inputs]))
    return sizes, sizes * len(inputs)


def _stretched(shapes: Sequence[Sequence[int]]) -> list[int]:
    aligned = zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1)
    return [max(sizes) for sizes in aligned]


def _joined(node: Node, *inputs: Tensor) -> Cost:
    total = sum(part.numel() for part in inputs)
    return total, total


def _product(node: Node, left: Tensor, right: Tensor) -> Cost:
    inner, height = left.shape[-1], left.shape[-2]
    if node.flag("transpose_a") or node.flag("adj_x"):
        inner, height = height, inner
    width = right.shape[-2 if node.flag("transpose_b") or node.flag("adj_y") else -1]
    numbers = math.prod(_stretched([left.shape[:-2], right.shape[:-2]])) * height * width
    return numbers, numbers * inner


def _windows(node: Node, picture: Tensor, kernel: Sequence[int]) -> tuple[int, int]:
    """Return the numbers of a padded batch of pictures, and its windows in one channel."""
    first = node.text("data_format", "NHWC") == "NCHW"
    rows, channels = picture.shape[0], picture.shape[1 if first else 3]
    sides = picture.shape[2:4] if first else picture.shape[1:3]
    rates = spatial(node, "dilations" if "dilations" in node.attributes else "rates")
    padded = [side + size * rate for side, size, rate in zip(sides, kernel, rates, strict=True)]
    strides = spatial(node, "strides")
    places = [-(-side // stride) for side, stride in zip(padded, strides, strict=True)]
    return rows * channels * math.prod(padded), rows * math.prod(places)


def _convolution(node: Node, picture: Tensor, weights: Tensor) -> Cost:
    padded, windows = _windows(node, picture, weights.shape[:2])
    numbers = windows * weights.shape[3]
    return padded + numbers, numbers * math.prod(weights.shape[:3])


def _pool(node: Node, picture: Tensor) -> Cost:
    kernel = spatial(node, "ksize")
    padded, windows = _windows(node, picture, kernel)
    numbers = windows * picture.shape[1 if node.text("data_format", "NHWC") == "NCHW" else 3]
    return padded + numbers, numbers * math.prod(kernel)


def _patches(node: Node, picture: Tensor) -> Cost:
    kernel = spatial(node, "ksizes")
    padded, windows = _windows(node, picture, kernel)
    numbers = padded + 2 * windows * picture.shape[3] * math.prod(kernel)
    return numbers, numbers


def _gather(node: Node, values: Tensor, indices: Tensor) -> Cost:
    numbers = indices.numel() * math.prod(values.shape[1:])
    return numbers, numbers


def _tile(node: Node, values: Tensor, counts: Tensor) -> Cost:
    numbers = values.numel() * math.prod(map(abs, list_sizes(node, counts)))
    return numbers, numbers


def _fill(node: Node, shape: Tensor, value: Tensor) -> Cost:
    numbers = math.prod(map(abs, list_sizes(node, shape)))
    return numbers, numbers


def _pad(node: Node, values: Tensor, amounts: Tensor) -> Cost:
    pairs = list_sizes(node, amounts)
    sides = zip(values.shape, pairs, strict=True)
    numbers = math.prod(side + abs(before) + abs(after) for side, (before, after) in sides)
    return numbers, numbers


def _linspace(node: Node, start: Tensor, stop: Tensor, count: Tensor) -> Cost:
    return abs(int(count)), abs(int(count))


_COMMON = (
    "Add", "AddN", "AddV2", "Div", "FloorDiv", "Maximum", "Minimum", "Mul", "Pow", "RealDiv",
    "SquaredDifference", "Sub",
)  # fmt: skip
_RULES: dict[str, Callable[..., Cost]] = {
    **dict.fromkeys(_COMMON, _common),
    "AvgPool": _pool,
    "BatchMatMul": _product,
    "BatchMatMulV2": _product,
    "ConcatV2": _joined,
    "Conv2D": _convolution,
    "ExtractImagePatches": _patches,
    "Fill": _fill,
    "Gather": _gather,
    "LinSpace": _linspace,
    "MatMul": _product,
    "MaxPool": _pool,
    "Pack": _joined,
    "Pad": _pad,
    "Tile": _tile,
}
