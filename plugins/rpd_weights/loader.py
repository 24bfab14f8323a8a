"""The recipe behind `weights:policy.pt`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rpd_core.errors import ConfigError
from rpd_core.plugin.protocols import Facts, Policy


@dataclass(frozen=True)
class WeightsFile:
    """The weights of a network alone, for example `weights:model.pt`.

    The network is read off names and shapes, as CleanRL, the Deep RL course, tianshou, skrl,
    torchrl, d3rlpy and Sample-Factory choose them. What cannot be read has a common default, which
    `rpd describe` names.
    """

    path: Path
    """A state dict (.pt, .pth), .safetensors, or .npz."""
    prefix: str = ""
    """Which network of several: the beginning of its names, for example `actor`."""
    output: Literal["auto", "q", "logits", "mean", "action"] = "auto"
    """What the network returns: action values, logits, the mean of an action, or an action."""
    activation: Literal["auto", "relu", "tanh", "elu", "silu", "gelu", "leaky-relu", "none"] = (
        "auto"
    )
    """Between its layers; `auto`: what the library that the names are of uses by default."""
    squash: Literal["auto", "none", "tanh", "scale"] = "auto"
    """Continuous actions: clipped to the bounds; tanh, then scaled to them; clipped to -1 and 1,
    then scaled."""
    deterministic: bool = True
    """Take the best action; false: draw one from logits."""
    strides: tuple[int, ...] = ()
    """Of the convolutions, for example `4+2+2`; none: 4 for kernels of 8, 2 for 4, else 1."""
    divide: float | None = None
    """Divide observations by this; none: pictures of bytes by 255, nothing else."""
    stack: int = 1
    """Frames to stack, oldest first, if the environment gives single ones."""
    key: str | None = None
    """Which part of a dictionary of observations the network sees; none: the one that fits."""
    normalize: bool = True
    """Whether to apply statistics of observations that the file holds."""

    def __post_init__(self) -> None:
        if self.stack < 1:
            raise ConfigError(f"stack must be at least 1, got {self.stack}")
        if self.divide is not None and not 0.0 < self.divide < math.inf:
            raise ConfigError(f"divide must be a number above 0, got {self.divide}")
        if any(stride < 1 for stride in self.strides):
            raise ConfigError(f"strides must be at least 1, got {min(self.strides)}")

    @property
    def runs_code(self) -> bool:
        """Return whether, with these parameters, code of the file's author may run."""
        return False  # weights are data

    def load(self, facts: Facts) -> Policy:
        """Read the weights, find the network and fit it to the environment."""
        from rpd_weights.assembly import load_policy  # torch takes seconds to import

        return load_policy(self, facts)

    def describe(self) -> dict[str, str]:
        """Return what the file says about the policy, without an environment."""
        from rpd_weights.assembly import describe_file  # torch takes seconds to import

        return describe_file(self)
