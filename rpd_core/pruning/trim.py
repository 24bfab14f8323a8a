"""Trimming: kept states that a pruned policy never visits do nothing, so they are dropped."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.plugin.protocols import Episodes
from rpd_core.pruning.trials import Candidate, Trials

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import KeyArray


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
        found.append((without_unvisited(whole, visited, trials.suite_keys), whole))
    return found


def without_unvisited(candidate: Candidate, visited: KeyArray, keys: KeyArray) -> Candidate:
    """Return a candidate without the kept states that were not visited; `keys` are the suite's."""
    kept = np.intersect1d(candidate.kept, visited)
    new = len(np.setdiff1d(kept, keys))
    return dataclasses.replace(candidate, kept=kept, states=len(kept) / len(keys), new=new)


def step_share(episodes: Episodes) -> float:
    """Return the share of steps that the policy decided: the ratio of totals."""
    return float(episodes.policy_steps.sum() / episodes.length.sum())
