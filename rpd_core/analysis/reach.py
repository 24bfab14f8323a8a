"""Which states the policy reaches when nothing is mutated, and how often."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.reading import StoredEpisodes
from rpd_core.plugin.protocols import Suite
from rpd_core.store.directory import RunDirectory

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray, IntArray, KeyArray


@dataclass(frozen=True)
class Reach:
    """States that some episodes visited, in order of their keys."""

    keys: KeyArray
    episodes: IntArray
    """Episodes that visited each."""
    steps: IntArray
    """Steps spent in each."""
    total_episodes: int
    total_steps: int

    def share_of_episodes(self, keys: KeyArray) -> FloatArray:
        """Return the share of the episodes that visit each state."""
        return self._look_up(keys, self.episodes) / max(self.total_episodes, 1)

    def share_of_steps(self, keys: KeyArray) -> FloatArray:
        """Return the share of all steps that are spent in each state."""
        return self._look_up(keys, self.steps) / max(self.total_steps, 1)

    def _look_up(self, keys: KeyArray, column: IntArray) -> IntArray:
        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, column[at], 0)


def reach_of(chunks: Iterable[Suite]) -> Reach:
    """Count the visits of episodes, part by part."""
    keys, counts = [np.zeros(0, dtype=np.uint64)], [np.zeros((0, 2), dtype=np.int64)]
    episodes = steps = 0
    for chunk in chunks:
        at, size = chunk.state_of_visit(), len(chunk.states)
        keys.append(chunk.states.key)
        visiting = np.bincount(at, minlength=size)
        counts.append(np.stack([visiting, chunk.states.visits], axis=1))
        episodes += len(chunk.episodes)
        steps += int(chunk.episodes.length.sum())
    unique, place = np.unique(np.concatenate(keys), return_inverse=True)
    summed = np.zeros((len(unique), 2), dtype=np.int64)
    np.add.at(summed, place, np.concatenate(counts))
    return Reach(unique, summed[:, 0], summed[:, 1], episodes, steps)


def stored_reach(directory: RunDirectory) -> Reach:
    """Count what the stored episodes of the policy as it is have visited."""
    parts = directory.unmutated()
    return reach_of(StoredEpisodes(parts).chunks() if parts.covered() else [])
