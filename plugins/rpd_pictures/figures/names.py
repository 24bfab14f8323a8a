"""The names of the figures; imports nothing that draws."""

from __future__ import annotations

PLOTS = {
    "curves": "pruning curves: return against share of states and of steps, with 95 % bands",
    "scores": "scores by rank, a panel per measure",
    "decisions": "the first decisions: effects with 95 % intervals",
    "map": "a plane of two entries of states: effect beside frequency",
    "deletion": "what is lost when the first states act by default",
    "rounds": "rounds of refining: kept states and share of steps",
    "balance": "returns of the mutant episodes, passed and failed; the pilot's rates",
}
KINDS = ("png", "svg", "pdf")
"""Kinds of files, by suffix."""
