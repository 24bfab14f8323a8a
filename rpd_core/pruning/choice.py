"""Which pruned policy is the answer: starts from the sweep, minimised, confirmed, the best wins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.ranking import Ranking
from rpd_core.config.settings import BASELINES, BEST, Settings
from rpd_core.plugin.protocols import Episodes
from rpd_core.pruning.confirm import Confirmation, Goal, Paired, confirm, kept_share
from rpd_core.pruning.curves import Curve, reaching
from rpd_core.pruning.minimise import Aim, Pace, Step, Way, minimise
from rpd_core.pruning.records import PrunedPoint
from rpd_core.pruning.references import References
from rpd_core.pruning.trials import Candidate, Trials
from rpd_core.pruning.twins import Blocks

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, FloatArray, KeyArray

_WAYS = 2
"""Policies along a way that are tried, where its last one is not confirmed."""
_FALLBACKS = 6
"""Candidates of the sweep that are taken up one by one where no start meets the target."""


@dataclass(frozen=True)
class Tried:
    """A candidate and what fresh episodes said about it."""

    candidate: Candidate
    confirmation: Confirmation
    episodes: Episodes
    """Its fresh episodes."""
    original: Episodes
    """The same of the policy as it is."""
    part: int = 0
    """Which of the sets of fresh episodes they are of."""


@dataclass(frozen=True)
class Chosen:
    """The pruned policy of a target; met or, where none was, the nearest to it."""

    fraction: float
    tried: Tried
    failed: tuple[Tried, ...]
    """Those that were tried before it, or instead of it, without success."""
    way: Way | None = None
    """How it was minimised; None: it was taken as it is."""
    starts: tuple[Start, ...] = ()
    """What minimising began with, in the order tried."""

    @property
    def tries(self) -> int:
        """How many were tried, it included."""
        return len(self.failed) + 1


@dataclass(frozen=True, eq=False)
class Start:
    """Candidates of the sweep whose states minimising begins with, all together."""

    name: str
    """The rankings that they are of."""
    kept: KeyArray
    """By rank, most important first; of several rankings, each state at its best one."""


def candidates_for(
    settings: Settings, curves: Mapping[str, Curve], target: float
) -> list[PrunedPoint]:
    """Return the pruned policies of a sweep that reached a target, in the order to try them."""
    mine = [curves[name] for name in headline_measures(curves, settings.headline)]
    return in_order(reaching(mine, target), settings.objective)


def headline_measures(names: Mapping[str, Curve], headline: str) -> list[str]:
    """Return the measures whose pruned policies are candidates: no baseline unless it is named."""
    if headline != BEST:
        return [headline]
    return [name for name in names if name.partition(":")[0] not in BASELINES]


def size(one: PrunedPoint, objective: str) -> tuple[float, float]:
    """Return what is made small, and what decides between equals."""
    if objective == "states":
        return one.states, one.steps
    if objective == "steps":
        return one.steps, one.states
    return one.states + one.steps, one.states


def in_order(points: Sequence[PrunedPoint], objective: str) -> list[PrunedPoint]:
    """Return pruned policies in the order in which they are tried.

    First those that no other beats in both shares, smallest first; then those that only these
    beat, and so on: where all of the first fail, larger ones have their turn.
    """
    waiting, found = list(points), []
    while waiting:
        front = _undominated(np.array([(one.states, one.steps) for one in waiting]))
        layer = [one for one, first in zip(waiting, front, strict=True) if first]
        found += sorted(layer, key=lambda one: size(one, objective))
        waiting = [one for one, first in zip(waiting, front, strict=True) if not first]
    return found


def _undominated(shares: FloatArray) -> BoolArray:
    """Return which rows no other row beats: at most as large in both columns, smaller in one."""
    at_most = np.all(shares[None, :, :] <= shares[:, None, :], axis=2)
    smaller = np.any(shares[None, :, :] < shares[:, None, :], axis=2)
    return np.asarray(~np.any(at_most & smaller, axis=1), dtype=bool)


def starts_for(
    points: Sequence[PrunedPoint], rankings: Mapping[str, Ranking], objective: str
) -> list[Start]:
    """Return what to minimise: the best candidate, and unions of it with others.

    A union gives twins more to choose from than either of its parts: what one ranking misses, or
    keeps at a high price in steps, another may have.
    """
    if not points:
        return []
    best = _best_of_each(points, objective)
    frugal = _best_of_each(points, "states" if objective == "states" else "steps")
    groups = (best[:1], [best[0], frugal[0]], frugal[:3])
    found: dict[bytes, Start] = {}
    for group in groups:
        one = start_of(group, rankings)
        found.setdefault(np.sort(one.kept).tobytes(), one)
    return list(found.values())


def _best_of_each(points: Sequence[PrunedPoint], objective: str) -> list[PrunedPoint]:
    """Return the smallest point of each ranking, smallest first."""
    found: dict[str, PrunedPoint] = {}
    for one in sorted(points, key=lambda one: size(one, objective)):
        found.setdefault(one.measure, one)
    return list(found.values())


def start_of(points: Sequence[PrunedPoint], rankings: Mapping[str, Ranking]) -> Start:
    """Return the states of some candidates, each at its best rank."""
    names = list(dict.fromkeys(one.measure for one in points))
    keys = [rankings[one.measure].ranked_keys[: one.kept] for one in points]
    ranks = np.concatenate([np.arange(len(one)) for one in keys])
    joined = np.concatenate(keys)[np.argsort(ranks, kind="stable")]
    _, first = np.unique(joined, return_index=True)
    return Start(" + ".join(names), joined[np.sort(first)])


@dataclass
class Choosing:
    """What the choice of a policy for one target needs."""

    trials: Trials
    blocks: Blocks
    references: References
    goal: Goal
    budget: float
    """Steps that minimising may take."""
    tried: dict[str, Tried] = field(default_factory=dict)
    """What was tried so far, by the identity of its states."""

    @property
    def settings(self) -> Settings:
        """The settings of the run."""
        return self.trials.evaluations.session.setup.config.settings

    @property
    def aim(self) -> Aim:
        """What minimising makes small."""
        target = self.references.target(self.goal.fraction)
        return Aim(target, len(self.trials.keys), self.settings.objective)

    def pace(self, closely: bool) -> Pace:
        """Return how closely decisions are looked at: at first, or at last."""
        episodes = self.settings.confirm_episodes
        if closely:
            return Pace(max(3 * episodes // 4, 2), max(9 * episodes // 4, 2), 30)
        return Pace(max(episodes // 4, 2), max(episodes // 4, 2), 12)

    def choose(self, starts: Sequence[Start], others: Sequence[Start]) -> Chosen | None:
        """Minimise starts, confirm the smallest; take others up where none meets the target."""
        for group in (starts, *([one] for one in others[:_FALLBACKS])):
            found = self._race(group)
            for start, way in found:
                final = self._finish(start, way)
                for step in self._walk_back(final):
                    done = self._try(start, step)
                    if done.confirmation.outcome == "met":
                        return self._chosen(done.candidate.identity, final, starts)
                    if len(self.tried) >= self.settings.confirm_tries:
                        return self._nearest(final, starts)
        return self._nearest(None, starts) if self.tried else None

    def _race(self, starts: Sequence[Start]) -> list[tuple[Start, Way]]:
        """Minimise each start a little; return those that meet the target, the smallest first."""
        found: list[tuple[Start, Way]] = []
        for start in starts:
            room = self.budget / 2 - self.blocks.steps
            if found and room <= 0:
                break
            way = minimise(self.blocks, start.kept, self.aim, self.pace(False), max(room, 0.0))
            if way.met or way.path[0].return_mean >= self.aim.target:
                found.append((start, way))
        return sorted(found, key=lambda one: self.aim.size(one[1].last))

    def _finish(self, start: Start, way: Way) -> Way:
        """Minimise what the race left, looking closely; its way goes on from there."""
        ranks = {int(key): place for place, key in enumerate(start.kept.tolist())}
        last = way.last.kept
        order = sorted(last.tolist(), key=lambda key: ranks[int(key)])
        ranked = np.array(order, dtype=np.uint64)
        left = self.budget - self.blocks.steps
        found = minimise(self.blocks, ranked, self.aim, self.pace(True), left)
        return Way((*way.path[:-1], *found.path), found.met, found.look, found.settled)

    def _walk_back(self, way: Way) -> Iterator[Step]:
        """Yield the smallest policy of a way, and some before it that are estimated to do."""
        enough = [one for one in way.path if one.return_mean >= self.aim.target]
        seen = [*way.path[-1:], *enough[::-1]]
        unique = list({one.kept.tobytes(): one for one in reversed(seen)}.values())[::-1]
        yield from unique[: _WAYS + 1]

    def _try(self, start: Start, step: Step) -> Tried:
        states = len(step.kept) / len(self.trials.keys)
        candidate = Candidate(start.name, step.kept, states, step.steps)
        if candidate.identity not in self.tried:
            number = len(self.tried) + 1
            self.tried[candidate.identity] = try_out(
                self.trials, candidate, self.goal, number, self.references
            )
        return self.tried[candidate.identity]

    def _nearest(self, way: Way | None, starts: Sequence[Start]) -> Chosen:
        best = max(self.tried, key=lambda one: _lower(self.tried[one]))
        return self._chosen(best, way, starts)

    def _chosen(self, identity: str, way: Way | None, starts: Sequence[Start]) -> Chosen:
        others = tuple(one for name, one in self.tried.items() if name != identity)
        return Chosen(self.goal.fraction, self.tried[identity], others, way, tuple(starts))


def _lower(tried: Tried) -> float:
    return kept_share(tried.confirmation.played, tried.confirmation.level).low


def try_out(
    trials: Trials, candidate: Candidate, goal: Goal, number: int, references: References
) -> Tried:
    """Judge a candidate on fresh episodes; `number` counts those that are tried, from 1."""
    played: list[Episodes] = []

    def play(look: int) -> Paired:
        pruned, original = trials.confirming(candidate, look)
        played[:] = [pruned, original]
        return Paired(
            pruned.total_return,
            original.total_return,
            references.reference,
            references.reference_variance,
        )

    confirmation = confirm(goal, number, play)
    pruned, original = played
    return Tried(candidate, confirmation, pruned, original, trials.part)
