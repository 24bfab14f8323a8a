"""Measures and conditions: from stored episodes to scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from rpd_core.plugin.protocols.arrays import FloatArray, KeyArray

if TYPE_CHECKING:
    from rpd_core.plugin.protocols.suite import Episodes, States, Suite


@dataclass(frozen=True)
class Spectrum:
    """Per state, the weight of the episodes that visited it, by fate and outcome.

    An episode of weight w (1 passed, 0 failed) adds w to a passed cell and 1 - w to a failed one.
    """

    mutated_failed: FloatArray
    """The state was mutated and the episode failed."""
    mutated_passed: FloatArray
    """Mutated and passed."""
    kept_failed: FloatArray
    """Kept and failed."""
    kept_passed: FloatArray
    """Kept and passed."""

    def __len__(self) -> int:
        return len(self.mutated_failed)


@dataclass(frozen=True)
class Returns:
    """Per state, sums over the episodes that visited it, by its fate there."""

    mutated_sum: FloatArray
    """Sum of the returns of episodes in which it was mutated."""
    mutated_squares: FloatArray
    """Sum of their squares."""
    kept_sum: FloatArray
    """Sum of the returns of episodes in which it was kept."""
    kept_squares: FloatArray
    """Sum of their squares."""


@dataclass(frozen=True)
class Evidence:
    """What a measure may look at, one row per state, in the same order everywhere.

    In a run all of it is there, but for `suite` and `weights`: those only for a measure that
    declares `needs = ("suite",)`. What is None here can be left out in tests of measures.
    """

    spectrum: Spectrum
    """The four cells of every state."""
    keys: KeyArray
    """Key of each state, in the order of the spectrum."""
    states: States | None = None
    """Visits, the policy's and the default action's choices, action values and entropy of each
    state."""
    differed: FloatArray | None = None
    """Share of the visits at which the default action was not what the policy chose."""
    differed_first: FloatArray | None = None
    """Share of the visiting episodes in which it was not at the first visit."""
    returns: Returns | None = None
    """Returns by fate, for measures that need no condition."""
    episodes: int = 0
    """Number of episodes in the suite."""
    outcome_spread: float = 1.0
    """How much outcomes vary, as a share of all-or-nothing ones of the same mean: 1 unless the
    condition is soft."""
    weights: FloatArray | None = None
    """`(episodes,)`: weight of each episode under the condition; there only with `suite`."""
    suite: Suite | None = None
    """The whole suite; there only if the measure states `needs = ("suite",)`."""


@dataclass(frozen=True)
class Scores:
    """Scores with an interval; one row per state, in the order of the evidence."""

    values: FloatArray
    """What the ranking is made of, one finite number per state, for example a lower bound."""
    low: FloatArray
    """Lower end of each interval; NaN where there is none."""
    high: FloatArray
    """Upper end of each interval, at least `low`."""
    estimate: FloatArray | None = None
    """What the interval is for, where that is not `values`."""
    level: float = 0.95
    """Confidence of the intervals."""


@runtime_checkable
class Measure(Protocol):
    """Maps evidence to one finite score per state; higher matters more.

    Optional: `needs: ClassVar[tuple[str, ...]] = ("suite",)` for measures that look beyond the
    spectrum; the whole suite is then loaded.
    """

    def __call__(self, evidence: Evidence) -> FloatArray | Scores:
        """Score every state; another order of the states gives the same scores in that order."""


@runtime_checkable
class Condition(Protocol):
    """Weighs each episode in [0, 1]: 1 passed, 0 failed.

    Optional: `fit` (`LearnsFromEpisodes`), for conditions that choose a cut from the suite, which
    is stored and used from then on; `show_condition` (`ShowsCondition`), the condition in words.
    """

    def __call__(self, episodes: Episodes) -> FloatArray:
        """Weigh the episodes."""
