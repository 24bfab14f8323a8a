"""Functions that pick numbers by index; torch itself checks every index against the size."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch import Tensor

from rpd_torchscript.functions.elementwise import broadcast_count, check_operands
from rpd_torchscript.functions.function import Function
from rpd_torchscript.limits import Fault, Meter, check_count
from rpd_torchscript.values import check_int, check_tensor, kind_of


def _indices(value: Any) -> list[Tensor | None]:
    if not isinstance(value, list | tuple):
        raise Fault(f"a list of tensors is needed where the code has {kind_of(value)}")
    return [None if item is None else check_tensor(item) for item in value]


def _check_indexed(tensor: Tensor, indices: list[Tensor | None]) -> None:
    """Refuse an index whose result is too large, before it is made."""
    given = [index for index in indices if index is not None]
    if not given or any(index.dtype.is_floating_point for index in given):
        raise Fault("a tensor is indexed by what is no whole number")
    used = sum(i.dim() if i.dtype in (torch.bool, torch.uint8) else 1 for i in given)
    if used + len(indices) - len(given) > tensor.dim():
        raise Fault(f"a tensor of {tensor.dim()} axes has too many indices")
    if any(index.dtype in (torch.bool, torch.uint8) for index in given):
        check_count(tensor.numel() * prod(max(i.numel(), 1) for i in given if i.dtype.is_signed))
        return
    rest = [n for n, i in zip(tensor.shape, [*indices, *[None] * 99], strict=False) if i is None]
    check_count(prod(rest) * broadcast_count(tuple(index.shape) for index in given))


def _index(meter: Meter, value: Any, indices: Any) -> Tensor:
    tensor, chosen = check_tensor(value), _indices(indices)
    _check_indexed(tensor, chosen)
    places: Any = tuple(slice(None) if item is None else item for item in chosen)
    return meter.made(tensor[places])


def _index_put(meter: Meter, value: Any, indices: Any, new: Any, accumulate: Any = False) -> Tensor:
    tensor, chosen = check_tensor(value), _indices(indices)
    _check_indexed(tensor, chosen)
    made = meter.made(tensor.clone())
    return _put(made, chosen, check_tensor(new), accumulate)


def _index_put_in_place(
    meter: Meter, value: Any, indices: Any, new: Any, accumulate: Any = False
) -> Tensor:
    tensor, chosen = check_tensor(value), _indices(indices)
    _check_indexed(tensor, chosen)
    return _put(meter.own(tensor), chosen, check_tensor(new), accumulate)


def _put(target: Tensor, indices: list[Tensor | None], new: Tensor, accumulate: Any) -> Tensor:
    if accumulate is not False:
        raise Fault("adding up at indices is not supported")
    places: Any = tuple(slice(None) if item is None else item for item in indices)
    target[places] = new
    return target


def _index_select(meter: Meter, value: Any, dim: Any, index: Any) -> Tensor:
    tensor, chosen = check_tensor(value), check_tensor(index)
    check_count(tensor.numel() * max(chosen.numel(), 1) // max(tensor.size(check_int(dim)), 1))
    return meter.made(torch.index_select(tensor, dim, chosen))


def _gather(meter: Meter, value: Any, dim: Any, index: Any, *, sparse_grad: Any = False) -> Tensor:
    return meter.made(torch.gather(check_tensor(value), check_int(dim), check_tensor(index)))


def _scatter(meter: Meter, value: Any, dim: Any, index: Any, new: Any) -> Tensor:
    check_operands((new,))
    made: Any = torch.scatter(check_tensor(value), check_int(dim), check_tensor(index), new)
    return meter.made(made)


def _scatter_in_place(meter: Meter, value: Any, dim: Any, index: Any, new: Any) -> Tensor:
    check_operands((new,))
    target: Any = meter.own(check_tensor(value))
    result: Tensor = target.scatter_(check_int(dim), check_tensor(index), new)
    return result


def _embedding(
    meter: Meter,
    weight: Any,
    indices: Any,
    padding_idx: Any = -1,
    scale_grad_by_freq: Any = False,
    sparse: Any = False,
) -> Tensor:
    rows, chosen = check_tensor(weight), check_tensor(indices)
    if rows.dim() != 2:
        raise Fault("the table of an embedding needs two axes")
    check_count(chosen.numel() * rows.size(1))
    return meter.made(torch.embedding(rows, chosen))


def _one_hot(meter: Meter, value: Any, classes: Any = -1) -> Tensor:
    tensor, count = check_tensor(value), check_int(classes)
    if count == -1:
        count = int(tensor.max()) + 1 if tensor.numel() else 0
    if count < 1:
        raise Fault(f"one-hot numbers need at least one class, not {count}")
    check_count(tensor.numel() * count)
    return meter.made(torch.nn.functional.one_hot(tensor, count))


_CALLS: dict[str, Callable[..., Any]] = {
    "aten::embedding": _embedding,
    "aten::gather": _gather,
    "aten::index_put": _index_put,
    "aten::index_select": _index_select,
    "aten::scatter": _scatter,
}
FUNCTIONS = {
    **{name: Function(call) for name, call in _CALLS.items()},
    "aten::index": Function(_index, reads=True),
    "aten::one_hot": Function(_one_hot, reads=True),
    "aten::index_put_": Function(_index_put_in_place, writes=True),
    "aten::scatter_": Function(_scatter_in_place, writes=True),
}
