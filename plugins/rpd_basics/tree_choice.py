"""How many leaves a decision tree should have: what a suite can tell apart, and what pays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpd_basics.batches import Array
from rpd_basics.tree_growth import LADDER, Actions, Grown, grow
from rpd_core.plugin.protocols import FitSample

EVIDENCE = 10
"""Episodes in each arm, mutated and kept, that a suite needs to say anything about a leaf."""
COVERAGE = 0.95
"""Share of the steps of mutant episodes that must fall in leaves with that evidence."""
MOST_VISITORS = 0.5
"""Share of the episodes that is always enough, also where a suite is too small for any evidence."""


@dataclass(frozen=True)
class Judge:
    """Judges trees by the steps of a sample."""

    ranks: Array
    actions: Actions
    episodes: Array
    """Number of the episode of each step, from 0."""
    count: int
    """Number of episodes."""
    mutants: Array
    """Steps of mutant episodes; all where there are none."""
    share: float
    """Share of these episodes that must visit a leaf."""

    @classmethod
    def of(cls, sample: FitSample, ranks: Array, actions: Actions) -> Judge:
        """Judge for the suite that is planned."""
        present, numbers = np.unique(sample.episodes, return_inverse=True)
        rate = sample.mutation_rate
        arm = sample.planned_episodes * min(rate, 1 - rate)
        mutants = np.arange(len(numbers))
        if sample.mutant is not None and sample.mutant.any():
            mutants = np.flatnonzero(sample.mutant)
        share = min(EVIDENCE / arm, MOST_VISITORS)
        return cls(ranks, actions, numbers, len(present), mutants, share)

    def coverage(self, grown: Grown, leaves: int) -> float:
        """Return the share of mutants' steps in leaves that enough of their episodes visit."""
        leaf = grown.nodes_of(self.ranks[self.mutants], leaves)
        episodes = self.episodes[self.mutants]
        visits = np.unique(leaf * self.count + episodes) // self.count
        visitors = np.bincount(visits, minlength=len(grown.entries))
        enough = visitors >= self.share * len(np.unique(episodes))
        return float(enough[leaf].mean())

    def held_out(self, ladder: tuple[int, ...]) -> Array:
        """Return how well each episode's steps are predicted from the others, summed over steps.

        One row per number of leaves; trees grown on even episodes predict odd ones and the reverse.
        """
        sums = np.zeros((len(ladder), self.count))
        odd = self.episodes % 2 == 1
        for fold in (odd, ~odd):
            known, fresh = np.flatnonzero(~fold), np.flatnonzero(fold)
            if not len(known) or not len(fresh):
                continue
            grown = grow(self.ranks, self.actions, known, max(ladder))
            for rung, leaves in enumerate(ladder):
                nodes = grown.nodes_of(self.ranks[fresh], leaves)
                scores = self.actions.scores(grown.predicted[nodes], fresh)
                sums[rung] += np.bincount(self.episodes[fresh], scores, self.count)
        return sums


def choose_leaves(grown: Grown, judge: Judge) -> int:
    """Return the most leaves that a suite covers and that predict better than fewer do."""
    ladder = tuple(leaves for leaves in LADDER if leaves <= grown.leaves) or (1,)
    enough = ladder[_first_as_good(judge.held_out(ladder))]
    covered = [k for k in ladder if k <= enough and judge.coverage(grown, k) >= COVERAGE]
    return max(covered, default=1)


def _first_as_good(sums: Array) -> int:
    """Return the first row that is not clearly below the best: within one standard error."""
    lost = sums[sums.sum(axis=1).argmax()] - sums
    errors = np.sqrt(sums.shape[1]) * lost.std(axis=1)
    return int((lost.sum(axis=1) <= errors).argmax())
