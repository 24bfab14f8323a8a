"""The smallest policy: decisions are dropped until the target can spare none of the rest.

Twins tell what each decision of a pruned policy is worth. Those with the smallest loss for the
steps they take are dropped, as many as the target has slack for. Fresh episodes check what is left,
and half of what was dropped is taken back where that missed, or cost far more than estimated. What
is known of a policy is pooled over all looks at it. Where there are many decisions, neighbours in
rank are dropped together first.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.plugin.protocols import Episodes
from rpd_core.pruning.estimates import Estimate, PooledLosses
from rpd_core.pruning.twins import Asking, Blocks, Look, Played, weigh

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray, IntArray, KeyArray

MOST_UNITS = 300
"""Units of a look; more decisions than this are given to the default in blocks by rank."""
SLACK_USED = 0.4
"""Part of what may still be lost that one round of dropping uses."""
NOISE = 0.02
"""By what part a policy may grow without counting as larger: twins tell it no better."""
_A_LOOK = 0.25
"""Part of the steps that are left that the twins of one look may take."""
_DOUBT = 1.0
"""Standard errors by which losses are taken for larger than they seem."""
_UNTOLD = 0.5
"""Part of the error of a block of episodes below which these do not count: it tells no better."""
CLEAR = 2.0
"""Standard errors below the target at which a policy clearly misses it."""
_TRIMMED = 0.3
"""What episodes of a start are worth for it without what they do not visit; others may."""
_BACKS = 6
"""How often a single decision may turn out to be missed before that is enough."""
_INTERACTION = 0.5
"""Part of what was lost one by one that may be lost on top of it together."""
_DEARER = 1.3
"""How many times dearer than estimated a drop must be to be taken back though the target is met."""
_WASTED = 0.25
"""Part of what may still be lost that it must have taken for that."""
_NO_LIMIT = 2**62


@dataclass(frozen=True)
class Pace:
    """How closely decisions are looked at."""

    episodes: int
    """Of each block."""
    most: int
    """Of the looks at one policy: it is settled when these say so."""
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
    known: Estimate
    """What it returns."""
    lost: float = 0.0
    """What its decisions lost, one by one, that it has no longer but the one before it has."""

    @property
    def return_mean(self) -> float:
        """What it is estimated to return."""
        return self.known.mean


def step_of(kept: KeyArray, episodes: Episodes, known: Estimate) -> Step:
    """Return what a pruned policy did in some episodes, and what is known of its return."""
    total = float(episodes.length.sum())
    policy, overrides = float(episodes.policy_steps.sum()), float(episodes.overrides.sum())
    return Step(kept, policy / total, overrides / total, known)


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
    known: PooledLosses
    """What all looks say about single decisions."""

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
    doubt: float = 0.0
    """Standard errors of what is known by which it must seem to return more."""
    a_step: float = 1.0
    """What a tenth less of the steps counts beside a tenth less of the states, where both count."""

    def weights(self, look: Look, step: Step) -> FloatArray:
        """Return what dropping each unit saves; not above 0 where what is left would be larger.

        Steps are weighed by those that a unit takes and by those that its twins save: the first
        sees what is heavy now, the second what is heavy without it.
        """
        states = np.bincount(look.units, minlength=len(look.loss)) / max(len(step.kept), 1)
        if self.objective == "states":
            return states
        states = states if self.objective == "both" else 1e-3 * states
        whole = max(step.steps, 1e-9)
        steps = (look.unit_steps + np.maximum(look.saved, 0.0)) / 2
        larger = states + look.saved / whole < -NOISE
        return np.where(larger, 0.0, states + self.a_step * steps / whole)

    def size(self, step: Step) -> tuple[float, float]:
        """Return what is made small, and what decides between equals."""
        states = len(step.kept) / self.states
        if self.objective == "both":
            return states * step.steps**self.a_step, states
        return (states, step.steps) if self.objective == "states" else (step.steps, states)


def minimise(
    blocks: Blocks, start: KeyArray, aim: Aim, pace: Pace, budget: float = np.inf
) -> Asking[Way]:
    """Drop decisions of a pruned policy, as long as the target is met and steps are left.

    `start` are its kept states by rank, most important first. A start that misses the target is
    returned as it is: it cannot be saved by dropping.
    """
    descent = Descent(blocks, start, aim, pace)
    yield from descent.begin()
    way = yield from descent.go(budget)
    return way if way.met else descent.regained()


class Descent:
    """A pruned policy on its way to be small: begun, and taken on as far as there are steps."""

    def __init__(self, blocks: Blocks, start: KeyArray, aim: Aim, pace: Pace) -> None:
        self.blocks, self.aim, self.pace = blocks, aim, pace
        self.rank = {int(key): place for place, key in enumerate(start.tolist())}
        self.path = [_Stand(Step(np.sort(start), 1.0, 1.0, Estimate()))]
        self.limit, self.backs, self.end = _NO_LIMIT, 0, np.inf

    @property
    def present(self) -> _Stand:
        """The policy that is looked at."""
        return self.path[-1]

    @property
    def slack(self) -> float:
        """What it returns beyond the target, as far as is known."""
        return self._slack(self.present)

    def _slack(self, stand: _Stand) -> float:
        return stand.step.return_mean - self.aim.target - self.aim.doubt * stand.error

    def begin(self) -> Asking[Step]:
        """Play the start, and leave what nobody visits: that is its first step."""
        block = yield from self._play(self.pace.most)
        first = self.present.step
        visited = np.isin(first.kept, block.visits.key)
        if not visited.all():
            known = Estimate(first.return_mean, _TRIMMED * first.known.episodes)
            step = replace(first, kept=first.kept[visited], known=known)
            self.path = [_Stand(step, spread=self.present.spread)]
        return self.present.step

    def go(self, budget: float) -> Asking[Way]:
        """Look and drop until nothing more can go; take back what turns out to be missed."""
        self.end = self.blocks.steps + budget
        while self._affords(2 * self.pace.episodes):
            block = yield from self._play(self.pace.episodes)
            if self.slack < 0:
                known = self._is_known() or self._misses()
                if known and not self._back():
                    break
                continue
            if self._overspent(block) and self._back():
                continue
            if self.limit == _NO_LIMIT or self.present.look is None:
                yield from self._weigh(block)
            gone = self._spared(self.present.guess)
            if not len(gone) and self._is_known():  # what held of larger policies may not any more
                gone = self._spared(self.present.own)
                if not len(gone):
                    return self._way(True)
            if len(gone):
                self._drop(gone)
            else:
                self.limit = _NO_LIMIT
        return self._way(False)

    def regained(self) -> Way:
        """Return the way up to the last policy that is estimated to meet the target, if any is."""
        able = [self._slack(one) >= 0 for one in self.path]
        if any(able):
            del self.path[len(able) - able[::-1].index(True) :]
        return self._way(False)

    def _play(self, count: int) -> Asking[Played]:
        """Play the present policy, and add what is seen to what is known of it."""
        present = self.present
        block = yield from self.blocks.play(present.step.kept, count)
        known = present.step.known.joined(block.episodes.total_return)
        played = step_of(present.step.kept, block.episodes, known)
        present.step = replace(played, lost=present.step.lost)
        present.looked += len(block.episodes)
        present.spread = float(block.episodes.total_return.std())
        return block

    def _weigh(self, block: Played) -> Asking[None]:
        """Play twins of a block, for a part of the steps that are left."""
        kept = self.present.step.kept
        most = _A_LOOK * (self.end - self.blocks.steps)
        look = yield from weigh(self.blocks, block, kept, self._units(kept), self.pace.twins, most)
        self.present.add(look)

    def _is_known(self) -> bool:
        """Return whether enough episodes speak of the present policy."""
        return self.present.looked >= self.pace.most

    def _misses(self) -> bool:
        """Return whether the present policy clearly misses the target."""
        return self.slack < -CLEAR * self.present.error

    def _overspent(self, block: Played) -> bool:
        """Return whether the last drop cost far more than its decisions did one by one.

        What it wasted is not won back by what is dropped later.
        """
        present = self.present
        if present.looked > len(block.episodes) or len(self.path) < 2:
            return False
        returns, before = block.episodes.total_return, self.path[-2].step
        fell = before.return_mean - float(returns.mean() + returns.std() / np.sqrt(len(returns)))
        wasted = _WASTED * (before.return_mean - self.aim.target)
        several = len(before.kept) - len(present.step.kept) > 1
        return several and fell > max(_DEARER * present.price, wasted)

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

    def _spared(self, losses: PooledLosses) -> IntArray:
        """Return the units that the slack allows to drop together, at least one if any may go."""
        look = losses.pooled(self.present.seen)
        order = _order(look, self.aim.weights(look, self.present.step))
        lost = np.cumsum(np.maximum(look.loss[order], 0.0))
        doubt = _DOUBT * np.sqrt(np.cumsum(look.error[order] ** 2))
        lost += np.maximum(doubt - _UNTOLD * self._told(look), 0.0)
        many = min(int((lost <= SLACK_USED * self.slack).sum()), self.limit)
        return order[:many] if many else order[look.loss[order] <= self.slack][:1]

    def _told(self, look: Look) -> float:
        """Return the error with which the next block will tell what a drop has cost."""
        return Estimate(0.0, self.pace.episodes).error(float(look.returns.std()))

    def _drop(self, gone: IntArray) -> None:
        """Go on without some units; what comes next tells whether that was right."""
        present = self.present
        look = present.guess.pooled(present.seen)
        lost = float(np.maximum(look.loss[gone], 0.0).sum())
        error = float(np.sqrt((look.error[gone] ** 2).sum()))
        doubt = error + _INTERACTION * lost
        known = present.step.known.less(lost, doubt, float(look.returns.var()))
        kept = look.kept[~np.isin(look.units, gone)]
        after = replace(present.step, kept=kept, known=known, lost=lost)
        stand = _Stand(after, present.guess.inherited(), price=lost + error, spread=present.spread)
        self.path.append(stand)
        self.limit = _NO_LIMIT

    def _back(self) -> bool:
        """Go back to the policy before, of which less is dropped; False: no more of that."""
        if len(self.path) < 2 or self.backs >= _BACKS:
            return False
        missed = self.path.pop()
        went = np.setdiff1d(self.present.step.kept, missed.step.kept)
        self.limit = max(len(went) // 2, 1)
        if len(went) == 1:
            self.backs += 1
            loss = self.present.step.return_mean - missed.step.return_mean
            self.present.missed(int(went[0]), loss, missed.looked)
        return True

    def _way(self, done: bool) -> Way:
        """Return the way so far; it is settled if the last policy was seen decision by decision."""
        present = self.present
        look = None if present.look is None else present.own.pooled(present.look)
        settled = done and look is not None and len(look.loss) == len(look.kept)
        path = tuple(one.step for one in self.path)
        return Way(path, self.slack >= 0, look, settled, present.guess)


@dataclass
class _Stand:
    """A policy on the way, and what is known of its decisions."""

    step: Step
    guess: PooledLosses = field(default_factory=PooledLosses)
    """What larger policies say about its decisions, too."""
    own: PooledLosses = field(default_factory=PooledLosses)
    """What it says itself."""
    looked: int = 0
    """Episodes that were played of it."""
    look: Look | None = None
    """The last look at it."""
    spread: float = 0.0
    """Standard deviation of its returns, or of those of the one before it."""
    price: float = 0.0
    """What the drop that led to it was estimated to cost, at most."""

    @property
    def error(self) -> float:
        """Standard error of what is known of its return."""
        return self.step.known.error(self.spread)

    @property
    def seen(self) -> Look:
        """That look."""
        assert self.look is not None
        return self.look

    def add(self, look: Look) -> None:
        """Add what a look says."""
        self.look = look
        self.guess.add(look)
        self.own.add(look)

    def missed(self, key: int, loss: float, episodes: int) -> None:
        """Remember what was lost when a decision was dropped."""
        self.guess.missed(key, loss, episodes)
        self.own.missed(key, loss, episodes)


def _order(look: Look, weights: FloatArray) -> IntArray:
    """Return the units that may go, what costs least for what it saves first."""
    cost = np.maximum(look.loss + look.error, 0.0)
    rate = cost / np.maximum(weights, 1e-12)
    order = np.lexsort((np.arange(len(rate)), rate))
    return np.asarray(order[weights[order] > 0])
