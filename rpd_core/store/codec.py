"""Typed records <-> JSON: the one place where either is turned into the other."""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar, Union, get_args, get_origin

from rpd_core.config.configuration import Json
from rpd_core.config.settings import is_number
from rpd_core.errors import StoreError
from rpd_core.untrusted.boundary import Budget, Flaw
from rpd_core.untrusted.files import read_json

T = TypeVar("T")
_LARGEST = 2**31  # bytes that the values of one file may take


def to_plain(value: object) -> Any:
    """Return a record as JSON values; numbers that JSON does not have become null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            item.name: to_plain(getattr(value, item.name)) for item in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def to_bytes(value: object) -> bytes:
    return (json.dumps(to_plain(value), indent=2) + "\n").encode()


def parse_object(content: bytes, where: str) -> Json:
    """Read the text of a JSON file that holds a table of names and values."""
    try:
        value = read_json(content, Budget(0, made=_LARGEST))
    except (ValueError, RecursionError, Flaw) as error:
        raise StoreError(f"cannot read {where}: {error}; restore or delete it") from error
    if not isinstance(value, dict):
        raise StoreError(f"{where} is not a file of rpd: it holds no table of names and values")
    return value


def from_plain(kind: type[T], value: object, where: str) -> T:
    """Return the record that JSON values describe, every type checked; `where` names the file."""
    try:
        record: T = _read(kind, value, "")
    except _Wrong as wrong:
        raise StoreError(f"{where}: {wrong}; restore the file or delete it") from None
    return record


class _Wrong(Exception):
    """Says what is wrong, and where in the file."""


def _read(kind: Any, value: Any, at: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        return _read_union(arguments, value, at)
    if origin is typing.Literal:
        return _checked(value in arguments, value, at, f"one of {', '.join(map(str, arguments))}")
    if origin is tuple:
        _checked(isinstance(value, list), value, at, "a list")
        return tuple(_read(arguments[0], item, f"{at}[{i}]") for i, item in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        _checked(isinstance(value, Mapping), value, at, "a table")
        return {key: _read(arguments[1], item, f"{at}.{key}") for key, item in value.items()}
    if dataclasses.is_dataclass(kind):
        return _read_record(kind, value, at)
    if kind is float:
        return float(_checked(is_number(value), value, at, "a number"))
    if kind is int:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return _checked(whole, value, at, "a whole number")
    return _checked(isinstance(value, kind), value, at, _WORDS.get(kind, kind.__name__))


_WORDS = {str: "text", bool: "true or false", type(None): "null", dict: "a table"}


def _checked(fits: bool, value: object, at: str, wanted: str) -> Any:
    if not fits:
        shown = repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:60]}..."
        raise _Wrong(f"{at.lstrip('.') or 'it'} must be {wanted}, not {shown}")
    return value


def _read_union(members: tuple[object, ...], value: object, at: str) -> Any:
    if value is None and type(None) in members:
        return None
    wrong: _Wrong | None = None
    for member in members:
        if member is not type(None):
            try:
                return _read(member, value, at)
            except _Wrong as error:
                wrong = wrong or error
    raise wrong or _Wrong(f"{at.lstrip('.')} cannot be read")


def _read_record(kind: Any, value: Any, at: str) -> Any:
    _checked(isinstance(value, Mapping), value, at, "a table")
    hints = _hints(kind)
    fields = {item.name: item for item in dataclasses.fields(kind)}
    for name, item in fields.items():
        required = (
            item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
        )
        if required and name not in value:
            raise _Wrong(f"{f'{at}.{name}'.lstrip('.')} is missing")
    return kind(**{n: _read(hints[n], value[n], f"{at}.{n}") for n in fields if n in value})


@lru_cache(maxsize=64)
def _hints(kind: object) -> dict[str, object]:
    return typing.get_type_hints(kind)
