"""Which arrays of a step a module looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Facts
from rpd_torchscript.observations import Stack, main_part, part_names
from rpd_torchscript.screens import baby_a3c
from rpd_torchscript.signature import Signature

Array = NDArray[Any]
Preprocess = Literal["none", "baby-a3c"]


@dataclass(frozen=True)
class Source:
    """One array that the module looks at."""

    space: Any
    part: str | None = None
    """Which part of a dict observation; None: the whole observation."""
    screen: bool = False
    """Look at the view `screen` through the preprocessing instead."""
    stack: Stack | None = None

    def rows(self, observations: Any, views: Mapping[str, Array]) -> Array:
        """Return this step's rows, before stacking."""
        if self.screen:
            return baby_a3c(views["screen"])
        return np.asarray(observations if self.part is None else observations[self.part])

    def __call__(
        self, observations: Any, views: Mapping[str, Array], starts: Array, memory: Array | None
    ) -> tuple[Array, Array | None]:
        """Return this step's rows and the frames to remember."""
        rows = self.rows(observations, views)
        if self.stack is None:
            return rows, None
        frames = self.stack(rows, starts, memory)
        return self.stack.joined(frames), frames

    def blank(self, lanes: int) -> Array:
        """Return rows of zeros, as the module will see them."""
        rows = np.zeros((lanes, *self.space.shape), dtype=self.space.dtype)
        if self.stack is None:
            return rows
        return self.stack.joined(self.stack(rows, np.ones(lanes, dtype=bool), None))


def find_sources(
    facts: Facts, signature: Signature, preprocess: Preprocess, stack: int
) -> tuple[Source, ...]:
    """Choose what each observation argument of the module gets."""
    keep = Stack(stack) if stack > 1 else None
    if preprocess == "baby-a3c":
        if "screen" not in facts.views:
            raise FitError(
                f"preprocess=baby-a3c needs the view 'screen', which "
                f"{facts.description or 'the environment'} does not offer: use an Atari environment"
            )
        return (Source(spaces.Box(0.0, 1.0, (1, 80, 80), np.float32), screen=True, stack=keep),)
    parts = part_names(facts)
    if not parts:
        _check_array(facts)
        return (Source(facts.observation_space, stack=keep),)
    first = signature.observations[0]
    if first.is_dict:
        return tuple(Source(space, name, stack=keep) for name, space in parts.items())
    if len(signature.observations) > 1:
        names = [argument.name for argument in signature.observations]
    else:
        names = [main_part(parts, first.name, facts)]
    return tuple(Source(parts[name], name, stack=keep) for name in names)


def _check_array(facts: Facts) -> None:
    space = facts.observation_space
    if getattr(space, "shape", None) is None or getattr(space, "dtype", None) is None:
        raise FitError(f"observations of {space} are no array of numbers: wrap the environment")
