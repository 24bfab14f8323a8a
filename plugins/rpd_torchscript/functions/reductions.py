"""Functions that draw the numbers along an axis together: sums, extremes, orders, softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rpd_torchscript.functions.elementwise import check_operands, check_options, torch_function
from rpd_torchscript.functions.function import Function
from rpd_torchscript.limits import Fault, Meter
from rpd_torchscript.values import check_int, check_ints, check_number, check_tensor, dtype_of

_REDUCING = 4
_SORTING = 200
"""What a number counts for, in multiplications."""


def _axes(value: Any) -> Any:
    return value if type(value) in (int, bool, float, type(None)) else check_ints(value)


def _results(meter: Meter, made: Any) -> Any:
    if type(made) is Tensor:
        return meter.made(made)
    return tuple(meter.made(part) for part in made)


def _typed(name: str) -> Callable[..., Any]:
    """Return a reduction that may be told the type of its result."""
    function = torch_function(name)

    def call(meter: Meter, value: Any, *rest: Any, dtype: Any = None) -> Any:
        tensor = check_tensor(value)
        meter.worked(_REDUCING * tensor.numel())
        places = () if rest == (None,) else map(_axes, rest)
        if dtype is None:
            return meter.made(function(tensor, *places))
        return meter.made(function(tensor, *places, dtype=dtype_of(dtype)))

    return call


def _plain(name: str, cost: int = _REDUCING) -> Callable[..., Any]:
    """Return a reduction over axes, with one result or several."""
    function = torch_function(name)

    def call(meter: Meter, value: Any, *rest: Any, **options: Any) -> Any:
        tensor = check_tensor(value)
        meter.worked(cost * tensor.numel())
        check_options(options)
        return _results(meter, function(tensor, *map(_axes, rest), **options))

    return call


def _quantifier(name: str, plain: Callable[[list[bool]], bool]) -> Callable[..., Any]:
    """Return `all` or `any`, of a tensor or of a list of truth values."""
    tensors = _plain(name)

    def call(meter: Meter, value: Any, *rest: Any) -> Any:
        if isinstance(value, list):
            meter.stepped(len(value) // 10)
            return plain([bool(check_number(item)) for item in value])
        return tensors(meter, value, *rest)

    return call


def _extreme(name: str, pairwise: Callable[..., Tensor]) -> Callable[..., Any]:
    """Return `max` or `min`: of everything, along an axis, or of two tensors."""
    along = _plain(name)

    def call(meter: Meter, value: Any, other: Any = None, *rest: Any) -> Any:
        if type(other) is Tensor:
            check_operands((check_tensor(value), other))
            return meter.made(pairwise(value, other))
        return along(meter, value) if other is None else along(meter, value, other, *rest)

    return call


def _softmax(name: str) -> Callable[..., Any]:
    function = torch_function(name)

    def call(meter: Meter, value: Any, dim: Any, dtype: Any = None) -> Tensor:
        tensor = check_tensor(value)
        kind = dtype_of(dtype)
        return meter.made(function(tensor, check_int(dim), dtype=kind))

    return call


def _spread(name: str) -> Callable[..., Any]:
    """Return `std`, `var` and the like, whose arguments have two orders."""
    function = torch_function(name)

    def call(
        meter: Meter,
        value: Any,
        *rest: Any,
        correction: Any = None,
        keepdim: Any = False,
    ) -> Any:
        tensor = check_tensor(value)
        meter.worked(2 * _REDUCING * tensor.numel())
        places = [_axes(item) for item in rest]
        if correction is None and len(places) > 1:
            return _results(meter, function(tensor, *places))
        if correction is None and places and type(places[0]) is bool:
            return _results(meter, function(tensor, places[0]))
        axes = places[0] if places else None
        spread = 1 if correction is None else check_number(correction)
        return _results(meter, function(tensor, axes, correction=spread, keepdim=bool(keepdim)))

    return call


def _norm(
    meter: Meter,
    value: Any,
    p: Any = 2,
    dim: Any = None,
    keepdim: Any = False,
    *,
    dtype: Any = None,
) -> Tensor:
    tensor = check_tensor(value)
    meter.worked(2 * _REDUCING * tensor.numel())
    power: Any = 2.0 if p is None else check_number(p)
    if dim is None:
        return meter.made(torch.norm(tensor, power))
    made: Any = torch.norm
    return meter.made(made(tensor, power, check_ints(dim), keepdim=bool(keepdim)))


def _vector_norm(
    meter: Meter,
    value: Any,
    order: Any = 2,
    dim: Any = None,
    keepdim: Any = False,
    *,
    dtype: Any = None,
) -> Tensor:
    tensor = check_tensor(value)
    meter.worked(2 * _REDUCING * tensor.numel())
    axes = None if dim is None else check_ints(dim)
    return meter.made(
        torch.linalg.vector_norm(
            tensor, check_number(order), axes, bool(keepdim), dtype=dtype_of(dtype)
        )
    )


def _topk(
    meter: Meter, value: Any, count: Any, dim: Any = -1, largest: Any = True, ordered: Any = True
) -> Any:
    tensor = check_tensor(value)
    meter.worked(_SORTING * tensor.numel())
    if tensor.dim() and not 0 <= check_int(count) <= tensor.size(check_int(dim)):
        raise Fault(f"{count} of {tensor.size(dim)} numbers are taken")
    made = torch.topk(tensor, count, dim, bool(largest), bool(ordered))
    return _results(meter, made)


def _cosine_similarity(
    meter: Meter, left: Any, right: Any, dim: Any = 1, eps: Any = 1e-8
) -> Tensor:
    check_operands((check_tensor(left), check_tensor(right)))
    meter.worked(10 * (left.numel() + right.numel()))
    return meter.made(torch.cosine_similarity(left, right, check_int(dim), check_number(eps)))


_TYPED = "sum mean prod nansum cumsum cumprod"
_PLAIN = "amax amin aminmax argmax argmin count_nonzero logsumexp"
_SORTED = "argsort median sort"
_SPREAD = "std std_mean var var_mean"
_BARE = "sum mean amax amin argmax argmin softmax log_softmax"
_CALLS: dict[str, Callable[..., Any]] = {
    **{f"aten::{name}": _typed(name) for name in _TYPED.split()},
    **{f"aten::{name}": _plain(name) for name in _PLAIN.split()},
    **{f"aten::{name}": _plain(name, _SORTING) for name in _SORTED.split()},
    **{f"aten::{name}": _spread(name) for name in _SPREAD.split()},
    "aten::all": _quantifier("all", all),
    "aten::any": _quantifier("any", any),
    "aten::cosine_similarity": _cosine_similarity,
    "aten::linalg_vector_norm": _vector_norm,
    "aten::log_softmax": _softmax("log_softmax"),
    "aten::max": _extreme("max", torch.maximum),
    "aten::min": _extreme("min", torch.minimum),
    "aten::norm": _norm,
    "aten::softmax": _softmax("softmax"),
    "aten::topk": _topk,
}
_RAW = {f"aten::{name}": torch_function(name) for name in _BARE.split()}
FUNCTIONS = {name: Function(call, raw=_RAW.get(name)) for name, call in _CALLS.items()}
