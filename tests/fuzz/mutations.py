"""Changes that several formats share: of bytes, of JSON, of the members of a zip."""

from __future__ import annotations

import copy
import io
import json
import random
import struct
import zipfile
from typing import Any

EPOCH = (1980, 1, 1, 0, 0, 0)
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 10**18, 10**400, 0.5, 1e308, float("nan"), float("inf"), "", "a",
    "\x1b]0;owned\x07\x1b[31m\u202e", "x" * 10_000, "../../x", "/etc/passwd", "\0", "\ud800",
    [], {}, [[[[]]]], [0] * 1000, {"a": 1}, ["\x1b[2J"], "python:stranger:make",
    "gym:stranger:Id-v0", "sb3:a.zip,trust=true", "sb3:a.zip,extractor=stranger:make", "random",
    "policy:python:stranger:make", "pruned:case.rpd", "auto", "return>=nan",
)  # fmt: skip
"""What takes the place of values."""


def flipped(chance: random.Random, raw: bytes, most: int = 50) -> tuple[str, bytes]:
    """Return bytes of which a few are changed, dropped, repeated up to `most` times or inserted."""
    made = bytearray(raw)
    what = chance.choice(["change", "cut", "drop", "repeat", "insert"])
    place = chance.randrange(len(made) or 1)
    length = chance.choice([1, 2, 8, 100])
    if what == "change":
        for _ in range(length):
            made[chance.randrange(len(made))] = chance.randrange(256)
    elif what == "cut":
        del made[place:]
    elif what == "drop":
        del made[place : place + length]
    elif what == "repeat":
        made[place:place] = made[place : place + length] * chance.choice([1, most])
    else:
        made[place:place] = chance.randbytes(length)
    return f"{what} {length} at {place}", bytes(made)


def other_json(chance: random.Random, raw: bytes) -> tuple[str, bytes]:
    """Return JSON in which one value, at any depth, is another, or gone."""
    value = copy.deepcopy(json.loads(raw))
    places = list(_places(value))
    holder, key, name = chance.choice(places)
    if chance.random() < 0.2:
        del holder[key]
        return f"{name} gone", json.dumps(value).encode()
    number = chance.randrange(len(ODD))
    holder[key] = ODD[number]
    return f"{name} is odd {number}", json.dumps(value).encode()


def _places(value: Any, at: str = "") -> Any:
    """Yield (holder, key, name) of every value inside a value."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key, f"{at}/{key}"
            yield from _places(value[key], f"{at}/{key}")


def members(raw: bytes) -> dict[str, bytes]:
    """Return what is in a zip, by name."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(content: dict[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip; the same content gives the same bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in content.items():
            info = zipfile.ZipInfo(name, EPOCH)
            info.compress_type = packing
            archive.writestr(info, data)
    return stream.getvalue()


def pickle_bomb(chance: random.Random) -> tuple[str, bytes]:
    """Return a pickle that hands one long value over again and again."""
    size, times = chance.choice([1000, 100_000, 1_000_000]), chance.choice([10, 1000, 30_000])
    name = chance.choice(list(_BOMBS))
    value, use = _BOMBS[name](size)
    return f"{name} of {size} x {times}", b"\x80\x02(" + value + b"q\x000" + use * times + b"t."


def _text(size: int) -> bytes:
    return b"X" + struct.pack("<I", size) + b"x" * size


_BOMBS: dict[str, Any] = {
    "texts": lambda size: (_text(size), b"c_codecs\nencode\n(h\x00X\x06\x00\x00\x00latin1tR"),
    "lists": lambda size: (b"](" + b"K\x00K\x01\x86" * (size // 10) + b"e",
                           b"ccollections\nOrderedDict\n(h\x00tR"),
    "arguments": lambda size: (b"(" + b"N" * size + b"t", b"ccollections\nOrderedDict\nh\x00R"),
    "states": lambda size: (b"}(" + b"".join(b"I%d\nN" % n for n in range(size // 10)) + b"u",
                            b"cgymnasium.spaces.box\nBox\n)Rh\x00b"),
    "names": lambda size: (_text(size), b"h\x00h\x00\x93"),
    "identifiers": lambda size: (b"(" + b"N" * size + b"t", b"h\x00Q"),
}  # fmt: skip


def json_bomb(chance: random.Random) -> tuple[str, bytes]:
    """Return JSON that takes far more in memory than on disk, or far longer than it looks."""
    name = chance.choice(list(_TEXTS))
    return f"JSON of {name}", _TEXTS[name]


_TEXTS = {
    "lists": b"[" + b"[]," * 2_000_000 + b"0]",
    "tables": b"[" + b"{}," * 2_000_000 + b"0]",
    "depth": b"[" * 200_000 + b"]" * 200_000,
    "quotes": b'"' * 2_000_000,
    "escapes": b'["' + b'\\"' * 2_000_000,
    "spaces": b" " * 20_000_000 + b"{}",
}
