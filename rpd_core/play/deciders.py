"""Who decides in a state: the keyed coin, the top states of a ranking, or always the policy."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from rpd_core.chance import Domain, domain_keys, mix, to_unit
from rpd_core.play.loop import Plan, Step
from rpd_core.plugin.protocols import BoolArray, FloatArray, IntArray, KeyArray

_ROOM = 8  # places in a table of keys for each of them, at least: the more, the fewer share one

_UNRANKED = np.iinfo(np.int64).max
"""Rank of states outside a ranking that act by default; of those that keep the policy it is -1."""


def always(keys: KeyArray, position: IntArray) -> BoolArray:
    return np.ones(len(keys), dtype=bool)


class KnownKeys:
    """Finds keys among known ones: by a table of their last bits, and by search where two share."""

    def __init__(self, keys: KeyArray) -> None:
        self.keys = np.sort(keys)
        self.mask = np.uint64((1 << (_ROOM * max(len(keys), 1)).bit_length()) - 1)
        slots = self.keys & self.mask
        self.places = np.zeros(int(self.mask) + 1, dtype=np.int64)
        self.places[slots] = np.arange(len(keys))
        self.shared = np.bincount(slots.astype(np.int64), minlength=len(self.places)) > 1

    def find(self, keys: KeyArray) -> tuple[IntArray, BoolArray]:
        """Return the place of each key among the sorted known ones, and whether it is there."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=bool)
        slots = (keys & self.mask).view(np.int64)  # as which they are taken several times faster
        places = self.places.take(slots)
        found = self.keys.take(places) == keys
        unsure = np.flatnonzero(self.shared.take(slots) & ~found)
        if len(unsure):
            last = len(self.keys) - 1
            places[unsure] = np.minimum(np.searchsorted(self.keys, keys[unsure]), last)
            found[unsure] = self.keys[places[unsure]] == keys[unsure]
        return places, found


class Coin:
    """Keeps a state in an episode unless its keyed coin says mutated."""

    def __init__(self, plan: Plan, mutation_rate: float) -> None:
        self.roots = mix(domain_keys(plan.identity, Domain.COIN))
        self.mutation_rate = mutation_rate

    def __call__(self, keys: KeyArray, position: IntArray) -> BoolArray:
        return to_unit(mix(self.roots.take(position) ^ keys)) >= self.rates(keys)

    def rates(self, keys: KeyArray) -> FloatArray | float:
        return self.mutation_rate


class _Ranks:
    """The rank of each state in each of some rankings, which may be of different states."""

    def __init__(self, rankings: Sequence[KeyArray], elsewhere: IntArray) -> None:
        merged = np.sort(np.concatenate(rankings))  # np.unique takes nine times as long
        self.known = KnownKeys(merged[np.r_[True, merged[1:] != merged[:-1]][: len(merged)]])
        self.unknown = len(self.known.keys)
        self.ranks = np.repeat(elsewhere[:, None], self.unknown + 1, axis=1)
        """Per ranking, the rank of each of the sorted keys, and last that of unknown ones."""
        for row, ranked in zip(self.ranks, rankings, strict=True):
            order = np.argsort(ranked, kind="stable")  # neighbours are searched for quickly
            row[np.searchsorted(self.known.keys, ranked[order])] = order
        self.ranks.flags.writeable = False


_made: dict[bytes, _Ranks] = {}
"""The ranks made last: items of work that follow one another often have the same rankings."""


class TopStates:
    """Keeps the policy in the first states of a ranking, with ranking and cutoff per episode."""

    def __init__(
        self, rankings: Sequence[KeyArray], points: IntArray, unranked_kept: bool | Sequence[bool]
    ) -> None:
        """Rankings may be of different states; `unranked_kept` is one for all, or one for each."""
        elsewhere = np.where(np.broadcast_to(unranked_kept, len(rankings)), -1, _UNRANKED)
        content = hashlib.blake2b(elsewhere.tobytes())
        for ranked in rankings:
            content.update(len(ranked).to_bytes(8, "little") + ranked.tobytes())
        made = _made.get(content.digest())
        if made is None:
            _made.clear()
            made = _made[content.digest()] = _Ranks(rankings, elsewhere)
        self.known, self.unknown, self.ranks = made.known, made.unknown, made.ranks
        self.rows, self.cutoffs = points[:, 0] * self.ranks.shape[1], points[:, 1].copy()
        """Per episode, where its ranking begins in all ranks, and how many states are kept."""
        self.ranked_steps = np.zeros(len(points))  # per episode, steps in states of the ranking
        self._rank = np.zeros(0, dtype=np.int64)
        self.units: IntArray | None = None
        """Per ranking, the unit of each of the sorted keys; None: no episode lacks any."""

    def remove(self, units: Sequence[IntArray], removed: IntArray) -> None:
        """Give one unit of states in each episode to the default; -1: none."""
        # `units` has, for each ranking, the unit of each of its first states, in their order; those
        # after them are given away in no episode.
        self.units = np.full_like(self.ranks, -1)
        for row, ranks, mine in zip(self.units, self.ranks, units, strict=True):
            ranked = (ranks >= 0) & (ranks < len(mine))
            row[ranked] = mine[ranks[ranked]]
        self.removed = removed

    def __call__(self, keys: KeyArray, position: IntArray) -> BoolArray:
        at, found = self.known.find(keys)
        places = self.rows.take(position) + np.where(found, at, self.unknown)
        self._rank = self.ranks.take(places)
        kept = np.asarray(self._rank < self.cutoffs.take(position))
        if self.units is not None:
            removed = self.removed.take(position)
            kept &= (self.units.take(places) != removed) | (removed < 0)
        return kept

    def record(self, step: Step) -> None:
        """Count the step where its state is in the ranking; lanes play different episodes."""
        ranked = (self._rank >= 0) & (self._rank < _UNRANKED)
        self.ranked_steps[step.position[ranked]] += 1
