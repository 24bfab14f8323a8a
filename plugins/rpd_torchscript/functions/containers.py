"""Functions of lists, dictionaries, tuples and texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from rpd_torchscript.functions.function import Function
from rpd_torchscript.limits import ITEMS, Exhausted, Fault, Forbidden, Meter
from rpd_torchscript.values import check_int, check_tensor, kind_of

_SCALARS = (int, float, bool, str, type(None))
_LONGEST_TEXT = 10_000


def check_items(count: int) -> None:
    """Refuse a list that gets too long, before it does."""
    if count > ITEMS:
        raise Exhausted(f"makes a list of {count} items, more than {ITEMS}")


def check_text(text: str) -> str:
    """Return a text that is not too long."""
    if len(text) > _LONGEST_TEXT:
        raise Exhausted(f"makes a text of {len(text)} letters, more than {_LONGEST_TEXT}")
    return text


def is_plain(value: Any) -> bool:
    """Check for a value that can be compared and shown: scalars, and flat lists of them."""
    if isinstance(value, list | tuple):
        return all(isinstance(item, _SCALARS) for item in value)
    return isinstance(value, _SCALARS)


def _own_list(value: Any) -> list[Any]:
    if type(value) is list:
        return value
    if isinstance(value, list | dict):
        raise Forbidden(
            "changes its own lists when it is called, so that two workers would answer differently"
        )
    raise Fault(f"a list is needed where the code has {kind_of(value)}")


def _list(meter: Meter, *items: Any) -> list[Any]:
    return list(items)


def _tuple(meter: Meter, *items: Any) -> tuple[Any, ...]:
    return items


def _dictionary(meter: Meter, *items: Any) -> dict[Any, Any]:
    half = len(items) // 2
    return {_key(key): value for key, value in zip(items[:half], items[half:], strict=True)}


def _key(key: Any) -> Any:
    if type(key) not in (str, int, float, bool):
        raise Fault(f"a key is {kind_of(key)}")
    return key


def _tuple_slice(meter: Meter, value: Any, low: Any, high: Any) -> Any:
    if not isinstance(value, tuple):
        raise Fault(f"a tuple is needed where the code has {kind_of(value)}")
    meter.stepped(len(value) // 100)
    return value[low:high]


def _getitem(meter: Meter, value: Any, key: Any) -> Any:
    if isinstance(value, list | tuple | str):
        place = check_int(key)
        if not -len(value) <= place < len(value):
            raise Fault(f"item {place} of a list of {len(value)} is missing")
        return value[place]
    if isinstance(value, dict):
        if _key(key) not in value:
            raise Fault(f"the key {str(key)[:50]!r} is missing")
        return value[key]
    if type(value) is Tensor:
        return value.select(0, check_int(key))
    raise Fault(f"a list is needed where the code has {kind_of(value)}")


def _set_item(meter: Meter, value: Any, key: Any, item: Any) -> Any:
    if type(value) is dict:
        check_items(len(value))
        value[_key(key)] = item
        return value
    items, place = _own_list(value), check_int(key)
    if not -len(items) <= place < len(items):
        raise Fault(f"item {place} of a list of {len(items)} is missing")
    items[place] = item
    return items


def _append(meter: Meter, value: Any, item: Any) -> list[Any]:
    items = _own_list(value)
    check_items(len(items) + 1)
    items.append(item)
    return items


def _extend(meter: Meter, value: Any, more: Any) -> None:
    items, added = _own_list(value), _listed(more)
    meter.stepped(len(added))
    check_items(len(items) + len(added))
    items.extend(added)


def _insert(meter: Meter, value: Any, place: Any, item: Any) -> None:
    items = _own_list(value)
    check_items(len(items) + 1)
    meter.stepped(len(items) // 100)
    items.insert(check_int(place), item)


def _pop(meter: Meter, value: Any, place: Any = -1) -> Any:
    items = _own_list(value)
    if not items or not -len(items) <= check_int(place) < len(items):
        raise Fault("an item is taken out of a list that lacks it")
    meter.stepped(len(items) // 100)
    return items.pop(place)


def _clear(meter: Meter, value: Any) -> None:
    _own_list(value).clear()


def _reverse(meter: Meter, value: Any) -> None:
    meter.stepped(len(_own_list(value)))
    _own_list(value).reverse()


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise Fault(f"a list is needed where the code has {kind_of(value)}")
    return list(value)


def _as_list(meter: Meter, value: Any) -> list[Any]:
    items = list(value) if isinstance(value, str) else _listed(value)
    meter.stepped(len(items))
    return items


def _length(meter: Meter, value: Any) -> int:
    if type(value) is Tensor:
        if not value.dim():
            raise Fault("a tensor without axes has no length")
        return value.size(0)
    if not isinstance(value, list | tuple | dict | str):
        raise Fault(f"{kind_of(value)} has no length")
    return len(value)


def _contains(meter: Meter, value: Any, item: Any) -> bool:
    if isinstance(value, dict):
        return _key(item) in value
    if not is_plain(value) or not is_plain(item):
        raise Fault("only plain values are looked for in lists")
    meter.stepped(len(value) // 10)
    return item in value


def _dict_view(take: Callable[[dict[Any, Any]], Any]) -> Callable[[Meter, Any], list[Any]]:
    def call(meter: Meter, value: Any) -> list[Any]:
        if not isinstance(value, dict):
            raise Fault(f"a dictionary is needed where the code has {kind_of(value)}")
        meter.stepped(len(value))
        return list(take(value))

    return call


def _get(meter: Meter, value: Any, key: Any, default: Any = None) -> Any:
    if not isinstance(value, dict):
        raise Fault(f"a dictionary is needed where the code has {kind_of(value)}")
    return value.get(_key(key), default)


def _new_dict(meter: Meter, items: Any = ()) -> dict[Any, Any]:
    if isinstance(items, dict):
        items = list(items.items())
    meter.stepped(len(_listed(items)))
    return {_key(key): value for key, value in items}


def _format(meter: Meter, text: Any, *values: Any) -> str:
    """Put values into the braces of a text, as they come."""
    if not isinstance(text, str):
        raise Fault(f"a text is needed where the code has {kind_of(text)}")
    parts = text.split("{}")
    shown = [_shown(value) for value in values[: len(parts) - 1]]
    shown += [""] * (len(parts) - 1 - len(shown))
    pieces = [piece for pair in zip(parts, shown, strict=False) for piece in pair]
    made = check_text("".join([*pieces, parts[-1]]))
    meter.stepped(len(made) // 10)
    return made


def _shown(value: Any) -> str:
    if type(value) is Tensor:
        return f"a tensor of shape {tuple(value.shape)}"
    return check_text(str(value)[: _LONGEST_TEXT + 1]) if is_plain(value) else kind_of(value)


def _sorted(meter: Meter, value: Any) -> list[Any]:
    items = _listed(value)
    if not is_plain(items):
        raise Fault("only lists of numbers or texts are sorted")
    meter.stepped(len(items) * 5)
    return sorted(items)


def _extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
    def call(meter: Meter, value: Any, other: Any = None) -> Any:
        items = _listed(value) if other is None else [value, other]
        if not items or any(type(item) not in (int, float, bool) for item in items):
            raise Fault("numbers are needed for min and max")
        meter.stepped(len(items) // 10)
        return choose(items)

    return call


def _tolist(meter: Meter, value: Any) -> Any:
    tensor = check_tensor(value)
    check_items(tensor.numel())
    meter.stepped(tensor.numel())
    return tensor.tolist()


FUNCTIONS = {
    "aten::__contains__": Function(_contains, folds="always"),
    "aten::__getitem__": Function(_getitem),
    "aten::_set_item": Function(_set_item, keeps=True, writes=True),
    "aten::append": Function(_append, keeps=True, writes=True),
    "aten::clear": Function(_clear, writes=True),
    "aten::dict": Function(_new_dict, keeps=True),
    "aten::extend": Function(_extend, writes=True),
    "aten::format": Function(_format, folds="always"),
    "aten::get": Function(_get, keeps=True),
    "aten::insert": Function(_insert, keeps=True, writes=True),
    "aten::items": Function(_dict_view(dict.items)),
    "aten::keys": Function(_dict_view(dict.keys)),
    "aten::len": Function(_length, folds="always"),
    "aten::list": Function(_as_list),
    "aten::pop": Function(_pop, writes=True),
    "aten::reverse": Function(_reverse, writes=True),
    "aten::sorted": Function(_sorted),
    "aten::values": Function(_dict_view(dict.values)),
    "prim::DictConstruct": Function(_dictionary, keeps=True),
    "prim::ListConstruct": Function(_list, keeps=True),
    "prim::TupleConstruct": Function(_tuple, keeps=True),
    "prim::TupleSlice": Function(_tuple_slice, keeps=True),
    "prim::max": Function(_extreme(max), folds="always"),
    "prim::min": Function(_extreme(min), folds="always"),
    "prim::tolist": Function(_tolist, reads=True),
}
