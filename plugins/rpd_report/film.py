"""The pair of clips that the page shows: one episode with a decision, and the same without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rpd_core.errors import counted
from rpd_core.results.pictures import ClipPair, Pictures, data_uri, read_picture
from rpd_core.results.records import Decision
from rpd_core.results.words import few

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

    @property
    def claim(self) -> str:
        """How often it goes as in the clips: a film is an example, and the reader must know."""
        lower = f"{self.pair.differing} of {counted(self.pair.tried, 'episode')}"
        return (
            f"In {lower} that reach it the return is lower without the policy; this is one in the "
            "middle of them."
        )

    @property
    def returns(self) -> tuple[str, str]:
        """The returns with the decision, and without."""
        return few(self.pair.policy_return), few(self.pair.default_return)


def read_film(pictures: Pictures | None, rows: Sequence[Decision], root: Path) -> ShownFilm | None:
    """Return the first pair whose outcome is lower without the decision, and that has room."""
    if pictures is None:
        return None
    known = {row.key: row for row in rows}
    for pair in pictures.clips:
        if pair.key not in known or pair.default_return >= pair.policy_return:
            continue
        both = [read_picture(pictures.folder / file, root) for file in (pair.policy, pair.default)]
        one, other = ("" if content is None else data_uri(content) for content in both)
        if one and other and len(one) + len(other) <= _ROOM:
            return ShownFilm(known[pair.key], pair, one, other)
    return None
