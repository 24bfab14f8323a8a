"""TensorFlow operations in torch, each under TensorFlow's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rpd_atari_zoo import layers
from rpd_atari_zoo.graph import Node
from rpd_core.errors import FitError
from rpd_core.untrusted.boundary import quoted

Operator = Callable[..., Any]
"""(node, inputs) -> tensor, or a list of tensors where the operation has several outputs."""


def _torch_type(dtype: Any) -> torch.dtype:
    """Return torch's type for a NumPy type."""
    return torch.from_numpy(np.zeros(1, dtype=dtype)).dtype


_MOST_SIZES = 64
_MOST_PARTS = 1024


def list_sizes(node: Node, values: Tensor) -> list[Any]:
    """Return the whole numbers that say how to cut, turn or repeat something."""
    if values.numel() > _MOST_SIZES:
        raise FitError(
            f"node {quoted(node.name)} ({node.op}) is given {values.numel():,} sizes or places "
            f"where at most {_MOST_SIZES} make sense: the file is damaged"
        )
    listed: list[Any] = values.tolist()
    return listed


def _plain(function: Callable[..., Tensor]) -> Operator:
    """Make an operator of a function that needs no attributes."""
    return lambda node, *inputs: function(*inputs)


def _axes(node: Node, indices: Tensor, dimensions: int) -> list[int]:
    return sorted({int(axis) % dimensions for axis in list_sizes(node, indices.reshape(-1))})


def _reduction(function: Callable[..., Tensor]) -> Operator:
    """Reduce over the listed axes, from the last to the first, so that numbers stay valid."""

    def reduce(node: Node, values: Tensor, indices: Tensor) -> Tensor:
        keep = node.flag("keep_dims")
        for axis in reversed(_axes(node, indices, values.dim())):
            values = function(values, dim=axis, keepdim=keep)
        return values

    return reduce


def _matmul(node: Node, left: Tensor, right: Tensor) -> Tensor:
    if node.flag("transpose_a") or node.flag("adj_x"):
        left = left.transpose(-1, -2)
    if node.flag("transpose_b") or node.flag("adj_y"):
        right = right.transpose(-1, -2)
    return left @ right


def _squeeze(node: Node, values: Tensor) -> Tensor:
    axes = node.numbers("squeeze_dims") or [i for i, n in enumerate(values.shape) if n == 1]
    for axis in sorted((axis % values.dim() for axis in axes), reverse=True):
        values = values.squeeze(axis)
    return values


def _strided_slice(node: Node, values: Tensor, *bounds: Tensor) -> Tensor:
    """Index as TensorFlow's slices do; masks say which bounds are open or drop their axis."""
    begin, end, stride = (list_sizes(node, bound) for bound in bounds)
    masks = {
        name: node.number(f"{name}_mask", 0)
        for name in ("begin", "end", "shrink_axis", "new_axis", "ellipsis")
    }
    index: list[Any] = []
    for place in range(len(begin)):
        bit = 1 << place
        if masks["new_axis"] & bit:
            index.append(None)
        elif masks["ellipsis"] & bit:
            index.append(...)
        elif masks["shrink_axis"] & bit:
            index.append(begin[place])
        else:
            if stride[place] < 1:
                raise FitError(
                    f"node {quoted(node.name)} (StridedSlice) goes backwards: not supported"
                )
            start = None if masks["begin"] & bit else begin[place]
            stop = None if masks["end"] & bit else end[place]
            index.append(slice(start, stop, stride[place]))
    return values[tuple(index)]


def _slice(node: Node, values: Tensor, begin: Tensor, size: Tensor) -> Tensor:
    parts = zip(list_sizes(node, begin), list_sizes(node, size), strict=True)
    return values[tuple(slice(b, None if n < 0 else b + n) for b, n in parts)]


def _linspace(node: Node, start: Tensor, stop: Tensor, count: Tensor) -> Tensor:
    return torch.linspace(float(start), float(stop), int(count), dtype=start.dtype)


def _pad(node: Node, values: Tensor, amounts: Tensor) -> Tensor:
    flat = [number for pair in reversed(list_sizes(node, amounts)) for number in pair]
    return torch.nn.functional.pad(values, flat)


def _arg_max(node: Node, values: Tensor, axis: Tensor) -> Tensor:
    return values.argmax(dim=int(axis))


def _shape(node: Node, values: Tensor) -> Tensor:
    return torch.tensor(list(values.shape))


def _divide(node: Node, left: Tensor, right: Tensor) -> Tensor:
    if left.is_floating_point():
        return left / right
    return torch.div(left, right, rounding_mode="floor")


def _split(node: Node, axis: Tensor, values: Tensor) -> list[Tensor]:
    count = node.number("num_split", 1)
    _check_parts(node, count)
    return list(values.chunk(count, dim=int(axis)))


def _unpack(node: Node, values: Tensor) -> list[Tensor]:
    axis = node.number("axis", 0)
    _check_parts(node, values.shape[axis])
    return list(values.unbind(axis))


def _check_parts(node: Node, count: int) -> None:
    if not 1 <= count <= _MOST_PARTS:
        raise FitError(
            f"node {quoted(node.name)} ({node.op}) makes {count:,} parts where 1 to {_MOST_PARTS} "
            "are possible: the file is damaged"
        )


_SAME_VALUE = ("Identity", "StopGradient", "PreventGradient", "Snapshot", "CheckNumerics")

OPERATORS: dict[str, Operator] = {
    **{name: _plain(lambda value: value) for name in _SAME_VALUE},
    "Add": _plain(torch.add),
    "AddV2": _plain(torch.add),
    "AddN": lambda node, *inputs: sum(inputs[1:], inputs[0]),
    "ArgMax": _arg_max,
    "AvgPool": layers.average_pool,
    "BatchMatMul": _matmul,
    "BatchMatMulV2": _matmul,
    "BiasAdd": layers.add_bias,
    "Cast": lambda node, value: value.to(_torch_type(node.dtype("DstT"))),
    "ConcatV2": lambda node, *inputs: torch.cat(inputs[:-1], dim=int(inputs[-1])),
    "Conv2D": layers.convolution,
    "Div": _divide,
    "Elu": _plain(torch.nn.functional.elu),
    "Exp": _plain(torch.exp),
    "ExpandDims": lambda node, value, axis: value.unsqueeze(int(axis)),
    "ExtractImagePatches": layers.image_patches,
    "Fill": lambda node, shape, value: value.expand(list_sizes(node, shape)),
    "FloorDiv": _plain(lambda left, right: torch.div(left, right, rounding_mode="floor")),
    "FusedBatchNorm": layers.batch_norm,
    "FusedBatchNormV2": layers.batch_norm,
    "FusedBatchNormV3": layers.batch_norm,
    "Gather": _plain(lambda values, indices: values[indices.long()]),
    "LeakyRelu": lambda node, value: torch.nn.functional.leaky_relu(value, node.real("alpha", 0.2)),
    "LinSpace": _linspace,
    "Log": _plain(torch.log),
    "LogSoftmax": _plain(lambda value: value.log_softmax(dim=-1)),
    "MatMul": _matmul,
    "Max": _reduction(torch.amax),
    "MaxPool": layers.max_pool,
    "Maximum": _plain(torch.maximum),
    "Mean": _reduction(torch.mean),
    "Min": _reduction(torch.amin),
    "Minimum": _plain(torch.minimum),
    "Mul": _plain(torch.mul),
    "Neg": _plain(torch.neg),
    "Pack": lambda node, *inputs: torch.stack(inputs, dim=node.number("axis", 0)),
    "Pad": _pad,
    "Pow": _plain(torch.pow),
    "Prod": _reduction(torch.prod),
    "Rank": lambda node, value: torch.tensor(value.dim()),
    "RealDiv": _plain(torch.true_divide),
    "Relu": _plain(torch.relu),
    "Relu6": _plain(torch.nn.functional.relu6),
    "Reshape": lambda node, value, shape: value.reshape(list_sizes(node, shape)),
    "Rsqrt": _plain(torch.rsqrt),
    "Shape": _shape,
    "Sigmoid": _plain(torch.sigmoid),
    "Size": lambda node, value: torch.tensor(value.numel()),
    "Slice": _slice,
    "Softmax": _plain(lambda value: value.softmax(dim=-1)),
    "Split": _split,
    "Sqrt": _plain(torch.sqrt),
    "Square": _plain(torch.square),
    "SquaredDifference": _plain(lambda left, right: (left - right) ** 2),
    "Squeeze": _squeeze,
    "StridedSlice": _strided_slice,
    "Sub": _plain(torch.sub),
    "Sum": _reduction(torch.sum),
    "Tanh": _plain(torch.tanh),
    "Tile": lambda node, value, counts: value.repeat(list_sizes(node, counts)),
    "Transpose": lambda node, value, order: value.permute(list_sizes(node, order)),
    "Unpack": _unpack,
}
"""Every operation that networks of the zoo are made of."""
