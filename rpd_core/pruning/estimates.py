"""What is known of a policy that is being minimised, from all blocks of episodes that speak of it.

Blocks are pooled to estimate: one block's mean is too rough to tell what a target can still spare.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.pruning.twins import Look

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray, KeyArray


INHERITED = 800.0
"""Episodes that what is known of a larger policy counts for, at most."""


_CARRIED = 0.5
"""What episodes of a policy are worth for the losses in the one after it."""


@dataclass(frozen=True)
class Estimate:
    """A mean return, and how many episodes of the policy would tell it as well."""

    mean: float = 0.0
    episodes: float = 0.0

    def joined(self, returns: FloatArray) -> Estimate:
        """Return what is known after further episodes of the same policy."""
        episodes = self.episodes + len(returns)
        further = float(returns.mean()) - self.mean
        return Estimate(self.mean + further * len(returns) / episodes, episodes)

    def error(self, spread: float) -> float:
        """Return its standard error where returns have some standard deviation."""
        return float(spread / np.sqrt(max(self.episodes, 1.0)))

    def less(self, loss: float, error: float, spread: float) -> Estimate:
        """Return what is known of a smaller policy by what it is said to lose.

        `spread` is the variance of its returns: the error of the loss is worth so many episodes.
        """
        episodes = self.episodes
        if error:
            episodes = spread / (spread / max(episodes, 1e-9) + error**2) if spread else 0.0
        return Estimate(self.mean - loss, min(episodes, INHERITED))


@dataclass
class PooledLosses:
    """What is known of the single decisions of one policy, over all looks at it."""

    known: dict[int, FloatArray] = field(default_factory=dict)
    """By state: loss, its standard error, steps saved, times visited; episodes that say so last."""

    def add(self, look: Look) -> None:
        """Add what a look says, if it is at single decisions."""
        if len(look.loss) == len(look.kept):
            rows = np.column_stack([look.loss, look.error, look.saved, look.visited])
            for key, row in zip(look.kept.tolist(), rows, strict=True):
                self._add(key, row, float(len(look.returns)))

    def pooled(self, look: Look) -> Look:
        """Return a look with what all of them say, if it is at single decisions."""
        if len(look.loss) != len(look.kept):
            return look
        pooled = np.array([self.known[key][:4] for key in look.kept.tolist()]).reshape(-1, 4)
        loss, error, saved, visited = pooled.T
        return dataclasses.replace(look, loss=loss, error=error, saved=saved, visited=visited > 0)

    def losses(self, keys: KeyArray) -> FloatArray:
        """Return what is known to be lost without each state; 0 where nothing is."""
        return np.array([self.known[key][0] if key in self.known else 0.0 for key in keys.tolist()])

    def _add(self, key: int, row: FloatArray, episodes: float) -> None:
        before = self.known.get(key, np.zeros(5))
        total = before[4] + episodes
        mean = (before[:4] * before[4] + row * episodes) / total
        mean[1] = np.hypot(before[1] * before[4], row[1] * episodes) / total
        self.known[key] = np.append(mean, total)

    def inherited(self) -> PooledLosses:
        """Return what it says about a smaller policy: less, for decisions depend on one another."""
        fewer = np.array([1.0, 1.0, 1.0, 1.0, _CARRIED])
        return PooledLosses({key: row * fewer for key, row in self.known.items()})

    def missed(self, key: int, loss: float, episodes: float) -> None:
        """Add what was lost when a decision was dropped."""
        before = self.known.get(key, np.zeros(5))
        self._add(key, np.array([loss, before[1], before[2], 1.0]), episodes)
