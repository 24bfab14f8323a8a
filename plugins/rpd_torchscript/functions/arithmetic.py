"""The operators that Python writes with signs, for tensors and for plain values.

Plain whole numbers are Python's: dividing by zero is an error, and nothing overflows unnoticed.
Whole numbers in tensors are looked at before a division, which the processor would answer with a
signal.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rpd_torchscript.functions.containers import check_items, check_text, is_plain
from rpd_torchscript.functions.elementwise import check_operands, elementwise, in_place
from rpd_torchscript.functions.function import Function
from rpd_torchscript.functions.scalars import bounded
from rpd_torchscript.limits import Fault, Meter
from rpd_torchscript.values import check_int, check_number, kind_of, needs_tensor

Plain = Callable[[Any, Any], Any]


def _numbers(function: Plain) -> Plain:
    def call(left: Any, right: Any) -> Any:
        return bounded(function(check_number(left), check_number(right)))

    return call


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return check_text(left + right)
    if isinstance(left, list) and isinstance(right, list):
        check_items(len(left) + len(right))
        return [*left, *right]
    return bounded(check_number(left) + check_number(right))


def _multiply(left: Any, right: Any) -> Any:
    if isinstance(left, list) or isinstance(right, list):
        items, times = (left, right) if isinstance(left, list) else (right, left)
        check_items(len(items) * max(check_int(times), 0))
        return list(items) * times
    return bounded(check_number(left) * check_number(right))


def _power(left: Any, right: Any) -> Any:
    base, exponent = check_number(left), check_number(right)
    if type(base) is int and type(exponent) is int and exponent >= 0:
        if base.bit_length() * exponent > 64 and abs(base) > 1:
            raise Fault("a whole number does not fit into 64 bits")
        return bounded(base**exponent)
    result = float(base) ** float(exponent)
    if isinstance(result, complex):
        raise Fault("a power of a negative number is not real")
    return result


def _compared(function: Plain) -> Plain:
    def call(left: Any, right: Any) -> bool:
        if isinstance(left, torch.device) and isinstance(right, torch.device):
            return bool(function(left.type, right.type))
        if not is_plain(left) or not is_plain(right):
            raise Fault(f"{kind_of(left)} and {kind_of(right)} cannot be compared")
        if isinstance(left, list | tuple) and isinstance(right, list | tuple):
            return bool(function(list(left), list(right)))
        return bool(function(left, right))

    return call


def _binary(name: str, plain: Plain) -> Callable[..., Any]:
    tensors = elementwise(name)

    def call(meter: Meter, left: Any, right: Any, **options: Any) -> Any:
        if type(left) is Tensor:
            return tensors(meter, left, right, **options)
        if type(right) is Tensor:
            check_operands((left,))
            return tensors(meter, torch.tensor(left), right, **options)
        if isinstance(left, list | tuple):
            meter.stepped(len(left) // 10)
        result = plain(left, right)
        if isinstance(result, list | str):
            meter.stepped(len(result))
        return result

    return call


def check_division(left: Any, right: Any) -> None:
    """Refuse a division of whole numbers that has no result: by zero, or the least one by -1."""
    parts = [torch.as_tensor(value) for value in (left, right)]
    if any(part.is_floating_point() for part in parts):
        return
    dividend, divisor = parts
    if bool((divisor == 0).any()):
        raise Fault("a whole number is divided by zero")
    if bool((divisor == -1).any()) and dividend.dtype != torch.bool:
        kind = torch.promote_types(dividend.dtype, divisor.dtype)
        if kind != torch.bool and bool((dividend == torch.iinfo(kind).min).any()):
            raise Fault("the least whole number is divided by -1")


def _whole_division(function: Callable[..., Any], plain: Plain) -> Callable[..., Any]:
    """Check a division that gives whole numbers for whole numbers."""

    def call(meter: Meter, left: Any, right: Any) -> Any:
        if type(left) is Tensor or type(right) is Tensor:
            check_operands((left, right))
            check_division(left, right)
            return meter.made(function(left, right))
        return plain(left, right)

    return call


def _divide(meter: Meter, left: Any, right: Any, *, rounding_mode: Any = None) -> Any:
    if type(left) is not Tensor:
        return check_number(left) / check_number(right)
    check_operands((left, right))
    if rounding_mode is None:
        return meter.made(torch.div(left, right))
    if rounding_mode not in ("floor", "trunc"):
        raise Fault("a division is rounded in an unknown way")
    check_division(left, right)
    return meter.made(torch.div(left, right, rounding_mode=rounding_mode))


def _divide_in_place(meter: Meter, left: Any, right: Any, *, rounding_mode: Any = None) -> Any:
    if type(left) is not Tensor:
        raise needs_tensor(left)
    check_operands((left, right))
    if rounding_mode is not None:
        if rounding_mode not in ("floor", "trunc"):
            raise Fault("a division is rounded in an unknown way")
        check_division(left, right)
    return meter.own(left).div_(right, rounding_mode=rounding_mode)


def _round_to_zero(meter: Meter, left: Any, right: Any) -> Any:
    a, b = check_int(left), check_int(right)
    return bounded(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))


def _absolute(meter: Meter, value: Any) -> Any:
    return bounded(abs(check_number(value)))


def _pow_tensors(meter: Meter, left: Any, right: Any) -> Any:
    if type(left) is Tensor or type(right) is Tensor:
        check_operands((left, right))
        return meter.made(torch.pow(left, right))
    return _power(left, right)


def _same_size(meter: Meter, left: Any, right: Any) -> bool:
    if type(left) is not Tensor or type(right) is not Tensor:
        raise needs_tensor(right)
    meter.worked(left.numel())
    return torch.equal(left, right)


def _all_close(
    meter: Meter,
    left: Any,
    right: Any,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> bool:
    check_operands((left, right))
    meter.worked(10 * left.numel())
    return torch.allclose(left, right, rtol, atol, equal_nan)


def _where(meter: Meter, condition: Any, left: Any = None, right: Any = None) -> Any:
    if type(condition) is not Tensor or left is None or right is None:
        raise needs_tensor(condition)
    check_operands((condition, left, right))
    return meter.made(torch.where(condition, left, right))


def _logic(name: str, plain: Plain) -> Callable[..., Any]:
    return _binary(name, _numbers(plain))


_IN_PLACE = "add_ eq_ ge_ gt_ le_ lt_ mul_ multiply_ ne_ pow_ sub_ subtract_"
_floor_div = _numbers(operator.floordiv)
_BINARY = {
    "aten::__and__": _logic("bitwise_and", operator.and_),
    "aten::__or__": _logic("bitwise_or", operator.or_),
    "aten::__xor__": _logic("bitwise_xor", operator.xor),
    "aten::add": _binary("add", _add),
    "aten::div": _divide,
    "aten::divide": _divide,
    "aten::eq": _binary("eq", _compared(operator.eq)),
    "aten::floor_divide": _whole_division(torch.floor_divide, _floor_div),
    "aten::floordiv": _whole_division(torch.floor_divide, _floor_div),
    "aten::fmod": _whole_division(torch.fmod, _numbers(math.fmod)),
    "aten::ge": _binary("ge", _compared(operator.ge)),
    "aten::gt": _binary("gt", _compared(operator.gt)),
    "aten::le": _binary("le", _compared(operator.le)),
    "aten::lt": _binary("lt", _compared(operator.lt)),
    "aten::mul": _binary("mul", _multiply),
    "aten::multiply": _binary("mul", _multiply),
    "aten::ne": _binary("ne", _compared(operator.ne)),
    "aten::pow": _pow_tensors,
    "aten::remainder": _whole_division(torch.remainder, _numbers(operator.mod)),
    "aten::sub": _binary("sub", _numbers(operator.sub)),
    "aten::subtract": _binary("sub", _numbers(operator.sub)),
    "aten::true_divide": _divide,
}
_RAW: dict[str, Callable[..., Any]] = {
    "aten::add": torch.add,
    "aten::div": torch.div,
    "aten::mul": torch.mul,
    "aten::pow": torch.pow,
    "aten::sub": torch.sub,
}
FUNCTIONS = {
    **{name: Function(call, folds="plain", raw=_RAW.get(name)) for name, call in _BINARY.items()},
    **{f"aten::{name}": Function(in_place(name), writes=True) for name in _IN_PLACE.split()},
    "aten::__round_to_zero_floordiv": Function(_round_to_zero, folds="plain"),
    "aten::allclose": Function(_all_close, reads=True),
    "aten::div_": Function(_divide_in_place, writes=True),
    "aten::equal": Function(_same_size, reads=True),
    "aten::where": Function(_where, raw=torch.where),
    "prim::abs": Function(_absolute, folds="plain"),
}
