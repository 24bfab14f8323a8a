"""Protobuf's wire format, read within bounds: fields by number, nothing copied or interpreted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rpd_core.untrusted.boundary import Budget, Flaw

_VARINT, _LONG, _BYTES, _SHORT = 0, 1, 2, 5
_FIXED = {_LONG: 8, _SHORT: 4}
_DAMAGED = "it is damaged: copy it or export it again"
_SIGN = 1 << 63
_VARINT_BYTES = 10


class Message:
    """The fields of one message, in the order in which they stand."""

    def __init__(self, data: memoryview, budget: Budget) -> None:
        self.budget = budget
        self.fields: dict[int, list[Any]] = {}
        """Whole numbers, or the bytes of anything else, by the number of the field."""
        for number, value in _parts(data, budget):
            self.fields.setdefault(number, []).append(value)

    def messages(self, number: int) -> list[Message]:
        """Return the messages that a field holds."""
        return [Message(data, self.budget) for data in self.blobs(number)]

    def blobs(self, number: int) -> list[memoryview]:
        """Return the bytes of every occurrence of a field."""
        values = self.fields.get(number, [])
        if any(isinstance(value, int) for value in values):
            raise Flaw(_DAMAGED)
        return values

    def texts(self, number: int) -> tuple[str, ...]:
        """Return the texts that a field holds."""
        return tuple(bytes(data).decode("utf-8", "replace") for data in self.blobs(number))

    def text(self, number: int) -> str:
        """Return the text of a field; empty if there is none."""
        return (self.texts(number) or ("",))[-1]

    def numbers(self, number: int) -> tuple[int, ...]:
        """Return the whole numbers of a field, packed or one by one."""
        found: list[int] = []
        for value in self.fields.get(number, []):
            found += [value] if isinstance(value, int) else _packed(value, self.budget)
        return tuple(one - 2 * _SIGN if one >= _SIGN else one for one in found)

    def number(self, number: int) -> int:
        """Return the whole number of a field; 0 if there is none."""
        return (self.numbers(number) or (0,))[-1]


def _parts(data: memoryview, budget: Budget) -> Iterator[tuple[int, Any]]:
    place, end = 0, len(data)
    value: Any
    while place < end:
        budget.take_operations()
        tag, place = _varint(data, place)
        kind = tag & 7
        if kind == _VARINT:
            value, place = _varint(data, place)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            length, place = _varint(data, place)
        elif kind in _FIXED:
            length = _FIXED[kind]
        else:
            raise Flaw(_DAMAGED)
        if length > end - place:
            raise Flaw(_DAMAGED)
        yield tag >> 3, data[place : place + length]
        place += length


def _packed(data: memoryview, budget: Budget) -> list[int]:
    place, found = 0, []
    while place < len(data):
        budget.take_operations()
        value, place = _varint(data, place)
        found.append(value)
    return found


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for shift, byte in enumerate(data[place : place + _VARINT_BYTES]):
        value |= (byte & 127) << 7 * shift
        if byte < 128:
            return value & (2 * _SIGN - 1), place + shift + 1
    raise Flaw(_DAMAGED)
