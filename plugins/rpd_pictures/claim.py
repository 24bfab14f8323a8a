"""What a film stands for: how many of the episodes that reach a decision go as it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rpd_core.errors import counted
from rpd_core.results.sentences import few_digits
from rpd_core.results.words import few

if TYPE_CHECKING:
    from rpd_pictures.stored import ClipPair
    from rpd_pictures.twins import Filmed


def film_claim(filmed: Filmed, condition: str) -> str:
    """Return how often it goes as in a film that is made."""
    return _claim(filmed.alike, filmed.tried, _what(filmed.flips, filmed.least, condition))


def clip_claim(pair: ClipPair, condition: str) -> str:
    """Return how often it goes as in a pair of clips that is stored."""
    return _claim(pair.differing, pair.tried, _what(pair.flips, pair.least, condition))


def _claim(alike: int, tried: int, what: str) -> str:
    shown = "This is the one." if alike == 1 else "This is one in the middle of them."
    return f"In {alike} of {counted(tried, 'episode')} that reach it, {what}. {shown}"


def _what(flips: bool, least: float, condition: str) -> str:
    if flips:
        return f"{few_digits(condition)} is met with the policy and missed without it"
    if least > 0:
        return f"a return of {few(least)} or more is lost without the policy"
    return "the return is lower without the policy"
