"""Stored pictures and clips, as many of them as the page has room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rpd_core.errors import counted
from rpd_core.results.pictures import ClipPair, Pictures, data_uri, read_picture
from rpd_core.results.records import Decision

_MOST_PICTURES = 300
_MOST_CLIPS = 5
_ROOM_FOR_PICTURES = 1_100_000
_ROOM_FOR_CLIPS = 1_000_000
"""Characters; a picture takes four for three of its bytes."""


@dataclass(frozen=True)
class _ShownClip:
    """Two clips of one decision."""

    decision: Decision
    """The state that they are about."""
    pair: ClipPair
    """What is stored of them."""
    policy: str
    """Address that holds the clip in which the policy decides."""
    default: str
    """Address that holds the other."""

    @property
    def choice(self) -> str:
        """How the episode was chosen: a clip is an example, and the reader must know of what."""
        lower = f"{self.pair.differing} of {counted(self.pair.tried, 'such episode')}"
        return f"Without the policy here {lower} return less; this is one in the middle of them."


@dataclass(frozen=True)
class Gallery:
    """What there is to see."""

    states: Mapping[int, bytes] = field(default_factory=dict)
    """Key -> picture of the state."""
    clips: tuple[_ShownClip, ...] = ()
    """Of the first decisions."""
    note: str = ""
    """What is not there, and why; empty if nothing is to be said."""


def open_gallery(
    pictures: Pictures | None, rows: Sequence[Decision], root: Path, room: float = 1.0
) -> Gallery:
    """Read pictures of the first decisions and clips, while there is room for them."""
    if pictures is None:
        return Gallery(note="No pictures are stored with this run.")
    states = _within(
        {row.key: pictures.states[row.key] for row in rows if row.key in pictures.states},
        root,
        room,
    )
    known = {row.key: row for row in rows}
    clips, left = [], room * _ROOM_FOR_CLIPS
    for pair in pictures.clips[:_MOST_CLIPS]:
        both = [read_picture(pictures.folder / file, root) for file in (pair.policy, pair.default)]
        if pair.key not in known or both[0] is None or both[1] is None:
            continue
        one, other = (data_uri(content) for content in both if content is not None)
        left -= len(one) + len(other)
        if left >= 0:
            clips.append(_ShownClip(known[pair.key], pair, one, other))
    return Gallery(states, tuple(clips), _note(pictures, len(states), len(clips)))


def _within(paths: Mapping[int, Path], root: Path, room: float) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    left = room * _ROOM_FOR_PICTURES
    for key, path in list(paths.items())[:_MOST_PICTURES]:
        content = read_picture(path, root)
        if content is None:
            continue
        left -= len(content) * 4 / 3
        if left < 0:
            break
        found[key] = content
    return found


def _note(pictures: Pictures, states: int, clips: int) -> str:
    if pictures.missing:
        return pictures.missing
    beyond = []
    if len(pictures.states) > states:
        beyond.append(f"{len(pictures.states) - states} pictures")
    if len(pictures.clips) > clips:
        beyond.append(f"{len(pictures.clips) - clips} pairs of clips")
    return f"{' and '.join(beyond)} more are stored in pictures/ of the run." if beyond else ""
