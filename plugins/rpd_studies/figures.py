"""Curves and answers of one run -> its figures, by name.

Names say what is counted and for how much of the return: `states90.portfolio` is the smallest
share of states with which some pruned policy of the paper's four measures kept 90 %.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.config.settings import PORTFOLIO
from rpd_core.pruning.curves import Curve, ShownCurve, mean_curve, portfolio, shown_curves
from rpd_studies.results import Spread

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray
    from rpd_core.results.records import Policy, Summary

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
    several = rows_of(curves, randoms)
    for fraction, target in targets.items():
        for name, some in several.items():
            for kind, value in _least_shares(some, target).items():
                found.add(f"{kind}{_percent_of(fraction)}.{name}", value)


def rows_of(curves: Mapping[str, Curve], randoms: Sequence[Curve]) -> dict[str, list[Curve]]:
    """Return the curves behind each row of a table: of a measure, the portfolio, random ones."""
    several = {name: [curve] for name, curve in curves.items()}
    four = portfolio(curves, PORTFOLIO)
    if four:
        several["portfolio"] = four
    if randoms:
        several["random"] = [mean_curve("random", randoms)]
    return several


def _percent_of(fraction: str) -> str:
    """Return a fraction as figures name it: `0.9` is `90`."""
    return f"{100 * float(fraction):g}"


def _least_shares(curves: Sequence[Curve], target: float) -> dict[str, float | None]:
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
        _add_policy(found, _percent_of(fraction), policy, summary.suite.states)


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


_SHARE = re.compile(r"(states|steps|episode_steps)\d.*|policy\d+\.(states|steps)|passed|top10")
_PLAIN = {
    "return": "return",
    "default_everywhere": "return by default everywhere",
    "reference": "reference",
    "passed": "passed",
    "states": "states",
    "mutation_rate": "mutation rate",
    "listed": "decisions listed",
    "matter": "decisions that matter",
    "top10": "top 10 that comes back",
}
_TARGETED = re.compile(
    r"(?P<kind>states|steps|episode_steps)(?P<percent>90|50)\.(?P<ranking>.+)"
    r"|policy(?P<kept>90|50)\.(?P<figure>kept|states|steps)"
)
_KINDS = {"states": "states", "steps": "steps", "episode_steps": "steps per episode"}
USUAL = {
    "answer": (
        "return", "policy90.kept", "policy90.states", "policy90.steps",
        "states90.portfolio", "steps90.portfolio",
    ),
    "sweep": (
        "return", "states90.portfolio", "states90.random", "steps90.portfolio", "steps90.random",
        "states50.portfolio", "states50.random", "steps50.portfolio", "steps50.random",
    ),
}  # fmt: skip
"""Figures that tables show where nobody says which, by how far the runs go."""


def is_figure(name: str) -> bool:
    """Return whether a figure may have this name."""
    return name in _PLAIN or _TARGETED.fullmatch(name) is not None


def examples() -> tuple[str, ...]:
    """Return names of figures to choose from."""
    return (*_PLAIN, *dict.fromkeys(name for some in USUAL.values() for name in some))


def heading(name: str) -> str:
    """Return what a figure is called at the top of a column."""
    found = _TARGETED.fullmatch(name)
    if found is None:
        return _PLAIN.get(name, name)
    if found["figure"]:
        of = {"kept": "states kept", "states": "states", "steps": "steps"}[found["figure"]]
        return f"policy for {found['kept']} %: {of}"
    return f"{_KINDS[found['kind']]} for {found['percent']} %: {found['ranking']}"


def written(name: str, spread: Spread | None, interval: bool = False) -> str:
    """Return a figure over seeds: `31.0 ± 2.5`, shares in percent, targets missed counted.

    An interval of a share ends at 0 and at 100, which none can pass.
    """
    if spread is None:
        return "–"
    if spread.never == spread.seeds:
        return "never"
    scale = 100.0 if _SHARE.fullmatch(name) else 1.0
    text = _number(scale * spread.mean, scale)
    if spread.std is not None:
        text += f" ± {_number(scale * spread.std, scale)}"
    if interval and spread.low is not None and spread.high is not None:
        ends = [scale * end for end in (spread.low, spread.high)]
        if scale > 1:
            ends = [min(max(end, 0.0), scale) for end in ends]
        text += f" [{_number(ends[0], scale)}, {_number(ends[1], scale)}]"
    return f"{text} (never: {spread.never} of {spread.seeds})" if spread.never else text


def _number(value: float, scale: float) -> str:
    return f"{value:.1f}" if scale > 1 else f"{value:.4g}"
