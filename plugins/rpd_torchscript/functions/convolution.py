"""Convolutions and pooling, with every size worked out before torch is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

from torch import Tensor

from rpd_torchscript.functions.elementwise import torch_function
from rpd_torchscript.functions.function import Function
from rpd_torchscript.limits import Fault, Meter, check_count, check_sizes
from rpd_torchscript.values import (
    check_int,
    check_ints,
    check_number,
    check_tensor,
    frozen,
    shape_of,
)

Shape = tuple[int, ...]
_WIDEST = 2**20
"""Pixels of padding, steps and the like."""


def spread(value: Any, axes: int, low: int, what: str) -> list[int]:
    """Return one number for each axis, each within its bounds."""
    numbers = check_ints(value)
    numbers = numbers * axes if len(numbers) == 1 else numbers
    if len(numbers) != axes or any(not low <= number <= _WIDEST for number in numbers):
        raise Fault(f"a {what} of {numbers[:9]} does not fit {axes} axes")
    return numbers


@dataclass(frozen=True)
class _Plan:
    """A layer whose sizes were found to be good."""

    work: int
    settings: tuple[Any, ...]
    """What torch is told besides the tensors."""


def _check_shapes(picture: Shape, kernel: Shape, bias: Shape | None, axes: int) -> None:
    if len(kernel) != axes + 2 or len(picture) not in (axes + 1, axes + 2):
        raise Fault(
            f"a convolution over {axes} axes does not fit a picture of shape {tuple(picture)} and "
            f"weights of shape {tuple(kernel)}"
        )
    if bias is not None and len(bias) != 1:
        raise Fault("the bias of a convolution needs one axis")
    if 0 in kernel or 0 in picture[-axes - 1 :]:
        raise Fault("a convolution has no numbers to work on")


def _lanes(picture: Shape, axes: int) -> int:
    return picture[0] if len(picture) == axes + 2 else 1


def _check_groups(groups: Any, picture: Shape, axes: int) -> int:
    count = check_int(groups)
    if not 1 <= count <= picture[-axes - 1]:
        raise Fault(f"a convolution in {count} groups is not to be had")
    return count


@lru_cache(maxsize=256)
def _plan_convolution(
    axes: int,
    picture: Shape,
    kernel: Shape,
    bias: Shape | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: Any,
) -> _Plan:
    """Refuse a convolution whose result, or whose windows laid out, are too large."""
    _check_shapes(picture, kernel, bias, axes)
    steps = spread(stride, axes, 1, "stride")
    gaps = spread(dilation, axes, 1, "dilation")
    count = _check_groups(groups, picture, axes)
    edges, border = _edges(padding, kernel, gaps)
    places = 1
    for axis in range(axes):
        window = gaps[axis] * (kernel[axis + 2] - 1) + 1
        free = picture[axis - axes] + 2 * edges[axis] - window
        if free < 0:
            raise Fault("a convolution's window is larger than the picture")
        places *= free // steps[axis] + 1
    check_count(_lanes(picture, axes) * kernel[0] * places)
    check_count(picture[-axes - 1] * prod(kernel[2:]) * places)
    work = _lanes(picture, axes) * places * prod(kernel)
    return _Plan(work, (steps, border, gaps, count))


def _edges(padding: Any, kernel: Shape, gaps: list[int]) -> tuple[list[int], Any]:
    """Return the most that is added on each side, and what torch is told."""
    if not isinstance(padding, str):
        edges = spread(padding, len(gaps), 0, "padding")
        return edges, edges
    if padding == "valid":
        return [0] * len(gaps), padding
    if padding != "same":
        raise Fault("a convolution is padded in an unknown way")
    return [gap * (size - 1) // 2 + 1 for gap, size in zip(gaps, kernel[2:], strict=True)], padding


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
        shapes = check_tensor(value).shape, check_tensor(weight).shape, shape_of(bias)
        layout = frozen(stride), frozen(padding), frozen(dilation), groups
        plan = _plan_convolution(axes, *shapes, *layout)
        meter.worked(plan.work)
        return meter.made(function(value, weight, bias, *plan.settings))

    return call


@lru_cache(maxsize=256)
def _plan_transposed(
    axes: int,
    picture: Shape,
    kernel: Shape,
    bias: Shape | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: Any,
    dilation: Any,
) -> _Plan:
    _check_shapes(picture, kernel, bias, axes)
    steps = spread(stride, axes, 1, "stride")
    edges = spread(padding, axes, 0, "padding")
    more = spread(output_padding, axes, 0, "padding")
    gaps = spread(dilation, axes, 1, "dilation")
    count = _check_groups(groups, picture, axes)
    sizes = [
        (picture[i - axes] - 1) * steps[i] + gaps[i] * kernel[i + 2] + more[i] for i in range(axes)
    ]
    pixels = prod(picture[-axes:])
    check_count(_lanes(picture, axes) * kernel[1] * count * prod(sizes))
    check_count(kernel[1] * count * prod(kernel[2:]) * pixels)
    work = _lanes(picture, axes) * pixels * prod(kernel)
    return _Plan(work, (steps, edges, more, count, gaps))


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
        shapes = check_tensor(value).shape, check_tensor(weight).shape, shape_of(bias)
        layout = map(frozen, (stride, padding, output_padding, groups, dilation))
        plan = _plan_transposed(axes, *shapes, *layout)
        meter.worked(plan.work)
        return meter.made(function(value, weight, bias, *plan.settings))

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


def _named_padding(meter: Meter, value: Any, weight: Any, *rest: Any) -> Tensor:
    """Run the operator that `padding="same"` has in some files."""
    axes = check_tensor(weight).dim() - 2
    if axes not in (1, 2, 3):
        raise Fault(f"a convolution over {axes} axes is not supported")
    return _CONVOLUTIONS[axes](meter, value, weight, *rest)


# -------------------------------------------------------------------------- pooling


@lru_cache(maxsize=256)
def _plan_pooling(
    axes: int, picture: Shape, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> _Plan:
    if len(picture) not in (axes + 1, axes + 2) or 0 in picture[-axes:]:
        raise Fault(f"pooling over {axes} axes does not fit shape {tuple(picture)}")
    window = spread(kernel, axes, 1, "window")
    steps = window if stride in (None, ()) else spread(stride, axes, 1, "stride")
    edges = spread(padding, axes, 0, "padding")
    gaps = spread(dilation, axes, 1, "dilation")
    if any(2 * edge > width for edge, width in zip(edges, window, strict=True)):
        raise Fault(f"a pooling window of {window} has a padding of {edges}")
    sizes = [
        (picture[i - axes] + 2 * edges[i] - gaps[i] * (window[i] - 1) - 1) // steps[i] + 2
        for i in range(axes)
    ]
    if min(sizes) < 1:
        raise Fault("a pooling window is larger than the picture")
    count = prod(picture[:-axes]) * prod(sizes)
    check_count(count)
    return _Plan(count * prod(window), (window, steps, edges, gaps))


def _pooling(
    meter: Meter, value: Any, axes: int, kernel: Any, stride: Any, padding: Any, dilation: Any = 1
) -> tuple[Any, ...]:
    """Check a pooling layer; return its window, stride, padding and dilation."""
    layout = frozen(kernel), frozen(stride), frozen(padding), frozen(dilation)
    plan = _plan_pooling(axes, check_tensor(value).shape, *layout)
    meter.worked(plan.work)
    return plan.settings


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
        shape = _pooling(meter, value, axes, kernel, stride, padding, dilation)
        made = function(value, *shape, bool(ceil_mode))
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
        shape = _pooling(meter, value, axes, kernel, stride, padding)
        flags: list[Any] = [bool(ceil_mode), bool(count_include_pad)]
        if divisor_override is not None:
            if not check_number(divisor_override):
                raise Fault("a pooling layer divides by zero")
            flags.append(divisor_override)
        return meter.made(function(value, *shape[:3], *flags))

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


def _average_pool_1d(
    meter: Meter,
    value: Any,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: Any = False,
    count_include_pad: Any = True,
) -> Tensor:
    shape = _pooling(meter, value, 1, kernel, stride, padding)
    flags = bool(ceil_mode), bool(count_include_pad)
    return meter.made(torch_function("avg_pool1d")(value, *shape[:3], *flags))


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
    "aten::_convolution_mode": _named_padding,
    "aten::avg_pool1d": _average_pool_1d,
    "aten::max_pool2d_with_indices": _max_pool(2, "max_pool2d_with_indices"),
}
_RAW = {
    f"aten::{name}": torch_function(name)
    for name in ("conv1d", "conv2d", "conv3d", "avg_pool2d", "max_pool1d", "max_pool2d")
}
FUNCTIONS = {name: Function(call, raw=_RAW.get(name)) for name, call in _CALLS.items()}
