"""Operators that meant something else in old files."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rpd_torchscript.functions import arithmetic, creation
from rpd_torchscript.functions.function import Function
from rpd_torchscript.limits import Meter
from rpd_torchscript.values import check_number

_TRUE_DIVISION_SINCE = 4
_TYPED_FULL_SINCE = 5


def functions_for(version: int) -> dict[str, Function]:
    """Return the functions that a file of this version needs in place of today's."""
    changed = {}
    if version < _TRUE_DIVISION_SINCE:
        changed["aten::div"] = Function(_divide)
    if version < _TYPED_FULL_SINCE:
        changed["aten::full"] = Function(_full)
    return changed


def _divide(meter: Meter, left: Any, right: Any) -> Any:
    """Divide; whole numbers in tensors gave whole numbers."""
    divide = arithmetic.FUNCTIONS["aten::div"].call
    if type(left) is not Tensor:
        return divide(meter, left, right)
    whole = not left.is_floating_point() and not _is_float(right)
    return divide(meter, left, right, rounding_mode="trunc" if whole else None)


def _is_float(value: Any) -> bool:
    return value.is_floating_point() if type(value) is Tensor else isinstance(value, float)


def _full(meter: Meter, size: Any, value: Any, *, dtype: Any = None, **rest: Any) -> Tensor:
    """Fill with floats unless a type is given."""
    number = float(check_number(value)) if dtype is None else value
    made: Tensor = creation.FUNCTIONS["aten::full"].call(meter, size, number, dtype=dtype)
    return made if dtype is not None else made.to(torch.float32)
