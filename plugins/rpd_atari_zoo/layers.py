"""The operations of a picture network: convolutions, pools, patches and what pads them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from rpd_atari_zoo.graph import Node
from rpd_core.errors import FitError
from rpd_core.untrusted.boundary import quoted

_LARGEST = 256
"""Largest kernel, stride or rate: pictures have some 84 rows."""


def spatial(node: Node, attribute: str) -> tuple[int, int]:
    """Return height and width of an attribute with one number per axis; 1, 1 if it is missing."""
    numbers = node.numbers(attribute)
    if not numbers:
        return 1, 1
    first = 2 if node.text("data_format", "NHWC") == "NCHW" else 1
    height, width = numbers[first], numbers[first + 1]
    if not (1 <= height <= _LARGEST and 1 <= width <= _LARGEST):
        raise FitError(
            f"node {quoted(node.name)} ({node.op}) has {attribute} of {height} and {width} where "
            f"1 to {_LARGEST} are possible: the file is damaged"
        )
    return height, width


def channels_first(node: Node, picture: Tensor) -> Tensor:
    """Return a batch of pictures with the channels in front, as torch wants it."""
    if node.text("data_format", "NHWC") == "NCHW":
        return picture
    return picture.permute(0, 3, 1, 2)


def _restore_layout(node: Node, picture: Tensor) -> Tensor:
    """Put the channels back where the graph has them."""
    if node.text("data_format", "NHWC") == "NCHW":
        return picture
    return picture.permute(0, 2, 3, 1)


def same_padding(size: int, kernel: int, stride: int, dilation: int = 1) -> tuple[int, int]:
    """Return TensorFlow's SAME padding before and after; the odd one goes after."""
    reach = (kernel - 1) * dilation + 1
    total = max((-(-size // stride) - 1) * stride + reach - size, 0)
    return total // 2, total - total // 2


def pad(
    node: Node,
    picture: Tensor,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    value: float = 0.0,
) -> Tensor:
    """Pad a channels-first batch as the node says."""
    padding = node.text("padding", "VALID")
    if padding == "VALID":
        return picture
    if padding != "SAME":
        raise FitError(
            f"node {quoted(node.name)} ({node.op}) has padding {padding!r}: not supported"
        )
    dilation = spatial(node, "dilations" if "dilations" in node.attributes else "rates")
    top, bottom = same_padding(picture.shape[2], kernel[0], stride[0], dilation[0])
    left, right = same_padding(picture.shape[3], kernel[1], stride[1], dilation[1])
    return F.pad(picture, (left, right, top, bottom), value=value)


def convolution(node: Node, picture: Tensor, weights: Tensor) -> Tensor:
    """Convolve; TensorFlow keeps weights as height, width, in, out."""
    stride = spatial(node, "strides")
    kernel = weights.shape[0], weights.shape[1]
    whole = pad(node, channels_first(node, picture), kernel, stride)
    result = F.conv2d(
        whole,
        weights.permute(3, 2, 0, 1),
        stride=stride,
        dilation=spatial(node, "dilations"),
    )
    return _restore_layout(node, result)


def add_bias(node: Node, values: Tensor, bias: Tensor) -> Tensor:
    """Add one number per channel."""
    if node.text("data_format", "NHWC") == "NCHW" and values.dim() > 2:
        return values + bias.reshape(-1, *[1] * (values.dim() - 2))
    return values + bias


def max_pool(node: Node, picture: Tensor) -> Tensor:
    """Take the largest value of each window."""
    kernel, stride = (spatial(node, name) for name in ("ksize", "strides"))
    whole = pad(node, channels_first(node, picture), kernel, stride, float("-inf"))
    return _restore_layout(node, F.max_pool2d(whole, kernel, stride))


def average_pool(node: Node, picture: Tensor) -> Tensor:
    """Take the mean of each window; padding does not count."""
    kernel, stride = (spatial(node, name) for name in ("ksize", "strides"))
    first = channels_first(node, picture)
    ones = torch.ones_like(first[:1, :1])
    total = F.avg_pool2d(pad(node, first, kernel, stride), kernel, stride)
    share = F.avg_pool2d(pad(node, ones, kernel, stride), kernel, stride)
    return _restore_layout(node, total / share)


def image_patches(node: Node, picture: Tensor) -> Tensor:
    """Lay out the window around each place as one row: height, width, channel, in this order."""
    kernel, stride = (spatial(node, name) for name in ("ksizes", "strides"))
    rates = spatial(node, "rates")
    whole = pad(node, picture.permute(0, 3, 1, 2), kernel, stride)
    _check_inside(node, whole, kernel, rates)
    rows = (whole.shape[2] - (kernel[0] - 1) * rates[0] - 1) // stride[0] + 1
    columns = (whole.shape[3] - (kernel[1] - 1) * rates[1] - 1) // stride[1] + 1
    pieces = [
        whole[
            :,
            :,
            y * rates[0] : y * rates[0] + (rows - 1) * stride[0] + 1 : stride[0],
            x * rates[1] : x * rates[1] + (columns - 1) * stride[1] + 1 : stride[1],
        ].permute(0, 2, 3, 1)
        for y in range(kernel[0])
        for x in range(kernel[1])
    ]
    return torch.cat(pieces, dim=3)


def _check_inside(
    node: Node, picture: Tensor, kernel: tuple[int, int], rates: tuple[int, int]
) -> None:
    reach = [(size - 1) * rate + 1 for size, rate in zip(kernel, rates, strict=True)]
    if reach[0] > picture.shape[2] or reach[1] > picture.shape[3]:
        raise FitError(f"node {quoted(node.name)} ({node.op}) looks at more than the picture has")


def batch_norm(node: Node, *inputs: Tensor) -> Tensor:
    """Normalise with the stored mean and variance."""
    if node.flag("is_training"):
        raise FitError(
            f"node {quoted(node.name)} ({node.op}) is frozen in training mode: freeze it again"
        )
    picture, scale, offset, mean, variance = inputs
    epsilon = node.real("epsilon", 1e-4)
    first = channels_first(node, picture)
    return _restore_layout(node, F.batch_norm(first, mean, variance, scale, offset, eps=epsilon))
