"""Functions of plain values: numbers, texts, lists, and what a tensor says of itself.

Whole numbers are Python's: dividing by zero is an error, and nothing overflows unnoticed. Lists and
texts have a limit, and what looks at all of a list counts as many steps.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rpd_torchscript.functions.operator import Deed
from rpd_torchscript.limits import ITEMS, Exhausted, Fault, Forbidden, Meter
from rpd_torchscript.values import (
    CODE_OF_TYPE,
    TYPE_OF_CODE,
    Module,
    check_int,
    check_number,
    check_tensor,
    kind_of,
)

_SCALARS = (int, float, bool, str, type(None))
_LONGEST_TEXT = 10_000
_DEEPEST_LIST = 16
_KINDS: dict[str, Any] = {
    "Tensor": Tensor, "int": int, "float": float, "bool": bool, "str": str, "List": list,
    "Dict": dict, "Tuple": tuple, "NoneType": type(None), "Module": Module,
}  # fmt: skip
Plain = Callable[..., Any]
"""Takes the meter of the call, then the function's arguments."""


def _is_plain(value: Any) -> bool:
    """Check for a value that can be compared and shown: scalars, and flat lists of them."""
    if isinstance(value, list | tuple):
        return all(isinstance(item, _SCALARS) for item in value)
    return isinstance(value, _SCALARS)


# ---------------------------------------------------------------------------- numbers


def _bounded(number: Any) -> Any:
    """Return a number that TorchScript can hold; whole numbers have 64 bits there."""
    if type(number) is int and not -(2**63) <= number < 2**63:
        raise Fault("a whole number does not fit into 64 bits")
    return number


def _numbers(function: Callable[..., Any]) -> Plain:
    """Return a function of numbers alone."""

    def call(meter: Meter, *values: Any) -> Any:
        return _bounded(function(*map(check_number, values)))

    return call


def _add(meter: Meter, left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return _text(meter, left + right)
    if isinstance(left, list) and isinstance(right, list):
        _check_items(meter, len(left) + len(right))
        return [*left, *right]
    return _bounded(check_number(left) + check_number(right))


def _extend(meter: Meter, value: Any, more: Any) -> Any:
    if not isinstance(_own(value), list) or not isinstance(more, list):
        raise Fault(f"{kind_of(value)} and {kind_of(more)} are not put together")
    _check_items(meter, len(value) + len(more))
    value.extend(more)
    return value


def _multiply(meter: Meter, left: Any, right: Any) -> Any:
    if isinstance(left, list):
        _check_items(meter, len(left) * max(check_int(right), 0))
        return list(left) * right
    return _bounded(check_number(left) * check_number(right))


def _power(left: Any, right: Any) -> Any:
    if type(left) is int and type(right) is int and right >= 0:
        if left.bit_length() * right > 64 and abs(left) > 1:
            raise Fault("a whole number does not fit into 64 bits")
        return left**right
    result = float(left) ** float(right)
    if isinstance(result, complex):
        raise Fault("a power of a negative number is not real")
    return result


def _compared(function: Callable[..., Any]) -> Plain:
    def call(meter: Meter, left: Any, right: Any) -> bool:
        if isinstance(left, torch.device) and isinstance(right, torch.device):
            return bool(function(left.type, right.type))
        if not _is_plain(left) or not _is_plain(right):
            raise Fault(f"{kind_of(left)} and {kind_of(right)} cannot be compared")
        if isinstance(left, list | tuple) and isinstance(right, list | tuple):
            meter.stepped(len(left) // 10)
            return bool(function(list(left), list(right)))
        return bool(function(left, right))

    return call


def _extreme(choose: Callable[..., Any]) -> Plain:
    def call(meter: Meter, value: Any, other: Any = None) -> Any:
        items = value if other is None else [value, other]
        if not isinstance(items, list) or not items:
            raise Fault("numbers are needed for min and max")
        meter.stepped(len(items) // 10)
        return choose(map(check_number, items))

    return call


# ------------------------------------------------------------ numbers and tensors


def _number_in(meter: Meter, value: Any) -> Any:
    """Return a number, or the only one in a tensor."""
    if type(value) is not Tensor:
        return value
    if value.numel() != 1:
        raise Fault(f"one number is needed where the code has a tensor of {value.numel()}")
    meter.read(value)
    return value.item()


def _to_int(meter: Meter, value: Any) -> int:
    return int(_bounded(int(check_number(_number_in(meter, value)))))


def _to_float(meter: Meter, value: Any) -> float:
    number = _number_in(meter, value)
    return float(number) if number in ("inf", "-inf", "nan") else float(check_number(number))


def _to_bool(meter: Meter, value: Any) -> bool:
    return bool(check_number(_number_in(meter, value)))


def _size(meter: Meter, value: Any, axis: Any = None) -> Any:
    tensor = check_tensor(value)
    return list(tensor.shape) if axis is None else tensor.size(check_int(axis))


def _fact(look: Callable[[Tensor], Any]) -> Plain:
    """Return what a tensor says of itself, whatever numbers are in it."""
    return lambda meter, value: look(check_tensor(value))


def number_to_tensor(
    meter: Meter, arguments: list[Any], named: dict[str, Any]
) -> tuple[Tensor, Deed]:
    """Make a tensor of numbers, or of lists of them."""
    data, code = arguments[0], named.get("dtype")
    if len(arguments) != 1 or code not in (None, *TYPE_OF_CODE):
        raise Fault("a tensor is made in a way that is not supported")
    numbers, depth, level = 1, 0, data
    while isinstance(level, list | tuple):  # torch goes by the first item of each list
        numbers, depth = numbers * len(level), depth + 1
        if numbers > ITEMS or depth > _DEEPEST_LIST:
            raise Fault("a list is too large for a tensor")
        level = level[0] if level else 0
    check_number(level)
    meter.stepped(numbers)
    kind: dict[str, Any] = {} if code is None else {"dtype": TYPE_OF_CODE[code]}
    made = torch.tensor(data, **kind)
    meter.made(made)
    return made, Deed(torch.tensor, [data], kind)


# -------------------------------------------------------------- lists, texts, errors


def _check_items(meter: Meter, count: int) -> None:
    """Refuse a list that gets too long, before it does."""
    meter.stepped(count)
    if count > ITEMS:
        raise Exhausted(f"makes a list of {count} items, more than {ITEMS}")


def _text(meter: Meter, text: str) -> str:
    if len(text) > _LONGEST_TEXT:
        raise Exhausted(f"makes a text of {len(text)} letters, more than {_LONGEST_TEXT}")
    meter.stepped(len(text) // 10)
    return text


def _own(value: Any) -> Any:
    """Return a list or a dictionary that the call has made itself."""
    if type(value) in (list, dict):
        return value
    if isinstance(value, list | dict):
        raise Forbidden(
            "changes its own lists when it is called, so that two workers would answer differently"
        )
    raise Fault(f"a list is needed where the code has {kind_of(value)}")


def _key(key: Any) -> Any:
    if type(key) not in (str, int, float, bool):
        raise Fault(f"a key is {kind_of(key)}")
    return key


def _check_place(items: Any, place: Any) -> int:
    if not -len(items) <= check_int(place) < len(items):
        raise Fault(f"item {place} of a list of {len(items)} is missing")
    return int(place)


def item_of(meter: Meter, value: Any, key: Any) -> Any:
    """Return an item of a list, a tuple, a text or a dictionary."""
    if isinstance(value, list | tuple | str):
        return value[_check_place(value, key)]
    if isinstance(value, dict) and _key(key) in value:
        return value[key]
    raise Fault(f"{kind_of(value)} has no item {str(key)[:50]!r}")


def _set_item(meter: Meter, value: Any, key: Any, item: Any) -> Any:
    items = _own(value)
    _check_items(meter, 1)
    items[_key(key) if isinstance(items, dict) else _check_place(items, key)] = item
    return items


def _append(meter: Meter, value: Any, item: Any) -> Any:
    if not isinstance(_own(value), list):
        raise Fault("a list is needed where the code has a dictionary")
    value.append(item)  # every step adds one item at most, so steps bound the list
    return value


def _part(meter: Meter, value: Any, low: Any = None, high: Any = None, step: Any = 1) -> Any:
    """Return a part of a list, a tuple or a text."""
    if not isinstance(value, list | tuple | str):
        raise Fault(f"a list is needed where the code has {kind_of(value)}")
    meter.stepped(len(value) // 10)
    bounds = [None if bound is None else check_int(bound) for bound in (low, high, step)]
    return value[slice(*bounds)]


def _length(meter: Meter, value: Any) -> int:
    if type(value) is Tensor and value.dim():
        return value.size(0)
    if not isinstance(value, list | tuple | dict | str):
        raise Fault(f"{kind_of(value)} has no length")
    return len(value)


def _contains(meter: Meter, value: Any, item: Any) -> bool:
    if isinstance(value, dict):
        return _key(item) in value
    if not _is_plain(value) or not _is_plain(item):
        raise Fault("only plain values are looked for in lists")
    meter.stepped(len(value) // 10)
    return item in value


def _listed(take: Callable[[Any], Any], *kinds: type[Any]) -> Plain:
    def call(meter: Meter, value: Any) -> list[Any]:
        if not isinstance(value, kinds):
            raise Fault(f"{kind_of(value)} is not turned into a list")
        _check_items(meter, len(value))
        return list(take(value))

    return call


def _format(meter: Meter, text: Any, *values: Any) -> str:
    """Put values into the braces of a text, as they come."""
    parts = str(text).split("{}")
    shown = [str(v)[:_LONGEST_TEXT] if _is_plain(v) else kind_of(v) for v in values]
    pieces = [piece for pair in zip(parts, shown, strict=False) for piece in pair]
    return _text(meter, "".join([*pieces, parts[-1]]))


def _raise(meter: Meter, message: Any, *kind: Any) -> None:
    raise Fault(f"it says: {' '.join(str(message).split())[:300]}")


def _unwrap(meter: Meter, value: Any) -> Any:
    if value is None:
        raise Fault("a value is missing (None)")
    return value


def is_of(value: Any, name: str) -> bool:
    """Check whether a value is of a type that the code names."""
    if name not in _KINDS:
        raise Fault(f"whether a value is of type {name[:50]!r} is not known")
    return isinstance(value, _KINDS[name]) and not (name == "int" and isinstance(value, bool))


PLAIN: dict[str, Plain] = {
    "aten::Bool": _to_bool,
    "aten::Float": _to_float,
    "aten::FloatImplicit": _number_in,
    "aten::Int": _to_int,
    "aten::IntImplicit": _number_in,
    "aten::ScalarImplicit": _number_in,
    "aten::__and__": _numbers(operator.and_),
    "aten::__contains__": _contains,
    "aten::__derive_index": _numbers(lambda index, start, step: start + index * step),
    "aten::__getitem__": item_of,
    "aten::__is__": lambda meter, left, right: left is right,
    "aten::__isnot__": lambda meter, left, right: left is not right,
    "aten::__not__": _numbers(operator.not_),
    "aten::__or__": _numbers(operator.or_),
    "aten::__range_length": _numbers(lambda low, high, step: len(range(low, high, step))),
    "aten::_set_item": _set_item,
    "aten::_unwrap_optional": _unwrap,
    "aten::add": _add,
    "aten::add_": _extend,
    "aten::append": _append,
    "aten::ceil": _numbers(math.ceil),
    "aten::dim": _fact(Tensor.dim),
    "aten::div": _numbers(operator.truediv),
    "aten::eq": _compared(operator.eq),
    "aten::floor": _numbers(math.floor),
    "aten::floordiv": _numbers(operator.floordiv),
    "aten::format": _format,
    "aten::ge": _compared(operator.ge),
    "aten::gt": _compared(operator.gt),
    "aten::is_floating_point": _fact(Tensor.is_floating_point),
    "aten::item": _number_in,
    "aten::items": _listed(dict.items, dict),
    "aten::keys": _listed(dict.keys, dict),
    "aten::le": _compared(operator.le),
    "aten::len": _length,
    "aten::list": _listed(iter, list, tuple, str),
    "aten::lt": _compared(operator.lt),
    "aten::mul": _multiply,
    "aten::ne": _compared(operator.ne),
    "aten::neg": _numbers(operator.neg),
    "aten::numel": _fact(Tensor.numel),
    "aten::pow": _numbers(_power),
    "aten::remainder": _numbers(operator.mod),
    "aten::size": _size,
    "aten::slice": _part,
    "aten::sqrt": _numbers(math.sqrt),
    "aten::str": lambda meter, value: _format(meter, "{}", value),
    "aten::sub": _numbers(operator.sub),
    "aten::values": _listed(dict.values, dict),
    "aten::warn": lambda meter, *words, **options: None,
    "prim::RaiseException": _raise,
    "prim::TupleSlice": _part,
    "prim::abs": _numbers(abs),
    "prim::device": _fact(lambda tensor: torch.device("cpu")),
    "prim::dtype": _fact(lambda tensor: CODE_OF_TYPE[tensor.dtype]),
    "prim::is_cuda": _fact(lambda tensor: False),
    "prim::max": _extreme(max),
    "prim::min": _extreme(min),
    "prim::requires_grad": _fact(lambda tensor: False),
}
"""Every function that takes no tensor, or none but to say something about it."""
