"""Sets of kept states, played: any set can be tried, however it was found.

Kept states that a pruned policy never visits do nothing, so they are dropped: trimming.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.suite import concat_episodes, take_episodes
from rpd_core.chance import Phase
from rpd_core.config.identity import short_digest
from rpd_core.play.chunks import Evaluation
from rpd_core.plugin.protocols import Episodes
from rpd_core.pruning.confirm import BLOCKS, LOOKS
from rpd_core.pruning.evaluation import Evaluations, ask

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import KeyArray


@dataclass(frozen=True, eq=False)
class Candidate:
    """A set of states that are to keep the policy, and what it needs as far as is known."""

    measure: str
    """What it was found by."""
    kept: KeyArray
    """The states, in ascending order of their keys."""
    untrimmed: int
    """Number of states before those that are never visited were dropped."""
    states: float
    """Share of all states."""
    steps: float
    """Share of steps that the policy decides."""
    new: int = 0
    """How many of the states the first suite never saw."""
    reached: bool = True
    """Whether it met the target when it was last played."""

    @cached_property
    def identity(self) -> str:
        """A short name for the set of states."""
        return short_digest(self.kept.tobytes().hex())


@dataclass(frozen=True)
class Trials:
    """Plays sets of kept states on episodes that did not choose them."""

    evaluations: Evaluations
    keys: KeyArray
    """All states that are known."""
    suite: KeyArray | None = None
    """Those of the first suite, by whose number shares divide; None: all."""
    part: int = 0
    """Distinguishes sets of fresh episodes; each round of choosing needs its own."""

    @property
    def suite_keys(self) -> KeyArray:
        """The states of the first suite; shares of states divide by their number."""
        return self.keys if self.suite is None else self.suite

    @property
    def episodes(self) -> int:
        """How many episodes a set is tried on first."""
        return self.evaluations.session.setup.config.settings.confirm_episodes

    def trimming(self, tried: Sequence[Candidate]) -> list[tuple[Episodes, KeyArray]]:
        """Play candidates on the episodes that trim them; return these and the states visited.

        All are played as one, so that they share batches: a few hundred episodes fill no batch.
        """
        name = f"trim-{self.part}-{short_digest([one.identity for one in tried])}"
        asked = self._ask([one.kept for one in tried], Phase.TRIM, self.part, self.episodes)
        played = self.evaluations.play("trimming", {name: asked})[name]
        found = []
        for place in range(len(tried)):
            first = place * self.episodes
            rows = np.arange(first, first + self.episodes)
            visited = self.evaluations.visited(name, first, first + self.episodes - 1)
            found.append((take_episodes(played, rows), visited))
        return found

    def confirming(self, candidate: Candidate, look: int) -> tuple[Episodes, Episodes]:
        """Play a candidate and the original on fresh episodes, all up to the given look."""
        nothing = np.zeros(0, dtype=np.uint64)
        asked: dict[str, Evaluation] = {}
        for each in range(look + 1):
            part, count = self.part * LOOKS + each, BLOCKS[each] * self.episodes
            asked[confirm_name(candidate.identity, part)] = self._ask(
                [candidate.kept], Phase.CONFIRM, part, count
            )
            session = self.evaluations.session
            original = ask(session, [nothing], [(0, 0)], True, Phase.CONFIRM, part)
            asked[confirm_name("original", part)] = dataclasses.replace(
                original, test_episodes=count
            )
        played = self.evaluations.play("confirmation", asked)

        def joined(name: str) -> Episodes:
            parts = range(self.part * LOOKS, self.part * LOOKS + look + 1)
            return concat_episodes([played[confirm_name(name, part)] for part in parts])

        return joined(candidate.identity), joined("original")

    def _ask(self, sets: Sequence[KeyArray], phase: Phase, part: int, count: int) -> Evaluation:
        rankings = [ranking_of(kept, self.keys) for kept in sets]
        points = [(place, len(kept)) for place, kept in enumerate(sets)]
        asked = ask(self.evaluations.session, rankings, points, phase=phase, part=part)
        return dataclasses.replace(asked, test_episodes=count, visits=True)


def ranking_of(kept: KeyArray, keys: KeyArray) -> KeyArray:
    """Return states in an order that has the kept ones first: a ranking to be cut after them."""
    return np.concatenate([kept, np.setdiff1d(keys, kept)])


def confirm_name(identity: str, part: int) -> str:
    """Return what the fresh episodes of a set of states are called; each look is a part."""
    return f"confirm-{part}-{identity}"


def trim(
    trials: Trials, candidates: Sequence[Candidate], target: float
) -> list[tuple[Candidate, Candidate]]:
    """Return each candidate trimmed, and as it was, both with figures of the trimming episodes.

    On these episodes the two act alike, for the dropped states are visited in none of them.
    """
    found = []
    for one, played in zip(candidates, trials.trimming(candidates), strict=True):
        episodes, visited = played
        whole = dataclasses.replace(
            one,
            steps=step_share(episodes),
            reached=bool(episodes.total_return.mean() >= target),
        )
        found.append((_without_unvisited(whole, visited, trials.suite_keys), whole))
    return found


def _without_unvisited(candidate: Candidate, visited: KeyArray, keys: KeyArray) -> Candidate:
    """Return a candidate without the kept states that were not visited; `keys` are the suite's."""
    kept = np.intersect1d(candidate.kept, visited)
    new = len(np.setdiff1d(kept, keys))
    return dataclasses.replace(candidate, kept=kept, states=len(kept) / len(keys), new=new)


def step_share(episodes: Episodes) -> float:
    """Return the share of steps that the policy decided: the ratio of totals."""
    return float(episodes.policy_steps.sum() / episodes.length.sum())
