"""What a film is asked for and made of, before it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from PIL import Image


@dataclass(frozen=True)
class Wanted:
    """What is to be drawn."""

    episode: str | None = None
    """Name of an episode, for example `suite:17`; with `find`, its index may be left out."""
    decision: str | None = None
    """A decision of the smallest policy by rank, key or words: an episode with it and without."""
    keep: float | None = None
    """Share of the states in which the policy is to decide; None: as the episode was played."""
    find: Literal["failing", "passing"] | None = None
    """Look for the first episode that fails, or passes, from the one named on."""
    against: str = "original"
    """Who acts beside it: `original`, `pruned`, `default` or `none`."""
    what: Literal["film", "path", "trace"] = "film"
    """A film, the agent's path as one picture, or the film of a traced episode."""
    frames: int = 200
    """Steps that are drawn at most."""


@dataclass(frozen=True)
class Shown:
    """One side of a film."""

    title: str
    """Who acts."""
    total_return: float
    """Return of the whole episode."""
    length: int
    """Its steps."""


@dataclass(frozen=True)
class Pages:
    """A film, page by page."""

    episode: str
    """The episode that it shows."""
    pages: list[Image.Image]
    durations: list[int]
    """Milliseconds that each is shown."""
    shown: tuple[Shown, ...]
    """From left to right."""
    notes: tuple[str, ...] = ()
    """What the user should know."""
