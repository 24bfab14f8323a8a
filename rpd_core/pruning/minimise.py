"""The smallest policy: decisions are dropped until the target can spare none of the rest.

Twins tell what each decision of a pruned policy is worth. Those with the smallest loss for the
steps they take are dropped, as many as the target has slack for; fresh episodes check what is left,
and half of what was dropped is taken back where it missed. Every block of episodes decides once.
Where there are many decisions, neighbours in rank are dropped together first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.plugin.protocols import Episodes
from rpd_core.pruning.twins import Asking, Blocks, Look, look_at

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray, IntArray, KeyArray

MOST_UNITS = 300
"""Units of a look; more decisions than this are given to the default in blocks by rank."""
SLACK_USED = 0.3
"""Part of what may still be lost that one round of dropping uses."""
CUTS = 2
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

    def weights(self, look: Look) -> Iterator[FloatArray]:
        """Yield what dropping each unit saves: by the steps it takes, and by those that twins save.

        The first sees what is heavy now, the second what is heavy without it.
        """
        states = np.bincount(look.units, look.visited, len(look.loss)) / self.states
        if self.objective == "states":
            yield states
            return
        less = states if self.objective == "both" else 1e-3 * states
        yield look.unit_steps + less
        yield np.maximum(look.saved + less, 0.1 * less)

    def size(self, step: Step) -> tuple[float, float]:
        """Return what is made small, and what decides between equals."""
        states = len(step.kept) / self.states
        if self.objective == "states":
            return states, step.steps
        return (step.steps, states) if self.objective == "steps" else (states + step.steps, states)


def minimise(
    blocks: Blocks,
    start: KeyArray,
    aim: Aim,
    pace: Pace,
    budget: float = np.inf,
    before: Sequence[Step] = (),
) -> Asking[Way]:
    """Drop decisions of a pruned policy, as long as the target is met and steps are left.

    `start` are its kept states by rank, most important first. A start that misses the target is
    returned as it is: it cannot be saved by dropping. `before` is the way so far, if it goes on.
    """
    return _Descent(blocks, start, aim, pace, budget, before).go()


class _Descent:
    """Minimising in the course of being played."""

    def __init__(
        self,
        blocks: Blocks,
        start: KeyArray,
        aim: Aim,
        pace: Pace,
        budget: float,
        before: Sequence[Step],
    ) -> None:
        self.blocks, self.aim, self.pace = blocks, aim, pace
        self.end = blocks.steps + budget
        self.rank = {int(key): place for place, key in enumerate(start.tolist())}
        self.path: list[KeyArray] = [one.kept for one in before] or [np.sort(start)]
        self.seen = {one.kept.tobytes(): one for one in before}
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
            going = found or (not settled and (self._closer() or (slack < 0 and self._back())))
            if not going:
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
        """Drop what the slack allows, or the part of it that fresh episodes bear out.

        Of several ways to drop that meet the target, the one that leaves the smallest is taken.
        """
        cuts = self._cuts(look, slack)
        if not cuts or not self._affords(len(cuts) * self.count):
            return False
        sets = [look.kept[look.visited & ~np.isin(look.units, gone)] for gone in cuts]
        played = yield from self.blocks.play_each(sets, self.count)
        tried = [step_of(kept, episodes) for kept, episodes in zip(sets, played, strict=True)]
        present = self.aim.size(self.seen[self.path[-1].tobytes()])
        enough = [one for one in tried if one.return_mean >= self.aim.target]
        best = min(enough, key=self.aim.size, default=None)
        most, least = (choose(map(len, cuts)) for choose in (max, min))
        if best is None or self.aim.size(best) >= present:
            self.limit = max(least // 2, 1)
            return most > 1  # look again, and drop less
        self.seen[best.kept.tobytes()] = best
        self.path.append(best.kept)
        dropped = len(look.kept) - len(best.kept)
        self.limit = 2 * dropped if dropped < most else _NO_LIMIT
        return True

    def _cuts(self, look: Look, slack: float) -> list[IntArray]:
        """Return units that may be dropped together, several ways."""
        found: dict[bytes, IntArray] = {}
        for weights in self.aim.weights(look):
            order = _order(look, weights)
            lost = np.cumsum(np.maximum(look.loss[order], 0.0))
            many = min(int((lost <= SLACK_USED * slack).sum()), self.limit)
            cuts = [order[: many >> halved] for halved in range(CUTS) if many >> halved]
            if many <= 1:
                cuts = [np.array([one]) for one in order.tolist() if look.loss[one] <= slack]
            for one in cuts[: max(CUTS, 2)]:
                found.setdefault(np.sort(one).tobytes(), one)
        return list(found.values())

    def _way(self, look: Look | None, settled: bool) -> Way:
        steps = tuple(self.seen[kept.tobytes()] for kept in self.path)
        return Way(steps, steps[-1].return_mean >= self.aim.target, look, settled)


def _order(look: Look, weights: FloatArray) -> IntArray:
    """Return the units that are visited, what costs least for what it saves first."""
    cost = np.maximum(look.loss + look.error, 0.0)
    rate = cost / np.maximum(weights, 1e-12)
    order = np.lexsort((np.arange(len(rate)), rate))
    return np.asarray(order[look.unit_visited[order]])


def _is_settled(look: Look, slack: float) -> bool:
    """Return whether every single removal is estimated to miss the target."""
    alone = len(look.loss) == len(look.kept)
    return alone and bool((look.loss[look.unit_visited] > slack).all())
