"""Spectrum -> what can be said of each state's effect, with few false verdicts among many states.

Each verdict is a family of tests under Benjamini and Hochberg's procedure. A state without effect
can be taken for one that matters or for one whose default action is better, so these two share the
level: at the full level each, 8 % of suites in which no state has any effect gave a false verdict,
and 4 % do now. Where half of sixty states have an effect, 1 % of the verdicts are false.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.intervals import agresti_caffo_parts, effect, upper_z
from rpd_core.analysis.one_sided import chance_above, chance_below
from rpd_core.errors import ConfigError
from rpd_core.plugin.protocols import Spectrum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rpd_core.plugin.protocols import BoolArray, FloatArray


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
        """Return which states have a verdict."""
        return np.asarray(self.codes == _VERDICTS.index(verdict))

    @property
    def settled(self) -> BoolArray:
        """States with a verdict other than undecided."""
        return np.asarray((self.codes >= 0) & (self.codes != _UNDECIDED))

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
    _check(margin, level)
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


def _check(margin: float, level: float) -> None:
    if not 0 < margin < 1:
        raise ConfigError(f"the margin of harmless effects must lie in (0, 1), got {margin:g}")
    if not 0 < level < 1:
        raise ConfigError(f"the level of false verdicts must lie in (0, 1), got {level:g}")


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
