"""Returns of pruned policies -> curves, thresholds and the points that meet them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.intervals import upper_t
from rpd_core.plugin.protocols import Episodes
from rpd_core.plugin.protocols.suite import RANKED_STEPS
from rpd_core.pruning.records import PrunedPoint

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, FloatArray, IntArray

RANDOM = "random"
"""What the mean of the random rankings is called."""
_BEYOND = 0.025
"""Chance that a mean lies beyond one end of its band."""


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
    overrides: IntArray
    """Steps at which the policy decided and differed from the default action."""
    ranked_steps: FloatArray
    """Steps in states of the ranking."""
    rankings: int = 1
    """Rankings that it is the mean of; the test episodes of one stand behind those of another."""

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
    def step_shares(self) -> FloatArray:
        """Share of steps that use the policy: the ratio of totals over all episodes."""
        return np.asarray(self.policy_steps.sum(axis=1) / self.lengths.sum(axis=1))

    @property
    def override_shares(self) -> FloatArray:
        """Share of steps at which the policy decided and differed from the default action."""
        return np.asarray(self.overrides.sum(axis=1) / self.lengths.sum(axis=1))

    @property
    def episode_step_shares(self) -> FloatArray:
        """The same share taken in each episode, and then the mean over episodes."""
        shares = self.policy_steps / np.maximum(self.lengths, 1)  # 0 where none was played
        return np.asarray(shares.sum(axis=1) / self.episodes)

    def by_test_episode(self) -> Curve:
        """Return the curve with one column per test episode: its mean over the rankings."""
        if self.rankings == 1:
            return self

        def each(table: Array) -> Array:
            return table.reshape(len(table), self.rankings, -1)

        return replace(
            self,
            returns=each(self.returns).mean(axis=1),
            lengths=each(self.lengths).sum(axis=1),
            policy_steps=each(self.policy_steps).sum(axis=1),
            overrides=each(self.overrides).sum(axis=1),
            ranked_steps=each(self.ranked_steps).sum(axis=1),
            rankings=1,
        )

    def half_band(self) -> FloatArray:
        """Return half the width of the 95 % interval of the mean return at each point.

        Test episodes are what chance drew, and every ranking is played on the same ones: the
        episodes of several random rankings are no independent draws. So a test episode counts
        once, with its mean over the rankings, and the interval is Student's over test episodes; 0
        where there is a single one. The rankings themselves are taken as they are: it is the
        interval of their mean, not of what other random rankings would return.
        """
        once = self.by_test_episode()
        counts = once.episodes
        free = np.maximum(counts - 1, 1)
        squares = np.nansum((once.returns - once.mean_return[:, None]) ** 2, axis=1)
        factors = np.array([upper_t(_BEYOND, degrees) for degrees in free.tolist()])
        return np.asarray(factors * np.sqrt(squares / free / counts))

    def shown(self) -> ShownCurve:
        """Return the curve as it is shown, without its episodes."""
        mean, half = self.mean_return, self.half_band()
        return ShownCurve(
            self.name,
            tuple(self.kept.tolist()),
            tuple(self.shares.tolist()),
            tuple(self.step_shares.tolist()),
            tuple(mean.tolist()),
            tuple((mean - half).tolist()),
            tuple((mean + half).tolist()),
            tuple(self.by_test_episode().episodes.tolist()),
        )


@dataclass(frozen=True)
class ShownCurve:
    """A pruning curve as page, figures, comparisons and grids show it, in ascending kept states."""

    measure: str
    """The ranking, or `random` for the mean of the random ones."""
    kept: tuple[int, ...]
    """Number of states that keep the policy."""
    states: tuple[float, ...]
    """Their share of all states."""
    steps: tuple[float, ...]
    """Share of steps at which the policy decided."""
    returns: tuple[float, ...]
    """Mean return."""
    low: tuple[float, ...]
    """Lower end of the 95 % interval of that, over the test episodes."""
    high: tuple[float, ...]
    """Upper end of the same."""
    episodes: tuple[int, ...]
    """Test episodes behind it."""

    def rescaled(self, reference: float, original: float) -> ShownCurve:
        """Return the curve with returns as shares of the policy's, measured from a reference."""
        gain = original - reference
        returns, low, high = (
            tuple((value - reference) / gain for value in column)
            for column in (self.returns, self.low, self.high)
        )
        return replace(self, returns=returns, low=low, high=high)

    def best_by_steps(self) -> ShownCurve:
        """Return the best pruned policies in ascending share of steps, as the paper draws them.

        A point counts only if it returns more than every one with fewer steps: steps need not
        ascend with states, and a policy that does worse with more of them is of no use.
        """
        order = sorted(
            range(len(self.steps)), key=lambda row: (self.steps[row], -self.returns[row])
        )
        rows, best = list[int](), -math.inf
        for row in order:
            if self.returns[row] > best:
                best = self.returns[row]
                rows.append(row)
        columns = {name: column for name, column in vars(self).items() if name != "measure"}
        picked = {name: tuple(column[row] for row in rows) for name, column in columns.items()}
        return ShownCurve(self.measure, **picked)


def shown_curves(curves: Mapping[str, Curve], randoms: Sequence[Curve]) -> dict[str, ShownCurve]:
    """Return every curve as it is shown, and last the mean of the random rankings."""
    found = {name: curve.shown() for name, curve in curves.items()}
    return found | ({RANDOM: mean_curve(RANDOM, randoms).shown()} if randoms else {})


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
        table(episodes.overrides),
        table(episodes.info[RANKED_STEPS]),
    )


def mean_curve(name: str, curves: Sequence[Curve]) -> Curve:
    """Average curves over the same shares: each point pools the episodes of all of them.

    Only test episodes that all of them played count, or one curve would count more than another.
    """
    alike = _in_common(curves)
    return Curve(
        name,
        curves[0].shares,
        curves[0].kept,
        np.concatenate([curve.returns for curve in alike], axis=1),
        np.concatenate([curve.lengths for curve in alike], axis=1),
        np.concatenate([curve.policy_steps for curve in alike], axis=1),
        np.concatenate([curve.overrides for curve in alike], axis=1),
        np.concatenate([curve.ranked_steps for curve in alike], axis=1),
        len(alike),
    )


def _in_common(curves: Sequence[Curve]) -> list[Curve]:
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
        overrides=np.where(played, curve.overrides, 0),
        ranked_steps=np.where(played, curve.ranked_steps, 0.0),
    )


def _point_of(curve: Curve, point: int) -> PrunedPoint:
    """Return a point of a curve with its figures."""
    return PrunedPoint(
        curve.name,
        int(curve.kept[point]),
        float(curve.shares[point]),
        float(curve.step_shares[point]),
        float(curve.override_shares[point]),
        float(curve.mean_return[point]),
        int(curve.episodes[point]),
    )


def reaching(curves: Sequence[Curve], target: float) -> list[PrunedPoint]:
    """Return every pruned policy of some curves that meets a target."""
    return [
        _point_of(curve, int(point))
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
