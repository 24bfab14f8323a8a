"""Curves and answers of one run -> its figures, by name.

Names say what is counted and for how much of the return: `states90.portfolio` is the smallest
share of states with which some pruned policy of the paper's four measures kept 90 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.config.settings import PORTFOLIO
from rpd_core.pruning.curves import Curve, ShownCurve, mean_curve, portfolio, shown_curves

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray
    from rpd_core.results.records import Policy, Summary

SHARES = ("states", "steps", "episode_steps")
"""What a target takes least of; the last is the mean share over episodes, not that of totals."""
NEVER = 1.0
"""What a share counts as where the target was never reached: the whole policy."""


@dataclass
class Figures:
    """Figures by name, and those of targets that were never reached."""

    values: dict[str, float] = field(default_factory=dict)
    never: list[str] = field(default_factory=list)

    def add(self, name: str, value: float | None, instead: float = NEVER) -> None:
        """Take a figure; None: the target was never reached, which counts as `instead`."""
        if value is None:
            self.never.append(name)
        self.values[name] = instead if value is None else float(value)


def add_thresholds(
    found: Figures,
    curves: Mapping[str, Curve],
    randoms: Sequence[Curve],
    targets: Mapping[str, float],
) -> None:
    """Add what each ranking, the portfolio and random rankings need for every target.

    The least share of states and the least share of steps usually belong to different policies.
    """
    several = {name: [curve] for name, curve in curves.items()}
    four = portfolio(curves, PORTFOLIO)
    if four:
        several["portfolio"] = four
    if randoms:
        several["random"] = [mean_curve("random", randoms)]
    for fraction, target in targets.items():
        for name, some in several.items():
            for kind, value in least_shares(some, target).items():
                found.add(f"{kind}{percent_of(fraction)}.{name}", value)


def percent_of(fraction: str) -> str:
    """Return a fraction as figures name it: `0.9` is `90`."""
    return f"{100 * float(fraction):g}"


def least_shares(curves: Sequence[Curve], target: float) -> dict[str, float | None]:
    """Return the least of each share with which some point meets a target; None: none does."""
    met = np.concatenate([curve.mean_return >= target for curve in curves])
    columns = {
        "states": [curve.shares for curve in curves],
        "steps": [curve.step_shares for curve in curves],
        "episode_steps": [curve.episode_step_shares for curve in curves],
    }
    return {name: _least(np.concatenate(some)[met]) for name, some in columns.items()}


def _least(values: FloatArray) -> float | None:
    return float(values.min()) if len(values) else None


def add_answer(found: Figures, summary: Summary) -> None:
    """Add what a whole analysis found: its returns, its list and its confirmed pruned policies."""
    found.add("return", summary.original.return_mean)
    found.add("default_everywhere", summary.original.default_everywhere)
    found.add("reference", summary.original.reference)
    found.add("passed", summary.pass_rates.suite)
    found.add("states", summary.suite.states)
    found.add("mutation_rate", summary.suite.mutation_rate)
    found.add("listed", summary.list.listed)
    found.add("matter", summary.list.verdicts.get("matters", 0))
    if summary.stability is not None and summary.stability.top10 is not None:
        found.add("top10", summary.stability.top10)
    for fraction, policy in summary.policies.items():
        _add_policy(found, percent_of(fraction), policy, summary.suite.states)


def _add_policy(found: Figures, percent: str, policy: Policy | None, states: int) -> None:
    """Add a chosen pruned policy; one that is not confirmed counts as never reached."""
    met = policy if policy is not None and policy.met else None
    found.add(f"policy{percent}.kept", None if met is None else met.kept, states)
    found.add(f"policy{percent}.states", None if met is None else met.states)
    found.add(f"policy{percent}.steps", None if met is None else met.steps)


def curves_in_shares(
    curves: Mapping[str, Curve], randoms: Sequence[Curve], reference: float, original: float
) -> dict[str, ShownCurve]:
    """Return every curve, returns as shares of the original's."""
    found = shown_curves(curves, randoms)
    return {name: curve.rescaled(reference, original) for name, curve in found.items()}
