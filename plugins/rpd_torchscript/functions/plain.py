"""Functions of plain values: numbers, texts, lists, and what a tensor says of itself.

Whole numbers are Python's: dividing by zero is an error, and nothing overflows unnoticed. Whoever
calls them counts the items that go in and come out, so that steps bound lists and texts, too.
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
from rpd_torchscript.values import CODE_OF_TYPE, TYPE_OF_CODE, Module, check, kind_of

_SCALARS = (int, float, bool, str, type(None))
_NUMBER = (int, float, bool)
_DEEPEST_LIST = 16
_KINDS: dict[str, Any] = {
    "Tensor": Tensor, "int": int, "float": float, "bool": bool, "str": str, "List": list,
    "Dict": dict, "Tuple": tuple, "NoneType": type(None), "Module": Module,
}  # fmt: skip


def _is_plain(value: Any) -> bool:
    """Check for a value that can be compared and shown: scalars, and flat lists of them."""
    if isinstance(value, list | tuple):
        return all(isinstance(item, _SCALARS) for item in value)
    return isinstance(value, _SCALARS)


def is_of(value: Any, name: str) -> bool:
    """Check whether a value is of a type that the code names."""
    if name not in _KINDS:
        raise Fault(f"whether a value is of type {name[:50]!r} is not known")
    return isinstance(value, _KINDS[name]) and not (name == "int" and isinstance(value, bool))


def _bounded(number: Any) -> Any:
    """Return a number that TorchScript can hold; whole numbers have 64 bits there."""
    if type(number) is int and not -(2**63) <= number < 2**63:
        raise Fault("a whole number does not fit into 64 bits")
    return number


def _numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of numbers alone."""
    return lambda *values: _bounded(function(*(check(value, *_NUMBER) for value in values)))


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, list) and isinstance(right, list):
        return [*left, *right]
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    return _numbers(operator.add)(left, right)


def _multiply(left: Any, right: Any) -> Any:
    if not isinstance(left, list):
        return _numbers(operator.mul)(left, right)
    if len(left) * check(right, int) > ITEMS:
        raise Exhausted(f"makes a list of {len(left) * right} items, more than {ITEMS}")
    return list(left) * right


def _power(left: Any, right: Any) -> Any:
    if type(left) is int and type(right) is int and right >= 0:
        if left.bit_length() * right > 64 and abs(left) > 1:
            raise Fault("a whole number does not fit into 64 bits")
        return left**right
    result = float(left) ** float(right)
    if isinstance(result, complex):
        raise Fault("a power of a negative number is not real")
    return result


def _compared(name: str) -> Callable[..., bool]:
    function = getattr(operator, name)

    def call(left: Any, right: Any) -> bool:
        if isinstance(left, torch.device) and isinstance(right, torch.device):
            return bool(function(left.type, right.type))
        if not _is_plain(left) or not _is_plain(right):
            raise Fault(f"{kind_of(left)} and {kind_of(right)} cannot be compared")
        both = isinstance(left, list | tuple) and isinstance(right, list | tuple)
        return bool(function(list(left), list(right)) if both else function(left, right))

    return call


def _extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
    def call(value: Any, *other: Any) -> Any:
        items = [value, *other] if other else check(value, list)
        return choose(check(item, *_NUMBER) for item in items)

    return call


def _to_float(value: Any) -> float:
    return float(value if value in ("inf", "-inf", "nan") else check(value, *_NUMBER))


def _fact(look: Callable[[Tensor], Any]) -> Callable[..., Any]:
    return lambda value: look(check(value, Tensor))


def _size(value: Any, axis: Any = None) -> Any:
    tensor: Tensor = check(value, Tensor)
    return list(tensor.shape) if axis is None else tensor.size(check(axis, int))


def _length(value: Any) -> int:
    if type(value) is Tensor and value.dim():
        return value.size(0)
    return len(check(value, list, tuple, dict, str))


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
    check(level, *_NUMBER)
    meter.stepped(numbers)
    kind: dict[str, Any] = {} if code is None else {"dtype": TYPE_OF_CODE[code]}
    made = torch.tensor(data, **kind)
    meter.made(made)
    return made, Deed(torch.tensor, [data], kind)


# -------------------------------------------------------------- lists, texts, errors


def _own(value: Any, *kinds: type) -> Any:
    """Return a list or a dictionary that the call has made itself."""
    if isinstance(value, list | dict) and type(value) not in (list, dict):
        raise Forbidden(
            "changes its own lists when it is called, so that two workers would answer differently"
        )
    return check(value, *kinds)


def _place(items: Any, key: Any) -> Any:
    """Return a key that may be looked up, or an index that is there."""
    if isinstance(items, dict):
        return check(key, str, *_NUMBER)
    if not -len(items) <= check(key, int) < len(items):
        raise Fault(f"item {key} of a list of {len(items)} is missing")
    return key


def item_of(value: Any, key: Any) -> Any:
    """Return an item of a list, a tuple, a text or a dictionary."""
    items = check(value, list, tuple, str, dict)
    place = _place(items, key)
    if isinstance(items, dict) and place not in items:
        raise Fault(f"the key {str(key)[:50]!r} is missing")
    return items[place]


def set_item(value: Any, key: Any, item: Any) -> Any:
    """Put an item into a list or a dictionary that the call has made itself."""
    items = _own(value, list, dict)
    items[_place(items, key)] = item
    return items


def part_of(value: Any, *bounds: Any) -> Any:
    """Return a part of a list, a tuple or a text."""
    for bound in bounds:
        check(bound, int, type(None))
    return check(value, list, tuple, str)[slice(*(bounds or (None,)))]


def _extend(value: Any, more: Any) -> Any:
    _own(value, list).extend(check(more, list))
    return value


def _contains(value: Any, item: Any) -> bool:
    if isinstance(value, dict):
        return _place(value, item) in value
    if not _is_plain(value) or not _is_plain(item):
        raise Fault("only plain values are looked for in lists")
    return item in value


def _format(text: Any, *values: Any) -> str:
    """Put values into the braces of a text, as they come."""
    parts = str(text).split("{}")
    shown = [str(value) if _is_plain(value) else kind_of(value) for value in values]
    pieces = [piece for pair in zip(parts, shown, strict=False) for piece in pair]
    return "".join([*pieces, parts[-1]])


def _raise(message: Any, *kind: Any) -> None:
    raise Fault(f"it says: {' '.join(str(message).split())[:300]}")


def _unwrap(value: Any) -> Any:
    if value is None:
        raise Fault("a value is missing (None)")
    return value


_NUMBERS: dict[str, Callable[..., Any]] = {
    "__and__": operator.and_, "__or__": operator.or_, "__not__": operator.not_, "Bool": bool,
    "Int": int, "sub": operator.sub, "neg": operator.neg, "div": operator.truediv, "pow": _power,
    "floordiv": operator.floordiv, "remainder": operator.mod, "sqrt": math.sqrt,
    "ceil": math.ceil, "floor": math.floor,
    "__derive_index": lambda index, start, step: start + index * step,
    "__range_length": lambda low, high, step: len(range(low, high, step)),
}  # fmt: skip
_FACTS: dict[str, Callable[[Tensor], Any]] = {
    "aten::dim": Tensor.dim,
    "aten::is_floating_point": Tensor.is_floating_point,
    "aten::numel": Tensor.numel,
    "prim::device": lambda tensor: torch.device("cpu"),
    "prim::dtype": lambda tensor: CODE_OF_TYPE[tensor.dtype],
    "prim::is_cuda": lambda tensor: False,
    "prim::requires_grad": lambda tensor: False,
}
"""What a tensor says of itself, whatever numbers are in it."""
READING = frozenset(f"aten::{name}" for name in ("Bool", "Float", "Int", "item")) | frozenset(
    f"aten::{name}Implicit" for name in ("Float", "Int", "Scalar")
)
"""Functions that take the only number in a tensor for the tensor."""
PLAIN: dict[str, Callable[..., Any]] = {
    **{f"aten::{name}": _numbers(function) for name, function in _NUMBERS.items()},
    **{f"aten::{name}": _compared(name) for name in ("eq", "ge", "gt", "le", "lt", "ne")},
    **{name: _fact(look) for name, look in _FACTS.items()},
    **dict.fromkeys(READING - {"aten::Bool", "aten::Int"}, lambda value: value),
    "aten::Float": _to_float,
    "aten::__contains__": _contains,
    "aten::__getitem__": item_of,
    "aten::__is__": operator.is_,
    "aten::__isnot__": operator.is_not,
    "aten::_set_item": set_item,
    "aten::_unwrap_optional": _unwrap,
    "aten::add": _add,
    "aten::add_": _extend,
    "aten::append": lambda value, item: _extend(value, [item]),
    "aten::format": _format,
    "aten::items": lambda value: list(check(value, dict).items()),
    "aten::keys": lambda value: list(check(value, dict)),
    "aten::len": _length,
    "aten::list": lambda value: list(check(value, list, tuple, str)),
    "aten::mul": _multiply,
    "aten::size": _size,
    "aten::slice": part_of,
    "aten::values": lambda value: list(check(value, dict).values()),
    "aten::warn": lambda *words, **options: None,
    "prim::RaiseException": _raise,
    "prim::abs": _numbers(abs),
    "prim::max": _extreme(max),
    "prim::min": _extreme(min),
}
"""Every function that takes no tensor, or none but to say something about it."""
