"""The smallest policy: decisions are dropped until the target can spare none of the rest.

Twins tell what each decision of a pruned policy is worth. Those with the smallest loss for the
steps they take are dropped, as many as the target has slack for; fresh episodes check what is left,
and half of what was dropped is taken back where it missed. Every block of episodes decides once.
Where there are many decisions, neighbours in rank are dropped together first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.plugin.protocols import Episodes
from rpd_core.pruning.twins import Asking, Blocks, Look, look_at

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray, IntArray, KeyArray

MOST_UNITS = 300
"""Units of a look; more decisions than this are given to the default in blocks by rank."""
SLACK_USED = 0.8
"""Part of what may still be lost that one round of dropping uses."""
CUTS = 4
"""Smaller policies that are checked together: with all that the slack allows gone, half of it..."""
_TWINS = 12
"""Twins of a look at most, in units of its episodes."""
_BACKS = 4
"""How often a policy that turns out to miss the target makes way for the one before it."""
_NO_LIMIT = 2**62


@dataclass(frozen=True)
class Pace:
    """How closely decisions are looked at."""

    episodes: int
    """Of the first block."""
    most: int
    """Of the last ones: where nothing more can go, twice as many look again."""
    twins: int
    """Twins of each unit."""


@dataclass(frozen=True)
class Step:
    """A pruned policy on the way, with what its last look saw."""

    kept: KeyArray
    """In ascending order of the keys."""
    steps: float
    """Share of steps at which the policy decides."""
    overrides: float
    """Share of steps at which it decides and differs from the default."""
    return_mean: float
    episodes: int
    """Of that look."""


def step_of(kept: KeyArray, episodes: Episodes) -> Step:
    """Return what a pruned policy did in some episodes."""
    total = float(episodes.length.sum())
    return Step(
        kept,
        float(episodes.policy_steps.sum()) / total,
        float(episodes.overrides.sum()) / total,
        float(episodes.total_return.mean()),
        len(episodes),
    )


@dataclass(frozen=True)
class Way:
    """The pruned policies that minimising went through, each a part of the one before."""

    path: tuple[Step, ...]
    """From the start to the smallest one; its first has lost only what is never visited."""
    met: bool
    """Whether the last one is estimated to meet the target."""
    look: Look | None
    """The last look at it."""
    settled: bool
    """Whether on that look every single removal is estimated to miss the target."""

    @property
    def last(self) -> Step:
        """The smallest one."""
        return self.path[-1]


@dataclass(frozen=True)
class Aim:
    """What is to be made small, and what it must still return."""

    target: float
    states: int
    """By whose number shares of states divide."""
    objective: str
    """`states`, `steps` or `both`."""

    def weights(self, look: Look) -> FloatArray:
        """Return what dropping each unit saves."""
        states = np.bincount(look.units, look.visited, len(look.loss)) / self.states
        steps = look.unit_steps
        if self.objective == "states":
            return states
        return steps + (states if self.objective == "both" else 1e-3 * states)

    def size(self, step: Step) -> tuple[float, float]:
        """Return what is made small, and what decides between equals."""
        states = len(step.kept) / self.states
        if self.objective == "states":
            return states, step.steps
        return (step.steps, states) if self.objective == "steps" else (states + step.steps, states)


def minimise(
    blocks: Blocks, start: KeyArray, aim: Aim, pace: Pace, budget: float = np.inf
) -> Asking[Way]:
    """Drop decisions of a pruned policy, as long as the target is met and steps are left.

    `start` are its kept states by rank, most important first. A start that misses the target is
    returned as it is: it cannot be saved by dropping.
    """
    return _Descent(blocks, start, aim, pace, budget).go()


class _Descent:
    """Minimising in the course of being played."""

    def __init__(
        self, blocks: Blocks, start: KeyArray, aim: Aim, pace: Pace, budget: float
    ) -> None:
        self.blocks, self.aim, self.pace = blocks, aim, pace
        self.end = blocks.steps + budget
        self.rank = {int(key): place for place, key in enumerate(start.tolist())}
        self.path: list[KeyArray] = [np.sort(start)]
        self.seen: dict[bytes, Step] = {}
        self.count, self.limit, self.backs = pace.episodes, _NO_LIMIT, 0

    def go(self) -> Asking[Way]:
        """Look, drop, check, until nothing more can go."""
        look = yield from self._look()
        while True:
            slack = look.mean - self.aim.target
            found = settled = False
            if slack >= 0:
                if not look.visited.all():
                    self._replace(look.kept[look.visited])
                found = yield from self._drop(look, slack)
                settled = not found and _is_settled(look, slack)
            if not (found or self._closer() or (slack < 0 and self._back())):
                return self._way(look, settled)
            if not self._affords(2 * self.count):
                return self._way(look, False)
            look = yield from self._look()

    def _look(self) -> Asking[Look]:
        """Look at the present policy."""
        kept = self.path[-1]
        units = self._units(kept)
        twins = min(self.pace.twins, max(_TWINS * self.count // max(len(kept), 1), 2))
        left = self.end - self.blocks.steps - self.count * self._usual_length()
        look = yield from look_at(self.blocks, kept, units, self.count, twins, left)
        self.seen[look.kept.tobytes()] = Step(
            look.kept, look.policy_steps, look.overrides, look.mean, len(look.returns)
        )
        return look

    def _affords(self, episodes: int) -> bool:
        """Return whether there are steps left for some more episodes."""
        return self.blocks.steps + episodes * self._usual_length() <= self.end

    def _usual_length(self) -> float:
        return self.blocks.steps / max(self.blocks.episodes, 1)

    def _units(self, kept: KeyArray) -> IntArray:
        """Return the unit of each kept state: itself, or its neighbours in rank."""
        if len(kept) <= MOST_UNITS:
            return np.arange(len(kept))
        ranks = np.array([self.rank[int(key)] for key in kept.tolist()], dtype=np.int64)
        place = np.empty(len(kept), dtype=np.int64)
        place[np.argsort(ranks)] = np.arange(len(kept))
        return place * MOST_UNITS // len(kept)

    def _closer(self) -> bool:
        """Look with twice as many episodes from now on; False where that is not to be."""
        if self.count >= self.pace.most:
            return False
        self.count = min(2 * self.count, self.pace.most)
        self.limit = _NO_LIMIT
        return True

    def _back(self) -> bool:
        """Go back to the policy before, of which less is dropped; False: there is none."""
        if len(self.path) < 2 or self.backs >= _BACKS:
            return False
        self.backs += 1
        last = self.path.pop()
        self.limit = max((len(self.path[-1]) - len(last)) // 2, 1)
        return True

    def _replace(self, kept: KeyArray) -> None:
        """Go on without states that are never visited: on these episodes nothing else changes."""
        before = self.seen[self.path[-1].tobytes()]
        self.path[-1] = kept
        self.seen[kept.tobytes()] = replace(before, kept=kept)

    def _drop(self, look: Look, slack: float) -> Asking[bool]:
        """Drop what the slack allows, or as large a part of it as fresh episodes bear out."""
        order, many = self._order(look, slack)
        many = min(many, self.limit)
        if many > 1:
            cuts = [order[: many >> halved] for halved in range(CUTS) if many >> halved]
        else:
            cuts = [order[place : place + 1] for place in range(min(len(order), CUTS))]
            cuts = [one for one in cuts if look.loss[one[0]] <= slack]
        if not cuts or not self._affords(len(cuts) * self.count):
            return False
        sets = [look.kept[look.visited & ~np.isin(look.units, gone)] for gone in cuts]
        played = yield from self.blocks.play_each(sets, self.count)
        for gone, kept, episodes in zip(cuts, sets, played, strict=True):
            step = step_of(kept, episodes)
            if step.return_mean >= self.aim.target:
                self.seen[kept.tobytes()] = step
                self.path.append(kept)
                self.limit = 2 * len(gone) if len(gone) < many else _NO_LIMIT
                return True
        self.limit = max(len(cuts[-1]) // 2, 1)
        return len(cuts[-1]) > 1  # look again, and drop less

    def _order(self, look: Look, slack: float) -> tuple[IntArray, int]:
        """Return units, what can go first in front, and how many of them the slack allows."""
        cost = np.maximum(look.loss + look.error, 0.0)
        rate = cost / np.maximum(self.aim.weights(look), 1e-12)
        order = np.lexsort((np.arange(len(rate)), rate))
        order = order[look.unit_visited[order]]
        lost = np.cumsum(np.maximum(look.loss[order], 0.0))
        many = int((lost <= SLACK_USED * slack).sum())
        return order, many

    def _way(self, look: Look | None, settled: bool) -> Way:
        steps = tuple(self.seen[kept.tobytes()] for kept in self.path)
        return Way(steps, steps[-1].return_mean >= self.aim.target, look, settled)


def _is_settled(look: Look, slack: float) -> bool:
    """Return whether every single removal is estimated to miss the target."""
    alone = len(look.loss) == len(look.kept)
    return alone and bool((look.loss[look.unit_visited] > slack).all())
