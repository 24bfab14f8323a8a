"""Pickles read without running anything of theirs.

Every name that a pickle asks for is looked up in a table of exact names, and what stands there is
code of this module: holders that keep what they are given, and readers of plain numbers. No
function of NumPy, Gymnasium, torch or stable-baselines3 is ever handed to a pickle.
"""

from __future__ import annotations

import io
import math
import pickle
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rpd_core.errors import SpecError, one_line

_CODE = re.compile(r"[biuf](1|2|4|8)|\?")
_DEEPEST = 50


def printable(text: str, longest: int = 800) -> str:
    """Return text from a file without line breaks and control characters."""
    kept = "".join(letter if letter.isprintable() else "?" for letter in text)
    return kept if len(kept) <= longest else kept[:longest] + "..."


class Refused(SpecError):
    """A pickle wanted something that is not on the list."""


@dataclass(frozen=True)
class Reference:
    """A name that a pickle mentions, as an inert note: it cannot be called or instantiated."""

    module: str
    name: str

    def __str__(self) -> str:
        return printable(f"{self.module}.{self.name}", 120)

    def __setstate__(self, state: Any) -> None:
        raise Refused(f"it tries to alter {self}")


class Holder:
    """Keeps the state of a pickled object without giving it a life."""

    __slots__ = ("state",)
    kind: ClassVar[str] = ""

    def __init__(self, *args: Any) -> None:
        self.state: dict[str, Any] = {}

    def __new__(cls, *args: Any) -> Holder:
        made = object.__new__(cls)
        made.state = {}
        return made

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, tuple) and len(state) == 2 and isinstance(state[0], Mapping):
            state = {**state[0], **(state[1] if isinstance(state[1], Mapping) else {})}
        try:
            self.state = dict(state)
        except (TypeError, ValueError):
            self.state = {}


def _holder(kind: str) -> type[Holder]:
    return type(kind, (Holder,), {"kind": kind, "__slots__": ()})


class _Function:
    """One of this module's readers, sealed so that a pickle can only call it."""

    __slots__ = ("_inner",)

    def __init__(self, inner: Callable[..., Any]) -> None:
        self._inner = inner

    def __call__(self, *args: Any) -> Any:
        return self._inner(*args)

    def __setstate__(self, state: Any) -> None:
        raise Refused("it tries to alter a function")


class _Dtype:
    """The type of numbers: only truth values, integers and floats."""

    __slots__ = ("code", "order")

    def __init__(self, code: Any, *rest: Any) -> None:
        if not (isinstance(code, str) and _CODE.fullmatch(code)):
            raise Refused(f"it holds an array of type {code!r}; only numbers are read")
        self.code, self.order = code, "|"

    def __setstate__(self, state: Any) -> None:
        self.order = state[1] if state[1] in ("<", ">", "=") else "|"

    def numpy(self) -> np.dtype[Any]:
        return np.dtype(self.code if self.code in ("?", "b1") else self.order + self.code)


class _Array:
    """An array in the making: `_reconstruct` gives it empty, its state fills it."""

    __slots__ = ("value",)

    def __init__(self, *args: Any) -> None:
        self.value = np.zeros(0)

    def __setstate__(self, state: Any) -> None:
        shape, dtype, fortran, data = state[-4:]
        self.value = _numbers(data, dtype, shape, "F" if fortran else "C")


def _numbers(data: Any, dtype: Any, shape: Any, order: str = "C") -> np.ndarray[Any, Any]:
    if not isinstance(dtype, _Dtype):
        raise Refused(f"it holds an array of type {dtype!r}; only numbers are read")
    raw = data.encode("latin1") if isinstance(data, str) else bytes(data)
    sizes = tuple(int(size) for size in shape)
    count = math.prod(sizes)
    if len(raw) != count * dtype.numpy().itemsize:
        raise Refused("the size of an array does not agree with its content")
    flat = np.frombuffer(raw, dtype.numpy(), count)
    return flat.reshape(sizes, order="F" if order == "F" else "C").copy()


def _scalar(dtype: Any, data: Any = b"") -> Any:
    return _numbers(data, dtype, (1,))[0]


def _latin(text: Any, *encoding: Any) -> bytes:
    return str(text).encode("latin1")


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
    known: dict[str, Any] = {"collections.OrderedDict": OrderedDict}
    for path, kind in _SPACES.items():
        for package in ("gym", "gymnasium"):
            known[f"{package}.spaces.{path}"] = _holder(kind)
    for name in _RANDOM:
        known[name] = _holder("ignored")
    for core in ("numpy.core", "numpy._core"):
        known[f"{core}.multiarray._reconstruct"] = _Function(_Array)
        known[f"{core}.multiarray.scalar"] = _Function(_scalar)
        known[f"{core}.numeric._frombuffer"] = _Function(_numbers)
    for name in (*_NUMBERS, *_FLOATS):
        known[f"numpy.{name}"] = Reference("numpy", name)
    known["numpy.ndarray"] = Reference("numpy", "ndarray")
    known["numpy.dtype"] = _Function(_Dtype)
    known["_codecs.encode"] = _Function(_latin)
    return known


STATISTICS = {
    "stable_baselines3.common.vec_env.vec_normalize.VecNormalize": _holder("VecNormalize"),
    "stable_baselines3.common.running_mean_std.RunningMeanStd": _holder("RunningMeanStd"),
}
"""What a file of normalisation statistics may name besides numbers and spaces."""

_KNOWN = _table()


class _Reader(pickle.Unpickler):
    def __init__(self, raw: bytes, known: Mapping[str, Any], lenient: bool) -> None:
        super().__init__(io.BytesIO(raw))
        self.known, self.lenient = known, lenient
        self.strange: list[Reference] = []

    def find_class(self, module: str, name: str) -> Any:
        wanted = f"{module}.{name}"
        if wanted in self.known:
            return self.known[wanted]
        if not self.lenient:
            raise Refused(f"it wants {Reference(module, name)}")
        self.strange.append(Reference(module, name))
        return self.strange[-1]

    def persistent_load(self, pid: Any) -> Any:
        raise Refused("it wants an object from outside the file")


def read(raw: bytes, more: Mapping[str, Any] | None = None, lenient: bool = False) -> Any:
    """Return what a pickle holds, or raise `Refused` with the name of what it wanted.

    A lenient reading turns names that are not on the list into `Reference`s instead of refusing
    them; a pickle that goes on to call one is refused all the same.
    """
    reader = _Reader(raw, {**_KNOWN, **(more or {})}, lenient)
    try:
        loaded = reader.load()
        return _plain(loaded, 0, {})
    except Refused:
        raise
    except Exception as error:  # a damaged pickle may fail in any way
        if reader.strange:
            raise Refused(f"it wants {reader.strange[0]}") from error
        raise Refused(f"it cannot be read ({one_line(error)})") from error


def _plain(value: Any, depth: int, done: dict[int, Any]) -> Any:
    """Return finished arrays for those in the making, at all depths, each part once."""
    if id(value) in done:
        return done[id(value)]
    if depth > _DEEPEST:
        raise Refused("it is nested too deeply")
    made = value
    if isinstance(value, _Array):
        made = value.value
    elif isinstance(value, _Dtype):
        made = value.numpy()
    elif isinstance(value, Mapping):
        made = {key: _plain(item, depth + 1, done) for key, item in value.items()}
    elif isinstance(value, list | tuple):
        made = type(value)(_plain(item, depth + 1, done) for item in value)
    elif isinstance(value, Holder):
        value.state = _plain(value.state, depth + 1, done)
    done[id(value)] = made
    return made
