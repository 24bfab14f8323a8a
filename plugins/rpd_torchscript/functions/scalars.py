"""Functions of single values: numbers, truth values, types, and what a tensor says of itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rpd_torchscript.functions.function import Function
from rpd_torchscript.limits import Fault, Meter
from rpd_torchscript.values import (
    CODE_OF_TYPE,
    Module,
    check_int,
    check_number,
    check_tensor,
    kind_of,
    memory_format_of,
)

_SCALARS = (int, float, bool, str, type(None))


def bounded(number: Any) -> Any:
    """Return a number that TorchScript can hold; whole numbers have 64 bits there."""
    if type(number) is int and not -(2**63) <= number < 2**63:
        raise Fault("a whole number does not fit into 64 bits")
    return number


def single(tensor: Tensor) -> Any:
    """Return the only number in a tensor."""
    if tensor.numel() != 1:
        raise Fault(f"one number is needed where the code has a tensor of {tensor.numel()}")
    return tensor.item()


def _number(value: Any) -> Any:
    return single(value) if type(value) is Tensor else value


def _to_int(meter: Meter, value: Any) -> int:
    value = _number(value)
    if isinstance(value, str):
        raise Fault("a text is not turned into a number")
    return int(bounded(int(check_number(value))))


def _to_float(meter: Meter, value: Any) -> float:
    value = _number(value)
    if value in ("inf", "-inf", "nan"):
        return float(value)
    return float(check_number(value))


def _to_bool(meter: Meter, value: Any) -> bool:
    return bool(check_number(_number(value)))


def _to_text(meter: Meter, value: Any) -> str:
    if not isinstance(value, _SCALARS):
        raise Fault(f"{kind_of(value)} is not turned into a text")
    return str(value)


def _implicit(meter: Meter, value: Any) -> Any:
    return _number(value)


def _item(meter: Meter, value: Any) -> Any:
    return single(check_tensor(value))


def _not(meter: Meter, value: Any) -> bool:
    return not check_number(value)


def _is(meter: Meter, left: Any, right: Any) -> bool:
    return left is right


def _is_not(meter: Meter, left: Any, right: Any) -> bool:
    return left is not right


def _unwrap(meter: Meter, value: Any) -> Any:
    if value is None:
        raise Fault("a value is missing (None)")
    return value


def _raise(meter: Meter, message: Any, *kind: Any) -> None:
    raise Fault(f"it says: {' '.join(str(message).split())[:300]}")


def _warn(meter: Meter, *words: Any, **options: Any) -> None:
    """Stay silent."""


def _range_length(meter: Meter, low: Any, high: Any, step: Any) -> int:
    return len(range(check_int(low), check_int(high), check_int(step)))


def _derive_index(meter: Meter, index: Any, start: Any, step: Any) -> Any:
    return bounded(check_int(start) + check_int(index) * check_int(step))


def _dtype(meter: Meter, value: Any) -> int:
    return CODE_OF_TYPE[check_tensor(value).dtype]


def _device(meter: Meter, value: Any) -> torch.device:
    check_tensor(value)
    return torch.device("cpu")


def _device_type(meter: Meter, value: Any) -> str:
    if not isinstance(value, torch.device):
        raise Fault(f"{kind_of(value)} is no device")
    return "cpu"


def _false(meter: Meter, *values: Any) -> bool:
    return False


def _layout(meter: Meter, value: Any) -> int:
    check_tensor(value)
    return 0


def _item_size(meter: Meter, value: Any) -> int:
    return check_tensor(value).element_size()


def _dim(meter: Meter, value: Any) -> int:
    return check_tensor(value).dim()


def _numel(meter: Meter, value: Any) -> int:
    return check_tensor(value).numel()


def _size(meter: Meter, value: Any, axis: Any = None) -> Any:
    if axis is None:
        return list(check_tensor(value).shape)
    return check_tensor(value).size(check_int(axis))


def _stride(meter: Meter, value: Any, axis: Any = None) -> Any:
    if axis is None:
        return list(check_tensor(value).stride())
    return check_tensor(value).stride(check_int(axis))


def _is_floating_point(meter: Meter, value: Any) -> bool:
    return check_tensor(value).is_floating_point()


def _is_contiguous(meter: Meter, value: Any, memory_format: Any = None) -> bool:
    order = memory_format_of(memory_format) or torch.contiguous_format
    return check_tensor(value).is_contiguous(memory_format=order)


def _isinstance(meter: Meter, value: Any, names: Any) -> bool:
    return any(_is_of(value, name) for name in names)


def _is_of(value: Any, name: str) -> bool:
    kinds: dict[str, Any] = {
        "Tensor": Tensor, "int": int, "float": float, "bool": bool, "str": str, "List": list,
        "Dict": dict, "Tuple": tuple, "NoneType": type(None), "Module": Module,
    }  # fmt: skip
    if name not in kinds:
        raise Fault(f"whether a value is of type {name[:50]!r} is not known")
    if name in ("List", "Dict"):
        return isinstance(value, kinds[name])
    return type(value) is kinds[name]


def floor(value: Any) -> int:
    """Return the whole number below."""
    return int(bounded(math.floor(check_number(value))))


def ceil(value: Any) -> int:
    """Return the whole number above."""
    return int(bounded(math.ceil(check_number(value))))


_FOLDING: dict[str, Callable[..., Any]] = {
    "aten::__derive_index": _derive_index,
    "aten::__is__": _is,
    "aten::__isnot__": _is_not,
    "aten::__not__": _not,
    "aten::__range_length": _range_length,
    "aten::dim": _dim,
    "aten::is_autocast_cpu_enabled": _false,
    "aten::is_autocast_enabled": _false,
    "aten::is_contiguous": _is_contiguous,
    "aten::is_floating_point": _is_floating_point,
    "aten::is_grad_enabled": _false,
    "aten::numel": _numel,
    "aten::size": _size,
    "aten::str": _to_text,
    "aten::stride": _stride,
    "prim::device": _device,
    "prim::dtype": _dtype,
    "prim::is_cuda": _false,
    "prim::is_meta": _false,
    "prim::is_nested": _false,
    "prim::is_quantized": _false,
    "prim::is_sparse": _false,
    "prim::isinstance": _isinstance,
    "prim::itemsize": _item_size,
    "prim::layout": _layout,
    "prim::requires_grad": _false,
    "prim::type": _device_type,
}
_READING: dict[str, Callable[..., Any]] = {
    "aten::Bool": _to_bool,
    "aten::Float": _to_float,
    "aten::FloatImplicit": _implicit,
    "aten::Int": _to_int,
    "aten::IntImplicit": _implicit,
    "aten::ScalarImplicit": _implicit,
}
FUNCTIONS = {
    **{name: Function(call, folds="always") for name, call in _FOLDING.items()},
    **{name: Function(call, folds="always", reads=True) for name, call in _READING.items()},
    "aten::_unwrap_optional": Function(_unwrap, keeps=True),
    "aten::item": Function(_item, reads=True),
    "aten::warn": Function(_warn),
    "prim::RaiseException": Function(_raise),
}
