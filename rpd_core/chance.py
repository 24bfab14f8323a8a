"""State keys, keyed draws and seeds: every bit of chance is a hash of what it belongs to.

All of it is 64-bit arithmetic on whole arrays, the same on every platform. The mixing step is
the finaliser of SplitMix64.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.errors import FitError

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, FloatArray, IntArray, KeyArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_NARROW = 16
_S30, _S27, _S31, _S11 = (np.uint64(n) for n in (30, 27, 31, 11))


class Domain(IntEnum):
    """What a draw is for; draws of different domains are independent."""

    COIN = 1
    DEFAULT_STATE = 2
    DEFAULT_STEP = 3
    POLICY = 4
    ENVIRONMENT = 5
    RANKING = 6
    EPSILON = 7


class Phase(IntEnum):
    """What an episode is for; episodes of different phases share no seed."""

    SUITE = 1
    TEST = 2
    CONFIRM = 3
    REFERENCE = 4
    FIT = 5
    PROBE = 6
    UNMUTATED = 7
    VALIDATE = 10
    PILOT = 11
    MINIMISE = 12
    LOSS = 13
    GROW = 14
    IMITATE = 15


def mix(words: KeyArray) -> KeyArray:
    """Scramble 64-bit words; distinct words stay distinct."""
    words = words + _GOLDEN
    high = words >> _S30  # from here on in place: batches are mixed several times in every step
    words ^= high
    words *= _FIRST
    words ^= np.right_shift(words, _S27, out=high)
    words *= _SECOND
    words ^= np.right_shift(words, _S31, out=high)
    return words


def combine(left: KeyArray, right: KeyArray) -> KeyArray:
    """Hash pairs of words; the order matters."""
    return mix(mix(left) ^ right)


def word(number: int) -> KeyArray:
    """Return a Python integer as a 64-bit word in an array of one."""
    return np.array([number & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64)


def canonical(values: Array) -> Array:
    """Return abstract states with one pattern of bytes per value."""
    values = np.asarray(values)
    if values.dtype.kind == "f" and values.dtype.itemsize <= 8:
        fresh = np.asarray(values + values.dtype.type(0))  # -0.0 becomes 0.0; their bytes differ
        if fresh.size and np.isnan(fresh.min()):  # which NaN is if one is; it has many patterns
            fresh[np.isnan(fresh)] = np.nan
        return fresh
    if values.dtype.kind in "biu":
        return values
    raise FitError(
        f"an abstraction gave values of type {values.dtype}: truth values, integers or floats of "
        "at most 64 bits are needed"
    )


def state_keys(values: Array) -> KeyArray:
    """Return the key of each row of a batch of canonical abstract states.

    Keys depend on the values, their dtype and their shape.
    """
    width = math.prod(values.shape[1:]) * values.itemsize
    if width == 0:
        return np.full(len(values), mix(word(0))[0])
    count = -(-width // 8)
    salts = _salts(count, values.dtype.str, values.shape[1:])
    if count > _NARROW:
        return mix(np.add.reduce(mix(_row_words(values) ^ salts), axis=1))
    # By columns: a few long rows are added up faster than many short ones.
    return mix(np.add.reduce(mix(_column_words(values) ^ salts[:, None]), axis=0))


def _column_words(values: Array) -> KeyArray:
    """Return the words of `_row_words`, transposed."""
    if values.ndim == 2 and values.itemsize == 8:
        return np.ascontiguousarray(values.T).view("<u8")
    return np.ascontiguousarray(_row_words(values).T)


def _row_words(values: Array) -> KeyArray:
    """Return the bytes of each row as words, filled up with zeros."""
    raw = np.ascontiguousarray(values).reshape(len(values), -1).view(np.uint8)
    if raw.shape[1] % 8:
        padded = np.zeros((len(raw), -(-raw.shape[1] // 8) * 8), dtype=np.uint8)
        padded[:, : raw.shape[1]] = raw
        raw = padded
    words: KeyArray = raw.view("<u8")
    return words


@lru_cache(maxsize=64)
def _salts(count: int, dtype: str, shape: tuple[int, ...]) -> KeyArray:
    """Return one constant per word, so that equal words at different places differ."""
    text = f"{dtype}{shape}".encode()
    layout = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
    return mix(np.arange(count, dtype=np.uint64) + mix(word(layout)))


def episode_keys(seed: int, phase: int, indices: IntArray, part: int = 0) -> KeyArray:
    """Return the identity of episodes, on which all their chance depends, their seeds too."""
    run = combine(combine(word(seed), word(phase)), word(part))
    return combine(run, np.asarray(indices).astype(np.uint64))


def environment_seeds(episodes: KeyArray) -> IntArray:
    """Return the seeds for `reset`: 31 bits, which every environment accepts."""
    return (domain_keys(episodes, Domain.ENVIRONMENT) >> np.uint64(33)).astype(np.int64)


def domain_keys(episodes: KeyArray, domain: Domain) -> KeyArray:
    """Return the root of all draws of a domain in each episode."""
    return combine(episodes, word(int(domain)))


def to_unit(words: KeyArray) -> FloatArray:
    """Map words to floats that are uniform on [0, 1)."""
    return (words >> _S11).astype(np.float64) * 2.0**-53


@dataclass(frozen=True)
class Draws:
    """Randomness for one step of a batch, one row per lane, fixed by what it is keyed with."""

    roots: KeyArray
    """Domain key of each lane's episode."""
    within: Array
    """State key or step number of each lane."""

    label: int = 0
    """Told apart by this, several draws of one step are independent; see `split`."""

    def split(self, label: int) -> Draws:
        """Return independent draws for another purpose, for example a policy inside a policy."""
        return Draws(self.roots, self.within, self.label * 1000003 + label + 1)

    def uniform(self, columns: int = 1) -> FloatArray:
        """Return uniform draws on [0, 1), shape (lanes, columns); the same at every call."""
        return self._unit(columns, purpose=0)

    def _unit(self, columns: int, purpose: int) -> FloatArray:
        base = combine(self.roots, self.within.astype(np.uint64))
        base = base ^ mix(word(4 * self.label + purpose))
        return to_unit(mix(base[:, None] + mix(np.arange(columns, dtype=np.uint64))))

    def normal(self, columns: int = 1) -> FloatArray:
        """Return standard normal draws, shape (lanes, columns), by Box and Muller."""
        flat = self._unit(2 * columns, purpose=1)
        radius = np.sqrt(-2.0 * np.log1p(-flat[:, :columns]))
        return radius * np.cos(2.0 * np.pi * flat[:, columns:])

    def choose(self, probabilities: Array) -> IntArray:
        """Draw one column per row with the given probabilities (rows need not sum to 1)."""
        totals = np.cumsum(np.asarray(probabilities, dtype=np.float64), axis=1)
        picked = (totals <= self._unit(1, purpose=2) * totals[:, -1:]).sum(axis=1)
        return np.asarray(np.minimum(picked, totals.shape[1] - 1), dtype=np.int64)
