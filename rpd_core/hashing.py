"""State keys, keyed draws and seeds: every bit of chance is a hash of what it belongs to.

All of it is 64-bit arithmetic on whole arrays, the same on every platform. The mixing step is
the finaliser of SplitMix64.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rpd_core.components import Array, FloatArray, IntArray, KeyArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = (np.uint64(n) for n in (30, 27, 31, 11))


class Domain(IntEnum):
    """What a draw is for; draws of different domains are independent."""

    COIN = 1
    DEFAULT_STATE = 2
    DEFAULT_STEP = 3
    POLICY = 4
    ENVIRONMENT = 5
    RANKING = 6


class Phase(IntEnum):
    """What an episode is for; episodes of different phases share no seed."""

    SUITE = 1
    TEST = 2
    CONFIRM = 3
    REFERENCE = 4
    FIT = 5
    PROBE = 6


def mix(words: KeyArray) -> KeyArray:
    """Scramble 64-bit words; distinct words stay distinct."""
    words = words + _GOLDEN
    words = (words ^ (words >> _S30)) * _FIRST
    words = (words ^ (words >> _S27)) * _SECOND
    return words ^ (words >> _S31)


def combine(left: KeyArray, right: KeyArray) -> KeyArray:
    """Hash pairs of words; the order matters."""
    return mix(mix(left) ^ right)


def word(number: int) -> KeyArray:
    """Give a Python integer as a 64-bit word in an array of one."""
    return np.array([number & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64)


def state_keys(values: Array) -> KeyArray:
    """Give the key of each row of a batch of abstract states.

    Keys depend on the values, their dtype and their shape. Floats that compare equal get equal
    keys.
    """
    rows = np.ascontiguousarray(values).reshape(len(values), -1)
    if rows.dtype.kind == "f":
        rows = rows + rows.dtype.type(0)  # -0.0 becomes 0.0; their bytes differ
    words = _row_words(rows)
    if words.shape[1] == 0:
        return np.full(len(values), mix(word(0))[0])
    salted = mix(words ^ _salts(words.shape[1], _layout(values)))
    return mix(np.bitwise_xor.reduce(salted, axis=1) + np.add.reduce(salted, axis=1))


def _row_words(rows: Array) -> KeyArray:
    raw = rows.view(np.uint8)
    if raw.shape[1] % 8:
        padded = np.zeros((len(raw), -(-raw.shape[1] // 8) * 8), dtype=np.uint8)
        padded[:, : raw.shape[1]] = raw
        raw = padded
    words: KeyArray = raw.view("<u8")
    return words


def _layout(values: Array) -> int:
    text = f"{values.dtype.str}{values.shape[1:]}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


_salt_cache: dict[tuple[int, int], KeyArray] = {}


def _salts(count: int, layout: int) -> KeyArray:
    """Give one constant per word, so that equal words at different places differ."""
    found = _salt_cache.get((count, layout))
    if found is None:
        found = mix(np.arange(count, dtype=np.uint64) + mix(word(layout)))
        _salt_cache[count, layout] = found
    return found


def episode_keys(seed: int, phase: int, indices: IntArray, part: int = 0) -> KeyArray:
    """Give the identity of episodes: all their chance, the environment's seed too, hangs on it."""
    run = combine(combine(word(seed), word(phase)), word(part))
    return combine(run, np.asarray(indices).astype(np.uint64))


def environment_seeds(episodes: KeyArray) -> IntArray:
    """Give the seeds for `reset`: 31 bits, which every environment accepts."""
    return (domain_keys(episodes, Domain.ENVIRONMENT) >> np.uint64(33)).astype(np.int64)


def domain_keys(episodes: KeyArray, domain: Domain) -> KeyArray:
    """Give the root of all draws of a domain in each episode."""
    return combine(episodes, word(int(domain)))


def to_unit(words: KeyArray) -> FloatArray:
    """Map words to floats that are uniform on [0, 1)."""
    return (words >> _S11).astype(np.float64) * 2.0**-53


@dataclass(frozen=True)
class Draws:
    """Randomness for one step of a batch, one row per lane, fixed by what it is keyed with."""

    roots: KeyArray
    """Domain key of each lane's episode."""
    within: Any
    """State key or step number of each lane."""

    def uniform(self, columns: int = 1) -> FloatArray:
        """Give uniform draws on [0, 1), shape (lanes, columns); the same at every call."""
        base = combine(self.roots, self.within.astype(np.uint64))
        if columns == 1:
            return to_unit(base)[:, None]
        return to_unit(mix(base[:, None] + mix(np.arange(columns, dtype=np.uint64))))

    def normal(self, columns: int = 1) -> FloatArray:
        """Give standard normal draws, shape (lanes, columns), by Box and Muller."""
        flat = self.uniform(2 * columns)
        radius = np.sqrt(-2.0 * np.log1p(-flat[:, :columns]))
        return radius * np.cos(2.0 * np.pi * flat[:, columns:])

    def choose(self, probabilities: Array) -> IntArray:
        """Draw one column per row with the given probabilities (rows need not sum to 1)."""
        totals = np.cumsum(np.asarray(probabilities, dtype=np.float64), axis=1)
        picked = (totals <= self.uniform() * totals[:, -1:]).sum(axis=1)
        return np.minimum(picked, totals.shape[1] - 1).astype(np.int64)
