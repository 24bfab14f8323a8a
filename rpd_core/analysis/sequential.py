"""Looking again as a suite grows: verdicts that stay, at levels that add up to the promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rpd_core.analysis.verdicts import Verdict, Verdicts, judge
from rpd_core.errors import ConfigError
from rpd_core.plugin.protocols import Spectrum

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, KeyArray


def look_level(look: int, confidence: float = 0.95) -> float:
    """Return the level of false verdicts at a look, counted from 1: half of what is left.

    All looks together, however many there are, use up 1 - confidence.
    """
    if look < 1:
        raise ConfigError(f"looks are counted from 1, got {look}")
    if not 0 < confidence < 1:
        raise ConfigError(f"the confidence must lie in (0, 1), got {confidence:g}; try 0.95")
    return float((1 - confidence) / 2**look)


def settled(
    previous: Mapping[int, Verdict], keys: KeyArray, verdicts: Verdicts
) -> dict[int, Verdict]:
    """Return the verdicts by state key after a look: those given before stay, new ones join."""
    labels = zip(keys.tolist(), verdicts.labels(), strict=True)
    fresh = {key: label for key, label in labels if label and label is not Verdict.UNDECIDED}
    return {**fresh, **previous}


def look_again(
    previous: Mapping[int, Verdict],
    keys: KeyArray,
    spectrum: Spectrum,
    evidence: BoolArray,
    look: int,
    confidence: float = 0.95,
    margin: float = 0.05,
) -> tuple[dict[int, Verdict], Verdicts]:
    """Judge all states with evidence at a look; return what is settled, and what this look says.

    All are tested again, whether settled before or not, so each look stands by itself.
    """
    verdicts = judge(spectrum, evidence, margin, look_level(look, confidence))
    return settled(previous, keys, verdicts), verdicts
