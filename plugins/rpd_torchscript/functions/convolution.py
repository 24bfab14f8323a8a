"""Convolutions and pooling, with every size worked out before torch is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor

from rpd_torchscript.functions.elementwise import torch_function
from rpd_torchscript.functions.function import Function
from rpd_torchscript.limits import Fault, Meter, check_count, check_sizes
from rpd_torchscript.values import check_ints, check_number, check_tensor

_WIDEST = 2**20
"""Pixels of padding, steps and the like."""


def spread(value: Any, axes: int, low: int, what: str) -> list[int]:
    """Return one number for each axis, each within its bounds."""
    numbers = check_ints(value)
    numbers = numbers * axes if len(numbers) == 1 else numbers
    if len(numbers) != axes or any(not low <= number <= _WIDEST for number in numbers):
        raise Fault(f"a {what} of {numbers[:9]} does not fit {axes} axes")
    return numbers


def _check_layer(value: Any, weight: Any, bias: Any, axes: int) -> tuple[Tensor, Tensor]:
    picture, kernel = check_tensor(value), check_tensor(weight)
    if kernel.dim() != axes + 2 or picture.dim() not in (axes + 1, axes + 2):
        raise Fault(
            f"a convolution over {axes} axes does not fit a picture of shape "
            f"{tuple(picture.shape)} and weights of shape {tuple(kernel.shape)}"
        )
    if bias is not None and check_tensor(bias).dim() != 1:
        raise Fault("the bias of a convolution needs one axis")
    if 0 in kernel.shape or 0 in picture.shape[-axes - 1 :]:
        raise Fault("a convolution has no numbers to work on")
    return picture, kernel


def _batch(picture: Tensor, axes: int) -> int:
    return picture.size(0) if picture.dim() == axes + 2 else 1


def _check_convolution(
    meter: Meter, picture: Tensor, kernel: Tensor, geometry: Sequence[Sequence[int]], groups: int
) -> None:
    """Refuse a convolution whose result, or whose windows laid out, are too large."""
    stride, padding, dilation = geometry
    axes = len(stride)
    if not 1 <= groups <= picture.size(-axes - 1):
        raise Fault(f"a convolution in {groups} groups is not to be had")
    sizes = []
    for place in range(axes):
        window = dilation[place] * (kernel.size(place + 2) - 1) + 1
        free = picture.size(place - axes) + 2 * padding[place] - window
        if free < 0:
            raise Fault("a convolution's window is larger than the picture")
        sizes.append(free // stride[place] + 1)
    _check_cost(meter, picture, kernel, sizes)


def _check_cost(meter: Meter, picture: Tensor, kernel: Tensor, sizes: Sequence[int]) -> None:
    axes = len(sizes)
    lanes, places = _batch(picture, axes), prod(sizes)
    check_count(lanes * kernel.size(0) * places)
    check_count(picture.size(-axes - 1) * prod(kernel.shape[2:]) * places)
    meter.worked(lanes * places * kernel.numel())


def _convolution(axes: int) -> Callable[..., Tensor]:
    function = torch_function(f"conv{axes}d")

    def call(
        meter: Meter,
        value: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: Any = 1,
    ) -> Tensor:
        picture, kernel = _check_layer(value, weight, bias, axes)
        steps = spread(stride, axes, 1, "stride")
        gaps = spread(dilation, axes, 1, "dilation")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise Fault("a convolution is padded in an unknown way")
            edges, border = [0] * axes, padding
            if padding == "same":
                edges = [gaps[i] * (kernel.size(i + 2) - 1) // 2 + 1 for i in range(axes)]
        else:
            edges = border = spread(padding, axes, 0, "padding")
        _check_convolution(meter, picture, kernel, (steps, edges, gaps), check_ints(groups)[0])
        return meter.made(function(picture, kernel, bias, steps, border, gaps, groups))

    return call


def _transposed(axes: int) -> Callable[..., Tensor]:
    function = torch_function(f"conv_transpose{axes}d")

    def call(
        meter: Meter,
        value: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: Any = 1,
        dilation: Any = 1,
    ) -> Tensor:
        picture, kernel = _check_layer(value, weight, bias, axes)
        steps = spread(stride, axes, 1, "stride")
        edges = spread(padding, axes, 0, "padding")
        more = spread(output_padding, axes, 0, "padding")
        gaps = spread(dilation, axes, 1, "dilation")
        count = check_ints(groups)[0]
        if not 1 <= count <= picture.size(-axes - 1):
            raise Fault(f"a convolution in {count} groups is not to be had")
        sizes = [
            (picture.size(i - axes) - 1) * steps[i] + gaps[i] * kernel.size(i + 2) + more[i]
            for i in range(axes)
        ]
        check_count(_batch(picture, axes) * kernel.size(1) * count * prod(sizes))
        check_count(kernel.size(1) * count * prod(kernel.shape[2:]) * prod(picture.shape[-axes:]))
        meter.worked(_batch(picture, axes) * prod(picture.shape[-axes:]) * kernel.numel())
        return meter.made(function(picture, kernel, bias, steps, edges, more, count, gaps))

    return call


def _traced_convolution(
    meter: Meter,
    value: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: Any,
    output_padding: Any,
    groups: Any,
    *flags: Any,
) -> Tensor:
    """Run what tracing makes of every convolution; the flags are for graphics cards."""
    axes = check_tensor(weight).dim() - 2
    if axes not in (1, 2, 3):
        raise Fault(f"a convolution over {axes} axes is not supported")
    if transposed:
        shape = (stride, padding, output_padding, groups, dilation)
        return _transposed(axes)(meter, value, weight, bias, *shape)
    return _CONVOLUTIONS[axes](meter, value, weight, bias, stride, padding, dilation, groups)


def _same_padded(axes: int) -> Callable[..., Tensor]:
    """Return the operator that `padding="same"` had in older files."""

    def call(
        meter: Meter,
        value: Any,
        weight: Any,
        bias: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: Any,
    ) -> Tensor:
        options = (stride, padding, dilation, groups)
        return _CONVOLUTIONS[axes](meter, value, weight, bias, *options)

    return call


# -------------------------------------------------------------------------- pooling


def _pooled(
    meter: Meter, value: Any, axes: int, kernel: Any, stride: Any, padding: Any, dilation: Any = 1
) -> tuple[Tensor, list[list[int]]]:
    """Check a pooling layer and return its picture and its shape, one list per setting."""
    picture = check_tensor(value)
    if picture.dim() not in (axes + 1, axes + 2) or 0 in picture.shape[-axes:]:
        raise Fault(f"pooling over {axes} axes does not fit shape {tuple(picture.shape)}")
    window = spread(kernel, axes, 1, "window")
    steps = window if stride in (None, [], ()) else spread(stride, axes, 1, "stride")
    edges = spread(padding, axes, 0, "padding")
    gaps = spread(dilation, axes, 1, "dilation")
    if any(2 * edge > width for edge, width in zip(edges, window, strict=True)):
        raise Fault(f"a pooling window of {window} has a padding of {edges}")
    sizes = [
        (picture.size(i - axes) + 2 * edges[i] - gaps[i] * (window[i] - 1) - 1) // steps[i] + 2
        for i in range(axes)
    ]
    if min(sizes) < 1:
        raise Fault("a pooling window is larger than the picture")
    count = prod(picture.shape[:-axes]) * prod(sizes)
    check_count(count)
    meter.worked(count * prod(window))
    return picture, [window, steps, edges, gaps]


def _max_pool(axes: int, name: str) -> Callable[..., Any]:
    function = torch_function(name)

    def call(
        meter: Meter,
        value: Any,
        kernel: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: Any = False,
    ) -> Any:
        picture, shape = _pooled(meter, value, axes, kernel, stride, padding, dilation)
        made = function(picture, *shape, bool(ceil_mode))
        return meter.made(made) if type(made) is Tensor else tuple(map(meter.made, made))

    return call


def _average_pool(axes: int) -> Callable[..., Tensor]:
    function = torch_function(f"avg_pool{axes}d")

    def call(
        meter: Meter,
        value: Any,
        kernel: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: Any = False,
        count_include_pad: Any = True,
        divisor_override: Any = None,
    ) -> Tensor:
        picture, shape = _pooled(meter, value, axes, kernel, stride, padding)
        flags: list[Any] = [bool(ceil_mode), bool(count_include_pad)]
        if divisor_override is not None:
            if not check_number(divisor_override):
                raise Fault("a pooling layer divides by zero")
            flags.append(divisor_override)
        return meter.made(function(picture, *shape[:3], *flags))

    return call


def _adaptive_pool(axes: int, name: str) -> Callable[..., Any]:
    function = torch_function(name)

    def call(meter: Meter, value: Any, size: Any) -> Any:
        picture, sizes = check_tensor(value), spread(size, axes, 1, "size")
        if picture.dim() not in (axes + 1, axes + 2) or 0 in picture.shape[-axes:]:
            raise Fault(f"pooling over {axes} axes does not fit shape {tuple(picture.shape)}")
        check_sizes([*picture.shape[:-axes], *sizes])
        windows = [picture.size(i - axes) // sizes[i] + 2 for i in range(axes)]
        meter.worked(prod(picture.shape[:-axes]) * prod(sizes) * prod(windows))
        made = function(picture, sizes)
        return meter.made(made) if type(made) is Tensor else tuple(map(meter.made, made))

    return call


_CONVOLUTIONS = {axes: _convolution(axes) for axes in (1, 2, 3)}
_CALLS: dict[str, Callable[..., Any]] = {
    **{f"aten::conv{axes}d": call for axes, call in _CONVOLUTIONS.items()},
    **{f"aten::conv_transpose{axes}d": _transposed(axes) for axes in (1, 2, 3)},
    **{f"aten::avg_pool{axes}d": _average_pool(axes) for axes in (2, 3)},
    **{f"aten::max_pool{axes}d": _max_pool(axes, f"max_pool{axes}d") for axes in (1, 2, 3)},
    **{
        f"aten::{name}{axes}d": _adaptive_pool(axes, f"{name}{axes}d")
        for name in ("adaptive_avg_pool", "adaptive_max_pool")
        for axes in (1, 2, 3)
    },
    "aten::_convolution": _traced_convolution,
    "aten::_convolution_mode": lambda meter, value, weight, *rest: _same_padded(
        check_tensor(weight).dim() - 2
    )(meter, value, weight, *rest),
    "aten::avg_pool1d": lambda meter, value, *rest: _average_pool_1d(meter, value, *rest),
    "aten::max_pool2d_with_indices": _max_pool(2, "max_pool2d_with_indices"),
}


def _average_pool_1d(
    meter: Meter,
    value: Any,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: Any = False,
    count_include_pad: Any = True,
) -> Tensor:
    picture, shape = _pooled(meter, value, 1, kernel, stride, padding)
    made = torch.avg_pool1d(picture, *shape[:3], bool(ceil_mode), bool(count_include_pad))
    return meter.made(made)


FUNCTIONS = {name: Function(call) for name, call in _CALLS.items()}
