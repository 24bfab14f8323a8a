"""Spectrum -> what can be said of each state's effect, with few false verdicts among many states.

Each verdict is a family of one-sided tests under Benjamini and Hochberg's procedure. A state
without effect can be called either way, so the two directions share the level. Thousands of states
are tested at once, so rejections happen far out in the tails: whole counts are tested by Fisher's
mid-p against 0, all else by the larger of Agresti and Caffo's tail and the score test's, which fail
in different places (docs/decisions/0019 has the rates).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.intervals import (
    Interval,
    agresti_caffo_parts,
    arm_sizes,
    effect,
    effect_interval,
    has_fractions,
    upper_tail,
    upper_z,
)
from rpd_core.analysis.ranking import Ranking
from rpd_core.analysis.spectrum import Tally, identified
from rpd_core.analysis.suite import Reach
from rpd_core.config.settings import Settings
from rpd_core.errors import ConfigError
from rpd_core.plugin.protocols import Spectrum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rpd_core.plugin.protocols import BoolArray, FloatArray, IntArray


class Verdict(StrEnum):
    """What is said of a state; all but the last are false if its true effect contradicts them."""

    MATTERS = "matters"
    """The effect is above 0: acting by default does harm."""
    DEFAULT_BETTER = "default-better"
    """The effect is below 0: the policy's own choice does harm."""
    HARMLESS = "harmless"
    """The effect lies between minus the margin and the margin."""
    UNDECIDED = "undecided"
    """None of these can be told from chance yet."""


_VERDICTS = tuple(Verdict)
_SHARES = {Verdict.MATTERS: 0.5, Verdict.DEFAULT_BETTER: 0.5, Verdict.HARMLESS: 1.0}
"""How much of the level each verdict gets; a state without effect can fall to either of two."""
_UNDECIDED = _VERDICTS.index(Verdict.UNDECIDED)
_NOT_JUDGED = -1


@dataclass(frozen=True)
class Verdicts:
    """One row per state."""

    codes: NDArray[np.int8]
    """Position in `Verdict` of each state's verdict; -1 for states without evidence."""
    growth: FloatArray
    """How many times as many episodes would settle the state at its present estimate.

    1 where it has a verdict, infinite without evidence. It is what the state would need to join
    those that have the verdict now, if all its counts grew alike; the cheaper one counts.
    """

    def labels(self) -> list[Verdict | None]:
        """Return the verdict of each state; none for states without evidence."""
        return [_VERDICTS[code] if code >= 0 else None for code in self.codes.tolist()]

    def are(self, verdict: Verdict) -> BoolArray:
        return np.asarray(self.codes == _VERDICTS.index(verdict))

    def episodes_needed(self, episodes: int) -> FloatArray:
        """Return the size of the whole suite, now `episodes`, that would settle each state."""
        return np.ceil(self.growth * episodes)


def judge(
    spectrum: Spectrum, evidence: BoolArray, margin: float = 0.05, level: float = 0.05
) -> Verdicts:
    """Judge the states with evidence; the share of false verdicts is expected below `level`.

    A state that matters or whose default action is better can also be harmless, that is, have an
    effect within the margin; only the former is said then.
    """
    if not 0 < margin < 1:
        raise ConfigError(f"the margin of harmless effects must lie in (0, 1), got {margin:g}")
    if not 0 < level < 1:
        raise ConfigError(f"the level of false verdicts must lie in (0, 1), got {level:g}")
    judged = Spectrum(**{name: cell[evidence] for name, cell in vars(spectrum).items()})
    codes = np.full(len(judged), _UNDECIDED, dtype=np.int8)
    needed = {}
    for verdict, chances in _chances(judged, margin).items():
        rejected = benjamini_hochberg(chances, level * _SHARES[verdict])
        codes[rejected & (codes == _UNDECIDED)] = _VERDICTS.index(verdict)
        # The p-value with which one more state would be among them.
        needed[verdict] = (
            level * _SHARES[verdict] * min((rejected.sum() + 1) / max(len(judged), 1), 1.0)
        )
    all_codes = np.full(len(evidence), _NOT_JUDGED, dtype=np.int8)
    all_codes[evidence] = codes
    growth = np.full(len(evidence), np.inf)
    growth[evidence] = np.where(codes == _UNDECIDED, _growth(judged, margin, needed), 1.0)
    return Verdicts(all_codes, growth)


def benjamini_hochberg(chances: FloatArray, level: float) -> BoolArray:
    """Return which hypotheses are rejected at this false-discovery rate."""
    count = len(chances)
    ordered = np.sort(chances)
    met = np.flatnonzero(ordered <= level * np.arange(1, count + 1) / max(count, 1))
    if not len(met):
        return np.zeros(count, dtype=np.bool_)
    return np.asarray(chances <= ordered[met[-1]])


def _chances(spectrum: Spectrum, margin: float) -> dict[Verdict, FloatArray]:
    """Return per verdict, strongest first, the p-values of what it denies."""
    within = np.maximum(chance_below(spectrum, margin), chance_above(spectrum, -margin))
    return {
        Verdict.MATTERS: chance_above(spectrum),
        Verdict.DEFAULT_BETTER: chance_below(spectrum),
        Verdict.HARMLESS: within,
    }


def _growth(spectrum: Spectrum, margin: float, needed: dict[Verdict, float]) -> FloatArray:
    """Return by how much the counts must grow until some verdict's distance is wide enough."""
    estimate, error = effect(spectrum), agresti_caffo_parts(spectrum)[1]
    z = {verdict: upper_z(chance) for verdict, chance in needed.items()}
    z_sign = np.where(estimate > 0, z[Verdict.MATTERS], z[Verdict.DEFAULT_BETTER])
    with np.errstate(divide="ignore"):
        by_sign = np.square(z_sign * error / np.abs(estimate))
        distance = np.maximum(margin - np.abs(estimate), 0.0)
        by_margin = np.square(z[Verdict.HARMLESS] * error / distance)
    size = sum(vars(spectrum).values())
    one_more = 1 + 1 / np.maximum(size, 1.0)
    return np.asarray(np.maximum(np.minimum(by_sign, by_margin), one_more))


_TERMS = 4_000_000
"""Terms of exact sums that are held at once."""


def chance_above(spectrum: Spectrum, bound: float = 0.0) -> FloatArray:
    """Return the p-value of "the effect is at most `bound`"; 1 where an arm is empty."""
    if bound == 0 and not has_fractions(spectrum):
        return _settled(spectrum, _mid_p(spectrum))
    difference, error = agresti_caffo_parts(spectrum)
    z = np.minimum((difference - bound) / error, _score(spectrum, bound))  # the larger tail
    return _settled(spectrum, upper_tail(z))


def chance_below(spectrum: Spectrum, bound: float = 0.0) -> FloatArray:
    """Return the p-value of "the effect is at least `bound`"; 1 where an arm is empty."""
    mutated = spectrum.mutated_failed, spectrum.mutated_passed
    turned = Spectrum(spectrum.kept_failed, spectrum.kept_passed, *mutated)  # arms exchanged
    return chance_above(turned, -bound)


def _settled(spectrum: Spectrum, chance: FloatArray) -> FloatArray:
    mutated, kept = arm_sizes(spectrum)
    return np.where((mutated > 0) & (kept > 0), np.clip(chance, 0.0, 1.0), 1.0)


# ------------------------------------------------------------------- whole counts, bound 0


def _mid_p(spectrum: Spectrum) -> FloatArray:
    """Return Fisher's one-sided mid-p: more failures mutated than seen, and half of as many.

    Given the arms and the number of failures, how many of these fell to the mutated arm is
    hypergeometric if the effect is 0. Only the shorter of the two tails is summed, so that small
    probabilities are exact.
    """
    cells = (np.rint(cell).astype(np.int64) for cell in vars(spectrum).values())
    mutated_failed, mutated_passed, kept_failed, kept_passed = cells
    failed, mutated = mutated_failed + kept_failed, mutated_failed + mutated_passed
    total = mutated + kept_failed + kept_passed
    upper = mutated_failed * total >= failed * mutated  # seen at least as many as expected
    terms = np.where(
        upper,
        np.minimum(mutated_passed, kept_failed),
        np.minimum(mutated_failed, kept_passed),
    )
    table = np.stack([mutated_failed, mutated_passed, kept_failed, kept_passed])
    tail = _summed(table, np.where(upper, 1, -1), terms)
    return np.where(upper, tail, 1 - tail)


def _summed(table: IntArray, step: IntArray, terms: IntArray) -> FloatArray:
    """Return the mid-p of each table's tail, a bounded number of terms at a time."""
    tail = np.empty(table.shape[1])
    factorials = np.array(
        [math.lgamma(n + 1) for n in range(int(table.sum(axis=0).max(initial=0)) + 1)]
    )
    block = np.cumsum(terms + 1) // _TERMS
    for number in np.unique(block):
        rows = slice(*np.searchsorted(block, [number, number + 1]))
        tail[rows] = _tail(table[:, rows], step[rows], terms[rows], factorials)
    return tail


def _tail(table: IntArray, step: IntArray, terms: IntArray, factorials: FloatArray) -> FloatArray:
    """Return half the probability of each table plus that of the `terms` tables beyond it.

    A step moves one failure from the kept arm to the mutated one, or back where it is -1.
    """
    starts = np.cumsum(terms + 1) - (terms + 1)
    row = np.repeat(np.arange(len(terms)), terms + 1)
    moved = (np.arange(len(row)) - starts[row]) * step[row]
    signs = np.array([1, -1, -1, 1])
    logs = -sum(
        factorials[cell[row] + sign * moved] for cell, sign in zip(table, signs, strict=True)
    )
    a, b, c, d = table
    pairs = (a + b, c + d, a + c, b + d)
    margins = sum((factorials[pair] for pair in pairs), start=-factorials[a + b + c + d])
    chances = np.exp(logs + np.asarray(margins)[row])
    return np.asarray(np.add.reduceat(chances, starts) - 0.5 * chances[starts])


# --------------------------------------------------------------------- any counts and bound


def _score(spectrum: Spectrum, bound: float) -> FloatArray:
    """Return the difference in standard errors as they would be at the bound."""
    mutated, kept = (np.maximum(size, 1.0) for size in arm_sizes(spectrum))
    risk = _restricted_risk(spectrum, bound)
    variance = (risk + bound) * (1 - risk - bound) / mutated + risk * (1 - risk) / kept
    distance = effect(spectrum) - bound
    safe = np.maximum(variance, np.finfo(np.float64).tiny)
    return np.where(variance > 0, distance / np.sqrt(safe), 0.0)


def _restricted_risk(spectrum: Spectrum, bound: float) -> FloatArray:
    """Return the likeliest risk if kept, given that the effect equals the bound.

    It is the middle root of a cubic (Miettinen and Nurminen, Statistics in Medicine 4, 1985).
    """
    mutated, kept = arm_sizes(spectrum)
    total = np.maximum(mutated + kept, 1.0)
    failed = spectrum.mutated_failed + spectrum.kept_failed
    square = ((mutated + 2 * kept) * bound - total - failed) / (3 * total)
    linear = ((kept * bound - total - 2 * spectrum.kept_failed) * bound + failed) / total
    constant = spectrum.kept_failed * bound * (1 - bound) / total
    turn = square**3 - linear * square / 2 + constant / 2
    radius = np.sqrt(np.maximum(square**2 - linear / 3, np.finfo(np.float64).tiny))
    radius = np.where(turn < 0, -radius, radius)
    cosine = np.divide(turn, radius**3, out=np.zeros_like(turn), where=radius**3 != 0)
    angle = (math.pi + np.arccos(np.clip(cosine, -1.0, 1.0))) / 3
    risk: FloatArray = 2 * radius * np.cos(angle) - square
    return np.clip(risk, max(0.0, -bound), min(1.0, 1.0 - bound))


# ------------------------------------------------------------------------------- the list


@dataclass(frozen=True)
class Rules:
    """When a state is judged, and how."""

    evidence: int
    """Episodes in each arm that it needs."""
    margin: float
    """Effect below which a decision counts as harmless."""
    confidence: float = 0.95
    """The share of false verdicts is expected to be at most 1 minus this."""


@dataclass(frozen=True)
class Decisions:
    """Every state judged; rows are those of the tally."""

    ranking: Ranking
    """What the list is sorted by."""
    counted: Tally
    evidence: BoolArray
    """States with enough episodes in each arm."""
    differs: BoolArray
    """States in which the default action ever differed from the policy's."""
    effects: Interval
    verdicts: Verdicts
    reach: Reach
    """What the policy reaches when nothing is mutated."""

    @property
    def judged(self) -> BoolArray:
        return self.evidence & self.differs

    def listed(self, everything: bool = False, only_reached: bool = False) -> IntArray:
        """Return the rows of the list, first decision first; those without evidence on demand."""
        shown = self.differs if everything else self.judged
        if only_reached:
            shown = shown & (self.reach.share_of_episodes(self.counted.states.key) > 0)
        order = self.ranking.order
        return order[shown[order]]


def rules_of(settings: Settings) -> Rules:
    return Rules(settings.evidence, settings.margin, settings.confidence)


def decide(counted: Tally, ranking: Ranking, reach: Reach, rules: Rules) -> Decisions:
    """Judge every state with enough episodes in each arm."""
    judged = judged_states(counted, rules.evidence)
    return Decisions(
        ranking,
        counted,
        identified(counted.spectrum, rules.evidence),
        np.asarray(counted.differed > 0),
        effect_interval(counted.spectrum),
        judge(counted.spectrum, judged, rules.margin, 1 - rules.confidence),
        reach,
    )


def judged_states(counted: Tally, at_least: int) -> BoolArray:
    """Return the states with so many episodes in each arm whose default action ever differed."""
    return np.asarray(identified(counted.spectrum, at_least) & (counted.differed > 0))
