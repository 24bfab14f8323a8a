"""A machine for pickles that builds plain data and calls nothing but what it is handed.

Python's own unpickler makes room for whatever sizes a file claims, and hashes whatever it is told
to: a few bytes can fill the memory or keep it busy for ever. This one reads a bounded number of
operations, remembers by name and not by position, and takes plain scalars as keys alone. Loaders
differ only in the table of names that it is given: what stands there is code of rpd.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from rpd_core.untrusted.boundary import Budget, Refused, printable

_LONGEST_INTEGER = 1024
_CLASS = 2000
"""Bytes that a class of holders takes."""
_SHORT = 16
"""Items of a tuple of arguments that are looked at one by one."""
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
        self.named: dict[tuple[str, str], Any] = {}
        """What stands for the names that were asked for."""

    def run(self, stream: BinaryIO) -> Any:
        for operation, argument, _ in pickletools.genops(stream):
            self.budget.take_operations()
            name = operation.name
            if name in _LITERALS:
                self.stack.append(_bounded(argument))
            elif name in _CONSTANTS:
                self.stack.append(_CONSTANTS[name])
            elif name != "STOP":
                self._do(name, argument)
        if len(self.stack) != 1 or self.marked:
            raise Refused("it ends in the middle of a value")
        return self.stack.pop()

    def _do(self, name: str, argument: Any) -> None:
        method = _METHODS.get(name)
        if method is None:
            raise Refused(f"it uses the operation {name}")
        method(self, argument)

    def _skip(self, argument: Any) -> None:
        """PROTO and FRAME change nothing here."""

    # ------------------------------------------------------------------ stack and memo

    def _mark(self, argument: Any) -> None:
        self.marked.append(self.stack)
        self.stack = []

    def _take_marked(self) -> list[Any]:
        items, self.stack = self.stack, self.marked.pop()
        return items

    def _pop(self, argument: Any) -> None:
        if self.stack:
            self.stack.pop()
        else:
            self._take_marked()

    def _pop_mark(self, argument: Any) -> None:
        self._take_marked()

    def _duplicate(self, argument: Any) -> None:
        self.stack.append(self.stack[-1])

    def _put(self, argument: Any) -> None:
        self.memo[argument] = self.stack[-1]

    def _memoize(self, argument: Any) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def _get(self, argument: Any) -> None:
        if argument not in self.memo:
            raise Refused(f"it uses value {argument} before it is made")
        self.stack.append(self.memo[argument])

    # -------------------------------------------------------------------- containers

    def _empty_list(self, argument: Any) -> None:
        self.stack.append([])

    def _empty_tuple(self, argument: Any) -> None:
        self.stack.append(())

    def _empty_dict(self, argument: Any) -> None:
        self.stack.append({})

    def _list(self, argument: Any) -> None:
        items = self._take_marked()
        self.stack.append(items)

    def _tuple(self, argument: Any) -> None:
        items = tuple(self._take_marked())
        self.stack.append(items)

    def _group(self, count: int) -> None:
        """Put the last few objects into a tuple."""
        if len(self.stack) < count:
            raise IndexError("the stack is empty")
        items = tuple(self.stack[-count:])
        del self.stack[-count:]
        self.stack.append(items)

    def _dict(self, argument: Any) -> None:
        items = self._take_marked()
        self.stack.append({})
        self._set_items(items)

    def _append(self, argument: Any) -> None:
        item = self.stack.pop()
        self._extend([item])

    def _appends(self, argument: Any) -> None:
        self._extend(self._take_marked())

    def _extend(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], list):
            raise Refused("it appends to something that is not a list")
        self.stack[-1].extend(items)

    def _set_item(self, argument: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._set_items([key, value])

    def _set_marked(self, argument: Any) -> None:
        self._set_items(self._take_marked())

    def _set_items(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], dict):
            raise Refused("it sets an item of something that is not a dictionary")
        self.stack[-1].update(pairs(zip(items[::2], items[1::2], strict=True)))

    # -------------------------------------------------------------- names and objects

    def _global(self, argument: Any) -> None:
        module, _, name = argument.partition(" ")
        self.stack.append(self._find(module, name))

    def _stack_global(self, argument: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        if not (isinstance(name, str) and isinstance(module, str)):
            raise Refused("it wants something whose name is not a text")
        self.stack.append(self._find(module, name))

    def _find(self, module: str, name: str) -> Any:
        """Return what stands for a name; the class of a loader's holders is made once for each."""
        self.budget.take_copy(module, name)
        if (module, name) not in self.named:
            self.budget.take_made(_CLASS)
            self.named[module, name] = self.names.find(module, name)
        return self.named[module, name]

    def _reduce(self, argument: Any) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if not isinstance(arguments, tuple):
            raise Refused("it calls something with arguments that are not a tuple")
        self.stack.append(self._called(function, arguments))

    def _new_with_names(self, argument: Any) -> None:
        self.stack.pop()  # arguments by name: no object on the list takes any
        self._reduce(argument)

    def _instance(self, argument: Any) -> None:
        arguments = tuple(self._take_marked())
        self._global(argument)
        self.stack.append(self._called(self.stack.pop(), arguments))

    def _object(self, argument: Any) -> None:
        kind, *arguments = self._take_marked()
        self.stack.append(self._called(kind, tuple(arguments)))

    def _build(self, argument: Any) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if isinstance(target, Fillable):
            self._charge(state)
            target.fill(state)
        elif not isinstance(target, dict):  # attributes of a dictionary are of no interest
            raise Refused("it tries to alter something that is not its own")

    def _persistent(self, argument: Any) -> None:
        self._charge(argument)
        self.stack.append(self.names.outside(argument))

    def _persistent_on_stack(self, argument: Any) -> None:
        self._persistent(self.stack.pop())

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


_METHODS: dict[str, Callable[[Machine, Any], None]] = {
    "PROTO": Machine._skip,
    "FRAME": Machine._skip,
    "MARK": Machine._mark,
    "POP": Machine._pop,
    "POP_MARK": Machine._pop_mark,
    "DUP": Machine._duplicate,
    "PUT": Machine._put,
    "BINPUT": Machine._put,
    "LONG_BINPUT": Machine._put,
    "MEMOIZE": Machine._memoize,
    "GET": Machine._get,
    "BINGET": Machine._get,
    "LONG_BINGET": Machine._get,
    "EMPTY_LIST": Machine._empty_list,
    "EMPTY_TUPLE": Machine._empty_tuple,
    "EMPTY_DICT": Machine._empty_dict,
    "LIST": Machine._list,
    "TUPLE": Machine._tuple,
    "TUPLE1": lambda machine, _: machine._group(1),
    "TUPLE2": lambda machine, _: machine._group(2),
    "TUPLE3": lambda machine, _: machine._group(3),
    "DICT": Machine._dict,
    "APPEND": Machine._append,
    "APPENDS": Machine._appends,
    "SETITEM": Machine._set_item,
    "SETITEMS": Machine._set_marked,
    "GLOBAL": Machine._global,
    "STACK_GLOBAL": Machine._stack_global,
    "REDUCE": Machine._reduce,
    "NEWOBJ": Machine._reduce,
    "NEWOBJ_EX": Machine._new_with_names,
    "INST": Machine._instance,
    "OBJ": Machine._object,
    "BUILD": Machine._build,
    "PERSID": Machine._persistent,
    "BINPERSID": Machine._persistent_on_stack,
}
"""Every operation that is carried out; sets, buffers and extension codes are not."""


def pairs(items: Any) -> dict[Any, Any]:
    """Return a dictionary of keys and values; hashing a nested key may take for ever."""
    made = {}
    for key, value in items:
        if not isinstance(key, _SCALARS):
            raise Refused(f"it has a {type(key).__name__} as a key")
        made[key] = value
    return made


def _bounded(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
        raise Refused("it holds an absurdly long integer")
    return value
