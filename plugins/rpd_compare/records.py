"""What a comparison of two runs found, typed: the content of `rpd compare --json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rpd_compare.agreement import Agreement
from rpd_compare.changes import Change
from rpd_core.pruning.curves import ShownCurve


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
    common: int
    """States that both suites met; only these are compared."""
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

    def agreement_in_first(self, share: float = 0.1, measure: str | None = None) -> Agreement:
        """Return the agreement in the first states by a measure; none: by the first one."""
        curves = {one.measure: one for one in self.agreement}
        curve = self.agreement[0] if measure is None else curves[measure]
        return min(curve.points, key=lambda point: abs(point.share - share))
