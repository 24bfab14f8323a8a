"""Files of safetensors: a length, a table in JSON, and the numbers; every offset is checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rpd_core.untrusted.boundary import Budget, Flaw, quoted
from rpd_core.untrusted.files import read_json

_LENGTH = 8
_LARGEST_TABLE = 2**24
_MOST_AXES = 16
_LONGEST_AXIS = 2**40
_METADATA = "__metadata__"
KINDS = {
    "BOOL": ("bool", 1), "U8": ("uint8", 1), "I8": ("int8", 1), "I16": ("int16", 2),
    "I32": ("int32", 4), "I64": ("int64", 8), "F16": ("float16", 2), "BF16": ("bfloat16", 2),
    "F32": ("float32", 4), "F64": ("float64", 8),
}  # fmt: skip
"""Types of numbers: what torch calls them, and bytes of one."""


@dataclass(frozen=True)
class StoredArray:
    """One array of a file."""

    kind: str
    """As torch calls the type."""
    shape: tuple[int, ...]
    raw: bytes


def begins_safetensors(start: bytes) -> bool:
    """Return whether a file begins with the length of a table, and with the table."""
    length = int.from_bytes(start[:_LENGTH], "little")
    return 2 <= length <= _LARGEST_TABLE and start[_LENGTH : _LENGTH + 1] == b"{"


def read_safetensors(raw: bytes) -> dict[str, StoredArray]:
    """Return the arrays of a file, or raise `Flaw` for one whose table does not fit its bytes."""
    length = int.from_bytes(raw[:_LENGTH], "little")
    if not 2 <= length <= min(_LARGEST_TABLE, len(raw) - _LENGTH):
        raise Flaw(f"its table of {length:,} bytes is not in it: it was cut short, copy it again")
    table = read_json(raw[_LENGTH : _LENGTH + length], Budget(0), _without_repeats)
    if not isinstance(table, dict):
        raise Flaw("its table is not a JSON object: it is damaged, copy it again")
    numbers = memoryview(raw)[_LENGTH + length :]
    entries = {n: _Entry.of(n, entry) for n, entry in table.items() if n != _METADATA}
    _check_tiling(entries, len(numbers))
    return {
        name: StoredArray(entry.kind, entry.shape, bytes(numbers[entry.begin : entry.end]))
        for name, entry in entries.items()
    }


@dataclass(frozen=True)
class _Entry:
    """What the table says about one array."""

    kind: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @classmethod
    def of(cls, name: str, entry: Any) -> _Entry:
        """Check one row of the table by itself."""
        given = entry if isinstance(entry, dict) else {}
        shape, offsets = _sizes(given.get("shape")), _sizes(given.get("data_offsets"))
        if shape is None or offsets is None or len(offsets) != 2:
            raise Flaw(f"its table describes {quoted(name)} in a way that makes no sense")
        if not isinstance(given.get("dtype"), str) or given["dtype"] not in KINDS:
            raise Flaw(f"{quoted(name)} in it is of type {quoted(str(given.get('dtype')))}, which "
                       "is not read: save the weights as float32")  # fmt: skip
        kind, width = KINDS[given["dtype"]]
        begin, end = offsets
        if end - begin != math.prod(shape) * width:
            raise Flaw(f"{quoted(name)} in it has {end - begin:,} bytes for shape {tuple(shape)}")
        return cls(kind, tuple(shape), begin, end)


def _check_tiling(entries: dict[str, _Entry], count: int) -> None:
    """Refuse arrays that overlap, leave gaps, or reach beyond the file."""
    place = 0
    for entry in sorted(entries.values(), key=lambda one: (one.begin, one.end)):
        if entry.begin != place:
            raise Flaw("the arrays in it overlap or leave gaps: it is damaged, copy it again")
        place = entry.end
    if place != count:
        raise Flaw(f"its arrays take {place:,} bytes, but {count:,} are stored: copy it again")


def _sizes(value: Any) -> list[int] | None:
    """Return a list of sizes; None for anything else."""
    if not isinstance(value, list) or len(value) > _MOST_AXES:
        return None
    return value if all(type(one) is int and 0 <= one < _LONGEST_AXIS for one in value) else None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise Flaw("its table names an array twice: it is damaged or made to deceive")
    return made
