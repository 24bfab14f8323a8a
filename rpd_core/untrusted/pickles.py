"""Pickles read without running anything of theirs.

Python's own unpickler makes room for whatever sizes a file claims, and hashes whatever it is told
to: a few bytes can fill the memory or keep it busy for ever. This one reads a bounded number of
operations, remembers by name and not by position, and takes plain scalars as keys alone. Every
name that a pickle asks for is looked up in a table of exact names, and what stands there is code
of rpd: holders that keep what they are given, and readers of plain numbers. No function of NumPy,
Gymnasium, torch or stable-baselines3 is ever handed to a pickle.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

from rpd_core.errors import one_line
from rpd_core.untrusted.boundary import Budget, Flaw, Refused, printable

_LONGEST_INTEGER = 1024
_CLASS = 2000  # bytes that a class of holders takes
_SHORT = 16  # items of a tuple of arguments that are looked at one by one
_LITERALS = frozenset({
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
    "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE",
    "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8",
})  # fmt: skip
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_SCALARS = (str, int, float, bytes, type(None))


class Fillable:
    """Something that a pickle may fill with a state after it was made."""

    __slots__ = ()

    def fill(self, state: Any) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Reference:
    """A name that a pickle mentions, as an inert note: it cannot be called or instantiated."""

    module: str
    name: str

    def __str__(self) -> str:
        return printable(f"{self.module}.{self.name}", 120)


def refuse(reference: Reference) -> Any:
    """Refuse a name that is not in a table."""
    raise Refused(f"it wants {reference}")


def _refuse_outside(identifier: Any) -> Any:
    raise Refused("it wants an object from outside the file")


@dataclass(frozen=True)
class AllowedNames:
    """What a loader lets pickles name, and what each name stands for."""

    known: Mapping[str, Any]
    """By the full name: a function or a class of rpd's own, or a plain value."""
    otherwise: Callable[[Reference], Any] = refuse
    """What stands for any other name."""
    outside: Callable[[Any], Any] = _refuse_outside
    """What stands for an object that is kept outside the pickle, by its identifier."""

    def find(self, module: str, name: str) -> Any:
        found = self.known.get(f"{module}.{name}")
        return self.otherwise(Reference(module, name)) if found is None else found


class Machine:
    """Runs the operations of one pickle."""

    # What a function or a holder is handed may be in the memo, to be handed over again and again;
    # so it is charged each time, whether it is copied or not.

    def __init__(self, names: AllowedNames, budget: Budget) -> None:
        self.names, self.budget = names, budget
        self.stack: list[Any] = []
        self.marked: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.named: dict[tuple[str, str], Any] = {}  # what stands for the names that were asked for

    def run(self, stream: BinaryIO) -> Any:
        for operation, argument, _ in pickletools.genops(stream):
            self.budget.take_operations()
            name = operation.name
            if name in _LITERALS:
                if isinstance(argument, int) and argument.bit_length() > _LONGEST_INTEGER:
                    raise Refused("it holds an absurdly long integer")
                self.stack.append(argument)
            elif name in _CONSTANTS:
                self.stack.append(_CONSTANTS[name])
            else:
                self._do(name, argument)
        if len(self.stack) != 1 or self.marked:
            raise Refused("it ends in the middle of a value")
        return self.stack.pop()

    def _do(self, name: str, argument: Any) -> None:
        """Carry out an operation on stack, memo or containers; sets and buffers are refused."""
        match name:
            case "STOP" | "PROTO" | "FRAME":
                pass
            case "MARK":
                self.marked.append(self.stack)
                self.stack = []
            case "POP" if self.stack:
                self.stack.pop()
            case "POP" | "POP_MARK":
                self._take_marked()
            case "DUP":
                self.stack.append(self.stack[-1])
            case "PUT" | "BINPUT" | "LONG_BINPUT":
                self.memo[argument] = self.stack[-1]
            case "MEMOIZE":
                self.memo[len(self.memo)] = self.stack[-1]
            case "GET" | "BINGET" | "LONG_BINGET":
                if argument not in self.memo:
                    raise Refused(f"it uses value {argument} before it is made")
                self.stack.append(self.memo[argument])
            case "EMPTY_LIST":
                self.stack.append([])
            case "EMPTY_TUPLE":
                self.stack.append(())
            case "EMPTY_DICT":
                self.stack.append({})
            case "LIST":
                items = self._take_marked()
                self.stack.append(items)
            case "TUPLE":
                items = self._take_marked()
                self.stack.append(tuple(items))
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                self._group(int(name[-1]))
            case "DICT":
                items = self._take_marked()
                self.stack.append({})
                self._set_items(items)
            case "APPEND":
                item = self.stack.pop()
                self._extend([item])
            case "APPENDS":
                self._extend(self._take_marked())
            case "SETITEM":
                value, key = self.stack.pop(), self.stack.pop()
                self._set_items([key, value])
            case "SETITEMS":
                self._set_items(self._take_marked())
            case _:
                self._do_with_names(name, argument)

    def _do_with_names(self, name: str, argument: Any) -> None:
        """Carry out an operation that looks up names, makes objects or fills them."""
        match name:
            case "GLOBAL":
                self._global(argument)
            case "STACK_GLOBAL":
                attribute, module = self.stack.pop(), self.stack.pop()
                if not (isinstance(attribute, str) and isinstance(module, str)):
                    raise Refused("it wants something whose name is not a text")
                self.stack.append(self._find(module, attribute))
            case "REDUCE" | "NEWOBJ":
                self._reduce()
            case "NEWOBJ_EX":
                self.stack.pop()  # arguments by name: no object on the list takes any
                self._reduce()
            case "INST":
                arguments = tuple(self._take_marked())
                self._global(argument)
                self.stack.append(self._called(self.stack.pop(), arguments))
            case "OBJ":
                kind, *given = self._take_marked()
                self.stack.append(self._called(kind, tuple(given)))
            case "BUILD":
                self._build(self.stack.pop(), self.stack[-1])
            case "PERSID":
                self._persistent(argument)
            case "BINPERSID":
                self._persistent(self.stack.pop())
            case _:
                raise Refused(f"it uses the operation {name}")

    def _take_marked(self) -> list[Any]:
        items, self.stack = self.stack, self.marked.pop()
        return items

    def _group(self, count: int) -> None:
        if len(self.stack) < count:
            raise IndexError("the stack is empty")
        items = tuple(self.stack[-count:])
        del self.stack[-count:]
        self.stack.append(items)

    def _extend(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], list):
            raise Refused("it appends to something that is not a list")
        self.stack[-1].extend(items)

    def _set_items(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], dict):
            raise Refused("it sets an item of something that is not a dictionary")
        self.stack[-1].update(pairs(zip(items[::2], items[1::2], strict=True)))

    def _global(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        self.stack.append(self._find(module, name))

    def _find(self, module: str, name: str) -> Any:
        """Return what stands for a name; the class of a loader's holders is made once for each."""
        self.budget.take_copy(module, name)
        if (module, name) not in self.named:
            self.budget.take_made(_CLASS)
            self.named[module, name] = self.names.find(module, name)
        return self.named[module, name]

    def _reduce(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if not isinstance(arguments, tuple):
            raise Refused("it calls something with arguments that are not a tuple")
        self.stack.append(self._called(function, arguments))

    def _build(self, state: Any, target: Any) -> None:
        if isinstance(target, Fillable):
            self._charge(state)
            target.fill(state)
        elif not isinstance(target, dict):  # attributes of a dictionary are of no interest
            raise Refused("it tries to alter something that is not its own")

    def _persistent(self, identifier: Any) -> None:
        self._charge(identifier)
        self.stack.append(self.names.outside(identifier))

    def _called(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        if isinstance(function, Reference):
            refuse(function)
        if not callable(function):
            raise Refused(f"it calls a {type(function).__name__}")
        self._charge(arguments)
        try:
            return function(*arguments)
        except TypeError as error:
            raise Refused("it calls something with the wrong arguments") from error

    def _charge(self, handed: Any) -> None:
        """Charge a value that is handed on, and, of a short tuple, each of its items."""
        parts = handed if isinstance(handed, tuple) and len(handed) <= _SHORT else ()
        self.budget.take_copy(handed, *parts)


def pairs(items: Any) -> dict[Any, Any]:
    """Return a dictionary of keys and values; hashing a nested key may take for ever."""
    made = {}
    for key, value in items:
        if not isinstance(key, _SCALARS):
            raise Refused(f"it has a {type(key).__name__} as a key")
        made[key] = value
    return made


_DEEPEST = 128
_MOST_PARTS = 1_000_000
LARGEST_PICKLE = 2**25  # bytes of a pickle: what it builds takes many times its size in memory


class Holder(Fillable):
    """Keeps the state of a pickled object and does nothing with it."""

    __slots__ = ("state",)
    kind: ClassVar[str] = ""

    def __init__(self, *args: Any) -> None:
        self.state: dict[str, Any] = {}

    def fill(self, state: Any) -> None:
        """Keep the attributes; a pair holds those of `__dict__` and those of slots."""
        both = state if isinstance(state, tuple) and len(state) == 2 else (state,)
        for part in both:
            if isinstance(part, dict):
                self.state |= part

    @classmethod
    def of(cls, kind: str) -> type[Holder]:
        return type(kind, (cls,), {"kind": kind, "__slots__": ()})


class Draft(Fillable):
    """Something in the making, which its finished value replaces in the end."""

    __slots__ = ()

    def finished(self) -> Any:
        raise NotImplementedError


def read_pickle(source: bytes | BinaryIO, names: AllowedNames, budget: Budget) -> Any:
    """Return what a pickle holds, or raise `Refused` with the name of what it wanted."""
    # Of a stream, the pickle at its position is read, and no more.
    stream = io.BytesIO(source) if isinstance(source, bytes) else source
    if isinstance(source, bytes) and len(source) > LARGEST_PICKLE:
        raise Refused(f"it is a pickle of {len(source):,} bytes, more than {LARGEST_PICKLE:,}")
    try:
        loaded = Machine(names, budget).run(stream)
        return _Finisher().finish(loaded, 0)[0]
    except Refused:
        raise
    except Flaw as error:  # of the budget
        raise Refused(str(error)) from error
    except Exception as error:  # a damaged pickle may fail in any way
        raise Refused(f"it cannot be read ({printable(one_line(error), 200)})") from error


class _Finisher:
    """Puts finished values in the place of drafts, at all depths, each part once."""

    def __init__(self) -> None:
        self.done: dict[int, tuple[Any, int]] = {}

    def finish(self, value: Any, depth: int) -> tuple[Any, int]:
        """Return the finished value and the number of its parts, shared ones counted each time."""
        # Lists of the same list of the same list are small in the file and endless for a reader.
        known = self.done.get(id(value))
        if known is not None:
            return known
        if depth > _DEEPEST:
            raise Refused("it is nested too deeply")
        made, parts = self._finished(value, depth + 1)
        if parts > _MOST_PARTS:
            raise Refused(f"it has more than {_MOST_PARTS:,} parts")
        self.done[id(value)] = made, parts
        return made, parts

    def _finished(self, value: Any, depth: int) -> tuple[Any, int]:
        if isinstance(value, Draft):
            return value.finished(), 1
        if isinstance(value, Holder):
            value.state, parts = self.finish(value.state, depth)
            return value, parts
        if isinstance(value, dict):
            items = {key: self.finish(item, depth) for key, item in value.items()}
            return {k: made for k, (made, _) in items.items()}, _total(items.values())
        if isinstance(value, list | tuple):
            rows = [self.finish(item, depth) for item in value]
            return type(value)(made for made, _ in rows), _total(rows)
        return value, 1


def _total(finished: Iterable[tuple[Any, int]]) -> int:
    return 1 + sum(parts for _, parts in finished)
