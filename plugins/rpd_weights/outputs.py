"""What the numbers of a network mean for the actions of an environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Facts
from rpd_weights.conventions import Convention, Meaning, Squash, meaning_of
from rpd_weights.files import Weights
from rpd_weights.layers import Block
from rpd_weights.structure import Structure

if TYPE_CHECKING:
    from rpd_weights.loader import WeightsFile

Array = NDArray[Any]
_WORDS: dict[Squash, str] = {
    "none": "clipped to the bounds",
    "tanh": "tanh, scaled to the bounds",
    "scale": "clipped to -1 and 1, scaled to the bounds",
}


@dataclass(frozen=True)
class Stored:
    """What a file holds."""

    kind: str
    weights: Weights
    blocks: list[Block]
    """Below the prefix, if one is given."""


@dataclass(frozen=True)
class Output:
    """What the numbers of a network mean."""

    meaning: Meaning
    squash: Squash
    words: str
    """All of it for a person."""
    scaling: tuple[Array, Array] | None = None
    """Middle and half width that actions are scaled to; None: those of the space."""


def widths_of(facts: Facts) -> frozenset[int]:
    """Return how many numbers a network for the action space may give."""
    space = facts.action_space
    if isinstance(space, spaces.Discrete):
        return frozenset({int(space.n)})
    if isinstance(space, spaces.MultiDiscrete) and len(space.shape) == 1:
        return frozenset({int(space.nvec.sum())})
    if isinstance(space, spaces.Box):
        count = int(np.prod(space.shape))
        return frozenset({count, 2 * count})  # beside each mean there may be a deviation
    raise FitError(f"weights cannot choose from {space}: Discrete, MultiDiscrete and Box work")


def output_of(
    file: WeightsFile, space: Any, structure: Structure, convention: Convention, stored: Stored
) -> Output:
    """Return what the numbers mean: as the user says, else as names and shapes do."""
    continuous = isinstance(space, spaces.Box)
    if file.output != "auto" and (file.output in ("mean", "action")) != continuous:
        allowed = "mean or action" if continuous else "q or logits"
        raise FitError(f"output={file.output} does not suit {space}: use {allowed}")
    if continuous:
        return _continuous(file, space, structure, convention, stored)
    meaning, reason = meaning_of(structure, stored.blocks)
    if file.output == "q" or file.output == "logits":
        meaning, reason = file.output, "said so"
    if meaning == "q" and not file.deterministic:
        raise FitError("deterministic=false draws from logits, but these are action values")
    return Output(meaning, "none", f"{meaning} ({reason})")


def _continuous(
    file: WeightsFile, space: Any, structure: Structure, convention: Convention, stored: Stored
) -> Output:
    if not file.deterministic:
        raise FitError("deterministic=false needs logits: of continuous actions the mean is taken")
    squash, reason = convention.squash, f"as {convention.library} has it"
    if file.squash != "auto":
        squash, reason = file.squash, "said so"
    scaling = _scaling(space, structure, stored.weights)
    unbounded = not (np.isfinite(space.low) & np.isfinite(space.high)).all()
    if squash != "none" and scaling is None and unbounded:
        raise FitError(f"squash={squash} scales to bounds, which {space} has not: squash=none")
    drawn = structure.drawn or structure.width > int(np.prod(space.shape))
    meaning: Meaning = "mean" if drawn else "action"
    if file.output == "mean" or file.output == "action":
        meaning = file.output
    return Output(meaning, squash, f"{meaning}, {_WORDS[squash]} ({reason})", scaling)


def _scaling(space: Any, structure: Structure, weights: Weights) -> tuple[Array, Array] | None:
    """Return middle and half width of actions, as CleanRL stores them beside the network."""
    start = f"{structure.prefix}." if structure.prefix else ""
    held = [weights.get(f"{start}action_{name}") for name in ("bias", "scale")]
    count = int(np.prod(space.shape))
    parts = [one for one in held if one is not None and one.numel() == count]
    if len(parts) < len(held):
        return None
    middle, half = (one.to(torch.float64).numpy().reshape(space.shape) for one in parts)
    return middle, half
