"""The colours of drawings by name, on light and on dark paper."""

from __future__ import annotations

from collections.abc import Mapping

LIGHT: Mapping[str, str] = {
    "ink": "#1c2230",
    "soft": "#5b6472",
    "line": "#dfe3e9",
    "paper": "#ffffff",
    "card": "#f6f7f9",
    "wall": "#6b7280",
    "goal": "#79d99a",
    "policy": "#a63603",
    "default": "#2f66a8",
    "unknown": "#d5d9df",
    "loss0": "#fbead6",
    "loss1": "#fddbb5",
    "loss2": "#fdc38d",
    "loss3": "#fca55d",
    "loss4": "#f7853a",
    "loss5": "#ea6519",
    "loss6": "#d14a07",
    "loss7": "#a63603",
    "loss8": "#7a2704",
}
DARK: Mapping[str, str] = {
    "ink": "#e8ebf0",
    "soft": "#a3acba",
    "line": "#39414d",
    "paper": "#14171c",
    "card": "#1d2128",
    "wall": "#59626f",
    "goal": "#2f8f57",
    "policy": "#ff9d5c",
    "default": "#6ea3e0",
    "unknown": "#2b313a",
    "loss0": "#46311f",
    "loss1": "#5e3c1f",
    "loss2": "#7c491c",
    "loss3": "#9b5718",
    "loss4": "#bb6714",
    "loss5": "#d97a1b",
    "loss6": "#f0943c",
    "loss7": "#fbb069",
    "loss8": "#ffcf9e",
}
LEVELS = 9
"""Tones that losses are shown in."""


def named(colour: str) -> str:
    """Return the name of a colour in the tables above, `none`, or the colour itself."""
    kind, _, share = colour.partition(":")
    if kind != "loss":
        return colour
    return f"loss{level_of(float(share))}"


def level_of(share: float) -> int:
    """Return the tone of a part of the largest loss."""
    return min(max(int(share * LEVELS), 0), LEVELS - 1)
