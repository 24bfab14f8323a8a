"""Which pruned policy is the answer: starts from the sweep, minimised, confirmed, the best wins."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rpd_core.analysis.ranking import Ranking
from rpd_core.chance import Phase
from rpd_core.config.settings import BEST, Settings
from rpd_core.plugin.protocols import Episodes
from rpd_core.pruning.confirm import Confirmation, Goal, Paired, confirm, kept_share
from rpd_core.pruning.curves import Curve, reaching
from rpd_core.pruning.estimates import PooledLosses
from rpd_core.pruning.minimise import CLEAR, MOST_UNITS, Aim, Descent, Pace, Step, Way
from rpd_core.pruning.records import PrunedPoint
from rpd_core.pruning.references import References
from rpd_core.pruning.trials import Candidate, Trials
from rpd_core.pruning.twins import Asking, Blocks, play_together

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, FloatArray, KeyArray

T = TypeVar("T")

STAGE = "minimising"
"""What is shown while decisions are dropped."""
TARGET_PARTS = 10**6
"""Blocks that one target may use."""
_START_PARTS = 10**4
"""Blocks that one start may use."""
_LANES = 512
"""Lanes that blocks of some hundred episodes fill; more would be idle."""
_RACERS = 2
"""Starts that race, of those that meet the target: those that will become smallest."""
_HOPEFUL = 1.25
"""How many times as large as the best of them one that races may become."""
_BOUGHT = 0.65
"""Part of its states that a start is spared for all that may be lost, about."""
_RACE = 0.4
"""Part of the budget that they spend on it."""
_TWINS = 15
"""Twins of each decision in a look."""
_DOUBT = 0.75
"""Standard errors by which a policy is to seem better than the target: of many drops those stay
that seem to cost little."""
_A_STEP = 0.5
"""What a share of steps counts beside one of many states, where both do: their number is what makes
an answer long. A handful is short anyway, and steps count as much."""
_FURTHER = 1.2
"""How much further back than by what was missed."""
_LARGER = 1.1, 1.25
"""How many times as large the policies along a way are, at least, that are tried where its last one
is not confirmed: losses flatter, and one decision more would be the same again."""
_BETWEEN = 3
"""Policies that are tried between a confirmed one and a smaller one that was not."""
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
    distinct: int = 0
    """How many of its fresh episodes differ."""


@dataclass(frozen=True)
class Chosen:
    """The pruned policy of a target; met or, where none was, the nearest to it."""

    fraction: float
    tried: Tried
    failed: tuple[Tried, ...]
    """Those that were tried before it, or instead of it, without success."""
    tries: int
    """How many were tried, it included."""
    way: Way | None = None
    """How it was minimised; None: it was taken as it is."""
    starts: tuple[Start, ...] = ()
    """What minimising began with, in the order tried."""


@dataclass(frozen=True, eq=False)
class Start:
    """A candidate of the sweep whose states minimising begins with."""

    name: str
    """The ranking that it is of."""
    kept: KeyArray
    """By rank, most important first."""
    proven: bool = False
    """Whether other episodes said that it meets the target: then only a clear miss rules it out."""


def candidates_for(
    settings: Settings, curves: Mapping[str, Curve], target: float
) -> list[PrunedPoint]:
    """Return the pruned policies of a sweep that reached a target, in the order to try them."""
    mine = [curves[name] for name in headline_measures(curves, settings.headline)]
    return in_order(reaching(mine, target), settings.objective)


def headline_measures(names: Mapping[str, Curve], headline: str) -> list[str]:
    """Return the measures whose pruned policies are candidates: all, unless one is named.

    Where a start comes from does not matter, so those that look at no outcomes are among them.
    """
    return [headline] if headline != BEST else list(names)


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
    points: Sequence[PrunedPoint],
    strong: Sequence[PrunedPoint],
    rankings: Mapping[str, Ranking],
    objective: str,
) -> list[Start]:
    """Return what to minimise: the best candidate, and those with more to spare and few steps.

    Dropping soon takes states away, but hardly steps: what a start spends of these stays. `strong`
    are candidates that keep more than the target asks for.
    """
    best = _best_of_each(points, objective)
    frugal = _best_of_each(strong, "states" if objective == "states" else "steps")
    found: dict[bytes, Start] = {}
    for point in (*best[:1], *frugal[:1]):
        one = start_of(point, rankings)
        found.setdefault(np.sort(one.kept).tobytes(), one)
    return list(found.values())


def _best_of_each(points: Sequence[PrunedPoint], objective: str) -> list[PrunedPoint]:
    """Return the smallest point of each ranking, smallest first."""
    found: dict[str, PrunedPoint] = {}
    for one in sorted(points, key=lambda one: size(one, objective)):
        found.setdefault(one.measure, one)
    return list(found.values())


def start_of(point: PrunedPoint, rankings: Mapping[str, Ranking]) -> Start:
    """Return the states of a candidate."""
    return Start(point.measure, rankings[point.measure].ranked_keys[: point.kept])


@dataclass
class Choosing:
    """What the choice of a policy for one target needs."""

    trials: Trials
    references: References
    goal: Goal
    budget: float
    """Steps that minimising may take."""
    tried: dict[str, Tried] = field(default_factory=dict)
    """What was tried so far, by the identity of its states."""
    blocks: list[Blocks] = field(default_factory=list)
    """The blocks of episodes that each start has used."""

    @property
    def settings(self) -> Settings:
        """The settings of the run."""
        return self.trials.evaluations.session.setup.config.settings

    @property
    def aim(self) -> Aim:
        """What minimising makes small."""
        target = self.references.target(self.goal.fraction)
        states = len(self.trials.keys)
        a_step = _A_STEP if states > MOST_UNITS else 1.0
        return Aim(target, states, self.settings.objective, _DOUBT, a_step)

    @property
    def left(self) -> float:
        """Steps that are left of the budget."""
        return max(self.budget - sum(one.steps for one in self.blocks), 0.0)

    def choose(self, starts: Sequence[Start], others: Sequence[Start]) -> Chosen | None:
        """Minimise starts, confirm the smallest; take others up where none meets the target."""
        for group in (starts, *([one] for one in others[:_FALLBACKS])):
            for start, way in self._minimised(group):
                confirmed = self._confirmed(start, way)
                if confirmed is not None:
                    return self._chosen(confirmed, way, starts)
                if self._has_tried_all():
                    return self._nearest(way, starts)
        return self._nearest(None, starts) if self.tried else None

    def _minimised(self, starts: Sequence[Start]) -> Iterator[tuple[Start, Way]]:
        """Yield the ways of starts that meet the target, the smallest first.

        All are begun, the best of these race, and the winner goes on to the end; the others follow
        where it is not confirmed.
        """
        runners = [_Runner(one, self._descent(one)) for one in starts]
        self._play([one.descent.begin() for one in runners])
        able = [one for one in runners if not one.misses(self.aim.target)]
        able.sort(key=self._prospect)
        racing = [one for one in able[:_RACERS] if self._may_win(one, able[0])]
        if len(racing) > 1:
            room = _RACE * self.left / len(racing)
            self._play([one.descent.go(room) for one in racing])
            racing.sort(key=self._prospect)
        for place, one in enumerate([*racing, *able[len(racing) :]]):
            way = self._play([one.descent.go(self.left)])[0]
            if way.met or place == 0:
                yield one.start, way

    def _may_win(self, runner: _Runner, best: _Runner) -> bool:
        """Return whether a start will not be so much larger than the best that it races in vain."""
        return self._prospect(runner)[1] <= _HOPEFUL * self._prospect(best)[1]

    def _prospect(self, runner: _Runner) -> tuple[float, ...]:
        """Return by what runners are in order: whether they miss the target, how small they get.

        What a start returns beyond the target buys states, but hardly steps: a larger one with more
        to spend is ahead of a smaller one that has nothing left.
        """
        step, aim, whole = runner.step, self.aim, self.references.target(1.0)
        to_spend = (step.return_mean - aim.target) / (whole - aim.target)
        bought = 0.0 if aim.objective == "steps" else _BOUGHT * min(max(to_spend, 0.0), 1.0)
        size, second = aim.size(step)
        return runner.misses(aim.target), (1 - bought) * size, second

    def _play(self, works: Sequence[Asking[T]]) -> list[T]:
        return play_together(self.trials.evaluations, STAGE, works)

    def _descent(self, start: Start) -> Descent:
        episodes = self.settings.confirm_episodes
        pace = Pace(max(3 * episodes // 4, 2), max(3 * episodes // 2, 2), _TWINS)
        return Descent(self._more_blocks(), start.kept, self.aim, pace)

    def _more_blocks(self) -> Blocks:
        """Return blocks of episodes that no other start uses."""
        number = self.trials.part * TARGET_PARTS + len(self.blocks) * _START_PARTS
        self.blocks.append(blocks_for(self.trials, number))
        return self.blocks[-1]

    def _confirmed(self, start: Start, way: Way) -> Tried | None:
        """Return the smallest policy of a way that fresh episodes confirm, as far as is tried.

        Where the last one misses, one before it has its turn that is better by what its bound
        lacks, at last the first of all.
        """
        place, missed = len(way.path) - 1, len(way.path)
        for larger in (*_LARGER, None):
            done = self._try(start, way.path[place])
            if done.confirmation.outcome == "met":
                return self._between(start, way, place, missed, done)
            if larger is None or not place or self._has_tried_all():
                break
            wanted = _FURTHER * self._lacking(done), larger * len(way.path[place].kept)
            place, missed = _regaining(way.path, place, *wanted), place
        return None

    def _lacking(self, done: Tried) -> float:
        """Return how much more a policy would have to return for its bound to reach the goal."""
        whole = self.references.target(1.0) - self.references.target(0.0)
        return max(self.goal.fraction - self.goal.margin - _lower(done), 0.0) * whole

    def _between(self, start: Start, way: Way, place: int, missed: int, done: Tried) -> Tried:
        """Return the smallest confirmed policy found by halving what lies behind a confirmed one.

        What is known along a way flatters its end most, so what regains enough by that may regain
        far more. Between neighbours on the way lies what gives half of the drop back.
        """
        larger, further = way.path[place], list(way.path[place + 1 : missed + 1])
        for _ in range(_BETWEEN if further else 0):
            if len(further) == 1:
                if len(larger.kept) - len(further[0].kept) < 2:
                    break
                further.insert(0, _halfway(larger, further[0], way.known))
            middle = len(further) // 2 - 1
            if self._has_tried_all():
                break
            found = self._try(start, further[middle])
            if found.confirmation.outcome == "met":
                larger, further, done = further[middle], further[middle + 1 :], found
            else:
                del further[middle + 1 :]
        return done

    def _has_tried_all(self) -> bool:
        return len(self.tried) >= self.settings.confirm_tries

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
        return self._chosen(max(self.tried.values(), key=_lower), way, starts)

    def _chosen(self, best: Tried, way: Way | None, starts: Sequence[Start]) -> Chosen:
        failed = [one for one in self.tried.values() if one.confirmation.outcome != "met"]
        others = tuple(one for one in failed if one is not best)
        return Chosen(self.goal.fraction, best, others, len(self.tried), way, tuple(starts))


@dataclass
class _Runner:
    """A start that is minimised beside others."""

    start: Start
    descent: Descent

    @property
    def step(self) -> Step:
        """How far it has come."""
        return self.descent.present.step

    def misses(self, target: float) -> bool:
        """Return whether it does not meet the target, as far as it was begun."""
        doubt = self.descent.present.error if self.start.proven else 0.0
        return self.step.return_mean < target - CLEAR * doubt


def blocks_for(
    trials: Trials, first: int, phase: Phase = Phase.MINIMISE, stage: str = STAGE
) -> Blocks:
    """Return blocks of fresh episodes of the run's recipe, in no more lanes than they can fill."""
    recipe = trials.evaluations.session.recipe
    if recipe.lanes <= _LANES:
        return Blocks(trials.evaluations, trials.keys, phase, stage, first)
    fewer = dataclasses.replace(recipe, lanes=_LANES)
    return Blocks(trials.evaluations, trials.keys, phase, stage, first, fewer, f"{_LANES} lanes")


def _regaining(path: Sequence[Step], place: int, wanted: float, many: float) -> int:
    """Return where on a way as much more is returned as wanted, by so many; 0: nowhere.

    Returns along a way are all about what the target asks for, near its end, and tell little; what
    the decisions lost that were dropped since then tells more.
    """
    regained = 0.0
    for earlier in range(place - 1, 0, -1):
        regained += path[earlier + 1].lost
        risen = path[earlier].return_mean - path[place].return_mean
        if max(regained, risen) >= wanted and len(path[earlier].kept) >= many:
            return earlier
    return 0


def _halfway(larger: Step, smaller: Step, known: PooledLosses) -> Step:
    """Return the smaller of two policies with that half of what it lacks which lost most."""
    dropped = np.setdiff1d(larger.kept, smaller.kept)
    regained = dropped[np.argsort(-known.losses(dropped), kind="stable")][: len(dropped) // 2]
    return dataclasses.replace(
        smaller,
        kept=np.union1d(smaller.kept, regained),
        steps=(larger.steps + smaller.steps) / 2,
        overrides=(larger.overrides + smaller.overrides) / 2,
    )


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
    distinct = trials.distinct(candidate, confirmation.looks, pruned)
    return Tried(candidate, confirmation, pruned, original, trials.part, distinct)
