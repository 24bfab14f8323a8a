"""Normalisation, dropout, padding and resizing."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, prod
from typing import Any

import torch
from torch import Tensor

from rpd_torchscript.functions.convolution import spread
from rpd_torchscript.functions.elementwise import torch_function
from rpd_torchscript.functions.function import Function
from rpd_torchscript.limits import Fault, Forbidden, Meter, check_sizes
from rpd_torchscript.values import check_int, check_ints, check_number, check_tensor

_NORMALISING = 10
_DROPOUTS = "alpha_dropout dropout dropout_ feature_alpha_dropout feature_dropout"
_DEEPEST_PAD = 2**20


def _channel_values(picture: Tensor, *values: Any) -> list[Tensor | None]:
    """Return weights that have one number for each channel."""
    if picture.dim() < 2:
        raise Fault(f"shape {tuple(picture.shape)} has no channels to normalise")
    for value in values:
        if value is not None and tuple(check_tensor(value).shape) != (picture.size(1),):
            raise Fault(f"{tuple(value.shape)} numbers normalise {picture.size(1)} channels")
    return list(values)


def _batch_norm(
    meter: Meter,
    value: Any,
    weight: Any,
    bias: Any,
    mean: Any,
    variance: Any,
    training: Any,
    momentum: Any,
    eps: Any,
    cudnn_enabled: Any = False,
) -> Tensor:
    if training:
        raise Forbidden(
            "normalises over the lanes of a batch ('aten::batch_norm' in training mode), so that "
            "an episode would depend on the others; call eval() before saving it"
        )
    picture = check_tensor(value)
    weights = _channel_values(picture, weight, bias, mean, variance)
    if mean is None or variance is None:
        raise Fault("a batch normalisation lacks its statistics")
    meter.worked(_NORMALISING * picture.numel())
    settings = (False, 0.0, float(check_number(eps)), False)
    return meter.made(torch_function("batch_norm")(picture, *weights, *settings))


def _instance_norm(
    meter: Meter,
    value: Any,
    weight: Any,
    bias: Any,
    mean: Any,
    variance: Any,
    use_input_stats: Any,
    momentum: Any,
    eps: Any,
    cudnn_enabled: Any = False,
) -> Tensor:
    picture = check_tensor(value)
    weights = _channel_values(picture, weight, bias, mean, variance)
    if use_input_stats and (mean is not None or variance is not None):
        raise Forbidden("changes its own statistics when it is called ('aten::instance_norm')")
    if not use_input_stats and (mean is None or variance is None):
        raise Fault("an instance normalisation lacks its statistics")
    meter.worked(_NORMALISING * picture.numel())
    settings = (bool(use_input_stats), 0.0, float(check_number(eps)), False)
    return meter.made(torch_function("instance_norm")(picture, *weights, *settings))


def _check_normalised(value: Any, shape: Any, weights: tuple[Any, ...]) -> tuple[Tensor, list[int]]:
    tensor, sizes = check_tensor(value), check_ints(shape)
    if not sizes or list(tensor.shape[-len(sizes) :]) != sizes:
        raise Fault(f"shape {tuple(tensor.shape)} is not normalised over {sizes[:9]}")
    for weight in weights:
        if weight is not None and list(check_tensor(weight).shape) != sizes:
            raise Fault(f"weights of {tuple(weight.shape)} normalise {sizes[:9]}")
    return tensor, sizes


def _layer_norm(
    meter: Meter,
    value: Any,
    shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: Any = 1e-5,
    cudnn_enable: Any = False,
) -> Tensor:
    tensor, sizes = _check_normalised(value, shape, (weight, bias))
    meter.worked(_NORMALISING * tensor.numel())
    return meter.made(
        torch.layer_norm(tensor, sizes, weight, bias, float(check_number(eps)), False)
    )


def _rms_norm(meter: Meter, value: Any, shape: Any, weight: Any = None, eps: Any = None) -> Tensor:
    tensor, sizes = _check_normalised(value, shape, (weight,))
    meter.worked(_NORMALISING * tensor.numel())
    return meter.made(torch.rms_norm(tensor, sizes, weight, None if eps is None else float(eps)))


def _group_norm(
    meter: Meter,
    value: Any,
    groups: Any,
    weight: Any = None,
    bias: Any = None,
    eps: Any = 1e-5,
    cudnn_enabled: Any = False,
) -> Tensor:
    picture = check_tensor(value)
    _channel_values(picture, weight, bias)
    count = check_int(groups)
    if count < 1 or not picture.size(1) or picture.size(1) % count:
        raise Fault(f"{picture.size(1)} channels are not normalised in {count} groups")
    meter.worked(_NORMALISING * picture.numel())
    return meter.made(
        torch.group_norm(picture, count, weight, bias, float(check_number(eps)), False)
    )


def _dropout(meter: Meter, value: Any, rate: Any, train: Any) -> Tensor:
    """Return the value as it is; a module that is played leaves nothing out."""
    if train:
        raise Forbidden(
            "leaves numbers out at random ('aten::dropout' in training mode), which no seed could "
            "repeat; call eval() before saving it"
        )
    return check_tensor(value)


def _pad(meter: Meter, value: Any, edges: Any, mode: Any = "constant", fill: Any = None) -> Tensor:
    tensor, numbers = check_tensor(value), check_ints(edges)
    if len(numbers) % 2 or len(numbers) > 2 * tensor.dim():
        raise Fault(f"shape {tuple(tensor.shape)} is not padded by {numbers[:9]}")
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise Fault("a tensor is padded in an unknown way")
    if any(abs(number) > _DEEPEST_PAD for number in numbers):
        raise Fault("a tensor is padded too much")
    sizes = list(tensor.shape)
    for place in range(len(numbers) // 2):
        sizes[-place - 1] += numbers[2 * place] + numbers[2 * place + 1]
    check_sizes(sizes)
    if 0 in tensor.shape and mode != "constant":
        raise Fault("an empty tensor is padded")
    number = None if fill is None else float(check_number(fill))
    return meter.made(torch.nn.functional.pad(tensor, numbers, mode, number))


def _constant_pad(meter: Meter, value: Any, edges: Any, fill: Any = 0) -> Tensor:
    return _pad(meter, value, edges, "constant", fill)


def _fixed_pad(mode: str) -> Callable[..., Tensor]:
    def call(meter: Meter, value: Any, edges: Any) -> Tensor:
        return _pad(meter, value, edges, mode)

    return call


def _resize(axes: int, name: str, aligned: bool) -> Callable[..., Tensor]:
    """Return an upsampling; it is told a size, or a factor for each axis."""
    function = torch_function(name)

    def call(meter: Meter, value: Any, size: Any, *rest: Any) -> Tensor:
        picture = check_tensor(value)
        if picture.dim() != axes + 2 or 0 in picture.shape:
            raise Fault(f"shape {tuple(picture.shape)} is not resized over {axes} axes")
        settings = list(rest)
        align = [bool(settings.pop(0))] if aligned else []
        factors = _factors(settings, axes)
        if size is not None:
            sizes = spread(size, axes, 1, "size")
        elif factors is not None:
            sizes = [int(picture.size(i - axes) * factors[i]) for i in range(axes)]
        else:
            raise Fault("a picture is resized to nothing")
        check_sizes([*picture.shape[:2], *sizes])
        if min(sizes) < 1:
            raise Fault("a picture is resized to nothing")
        meter.worked(10 * prod(picture.shape[:2]) * prod(sizes))
        return meter.made(function(picture, size, *align, factors))

    return call


def _factors(settings: list[Any], axes: int) -> list[float] | None:
    """Return the factors of a resizing, which come as a list or one by one."""
    if len(settings) == 1 and isinstance(settings[0], list | tuple):
        settings = list(settings[0])
    given = [setting for setting in settings if setting is not None]
    if not given:
        return None
    numbers = [float(check_number(number)) for number in given]
    if len(numbers) != axes or any(not isfinite(n) or not 0 < n < 1000 for n in numbers):
        raise Fault(f"a picture is resized by {numbers[:9]}")
    return numbers


def _unsupported(name: str) -> Callable[..., Tensor]:
    """Return a function that is refused where it is reached, not where it is written."""

    def call(meter: Meter, *arguments: Any) -> Tensor:
        raise Forbidden(f"uses the operator {name!r}, which rpd does not run")

    return call


def _pixel_shuffle(meter: Meter, value: Any, factor: Any) -> Tensor:
    tensor, count = check_tensor(value), check_int(factor)
    if not 1 <= count <= 1000:
        raise Fault(f"pixels are not shuffled by {count}")
    return meter.made(torch.pixel_shuffle(tensor, count))


_SMOOTH = {
    "upsample_linear1d": 1,
    "upsample_bilinear2d": 2,
    "upsample_bicubic2d": 2,
    "upsample_trilinear3d": 3,
}
_RARE = ("_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa", "_upsample_lanczos2d_aa")
"""Operators that stand in the code of every resizing, where hardly any module gets to them."""
_CALLS: dict[str, Callable[..., Any]] = {
    **{f"aten::{name}": _dropout for name in _DROPOUTS.split()},
    **{
        f"aten::{mode}_pad{axes}d": _fixed_pad(name)
        for mode, name in (("reflection", "reflect"), ("replication", "replicate"))
        for axes in (1, 2, 3)
    },
    "aten::batch_norm": _batch_norm,
    "aten::constant_pad_nd": _constant_pad,
    "aten::group_norm": _group_norm,
    "aten::instance_norm": _instance_norm,
    "aten::layer_norm": _layer_norm,
    "aten::pad": _pad,
    "aten::pixel_shuffle": _pixel_shuffle,
    "aten::rms_norm": _rms_norm,
    **{f"aten::{name}": _resize(axes, name, True) for name, axes in _SMOOTH.items()},
    **{
        f"aten::{name}{axes}d": _resize(axes, f"{name}{axes}d", False)
        for name in ("upsample_nearest", "_upsample_nearest_exact")
        for axes in (1, 2, 3)
    },
    **{f"aten::{name}": _unsupported(f"aten::{name}") for name in _RARE},
}
_RAW = {
    f"aten::{name}": torch_function(name) for name in ("batch_norm", "group_norm", "layer_norm")
}
FUNCTIONS = {name: Function(call, raw=_RAW.get(name)) for name, call in _CALLS.items()}
