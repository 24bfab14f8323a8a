"""What an analysis found, as it is stored and read: plain records, without anything numerical."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stability:
    """How much the lists made from two random halves of the episodes have in common, 0 to 1."""

    top10: float
    """Share of the first ten states of one half that are among the first ten of the other."""
    top50: float
    """Likewise the first fifty."""
    rank_biased: float
    """Rank-biased overlap with persistence 0.9: the first ten weigh 86 %."""
