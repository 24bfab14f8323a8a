"""The first draws of NumPy's default generator for many seeds at once.

An environment draws its start from a generator made for its seed. Making one takes NumPy some ten
microseconds, more than a hundred steps of a CartPole lane; here `SeedSequence` and `PCG64` are
computed for all seeds in one go. Both are fixed by NumPy's promise of stable streams.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[Any]
"""Unsigned whole numbers, one per seed; arithmetic wraps around."""
Pair = tuple[Words, Words]
"""Numbers of 128 bits: their high and their low halves."""

_FEW = 24
"""Up to here one generator after the other is faster."""
_MANY, _REMEMBERED = 500, 100_000
"""Seeds beyond which nothing is remembered, and those that are."""
_LOW = np.uint64(0xFFFFFFFF)
_HALF, _ROTATION = np.uint64(32), np.uint64(58)
_POOL_START, _POOL_FACTOR = 0x43B0D7E5, 0x931E8875
_STATE_START, _STATE_FACTOR = 0x8B51F9DD, 0x58F38DED
_MIX_LEFT, _MIX_RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_XOR_SHIFT = np.uint32(16)
_FACTOR: Pair = (np.array([0x2360ED051FC65DA4], "<u8"), np.array([0x4385DF649FCCF645], "<u8"))


@dataclass
class FirstUniform:
    """Returns `first_uniform` of some seeds, and remembers it where they are few.

    Every pruned policy plays the same test episodes, which start one by one as lanes become free.
    """

    low: float | Words
    high: float | Words
    count: int
    known: dict[int, list[float]] = field(default_factory=dict)
    """Draws by seed."""

    def __call__(self, seeds: NDArray[np.int64]) -> Words:
        if len(seeds) > _MANY:
            return first_uniform(seeds, self.low, self.high, self.count)
        asked = seeds.tolist()
        if len(self.known) > _REMEMBERED:
            self.known.clear()
        new = [seed for seed in asked if seed not in self.known]
        if new:
            drawn = first_uniform(np.array(new), self.low, self.high, self.count)
            self.known.update(zip(new, drawn.tolist(), strict=True))
        return np.array([self.known[seed] for seed in asked])


def first_uniform(
    seeds: NDArray[np.int64], low: float | Words, high: float | Words, count: int
) -> Words:
    """Return `default_rng(seed).uniform(low, high, count)` for each seed of up to 32 bits."""
    if len(seeds) <= _FEW:
        rows = [np.random.default_rng(seed).uniform(low, high, count) for seed in seeds.tolist()]
        return np.array(rows).reshape(len(seeds), count)
    words = np.stack(_first_words(seeds, count), axis=1)
    return low + (high - low) * ((words >> np.uint64(11)) * 2.0**-53)


def _first_words(seeds: NDArray[np.int64], count: int) -> list[Words]:
    """Return the first outputs of PCG64: state times factor plus increment, folded and turned."""
    state_high, state_low, high, low = _seed_words(seeds)
    one = np.uint64(1)
    increment = (high << one) | (low >> np.uint64(63)), (low << one) | one
    state = _step(_plus(increment, (state_high, state_low)), increment)
    outputs = []
    for _ in range(count):
        state = _step(state, increment)
        folded, turn = state[0] ^ state[1], state[0] >> _ROTATION
        outputs.append((folded >> turn) | (folded << ((np.uint64(64) - turn) & np.uint64(63))))
    return outputs


def _seed_words(seeds: NDArray[np.int64]) -> list[Words]:
    """Return `SeedSequence(seed).generate_state(4, uint64)`, a column per word."""
    factor = _Factors(_POOL_START, _POOL_FACTOR)
    zero = np.zeros(len(seeds), dtype=np.uint32)
    pool = [factor.scramble(word) for word in (seeds.astype(np.uint32), zero, zero, zero)]
    for source in range(4):
        for target in range(4):
            if source != target:
                scrambled = factor.scramble(pool[source])
                mixed: Words = _MIX_LEFT * pool[target] - _MIX_RIGHT * scrambled
                pool[target] = mixed ^ (mixed >> _XOR_SHIFT)
    factor = _Factors(_STATE_START, _STATE_FACTOR)
    halves = [factor.scramble(pool[place % 4]).astype(np.uint64) for place in range(8)]
    return [low | (high << _HALF) for low, high in zip(halves[::2], halves[1::2], strict=True)]


class _Factors:
    """The changing constant with which `SeedSequence` scrambles one word after the other."""

    def __init__(self, start: int, factor: int) -> None:
        self.constant, self.factor = start, factor

    def scramble(self, word: Words) -> Words:
        before = np.uint32(self.constant)
        self.constant = self.constant * self.factor & 0xFFFFFFFF
        word = (word ^ before) * np.uint32(self.constant)
        return word ^ (word >> _XOR_SHIFT)


def _step(state: Pair, increment: Pair) -> Pair:
    return _plus(_times(state, _FACTOR), increment)


def _plus(left: Pair, right: Pair) -> Pair:
    low = left[1] + right[1]
    return left[0] + right[0] + (low < left[1]), low


def _times(left: Pair, right: Pair) -> Pair:
    """Multiply modulo 2**128; the product of two low halves is put together from quarters."""
    a, b = left[1] >> _HALF, left[1] & _LOW
    c, d = right[1] >> _HALF, right[1] & _LOW
    middle = (b * d >> _HALF) + (a * d & _LOW) + b * c
    carried = a * c + (a * d >> _HALF) + (middle >> _HALF)
    return carried + left[0] * right[1] + left[1] * right[0], left[1] * right[1]
