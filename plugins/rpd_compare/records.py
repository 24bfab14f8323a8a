"""What a comparison of two runs found, typed: the content of `rpd compare --json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from rpd_compare.agreement import Agreement
from rpd_compare.changes import Change
from rpd_core.pruning.curves import ShownCurve
from rpd_core.results.records import Decision


@dataclass(frozen=True)
class SmallestOf:
    """The smallest policy of one of the runs."""

    target: float
    """Share of the return that it is to keep."""
    kept: int
    """Number of its decisions."""
    states: float
    """Their share of all states."""
    steps: float
    """Share of its steps at which the policy decides."""
    overrides: float
    """Share of its steps at which it decides and differs from the default action."""
    return_mean: float
    """Its mean return."""
    share: float
    """Share of the return that it keeps."""
    share_bound: float | None
    """Lower bound of that, with 95 % confidence; null: none is known."""
    needed: int
    """Decisions whose loss is above 0."""


@dataclass(frozen=True)
class Side:
    """One of the two runs."""

    path: str
    """Its directory."""
    analysis: str
    """Name of the analysis."""
    policy: str
    """Spec of its policy."""
    seed: int
    """Its seed."""
    episodes: int
    """Mutant episodes."""
    states: int
    """States that they met."""
    mutation_rate: float
    """Chance that a state was mutated."""
    condition: str
    """When an episode passed, in words."""
    passed: float
    """Share of the mutant episodes that did."""
    return_mean: float
    """Mean return of the policy as it is."""
    reference: float
    """Return that shares of it are measured from."""
    default_everywhere: float
    """Mean return of acting by default everywhere."""
    smallest: SmallestOf | None
    """Its smallest policy; null: none is confirmed."""


class Need(StrEnum):
    """Which of the two smallest policies is known to need a decision."""

    NEW = "new"
    """The second, and not the first."""
    GONE = "gone"
    """The first, and not the second."""
    BOTH = "both"
    """Both."""


@dataclass(frozen=True)
class ComparedDecision:
    """A decision that at least one of the smallest policies needs."""

    key: int
    """Key of the state."""
    state: str
    """The state in words."""
    need: Need
    """`new`, `gone` or `both`."""
    a: Decision | None
    """In the first smallest policy; null: it acts by default there."""
    b: Decision | None
    """In the second."""
    picture: str | None = None
    """File with a picture of the state; null: none is stored."""

    @property
    def loss(self) -> float:
        """The larger of its losses."""
        return max(one.loss for one in (self.a, self.b) if one is not None)


@dataclass(frozen=True)
class AgreementCurve:
    """Agreement in the first states by one ranking of the first run."""

    measure: str
    """What its states are ranked by."""
    points: tuple[Agreement, ...]
    """From the first hundredth of the states to all of them."""


@dataclass(frozen=True)
class EffectOf:
    """The effect of a state in one of the runs."""

    effect: float
    """Risk if mutated minus risk if kept."""
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of the same."""
    rank: int | None
    """Place in the run's list of decisions; null: not in the list."""
    action: str
    """What the run's policy does there; shares where it does several things."""
    reached: float
    """Share of the unmutated policy's episodes that visit it."""


@dataclass(frozen=True)
class ComparedState:
    """A state that both suites met."""

    key: int
    """Key of the state."""
    state: str
    """The state in words."""
    a: EffectOf
    """In the first run."""
    b: EffectOf
    """In the second run."""
    same: bool
    """Whether both policies choose the same action most often."""
    overlap: float
    """Share of their choices in common."""
    difference: float
    """Effect in the second run minus effect in the first."""
    low: float
    """Lower end of the 95 % interval of that."""
    high: float
    """Upper end of the same."""
    change: Change | None
    """`gained`, `lost` or `open`; null: too few episodes in an arm, or not comparable."""
    picture: str | None = None
    """File with a picture of the state; null: none is stored."""


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side."""

    env: str
    """The task of both."""
    abstraction: tuple[str, ...]
    """What tells states apart in both."""
    default_action: str
    """The default action of both."""
    a: Side
    """The first run, whose rankings are used."""
    b: Side
    """The second run."""
    needs: tuple[ComparedDecision, ...]
    """Decisions of the smallest policies that either needs: new ones first, then gone, then both,
    each by loss; none where a smallest policy is not confirmed."""
    common: int
    """States that both suites met; only in these are choices and effects compared."""
    only_a: int
    """States that only the first met."""
    only_b: int
    """States that only the second met."""
    unclear: int
    """Common states in which a policy has no action of three quarters of its choices."""
    agreement: tuple[AgreementCurve, ...]
    """By each measure, FreqVis last."""
    judged: int
    """Common states with enough episodes in each arm of both suites to compare effects."""
    gained: int
    """Those of them whose effect is larger in the second run."""
    lost: int
    """Those whose effect is smaller there."""
    changes: tuple[ComparedState, ...]
    """The first of both, the largest sure change first."""
    disagreements: int
    """Common states in which the policies choose different actions."""
    disagreeing: tuple[ComparedState, ...]
    """The first of those that either list of decisions holds, by the better of the two ranks."""
    curves_a: Mapping[str, ShownCurve]
    """Pruning curves of the first run, by measure, and `random`."""
    curves_b: Mapping[str, ShownCurve]
    """Those of the second run."""
    notes: tuple[str, ...]
    """What a reader must know, a sentence each."""

    def needed(self, need: Need | str) -> tuple[ComparedDecision, ...]:
        """Return the decisions that one of them needs, or both."""
        return tuple(one for one in self.needs if one.need == need)

    def agreement_in_first(self, share: float = 0.1, measure: str | None = None) -> Agreement:
        """Return the agreement in the first states by a measure; none: by the first one."""
        curves = {one.measure: one for one in self.agreement}
        curve = self.agreement[0] if measure is None else curves[measure]
        return min(curve.points, key=lambda point: abs(point.share - share))
