"""Returns of pruned policies -> curves, thresholds and the points that meet them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.plugin.protocols import Episodes
from rpd_core.plugin.protocols.suite import RANKED_STEPS

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, FloatArray, IntArray


@dataclass(frozen=True)
class Curve:
    """Pruned policies of one ranking in ascending share; rows are points, columns test episodes.

    Where a point was not played on all test episodes, it was played on the first of them; the
    others have the return nan and no steps.
    """

    name: str
    shares: FloatArray
    """Share of states that keep the policy."""
    kept: IntArray
    """Number of states that keep the policy."""
    returns: FloatArray
    lengths: IntArray
    policy_steps: IntArray
    ranked_steps: FloatArray
    """Steps in states of the ranking."""

    @property
    def episodes(self) -> IntArray:
        """Number of episodes behind each point."""
        return np.asarray((~np.isnan(self.returns)).sum(axis=1))

    @property
    def coverage(self) -> FloatArray:
        """Share of steps that land in states of the ranking, at each point."""
        return np.asarray(self.ranked_steps.sum(axis=1) / self.lengths.sum(axis=1))

    @property
    def mean_return(self) -> FloatArray:
        """Mean return at each point."""
        return np.asarray(np.nansum(self.returns, axis=1) / self.episodes)

    @property
    def spread(self) -> FloatArray:
        """Standard deviation of the returns at each point; 0 where a single one is known."""
        free = np.maximum(self.episodes - 1, 1)
        squares = np.nansum((self.returns - self.mean_return[:, None]) ** 2, axis=1)
        return np.asarray(np.sqrt(squares / free))

    @property
    def step_shares(self) -> FloatArray:
        """Share of steps that use the policy: the ratio of totals over all episodes."""
        return np.asarray(self.policy_steps.sum(axis=1) / self.lengths.sum(axis=1))

    @property
    def episode_step_shares(self) -> FloatArray:
        """The same share taken in each episode, and then the mean over episodes."""
        shares = self.policy_steps / np.maximum(self.lengths, 1)  # 0 where none was played
        return np.asarray(shares.sum(axis=1) / self.episodes)


@dataclass(frozen=True)
class PrunedPoint:
    """One pruned policy and what it did in the sweep; all figures are of this one policy."""

    measure: str
    """The ranking."""
    kept: int
    """Number of states that keep the policy."""
    states: float
    """Their share of all states."""
    steps: float
    """Share of its steps at which the policy decided."""
    return_mean: float
    episodes: int
    """Test episodes behind these figures."""


def cutoffs_for(shares: Sequence[float], states: int) -> tuple[int, ...]:
    """Return the number of states that each share stands for, rounded up."""
    return tuple(int(np.ceil(share * states - 1e-9)) for share in shares)


def curve_from(
    name: str, shares: Sequence[float], cutoffs: Sequence[int], episodes: Episodes
) -> Curve:
    """Arrange the episodes of an evaluation by point."""

    def table(column: Array) -> Array:
        return column.reshape(len(cutoffs), -1)

    return Curve(
        name,
        np.asarray(shares, dtype=np.float64),
        np.asarray(cutoffs, dtype=np.int64),
        table(episodes.total_return),
        table(episodes.length),
        table(episodes.policy_steps),
        table(episodes.info[RANKED_STEPS]),
    )


def mean_curve(name: str, curves: Sequence[Curve]) -> Curve:
    """Average curves over the same shares: each point pools the episodes of all of them.

    Only test episodes that all of them played count, or one curve would count more than another.
    """
    alike = in_common(curves)
    return Curve(
        name,
        curves[0].shares,
        curves[0].kept,
        np.concatenate([curve.returns for curve in alike], axis=1),
        np.concatenate([curve.lengths for curve in alike], axis=1),
        np.concatenate([curve.policy_steps for curve in alike], axis=1),
        np.concatenate([curve.ranked_steps for curve in alike], axis=1),
    )


def averaged_curve(name: str, curves: Sequence[Curve]) -> Curve:
    """Average curves over the same shares, test episode by test episode: they share these."""
    alike = in_common(curves)
    return Curve(
        name,
        curves[0].shares,
        curves[0].kept,
        np.mean([curve.returns for curve in alike], axis=0),
        np.sum([curve.lengths for curve in alike], axis=0),
        np.sum([curve.policy_steps for curve in alike], axis=0),
        np.sum([curve.ranked_steps for curve in alike], axis=0),
    )


def in_common(curves: Sequence[Curve]) -> list[Curve]:
    """Return curves with, at each point, only the test episodes that all of them played."""
    least = np.min([curve.episodes for curve in curves], axis=0)
    return [_first_episodes(curve, least) for curve in curves]


def _first_episodes(curve: Curve, counts: IntArray) -> Curve:
    """Return a curve with so many episodes at each point."""
    played = np.arange(curve.returns.shape[1]) < counts[:, None]
    return replace(
        curve,
        returns=np.where(played, curve.returns, np.nan),
        lengths=np.where(played, curve.lengths, 0),
        policy_steps=np.where(played, curve.policy_steps, 0),
        ranked_steps=np.where(played, curve.ranked_steps, 0.0),
    )


def point_of(curve: Curve, point: int) -> PrunedPoint:
    """Return a point of a curve with its figures."""
    return PrunedPoint(
        curve.name,
        int(curve.kept[point]),
        float(curve.shares[point]),
        float(curve.step_shares[point]),
        float(curve.mean_return[point]),
        int(curve.episodes[point]),
    )


def reaching(curves: Sequence[Curve], target: float) -> list[PrunedPoint]:
    """Return every pruned policy of some curves that meets a target."""
    return [
        point_of(curve, int(point))
        for curve in curves
        for point in np.flatnonzero(curve.mean_return >= target)
    ]


def fewest_states(points: Sequence[PrunedPoint]) -> PrunedPoint | None:
    """Return the pruned policy with the smallest share of states, of equals that of steps."""
    return min(points, key=lambda one: (one.states, one.steps), default=None)


def fewest_steps(points: Sequence[PrunedPoint]) -> PrunedPoint | None:
    """Return the pruned policy with the smallest share of steps, of equals that of states."""
    return min(points, key=lambda one: (one.steps, one.states), default=None)


def area_under(shares: FloatArray, returns: FloatArray) -> float:
    """Return the area under the best return share that at most a share of states or steps gives.

    Returns are shares of the original's, cut to 0..1, so 1 is best. Nothing is taken to lie between
    two points: straight lines would make a curve worse for a point that is known below them.
    """
    order = np.argsort(shares, kind="stable")
    best = np.maximum.accumulate(np.clip(returns[order], 0.0, 1.0))
    return float(best @ np.diff(shares[order], append=1.0))


def portfolio(curves: Mapping[str, Curve], names: Sequence[str]) -> list[Curve]:
    """Return the curves of the paper's measures that are at hand."""
    return [curves[name] for name in names if name in curves]
