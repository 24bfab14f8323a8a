"""Functions that arrange the numbers of tensors anew."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch import Tensor

from rpd_torchscript.functions.elementwise import broadcast_count, torch_function
from rpd_torchscript.functions.function import Function
from rpd_torchscript.limits import Fault, Meter, check_count, check_sizes
from rpd_torchscript.values import (
    TYPE_OF_CODE,
    check_int,
    check_ints,
    check_tensor,
    check_tensors,
    dtype_of,
    memory_format_of,
)

_MOST_PIECES = 10_000
_VIEWS = (
    "detach flatten moveaxis movedim permute ravel select squeeze swapaxes swapdims t transpose "
    "unflatten unsqueeze narrow diagonal"
)
"""Functions that show the same numbers in another order; `flatten` and `ravel` may copy."""


def _scalar_or_ints(value: Any) -> Any:
    return value if type(value) in (int, bool, type(None)) else check_ints(value)


def view(name: str) -> Callable[..., Any]:
    """Return a checked version of a function that makes no more numbers than there are."""
    function, copies = torch_function(name), name in ("flatten", "ravel")

    def call(meter: Meter, value: Any, *rest: Any) -> Tensor:
        result: Tensor = function(check_tensor(value), *map(_scalar_or_ints, rest))
        return meter.made(result) if copies else result

    return call


def _view(meter: Meter, value: Any, size: Any) -> Tensor:
    if not isinstance(size, list | tuple):
        raise Fault("looking at the bytes of a tensor as other numbers is not supported")
    return check_tensor(value).view(check_ints(size))


def _reshape(meter: Meter, value: Any, size: Any) -> Tensor:
    return meter.made(check_tensor(value).reshape(check_ints(size)))


def _view_as(meter: Meter, value: Any, other: Any) -> Tensor:
    return meter.made(check_tensor(value).reshape(check_tensor(other).shape))


def _expand(meter: Meter, value: Any, size: Any, *, implicit: Any = False) -> Tensor:
    tensor, sizes = check_tensor(value), check_ints(size)
    lead = len(sizes) - tensor.dim()
    if lead < 0:
        raise Fault(f"a tensor of {tensor.dim()} axes is not expanded to {sizes}")
    full = [
        tensor.size(place - lead) if n == -1 and place >= lead else n
        for place, n in enumerate(sizes)
    ]
    check_sizes(full)
    return tensor.expand(sizes)


def _expand_as(meter: Meter, value: Any, other: Any) -> Tensor:
    return _expand(meter, value, list(check_tensor(other).shape))


def _broadcast_tensors(meter: Meter, values: Any) -> list[Tensor]:
    tensors = check_tensors(values)
    check_count(broadcast_count(tuple(tensor.shape) for tensor in tensors))
    made = torch_function("broadcast_tensors")(*tensors)
    return list(made)


def _repeat(meter: Meter, value: Any, repeats: Any) -> Tensor:
    tensor, times = check_tensor(value), check_ints(repeats)
    check_sizes(times)
    check_count(tensor.numel() * prod(times))
    return meter.made(tensor.repeat(times))


def _tile(meter: Meter, value: Any, repeats: Any) -> Tensor:
    tensor, times = check_tensor(value), check_ints(repeats)
    check_sizes(times)
    check_count(tensor.numel() * prod(times))
    return meter.made(torch.tile(tensor, times))


def _repeat_interleave(
    meter: Meter, value: Any, repeats: Any, dim: Any = None, *, output_size: Any = None
) -> Tensor:
    tensor, times = check_tensor(value), check_int(repeats)
    check_count(tensor.numel() * times)
    return meter.made(torch.repeat_interleave(tensor, times, _scalar_or_ints(dim)))


def _joined(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def call(meter: Meter, values: Any, *dim: Any) -> Tensor:
        tensors = check_tensors(values)
        meter.stepped(len(tensors) // 10)
        check_count(sum(tensor.numel() for tensor in tensors))
        return meter.made(function(tensors, *map(check_int, dim)))

    return call


def _pieces(meter: Meter, tensor: Tensor, count: int) -> None:
    if count > _MOST_PIECES:
        raise Fault(f"a tensor of shape {tuple(tensor.shape)} is cut into {count} pieces")
    meter.stepped(max(count, 0))


def _chunk(meter: Meter, value: Any, chunks: Any, dim: Any = 0) -> list[Tensor]:
    tensor = check_tensor(value)
    _pieces(meter, tensor, check_int(chunks))
    return list(tensor.chunk(chunks, check_int(dim)))


def _split(meter: Meter, value: Any, size: Any, dim: Any = 0) -> list[Tensor]:
    tensor, axis = check_tensor(value), check_int(dim)
    if type(size) is int:
        _pieces(meter, tensor, tensor.size(axis) // max(size, 1) + 1)
    else:
        _pieces(meter, tensor, len(check_ints(size)))
    split: Any = tensor.split
    return list(split(size, axis))


def _unbind(meter: Meter, value: Any, dim: Any = 0) -> list[Tensor]:
    tensor, axis = check_tensor(value), check_int(dim)
    _pieces(meter, tensor, tensor.size(axis))
    return list(tensor.unbind(axis))


def _slice(
    meter: Meter, value: Any, dim: Any = 0, start: Any = None, end: Any = None, step: Any = 1
) -> Any:
    """Take a part of a tensor along an axis, or of a list, which has no axis in its arguments."""
    if isinstance(value, list | tuple | str):
        low, high, stride = (dim if dim != 0 else None), start, 1 if end is None else end
        meter.stepped(len(value))
        return value[_bound(low) : _bound(high) : check_int(stride)]
    tensor, axis = check_tensor(value), check_int(dim)
    if not -tensor.dim() <= axis < tensor.dim() or check_int(step) < 1:
        raise Fault(f"axis {axis} of a tensor of {tensor.dim()} is cut in steps of {step}")
    index = [slice(None)] * tensor.dim()
    index[axis] = slice(_bound(start), _bound(end), step)
    return tensor[tuple(index)]


def _bound(value: Any) -> int | None:
    return None if value is None else check_int(value)


def _unfold(meter: Meter, value: Any, dim: Any, size: Any, step: Any) -> Tensor:
    tensor, width, stride = check_tensor(value), check_int(size), check_int(step)
    if width < 1 or stride < 1:
        raise Fault(f"windows of {width} in steps of {stride} are not to be had")
    check_count(tensor.numel() * width)
    return tensor.unfold(check_int(dim), width, stride)


def _moved(name: str) -> Callable[..., Tensor]:
    function = torch_function(name)

    def call(meter: Meter, value: Any, *rest: Any) -> Tensor:
        return meter.made(function(check_tensor(value), *map(_scalar_or_ints, rest)))

    return call


def _contiguous(meter: Meter, value: Any, *, memory_format: Any = 0) -> Tensor:
    order = memory_format_of(memory_format) or torch.contiguous_format
    return meter.made(check_tensor(value).contiguous(memory_format=order))


def _clone(meter: Meter, value: Any, *, memory_format: Any = None) -> Tensor:
    order = memory_format_of(memory_format) or torch.preserve_format
    return meter.made(check_tensor(value).clone(memory_format=order))


def _to(meter: Meter, value: Any, *rest: Any, **options: Any) -> Tensor:
    """Change the type of numbers; devices are left out of account, all is done on the CPU."""
    tensor = check_tensor(value)
    given = [item for item in rest if not isinstance(item, torch.device)]
    if len(given) == len(rest) and given and given[0] is None and len(given) > 1:
        given = given[1:] if type(given[1]) is int else given
    kind = given[0] if given and type(given[0]) is not bool else options.get("dtype")
    target = kind.dtype if type(kind) is Tensor else dtype_of(kind)
    if target is None or target == tensor.dtype:
        copied = [item for item in given if type(item) is bool]
        return meter.made(tensor.clone()) if copied[1:2] == [True] else tensor
    return meter.made(tensor.to(target))


def _type_as(meter: Meter, value: Any, other: Any) -> Tensor:
    return _to(meter, value, other)


def _same(meter: Meter, value: Any) -> Tensor:
    return check_tensor(value)


def _transposed(meter: Meter, value: Any) -> Tensor:
    return check_tensor(value).mT if check_tensor(value).dim() > 2 else value.t()


def _meshgrid(meter: Meter, values: Any, *, indexing: Any = "ij") -> list[Tensor]:
    tensors = check_tensors(values)
    if indexing not in ("ij", "xy"):
        raise Fault("a grid is indexed in an unknown way")
    if any(tensor.dim() > 1 for tensor in tensors):  # torch would write all their numbers out
        raise Fault("a grid is made of rows of numbers, not of tables")
    check_count(prod(tensor.numel() for tensor in tensors))
    return list(torch.meshgrid(*tensors, indexing=indexing))


_CALLS: dict[str, Callable[..., Any]] = {
    **{f"aten::{name}": view(name) for name in _VIEWS.split()},
    **{f"aten::{name}": _moved(name) for name in ("flip", "fliplr", "flipud", "roll")},
    **{f"aten::{name}": _moved(name) for name in ("tril", "triu", "rot90")},
    "aten::alias": _same,
    "aten::broadcast_tensors": _broadcast_tensors,
    "aten::broadcast_to": _expand,
    "aten::cat": _joined(torch.cat),
    "aten::chunk": _chunk,
    "aten::clone": _clone,
    "aten::concat": _joined(torch.cat),
    "aten::concatenate": _joined(torch.cat),
    "aten::contiguous": _contiguous,
    "aten::cpu": _same,
    "aten::dstack": _joined(torch.dstack),
    "aten::expand": _expand,
    "aten::expand_as": _expand_as,
    "aten::hstack": _joined(torch.hstack),
    "aten::meshgrid": _meshgrid,
    "aten::numpy_T": _transposed,
    "aten::repeat": _repeat,
    "aten::repeat_interleave": _repeat_interleave,
    "aten::reshape": _reshape,
    "aten::reshape_as": _view_as,
    "aten::slice": _slice,
    "aten::split": _split,
    "aten::split_with_sizes": _split,
    "aten::stack": _joined(torch.stack),
    "aten::tile": _tile,
    "aten::to": _to,
    "aten::type_as": _type_as,
    "aten::unbind": _unbind,
    "aten::unfold": _unfold,
    "aten::unsafe_chunk": _chunk,
    "aten::unsafe_split": _split,
    "aten::view": _view,
    "aten::view_as": _view_as,
    "aten::vstack": _joined(torch.vstack),
    "prim::data": _same,
}


def _raw_to(value: Tensor, code: int) -> Tensor:
    return value.to(TYPE_OF_CODE[code])


_RAW: dict[str, Callable[..., Any]] = {
    **{f"aten::{name}": torch_function(name) for name in _VIEWS.split()},
    "aten::reshape": torch.reshape,
    "aten::to": _raw_to,
    "aten::view": Tensor.view,
}
FUNCTIONS = {name: Function(call, raw=_RAW.get(name)) for name, call in _CALLS.items()}
