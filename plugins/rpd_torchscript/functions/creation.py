"""Functions that make tensors of nothing but sizes and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rpd_torchscript.functions.function import Function
from rpd_torchscript.limits import ITEMS, Fault, Meter, check_count, check_sizes
from rpd_torchscript.values import (
    check_int,
    check_ints,
    check_number,
    check_tensor,
    dtype_of,
    memory_format_of,
)

_DEEPEST_LIST = 16


def _sized(value: float) -> Callable[..., Tensor]:
    def call(
        meter: Meter,
        size: Any,
        *,
        names: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: Any = None,
        memory_format: Any = None,
    ) -> Tensor:
        sizes = check_ints(size)
        check_sizes(sizes)
        return meter.made(torch.full(sizes, value, dtype=dtype_of(dtype) or torch.float32))

    return call


def _sized_like(value: float) -> Callable[..., Tensor]:
    def call(
        meter: Meter,
        like: Any,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: Any = None,
        memory_format: Any = None,
    ) -> Tensor:
        return _filled_like(meter, like, value, dtype, memory_format)

    return call


def _filled_like(meter: Meter, like: Any, value: Any, dtype: Any, order: Any) -> Tensor:
    source = check_tensor(like)
    chosen = memory_format_of(order) or torch.preserve_format
    made = torch.full_like(source, value, dtype=dtype_of(dtype), memory_format=chosen)
    return meter.made(made)


def _new(value: float) -> Callable[..., Tensor]:
    def call(
        meter: Meter,
        like: Any,
        size: Any,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: Any = None,
    ) -> Tensor:
        return _new_filled(meter, like, size, value, dtype=dtype)

    return call


def _new_filled(
    meter: Meter,
    like: Any,
    size: Any,
    value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Tensor:
    sizes, kind = check_ints(size), dtype_of(dtype) or check_tensor(like).dtype
    check_sizes(sizes)
    return meter.made(torch.full(sizes, check_number(value), dtype=kind))


def _full(
    meter: Meter,
    size: Any,
    value: Any,
    *,
    names: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Tensor:
    sizes = check_ints(size)
    check_sizes(sizes)
    return meter.made(torch.full(sizes, check_number(value), dtype=dtype_of(dtype)))


def _full_like(
    meter: Meter,
    like: Any,
    value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    memory_format: Any = None,
) -> Tensor:
    return _filled_like(meter, like, check_number(value), dtype, memory_format)


def _arange(
    meter: Meter,
    first: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Tensor:
    start, stop = (0, first) if end is None else (first, end)
    numbers = [check_number(value) for value in (start, stop, step)]
    if not all(map(math.isfinite, numbers)) or not step:
        raise Fault(f"numbers from {start} to {stop} in steps of {step} are not to be had")
    check_count(max(math.ceil((stop - start) / step), 0))
    return meter.made(torch.arange(start, stop, step, dtype=dtype_of(dtype)))


def _linspace(
    meter: Meter,
    start: Any,
    end: Any,
    steps: Any = 100,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Tensor:
    check_sizes([check_int(steps)])
    ends = check_number(start), check_number(end)
    return meter.made(torch.linspace(*ends, steps, dtype=dtype_of(dtype)))


def _eye(
    meter: Meter,
    rows: Any,
    columns: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Tensor:
    width = check_int(rows if columns is None else columns)
    check_sizes([check_int(rows), width])
    return meter.made(torch.eye(rows, width, dtype=dtype_of(dtype)))


def _check_nested(data: Any) -> None:
    """Refuse nested lists that are too large; torch goes by the first item of each."""
    count, depth, level = 1, 0, data
    while isinstance(level, list | tuple):
        count, depth = count * len(level), depth + 1
        if count > ITEMS or depth > _DEEPEST_LIST:
            raise Fault("a list is too large for a tensor")
        level = level[0] if level else 0
    if type(level) is not Tensor:
        check_number(level)


def _tensor(
    meter: Meter,
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: Any = False,
) -> Tensor:
    _check_nested(data)
    if type(data) is Tensor:
        return meter.made(data.detach().clone().to(dtype_of(dtype) or data.dtype))
    made = meter.made(torch.tensor(data, dtype=dtype_of(dtype)))
    meter.stepped(made.numel())
    return made


def _scalar_tensor(
    meter: Meter,
    value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Tensor:
    return meter.made(torch.scalar_tensor(check_number(value), dtype=dtype_of(dtype)))


def _number_to_tensor(meter: Meter, value: Any) -> Tensor:
    return torch.tensor(check_number(value))


_CALLS: dict[str, Callable[..., Any]] = {
    "aten::arange": _arange,
    "aten::as_tensor": _tensor,
    "aten::empty": _sized(0),
    "aten::empty_like": _sized_like(0),
    "aten::eye": _eye,
    "aten::full": _full,
    "aten::full_like": _full_like,
    "aten::linspace": _linspace,
    "aten::new_empty": _new(0),
    "aten::new_full": _new_filled,
    "aten::new_ones": _new(1),
    "aten::new_zeros": _new(0),
    "aten::ones": _sized(1),
    "aten::ones_like": _sized_like(1),
    "aten::scalar_tensor": _scalar_tensor,
    "aten::tensor": _tensor,
    "aten::zeros": _sized(0),
    "aten::zeros_like": _sized_like(0),
    "prim::NumToTensor": _number_to_tensor,
}
FUNCTIONS = {name: Function(call) for name, call in _CALLS.items()}
"""Memory is never left as it was found: `empty` is filled with zeros."""
