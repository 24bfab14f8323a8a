"""Functions that treat every number of a tensor by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from rpd_torchscript.functions.function import Function
from rpd_torchscript.functions.scalars import ceil, floor
from rpd_torchscript.limits import NUMBERS, Fault, Meter, check_count
from rpd_torchscript.values import kind_of, needs_tensor

_SCALARS = (int, float, bool, str, type(None))
_ONE = (
    "abs absolute acos acosh arccos arcsin arctan asin asinh atan atanh bitwise_not ceil cos cosh "
    "deg2rad erf erfc exp exp2 expm1 floor frac isfinite isinf isnan isneginf isposinf log log10 "
    "log1p log2 logical_not logit neg negative positive rad2deg reciprocal relu round rsqrt sgn "
    "sigmoid sign signbit sin sinh sqrt square tan tanh trunc"
)
_ONE_IN_PLACE = (
    "abs_ ceil_ cos_ exp_ floor_ log_ logical_not_ neg_ reciprocal_ relu_ round_ rsqrt_ sigmoid_ "
    "sign_ sin_ sqrt_ square_ tanh_ trunc_"
)
_ACTIVATIONS = (
    "celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu log_sigmoid mish prelu "
    "relu6 selu silu softplus softshrink threshold"
)
_ACTIVATIONS_IN_PLACE = (
    "celu_ elu_ hardsigmoid_ hardswish_ hardtanh_ leaky_relu_ mish_ relu6_ selu_ silu_ threshold_"
)
_SEVERAL = (
    "addcdiv addcmul atan2 bitwise_and bitwise_or bitwise_xor clamp clamp_max clamp_min clip "
    "copysign fmax fmin heaviside hypot isclose lerp logaddexp logical_and logical_or logical_xor "
    "masked_fill maximum minimum nan_to_num rsub xlogy"
)
_SEVERAL_IN_PLACE = (
    "addcdiv_ addcmul_ clamp_ clamp_max_ clamp_min_ clip_ copy_ fill_ lerp_ logical_and_ "
    "logical_or_ masked_fill_ nan_to_num_ zero_"
)
_NUMBERS_ALONE: dict[str, Callable[[Any], Any]] = {
    "ceil": ceil, "cos": math.cos, "exp": math.exp, "floor": floor, "log": math.log,
    "neg": lambda value: -value, "round": round, "sin": math.sin, "sqrt": math.sqrt,
    "tan": math.tan, "tanh": math.tanh,
}  # fmt: skip
"""Functions that TorchScript also has for plain numbers."""


def torch_function(name: str) -> Callable[..., Any]:
    """Return torch's own function of a name that stands in this package."""
    for place in (torch._C._nn, torch, Tensor):
        if hasattr(place, name):
            return getattr(place, name)  # type: ignore[no-any-return]
    raise AttributeError(f"torch has no function {name!r}")


def broadcast_count(shapes: Iterable[tuple[int, ...]]) -> int:
    """Return how many numbers come out at most when tensors of these shapes are combined."""
    known = list(shapes)
    count = 1
    for place in range(1, max(map(len, known), default=0) + 1):
        count *= max(shape[-place] for shape in known if len(shape) >= place)
    return count


def check_operands(values: Iterable[Any]) -> None:
    """Refuse operands that are neither tensors nor scalars, or whose combination is too large."""
    count = 1
    tensors = []
    for value in values:
        if type(value) is Tensor:
            count *= value.numel()
            tensors.append(value)
        elif not isinstance(value, _SCALARS):
            raise Fault(f"a number or a tensor is needed where the code has {kind_of(value)}")
    if count > NUMBERS and len(tensors) > 1:
        check_count(broadcast_count(tuple(tensor.shape) for tensor in tensors))


def check_options(options: dict[str, Any]) -> None:
    """Refuse options that are no scalars: a tensor there would be written to."""
    for value in options.values():
        if not isinstance(value, _SCALARS):
            raise Fault(f"an option is {kind_of(value)}, which is not supported")


def elementwise(name: str) -> Callable[..., Any]:
    """Return a checked version of a function that makes one new tensor."""
    function = torch_function(name)
    alone = _NUMBERS_ALONE.get(name)

    def call(meter: Meter, first: Any, *rest: Any, **options: Any) -> Any:
        if type(first) is not Tensor:
            if alone is None or type(first) not in (int, float) or rest:
                raise needs_tensor(first)
            return alone(first)
        if options:
            check_options(options)
        if len(rest) == 1 and type(rest[0]) is Tensor:  # by far the most frequent
            if first.numel() * rest[0].numel() > NUMBERS:
                check_operands((first, *rest))
        elif rest:
            check_operands((first, *rest))
        return meter.made(function(first, *rest, **options))

    return call


def in_place(name: str) -> Callable[..., Any]:
    """Return a checked version of a function that changes its first argument."""
    function = torch_function(name)

    def call(meter: Meter, target: Any, *rest: Any, **options: Any) -> Any:
        if type(target) is not Tensor:
            raise needs_tensor(target)
        check_operands(rest)
        check_options(options)
        return function(meter.own(target), *rest, **options)

    return call


def _copy(meter: Meter, target: Any, source: Any, non_blocking: Any = False) -> Any:
    if type(target) is not Tensor or type(source) is not Tensor:
        raise needs_tensor(source)
    return meter.own(target).copy_(source)


FUNCTIONS = {
    **{
        f"aten::{name}": Function(elementwise(name), folds="plain", raw=torch_function(name))
        for name in f"{_ONE} {_ACTIVATIONS} {_SEVERAL}".split()
    },
    **{
        f"aten::{name}": Function(in_place(name), writes=True)
        for name in f"{_ONE_IN_PLACE} {_ACTIVATIONS_IN_PLACE} {_SEVERAL_IN_PLACE}".split()
    },
    "aten::copy_": Function(_copy, writes=True),
}
