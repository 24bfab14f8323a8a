"""What only Atari can show: screens beside what is told apart of them."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rpd_core.plugin.protocols import Block, Image, PanelFacts, PanelView, Paragraph, Scene

_SHOWN = 8
"""Decisions whose screens are kept."""
_LARGER = 10
"""Pixels across a cell of an abstraction that is drawn."""


@dataclass(frozen=True)
class AtariScreens:
    """The screens of the first decisions, each beside the abstract state it became."""

    title: ClassVar[str] = "Screens and what is told apart of them"

    def applies(self, about: PanelFacts) -> bool:
        """Return whether this is an Atari game whose states are small pictures."""
        return about.environment.partition(":")[0] == "atari" and len(about.shape) in (0, 2)

    def gather(self, scene: Scene) -> Mapping[str, bytes]:
        """Keep the screen at which each of the first states was first seen."""
        wanted: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for key in scene.first[:_SHOWN]:
            episode, step = scene.seen(key)
            wanted[episode].append((step, key))
        found = {}
        for episode, places in wanted.items():  # each episode is played once
            steps = scene.replay(episode)
            for step, key in places:
                frame = steps[step].frame
                if frame is not None:
                    found[f"{key:016x}.webp"] = webp(frame)
        return found

    def draw(self, view: PanelView) -> Sequence[Block]:
        """Show the screens by rank, each followed by its abstract state."""
        rows = {f"{int(key):016x}.webp": row for row, key in enumerate(view.keys.tolist())}
        known = sorted((int(view.ranks[rows[name]]), name) for name in view.files if name in rows)
        if not known or view.values.ndim != 3:
            return []
        blocks: list[Block] = [
            Paragraph(
                "The screen at which a state was first seen, and the state itself: screens that "
                "look the same on the right are one decision."
            )
        ]
        for rank, name in known:
            both = beside(view.files[name], np.asarray(view.values[rows[name]]))
            alt = f"Decision {rank}: the screen, and the abstract state on its right"
            blocks.append(Image(both, "image/webp", alt, f"{rank}."))
        return blocks


def enlarged(value: NDArray[Any]) -> NDArray[np.uint8]:
    """Return small numbers in rows and columns as a grey picture of larger squares."""
    span = max(float(value.max()) - float(value.min()), 1e-9)
    grey = ((value - value.min()) / span * 255).astype(np.uint8)
    large = np.repeat(np.repeat(grey, _LARGER, axis=0), _LARGER, axis=1)
    return np.repeat(large[..., None], 3, axis=2)


def beside(screen: bytes, value: NDArray[Any]) -> bytes:
    """Return a screen and, as high as it, its abstract state in one picture."""
    from PIL import Image as Pillow  # only where a panel draws

    left = Pillow.open(io.BytesIO(screen)).convert("RGB")
    right = Pillow.fromarray(enlarged(value))
    right = right.resize((right.width * left.height // right.height, left.height), 0)
    both = Pillow.new("RGB", (left.width + 4 + right.width, left.height), (255, 255, 255))
    both.paste(left, (0, 0))
    both.paste(right, (left.width + 4, 0))
    return webp(np.asarray(both))


def webp(picture: NDArray[Any]) -> bytes:
    """Return a picture as a lossless WebP file."""
    from PIL import Image as Pillow  # only where a panel draws

    sink = io.BytesIO()
    Pillow.fromarray(np.asarray(picture, dtype=np.uint8)).save(sink, "WEBP", lossless=True)
    return sink.getvalue()
