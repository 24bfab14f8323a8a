"""How many parts a protobuf message has, counted before it is read.

A part of two bytes takes some ninety in memory, so a small file could fill it.
"""

from __future__ import annotations

from collections.abc import Mapping

_VARINT, _LONG, _BYTES, _SHORT = 0, 1, 2, 5
_GROUP = (3, 4)
_FIXED = {_LONG: 8, _SHORT: 4}
Layout = Mapping[int, "Layout"]
"""Fields that are messages themselves, by number, with their own layout."""


def has_more_parts(data: bytes, layout: Layout, most: int) -> bool:
    """Return whether a message has more than so many parts; damage is left to protobuf."""
    waiting = [(0, len(data), layout)]
    parts = 0
    while waiting:
        place, end, inner = waiting.pop()
        while place < end:
            parts += 1
            if parts > most:
                return True
            tag, place = _varint(data, place, end)
            kind, number = tag & 7, tag >> 3
            if kind == _VARINT:
                _, place = _varint(data, place, end)
            elif kind in _FIXED:
                place += _FIXED[kind]
            elif kind == _BYTES:
                length, place = _varint(data, place, end)
                if length and number in inner:
                    waiting.append((place, min(place + length, end), inner[number]))
                place += length
            elif kind not in _GROUP:
                break
    return False


def _varint(data: bytes, place: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while place < end and shift < 70:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
    return value, end
