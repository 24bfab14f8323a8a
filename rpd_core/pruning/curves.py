"""Returns of pruned policies -> curves, thresholds and the points that meet them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.errors import EvidenceError
from rpd_core.play.jobs import RANKED_STEPS
from rpd_core.plugin.records import Episodes

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, FloatArray, IntArray


@dataclass(frozen=True)
class Curve:
    """Pruned policies of one ranking in ascending share; rows are points, columns episodes."""

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
    def coverage(self) -> FloatArray:
        """Share of steps that land in states of the ranking, at each point."""
        return np.asarray(self.ranked_steps.sum(axis=1) / self.lengths.sum(axis=1))

    @property
    def mean_return(self) -> FloatArray:
        """Mean return at each point."""
        return np.asarray(self.returns.mean(axis=1))

    @property
    def step_shares(self) -> FloatArray:
        """Share of steps that use the policy: the ratio of totals over all episodes."""
        return np.asarray(self.policy_steps.sum(axis=1) / self.lengths.sum(axis=1))


@dataclass(frozen=True)
class Reach:
    """The least that meets a target: on the axis of states, and on the axis of steps."""

    point: int
    """Position on the curve of the smallest share of states."""
    states: float
    kept: int
    steps: float
    """Smallest share of steps of any point that meets the target, maybe another point's."""
    name: str = ""
    """Ranking that the point belongs to."""


def cutoffs_for(shares: Sequence[float], states: int) -> tuple[int, ...]:
    """Give the number of states that each share stands for, rounded up."""
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
    """Average curves over the same shares: each point pools the episodes of all of them."""
    return Curve(
        name,
        curves[0].shares,
        curves[0].kept,
        np.concatenate([curve.returns for curve in curves], axis=1),
        np.concatenate([curve.lengths for curve in curves], axis=1),
        np.concatenate([curve.policy_steps for curve in curves], axis=1),
        np.concatenate([curve.ranked_steps for curve in curves], axis=1),
    )


def target_return(fraction: float, original: float, reference: float) -> float:
    """Give the return that counts as `fraction` of the original's, measured from the reference."""
    return reference + fraction * (original - reference)


def reach(curve: Curve, target: float) -> Reach | None:
    """Find the least of a curve that meets a target; None if no point does."""
    meets = np.flatnonzero(curve.mean_return >= target)
    if not len(meets):
        return None
    point = int(meets[0])
    return Reach(
        point,
        float(curve.shares[point]),
        int(curve.kept[point]),
        float(curve.step_shares[meets].min()),
        curve.name,
    )


def best_reach(curves: Sequence[Curve], target: float) -> Reach | None:
    """Find the least that any of several curves needs, on each axis for itself."""
    found = [hit for curve in curves if (hit := reach(curve, target)) is not None]
    if not found:
        return None
    least = min(found, key=lambda hit: (hit.states, hit.steps))
    steps = min(hit.steps for hit in found)
    return Reach(least.point, least.states, least.kept, steps, least.name)


@dataclass(frozen=True)
class Candidate:
    """A pruned policy that met a target in the sweep and awaits confirmation."""

    name: str
    point: int
    share: float
    kept: int


def candidates(curves: Sequence[Curve], target: float) -> list[Candidate]:
    """List the pruned policies that met a target, smallest share first, the best at each share.

    Where several shares keep the same number of states, the pruned policy counts once: to try it
    again on other episodes until it meets the target would be fishing.
    """
    found: list[Candidate] = []
    for point in range(len(curves[0].shares)):
        means = [curve.mean_return[point] for curve in curves]
        best = curves[int(np.argmax(means))]
        share, kept = float(best.shares[point]), int(best.kept[point])
        if best.mean_return[point] >= target and kept not in [one.kept for one in found]:
            found.append(Candidate(best.name, point, share, kept))
    return found


def refuse_weak_policy(returns: FloatArray, reference: float, text: str) -> None:
    """Refuse a policy whose return is not clearly above the reference (two standard errors)."""
    mean = float(returns.mean())
    error = float(returns.std(ddof=1) / np.sqrt(len(returns))) if len(returns) > 1 else 0.0
    if mean - reference > 2 * error:
        return
    raise EvidenceError(
        f"the policy's return {mean:.4g} +- {error:.2g} is not clearly above the reference "
        f"{reference:.4g} ({text}), so a share of it means nothing: check that the policy fits "
        "the environment"
    )


def portfolio(curves: Mapping[str, Curve], names: Sequence[str]) -> list[Curve]:
    """Give the curves of the paper's measures that are at hand."""
    return [curves[name] for name in names if name in curves]
