"""The pair of clips that the page shows: one episode with a decision, and the same without it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rpd_core.results.records import Decision, Summary
from rpd_core.results.sentences import with_and_without
from rpd_core.results.words import few
from rpd_pictures.claim import clip_claim
from rpd_pictures.stored import ClipPair, Pictures, data_uri, read_picture

_ROOM = 1_000_000
"""Characters that both clips may take."""


@dataclass(frozen=True)
class ShownFilm:
    """Two clips of one decision."""

    decision: Decision
    """The state that they are about."""
    pair: ClipPair
    """What is stored of them."""
    policy: str
    """Address that holds the clip in which the policy acts."""
    default: str
    """Address that holds the other."""

    claim: str
    """How often it goes as in the clips: a film is an example, and the reader must know."""

    @property
    def returns(self) -> tuple[str, str]:
        """The returns with the decision, and without."""
        return few(self.pair.policy_return), few(self.pair.default_return)


def read_film(pictures: Pictures | None, summary: Summary, root: Path) -> ShownFilm | None:
    """Return the first pair whose outcome is lower without the decision, and that has room."""
    if pictures is None:
        return None
    known = {row.key: row for row in summary.decisions}
    for pair in pictures.clips:
        if pair.key not in known or pair.default_return >= pair.policy_return:
            continue
        both = [read_picture(pictures.folder / file, root) for file in (pair.policy, pair.default)]
        one, other = ("" if content is None else data_uri(content) for content in both)
        if one and other and len(one) + len(other) <= _ROOM:
            claim = clip_claim(pair, summary.condition)
            return ShownFilm(known[pair.key], pair, one, other, claim)
    return None


@dataclass(frozen=True)
class ShownNumber:
    """What a decision is worth, where no film shows it."""

    decision: Decision
    """The one that is worth most."""

    @property
    def claim(self) -> str:
        """How far the return falls without it."""
        row = self.decision
        before, after = with_and_without(row)
        low, high = few(row.loss_low), few(row.loss_high)
        return (
            f"Without the policy there, the mean return falls from {before} to {after}: a loss of "
            f"{few(row.loss)}, 95% interval {low} to {high}."
        )


def number_alone(summary: Summary) -> ShownNumber | None:
    """Return what the first needed decision is worth; None: none is needed."""
    row = next((one for one in summary.decisions if one.needed), None)
    return None if row is None else ShownNumber(row)
