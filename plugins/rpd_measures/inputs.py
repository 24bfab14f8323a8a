"""What measures ask of evidence, and one clear line where it is not there."""

from __future__ import annotations

from typing import TypeVar

from rpd_core.errors import ComponentError
from rpd_core.plugin.protocols import Spectrum
from rpd_measures.formula import FloatArray

T = TypeVar("T")


def needed(measure: str, name: str, value: T | None) -> T:
    """Return a field of the evidence; refuse evidence that was made without it."""
    if value is None:
        raise ComponentError(
            f"measure {measure!r} looks at evidence.{name}, which is None here: "
            "give it evidence of a run, or fill in that field"
        )
    return value


def number_of_episodes(measure: str, episodes: int) -> int:
    """Return the number of episodes in the suite; refuse evidence that was made without it."""
    return needed(measure, "episodes", episodes or None)


def visiting(s: Spectrum) -> FloatArray:
    """Return the number of episodes that visited each state."""
    return s.mutated_failed + s.mutated_passed + s.kept_failed + s.kept_passed
