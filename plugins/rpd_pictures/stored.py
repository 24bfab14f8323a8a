"""The pictures that are stored with an analysis, for reading: nothing here draws or plays."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rpd_core.results.pictures import ClipPair, named_file, picture_folder, read_index
from rpd_core.store.files import read_whole

_LARGEST_FILE = 2**22
"""Bytes of a picture that is read."""


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
