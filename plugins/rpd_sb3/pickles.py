"""Pickles read without running anything of theirs.

Every name that a pickle asks for is looked up in a table of exact names, and what stands there is
code of this module: holders that keep what they are given, and readers of plain numbers. No
function of NumPy, Gymnasium, torch or stable-baselines3 is ever handed to a pickle.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

import numpy as np

from rpd_core.errors import one_line
from rpd_core.untrusted.boundary import printable
from rpd_core.untrusted.machine import Fillable, Machine, Refused, pairs

_CODE = re.compile(r"[biuf](1|2|4|8)|\?")
_DEEPEST = 50
_MOST_PARTS = 1_000_000
_MOST_AXES = 32


@dataclass(frozen=True)
class Reference:
    """A name that a pickle mentions, as an inert note: it cannot be called or instantiated."""

    module: str
    name: str

    def __str__(self) -> str:
        return printable(f"{self.module}.{self.name}", 120)


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


def _holder(kind: str) -> type[Holder]:
    return type(kind, (Holder,), {"kind": kind, "__slots__": ()})


class _Dtype(Fillable):
    """The type of numbers: only truth values, integers and floats."""

    __slots__ = ("code", "order")

    def __init__(self, code: Any, *rest: Any) -> None:
        if not (isinstance(code, str) and _CODE.fullmatch(code)):
            raise Refused(f"it holds an array of {_in_words(code)}; only numbers are read")
        self.code, self.order = code, "|"

    def fill(self, state: Any) -> None:
        """Take the byte order."""
        self.order = state[1] if state[1] in ("<", ">", "=") else "|"

    def numpy(self) -> np.dtype[Any]:
        """Return the type as NumPy has it."""
        return np.dtype(self.code if self.code in ("?", "b1") else self.order + self.code)


class _Array(Fillable):
    """An array in the making: `_reconstruct` makes it empty, its state fills it."""

    __slots__ = ("value",)

    def __init__(self, *args: Any) -> None:
        self.value = np.zeros(0)

    def fill(self, state: Any) -> None:
        """Read the numbers."""
        shape, dtype, fortran, data = state[-4:]
        self.value = _numbers(data, dtype, shape, "F" if fortran else "C")


def _in_words(value: Any) -> str:
    """Return a value of a file in a few words; the text of a nested one may be endless."""
    if isinstance(value, str):
        return f"type {printable(value, 40)!r}"
    return f"a type that is a {type(value).__name__}"


def _numbers(data: Any, dtype: Any, shape: Any, order: str = "C") -> np.ndarray[Any, Any]:
    if not isinstance(dtype, _Dtype):
        raise Refused(f"it holds an array of {_in_words(dtype)}; only numbers are read")
    if not isinstance(data, bytes | bytearray | str):
        raise Refused(f"it holds an array whose content is a {type(data).__name__}")
    raw = data.encode("latin1") if isinstance(data, str) else bytes(data)
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if len(sizes) > _MOST_AXES or not all(isinstance(n, int) and n >= 0 for n in sizes):
        raise Refused("it holds an array whose shape makes no sense")
    count = math.prod(sizes)
    if len(raw) != count * dtype.numpy().itemsize:
        raise Refused("the size of an array does not agree with its content")
    flat = np.frombuffer(raw, dtype.numpy(), count)
    return flat.reshape(sizes, order="F" if order == "F" else "C").copy()


def _scalar(dtype: Any, data: Any = b"") -> Any:
    return _numbers(data, dtype, (1,))[0]


def _latin(text: Any, *encoding: Any) -> bytes:
    if not isinstance(text, str):
        raise Refused(f"it encodes a {type(text).__name__} as text")
    return text.encode("latin1")


def _dictionary(items: Any = ()) -> dict[Any, Any]:
    return pairs(items.items() if isinstance(items, dict) else items)


_SPACES = {
    "box.Box": "Box",
    "discrete.Discrete": "Discrete",
    "multi_discrete.MultiDiscrete": "MultiDiscrete",
    "multi_binary.MultiBinary": "MultiBinary",
    "dict.Dict": "Dict",
    "tuple.Tuple": "Tuple",
}
_RANDOM = (
    "numpy.random._pickle.__randomstate_ctor",
    "numpy.random._pickle.__generator_ctor",
    "numpy.random._pickle.__bit_generator_ctor",
    "numpy.random._generator.Generator",
    "numpy.random._mt19937.MT19937",
    "numpy.random._pcg64.PCG64",
    "numpy.random._pcg64.PCG64DXSM",
    "numpy.random.bit_generator.SeedSequence",
    "numpy.random.bit_generator.__pyx_unpickle_SeedSequence",
    "gym.utils.seeding.RandomNumberGenerator",
    "gym.utils.seeding.RandomNumberGenerator._generator_ctor",
    "gymnasium.utils.seeding.RandomNumberGenerator",
    "gymnasium.utils.seeding.RandomNumberGenerator._generator_ctor",
)
_NUMBERS = ("bool_", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
_FLOATS = ("uint64", "float16", "float32", "float64")


def _table() -> dict[str, Any]:
    known: dict[str, Any] = {"collections.OrderedDict": _dictionary}
    for path, kind in _SPACES.items():
        for package in ("gym", "gymnasium"):
            known[f"{package}.spaces.{path}"] = _holder(kind)
    for name in _RANDOM:
        known[name] = _holder("ignored")
    for core in ("numpy.core", "numpy._core"):
        known[f"{core}.multiarray._reconstruct"] = _Array
        known[f"{core}.multiarray.scalar"] = _scalar
        known[f"{core}.numeric._frombuffer"] = _numbers
    for name in (*_NUMBERS, *_FLOATS):
        known[f"numpy.{name}"] = Reference("numpy", name)
    known["numpy.ndarray"] = Reference("numpy", "ndarray")
    known["numpy.dtype"] = _Dtype
    known["_codecs.encode"] = _latin
    return known


STATISTICS = {
    "stable_baselines3.common.vec_env.vec_normalize.VecNormalize": _holder("VecNormalize"),
    "stable_baselines3.common.running_mean_std.RunningMeanStd": _holder("RunningMeanStd"),
}
"""What a file of normalisation statistics may name besides numbers and spaces."""

_KNOWN = _table()


def read(raw: bytes, more: Mapping[str, Any] | None = None, lenient: bool = False) -> Any:
    """Return what a pickle holds, or raise `Refused` with the name of what it wanted.

    A lenient reading turns names that are not on the list into `Reference`s instead of refusing
    them; a pickle that goes on to call one is refused all the same.
    """
    return read_stream(io.BytesIO(raw), {**_KNOWN, **(more or {})}, lenient)


def read_stream(
    stream: BinaryIO,
    known: Mapping[str, Any],
    lenient: bool = False,
    outside: Callable[[Any], Any] | None = None,
) -> Any:
    """Return what the pickle at a stream's position holds, given what its names stand for.

    `outside` makes the objects that the pickle only refers to; without it, that is refused.
    """

    def find(module: str, name: str) -> Any:
        found = known.get(f"{module}.{name}")
        if found is None and not lenient:
            raise Refused(f"it wants {Reference(module, name)}")
        return Reference(module, name) if found is None else found

    try:
        loaded = Machine(find, _call, outside or _refuse_outside).run(stream)
        return _Finisher().finish(loaded, 0)[0]
    except Refused:
        raise
    except Exception as error:  # a damaged pickle may fail in any way
        raise Refused(f"it cannot be read ({printable(one_line(error), 200)})") from error


def _call(function: Any, arguments: tuple[Any, ...]) -> Any:
    if isinstance(function, Reference):
        raise Refused(f"it wants {function}")
    if not callable(function):
        raise Refused(f"it calls a {type(function).__name__}")
    return function(*arguments)


def _refuse_outside(identifier: Any) -> Any:
    raise Refused("it wants an object from outside the file")


class _Finisher:
    """Puts finished arrays in the place of those in the making, at all depths, each part once."""

    def __init__(self) -> None:
        self.done: dict[int, tuple[Any, int]] = {}

    def finish(self, value: Any, depth: int) -> tuple[Any, int]:
        """Return the finished value and the number of its parts, shared ones counted each time.

        Lists of the same list of the same list are small in the file and endless for a reader.
        """
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
        if isinstance(value, _Array):
            return value.value, 1
        if isinstance(value, _Dtype):
            return value.numpy(), 1
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
