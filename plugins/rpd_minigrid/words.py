"""MiniGrid's numbers for kinds, colours, doors and directions, in words."""

from __future__ import annotations

COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
KINDS = (
    "unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava", "agent",
)  # fmt: skip
DIRECTIONS = ("right", "down", "left", "up")
DOORS = ("open", "closed", "locked")
