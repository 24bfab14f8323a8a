"""Which pruned policy stands in the headline: chosen, trimmed, confirmed on fresh episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.ranking import Ranking
from rpd_core.config.configuration import THRESHOLDS
from rpd_core.config.settings import BASELINES, BEST, Settings
from rpd_core.plugin.protocols import Episodes
from rpd_core.pruning.confirm import Confirmation, Goal, Paired, confirm, kept_share
from rpd_core.pruning.curves import Curve, reaching
from rpd_core.pruning.records import PrunedPoint
from rpd_core.pruning.references import References
from rpd_core.pruning.trials import Candidate, Trials, trim

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, FloatArray

BATCH = 6
"""Candidates that are trimmed together."""
BATCHES = 3
"""How often more are taken up when none of a batch meets the target."""


@dataclass(frozen=True)
class Tried:
    """A candidate and what fresh episodes said about it."""

    candidate: Candidate
    confirmation: Confirmation
    episodes: Episodes
    """Its fresh episodes."""
    part: int = 0
    """Which of the sets of fresh episodes they are of."""


@dataclass(frozen=True)
class Chosen:
    """The pruned policy of a threshold; met or, where none was, the nearest to it."""

    fraction: float
    tried: Tried
    failed: tuple[Tried, ...]
    """Those that were tried before it, or instead of it, without success."""

    @property
    def tries(self) -> int:
        """How many were tried, it included."""
        return len(self.failed) + 1


def choose_policies(
    trials: Trials,
    rankings: Mapping[str, Ranking],
    curves: Mapping[str, Curve],
    references: References,
) -> dict[float, Chosen | None]:
    """Choose a pruned policy for each threshold; None where no point of the sweep reached it."""
    settings = trials.evaluations.session.setup.config.settings
    found: dict[float, Chosen | None] = {}
    for fraction in THRESHOLDS:
        candidates = candidates_for(settings, rankings, curves, references.target(fraction))
        goal = Goal(fraction, settings.confirm_margin)
        found[fraction] = choose_policy(trials, candidates, goal, references)
    return found


def candidates_for(
    settings: Settings,
    rankings: Mapping[str, Ranking],
    curves: Mapping[str, Curve],
    target: float,
) -> list[Candidate]:
    """Return the pruned policies of a sweep that reached a target, in the order to try them."""
    mine = [curves[name] for name in headline_measures(curves, settings.headline)]
    queue = in_order(reaching(mine, target), settings.objective)
    return [_candidate_of(point, rankings) for point in queue]


def headline_measures(names: Mapping[str, Curve], headline: str) -> list[str]:
    """Return the measures whose pruned policies are candidates: no baseline unless it is named."""
    if headline != BEST:
        return [headline]
    return [name for name in names if name.partition(":")[0] not in BASELINES]


def _candidate_of(point: PrunedPoint, rankings: Mapping[str, Ranking]) -> Candidate:
    """Return a point of the sweep as the set of states that it keeps."""
    kept = np.sort(rankings[point.measure].ranked_keys[: point.kept])
    return Candidate(point.measure, kept, point.kept, point.states, point.steps)


def size(one: PrunedPoint | Candidate, objective: str) -> tuple[float, float]:
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


def choose_policy(
    trials: Trials,
    candidates: Sequence[Candidate],
    goal: Goal,
    references: References,
    before: int = 0,
) -> Chosen | None:
    """Trim candidates and try them one after the other until one meets the goal.

    `before` counts those that were tried for the same goal already: they had their part of the 5 %.
    """
    if not candidates:
        return None
    early = trials.evaluations.session.setup.config.settings.confirm_tries - 1
    tried: dict[str, Tried] = {}
    largest = max(candidates, key=lambda one: (one.states, one.steps)).identity

    def is_late() -> bool:
        # What is tried late gets so small a part of the 5 % that it confirms hardly anything.
        return len(tried) >= early

    def is_left(one: Candidate) -> bool:
        return not is_late() or one.identity == largest

    for pair in _trimmed_in_turn(trials, candidates, references.target(goal.fraction), is_left):
        for one in pair[1:] if is_late() else pair:
            if one.identity not in tried:
                number = before + len(tried) + 1
                tried[one.identity] = _try_out(trials, one, goal, number, references)
            outcome = tried[one.identity].confirmation.outcome
            if outcome == "met":
                return _chosen(goal, tried, one.identity)
            if outcome == "undecided":  # what was dropped would not settle it either
                break
    return _chosen(goal, tried, max(tried, key=lambda one: _lower(tried[one]))) if tried else None


def _trimmed_in_turn(
    trials: Trials,
    candidates: Sequence[Candidate],
    target: float,
    is_left: Callable[[Candidate], bool],
) -> Iterator[tuple[Candidate, Candidate]]:
    """Yield candidates trimmed, and as they were, smallest first, as long as they are left to try.

    Those that fall short of the target on the trimming episodes come after all others: each try
    that fails makes the next one harder.
    """
    objective = trials.evaluations.session.setup.config.settings.objective

    def of_size(pairs: Sequence[tuple[Candidate, Candidate]]) -> list[tuple[Candidate, Candidate]]:
        return sorted(pairs, key=lambda pair: size(pair[0], objective))

    short = []
    for batch in batches(candidates):
        left = [one for one in batch if is_left(one)]
        pairs = of_size(trim(trials, left, target) if left else [])
        short += [pair for pair in pairs if not pair[0].reached]
        yield from (pair for pair in pairs if pair[0].reached and is_left(pair[1]))
    yield from (pair for pair in of_size(short) if is_left(pair[1]))


def _chosen(goal: Goal, tried: Mapping[str, Tried], chosen: str) -> Chosen:
    others = tuple(one for name, one in tried.items() if name != chosen)
    return Chosen(goal.fraction, tried[chosen], others)


def _lower(tried: Tried) -> float:
    return kept_share(tried.confirmation.played, tried.confirmation.level).low


def batches(candidates: Sequence[Candidate]) -> Iterator[list[Candidate]]:
    """Return candidates in batches, each set of states once; the largest is in the last one."""
    unique = list({one.identity: one for one in reversed(candidates)}.values())[::-1]
    if len(unique) > BATCH * BATCHES:
        largest = max(unique, key=lambda one: (one.states, one.steps))
        first = [one for one in unique if one is not largest][: BATCH * BATCHES - 1]
        unique = [*first, largest]
    for start in range(0, len(unique), BATCH):
        yield unique[start : start + BATCH]


def _try_out(
    trials: Trials, candidate: Candidate, goal: Goal, number: int, references: References
) -> Tried:
    """Judge a candidate on fresh episodes; `number` counts those that are tried, from 1."""
    played: list[Episodes] = []

    def play(look: int) -> Paired:
        pruned, original = trials.confirming(candidate, look)
        played[:] = [pruned]
        return Paired(
            pruned.total_return,
            original.total_return,
            references.reference,
            references.reference_variance,
        )

    confirmation = confirm(goal, number, play)
    return Tried(candidate, confirmation, played[0], trials.part)
