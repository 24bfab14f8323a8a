"""The pictures that are stored with an analysis, for reading: nothing here draws or plays."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass, field
from pathlib import Path

from rpd_core.errors import StoreError, shell_word
from rpd_core.store.codec import from_plain
from rpd_core.store.directory import RunDirectory
from rpd_core.store.files import read_whole, refuse_outside

SCHEMA = 1
"""Version of the index."""
FOLDER = "pictures"
"""Where a run keeps its pictures, in a folder per analysis."""
_MOST_ENTRIES = 10_000
"""Entries of an index; a run writes a few hundred."""
_LONGEST_KEY = 20
"""Digits of the largest key, which has 64 bits."""
_LARGEST_FILE = 2**22
"""Bytes of a picture that is read."""


@dataclass(frozen=True)
class ClipPair:
    """An episode of the smallest policy, and its twin without one decision."""

    key: int
    """Key of the state."""
    episode: int
    """Which of the episodes that losses come from it is."""
    step: int
    """Its first step in the state; up to there both clips are the same."""
    policy: str
    """File of the clip in which the policy decides in the state, from the folder of pictures."""
    default: str
    """File of the clip in which the default action does."""
    policy_return: float
    """Return of the episode in the first clip."""
    default_return: float
    """Return of the episode in the second."""
    tried: int = 1
    """Twins without the decision."""
    differing: int = 0
    """Those of them that go as in the clips, which are of one in the middle of these."""
    flips: bool = False
    """Whether these pass with the decision and fail without."""
    least: float = 0.0
    """Return that each of these loses at least."""


@dataclass(frozen=True)
class PictureIndex:
    """The content of `index.json`, which is written last; paths are relative to its folder."""

    schema: int
    """Version of the index."""
    states: Mapping[str, str]
    """File of each state, by its key."""
    clips: tuple[ClipPair, ...]
    """In the order of the decisions."""
    panels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Files of each panel, by name."""
    missing: str = ""
    """What there is no picture of, and why."""
    made_from: str = ""
    """Digest of the decisions and the suite that the pictures show."""
    frames: Mapping[str, str] = field(default_factory=dict)
    """Files of frames of one traced episode of the smallest policy, by step."""
    episode: int = 0
    """Which one."""

    def files(self) -> Iterator[str]:
        """Yield every file that the index names."""
        yield from self.states.values()
        for pair in self.clips:
            yield from (pair.policy, pair.default)
        for names in self.panels.values():
            yield from names.values()
        yield from self.frames.values()


def picture_folder(run_dir: Path, analysis: str) -> Path:
    """Return where the pictures of an analysis lie."""
    return run_dir / FOLDER / analysis


def read_index(run_dir: Path, analysis: str) -> PictureIndex | None:
    """Read what pictures an analysis has; None if none were made."""
    where = f"{FOLDER}/{analysis}/index.json"
    found = RunDirectory(run_dir).read_json(where)
    if found is None:
        return None
    named = repr(str(run_dir / where))
    if found.get("schema") != SCHEMA:
        raise StoreError(
            f"{named} has schema {found.get('schema')!r}, this rpd reads {SCHEMA}: make the "
            f"pictures again with rpd draw {shell_word(run_dir)} pictures"
        )
    if (entries := _entries(found)) > _MOST_ENTRIES:
        raise StoreError(
            f"{named} has {entries} entries, at most {_MOST_ENTRIES} can be: delete the file"
        )
    index = from_plain(PictureIndex, found, named)
    for key in (*index.states, *index.frames):
        if len(key) > _LONGEST_KEY or not (key.isascii() and key.isdecimal()):
            raise StoreError(f"{named}: {key!r:.60} is not the key of a state; delete the file")
    return index


def _entries(found: Mapping[str, object]) -> int:
    """Count what an index names, before anything is made of it."""
    panels = found.get("panels")
    parts = [found.get("states"), found.get("clips"), found.get("frames"), panels]
    parts += panels.values() if isinstance(panels, dict) else ()
    return sum(len(part) for part in parts if isinstance(part, Sized))


def named_file(folder: Path, name: str) -> Path:
    """Return the path of a file that the index names; refuse one that leads elsewhere.

    The index is at fault then: what it names may be a file that nobody should touch.
    """
    path = folder / name
    names = f"{str(folder / 'index.json')!r} names {name!r:.60}"
    try:
        refuse_outside(path, folder)
    except ValueError as error:  # a name with a zero byte
        raise StoreError(f"{names}: {error}") from error
    except StoreError as error:
        raise StoreError(
            f"{names}, which is outside its folder: delete the index and run rpd draw pictures"
        ) from error
    return path


@dataclass(frozen=True)
class Pictures:
    """What was drawn for an analysis."""

    folder: Path
    """Where it lies."""
    states: Mapping[int, Path]
    """A small picture of each state, by its key."""
    clips: tuple[ClipPair, ...]
    """Clips of the first decisions, in their order."""
    panels: Mapping[str, Mapping[str, Path]]
    """What panels gathered while the environment was at hand: by panel, then by name."""
    missing: str
    """What there is no picture of, and why; empty if nothing is missing."""
    frames: Mapping[int, Path] = field(default_factory=dict)
    """Frames of one traced episode of the smallest policy, by step."""
    episode: int = 0
    """Which one."""


def read_pictures(run_dir: Path, analysis: str) -> Pictures | None:
    """Return the pictures stored with an analysis; None if none were made.

    Files that have gone are left out; `rpd verify` names them.
    """
    index = read_index(run_dir, analysis)
    if index is None:
        return None
    folder = picture_folder(run_dir, analysis)
    paths = {name: named_file(folder, name) for name in index.files()}
    there = {name: path for name, path in paths.items() if os.path.isfile(path)}
    clips = (one for one in index.clips if one.policy in there and one.default in there)
    return Pictures(
        folder,
        {int(key): there[name] for key, name in index.states.items() if name in there},
        tuple(clips),
        {
            panel: {name: there[file] for name, file in files.items() if file in there}
            for panel, files in index.panels.items()
        },
        index.missing,
        {int(step): there[name] for step, name in index.frames.items() if name in there},
        index.episode,
    )


def read_picture(path: Path, root: Path) -> bytes | None:
    """Read a stored picture; None where there is none, or where it is something else."""
    content = read_whole(path, root, _LARGEST_FILE)
    whole = content is not None and content[:4] == b"RIFF" and content[8:12] == b"WEBP"
    return content if whole else None


def data_uri(content: bytes, media_type: str = "image/webp") -> str:
    """Return an image as an address that holds it."""
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"
