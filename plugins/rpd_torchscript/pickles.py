"""A reader for the pickles of a TorchScript file that runs nothing.

It knows the few opcodes that torch writes and builds plain values, descriptions of tensors and
records of objects. A name can only be called if it stands in a table of exact names, and what is
called is code of this module.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rpd_torchscript.limits import PICKLE_BYTES

_DEEPEST = 64
_MARK = object()
_WIDEST_INTEGER = 8  # bytes


class BadPickle(Exception):
    """A pickle that is damaged or asks for what is not read here."""


@dataclass(frozen=True)
class Global:
    """A name that a pickle mentions, as an inert note."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"[:200]


@dataclass(frozen=True)
class StorageNote:
    """Raw numbers in a member of their own."""

    kind: str
    """The name of torch's storage class, for example `FloatStorage`."""
    key: str
    count: int


@dataclass(frozen=True)
class TensorNote:
    """A tensor as the pickle describes it, nothing of it checked."""

    storage: StorageNote
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(eq=False)
class Record:
    """An object of one of the file's own classes."""

    kind: str
    """The qualified name of its class."""
    state: dict[str, Any] = field(default_factory=dict)


def read_pickle(data: bytes) -> Any:
    """Return what a pickle holds."""
    if len(data) > PICKLE_BYTES:
        raise BadPickle(f"a pickle of {len(data)} bytes is too large")
    value = _Reader(data).read()
    check_nesting(value)
    return value


def check_nesting(value: Any) -> None:
    """Refuse values that are nested deeply or contain themselves."""
    done: set[int] = set()
    _walk(value, 0, done, set())


def _walk(value: Any, depth: int, done: set[int], above: set[int]) -> None:
    if not isinstance(value, list | tuple | dict | Record) or id(value) in done:
        return
    if depth > _DEEPEST or id(value) in above:
        raise BadPickle(f"values are nested more than {_DEEPEST} deep, or inside themselves")
    above.add(id(value))
    content = value.state if isinstance(value, Record) else value
    for item in content.values() if isinstance(content, dict) else content:
        _walk(item, depth + 1, done, above)
    above.discard(id(value))
    done.add(id(value))


class _Reader:
    """A stack machine over the bytes; every opcode that is not in its table is refused."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def read(self) -> Any:
        while True:
            code = self.take(1)
            if code == b".":
                break
            if code not in _OPCODES:
                raise BadPickle(f"opcode {code!r} at byte {self.place - 1} is not read here")
            _OPCODES[code](self)
        if len(self.stack) != 1 or self.stack[0] is _MARK:
            raise BadPickle("it ends in the middle of a value")
        return self.stack[0]

    def take(self, count: int) -> bytes:
        end = self.place + count
        if count < 0 or end > len(self.data):
            raise BadPickle("it is cut off")
        piece, self.place = self.data[self.place : end], end
        return piece

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def line(self) -> str:
        end = self.data.find(b"\n", self.place)
        if end < 0 or end - self.place > 1000:
            raise BadPickle("a name is cut off or too long")
        text = self.take(end - self.place + 1)[:-1]
        return _text(text)

    def pop(self) -> Any:
        if not self.stack or self.stack[-1] is _MARK:
            raise BadPickle("a value is missing")
        return self.stack.pop()

    def pop_mark(self) -> list[Any]:
        items = []
        while self.stack and self.stack[-1] is not _MARK:
            items.append(self.stack.pop())
        if not self.stack:
            raise BadPickle("a mark is missing")
        self.stack.pop()
        return items[::-1]

    def put(self, key: int) -> None:
        value = self.pop()
        self.stack.append(value)
        self.memo[key] = value

    def get(self, key: int) -> None:
        if key not in self.memo:
            raise BadPickle(f"value {key} is used before it is made")
        self.stack.append(self.memo[key])

    def top(self, kind: type) -> Any:
        if not self.stack or not isinstance(self.stack[-1], kind):
            raise BadPickle(f"a {kind.__name__} is missing")
        return self.stack[-1]

    def append(self) -> None:
        value = self.pop()
        self.top(list).append(value)

    def appends(self) -> None:
        items = self.pop_mark()
        self.top(list).extend(items)

    def set_items(self, items: list[Any]) -> None:
        target = self.top(dict)
        if len(items) % 2:
            raise BadPickle("a key has no value")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(key, str | int | float):
                raise BadPickle("a key is neither a text nor a number")
            target[key] = value

    def set_item(self) -> None:
        value, key = self.pop(), self.pop()
        self.set_items([key, value])

    def tuple(self, count: int) -> None:
        self.stack.append(tuple([self.pop() for _ in range(count)][::-1]))

    def new_object(self) -> None:
        arguments, kind = self.pop(), self.pop()
        if not isinstance(kind, Global) or arguments != ():
            raise BadPickle("an object is made in an unusual way")
        if not is_own_class(kind):
            raise BadPickle(f"it wants '{kind}'")
        self.stack.append(Record(f"{kind.module}.{kind.name}"))

    def build(self) -> None:
        state = self.pop()
        target = self.stack[-1] if self.stack else None
        if isinstance(target, dict):
            return  # what torch notes beside a state dict
        if not isinstance(target, Record):
            raise BadPickle("it alters what is no object")
        if not isinstance(state, dict) or not all(isinstance(key, str) for key in state):
            raise BadPickle(
                f"{target.kind[:200]!r} is restored by its own '__setstate__', which runs while "
                "the file is loaded"
            )
        target.state = dict(state)

    def reduce(self) -> None:
        arguments, function = self.pop(), self.pop()
        if not isinstance(function, Global) or not isinstance(arguments, tuple):
            raise BadPickle("something is called that is no name")
        maker = _CALLS.get((function.module, function.name))
        if maker is None:
            raise BadPickle(f"it wants '{function}'")
        try:
            self.stack.append(maker(*arguments))
        except TypeError as error:
            raise BadPickle(f"'{function}' is called with the wrong arguments") from error

    def persistent(self) -> None:
        note = self.pop()
        if not isinstance(note, tuple) or len(note) != 5 or note[0] != "storage":
            raise BadPickle("a storage is described in an unusual way")
        _, kind, key, _, count = note
        typed = isinstance(kind, Global) and kind.module == "torch"
        if not (typed and isinstance(key, str) and type(count) is int):
            raise BadPickle("a storage is described in an unusual way")
        self.stack.append(StorageNote(kind.name, key, count))


def is_own_class(kind: Global) -> bool:
    """Check whether a name is that of a class whose code is in the file."""
    path = f"{kind.module}.{kind.name}"
    return path.startswith("__torch__.") and "torch.classes" not in path


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadPickle("a text is not UTF-8") from error


def _long(reader: _Reader) -> int:
    count = reader.number("<B")
    if count > _WIDEST_INTEGER:
        raise BadPickle(f"an integer of {count} bytes")
    return int.from_bytes(reader.take(count), "little", signed=True)


def _rebuild(
    storage: Any, offset: Any, sizes: Any, strides: Any, grad: Any = None, *rest: Any
) -> TensorNote:
    numbers = [offset, *sizes, *strides]
    if not isinstance(storage, StorageNote) or any(type(n) is not int for n in numbers):
        raise BadPickle("a tensor is described in an unusual way")
    return TensorNote(storage, offset, tuple(sizes), tuple(strides))


def _same(value: Any, *rest: Any) -> Any:
    return value


def _dictionary(*items: Any) -> dict[Any, Any]:
    if items:
        raise BadPickle("a dictionary is made in an unusual way")
    return {}


_CALLS: dict[tuple[str, str], Callable[..., Any]] = {
    ("collections", "OrderedDict"): _dictionary,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild,
    ("torch._utils", "_rebuild_parameter"): _same,
    ("torch.jit._pickle", "build_boollist"): _same,
    ("torch.jit._pickle", "build_doublelist"): _same,
    ("torch.jit._pickle", "build_intlist"): _same,
    ("torch.jit._pickle", "build_tensorlist"): _same,
    ("torch.jit._pickle", "restore_type_tag"): _same,
}
"""Every name that a pickle may call, and what is done instead."""


def _push(make: Callable[[_Reader], Any]) -> Callable[[_Reader], None]:
    return lambda reader: reader.stack.append(make(reader))


_OPCODES: dict[bytes, Callable[[_Reader], None]] = {
    b"\x80": lambda r: _check_protocol(r.number("<B")),
    b"(": _push(lambda r: _MARK),
    b"N": _push(lambda r: None),
    b"\x88": _push(lambda r: True),
    b"\x89": _push(lambda r: False),
    b"J": _push(lambda r: r.number("<i")),
    b"K": _push(lambda r: r.number("<B")),
    b"M": _push(lambda r: r.number("<H")),
    b"\x8a": _push(_long),
    b"G": _push(lambda r: r.number(">d")),
    b"X": _push(lambda r: _text(r.take(r.number("<I")))),
    b")": _push(lambda r: ()),
    b"]": _push(lambda r: []),
    b"}": _push(lambda r: {}),
    b"c": _push(lambda r: Global(r.line(), r.line())),
    b"t": _push(lambda r: tuple(r.pop_mark())),
    b"\x85": lambda r: r.tuple(1),
    b"\x86": lambda r: r.tuple(2),
    b"\x87": lambda r: r.tuple(3),
    b"a": _Reader.append,
    b"e": _Reader.appends,
    b"s": _Reader.set_item,
    b"u": lambda r: r.set_items(r.pop_mark()),
    b"q": lambda r: r.put(r.number("<B")),
    b"r": lambda r: r.put(r.number("<I")),
    b"h": lambda r: r.get(r.number("<B")),
    b"j": lambda r: r.get(r.number("<I")),
    b"\x81": _Reader.new_object,
    b"b": _Reader.build,
    b"R": _Reader.reduce,
    b"Q": _Reader.persistent,
}
"""The opcodes that torch writes, each with its exact byte."""


def _check_protocol(protocol: int) -> None:
    if protocol != 2:
        raise BadPickle(f"it is a pickle of protocol {protocol}, torch writes 2")
