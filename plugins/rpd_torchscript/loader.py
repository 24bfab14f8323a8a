"""The recipe behind `torchscript:policy.pt`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rpd_core.errors import ConfigError
from rpd_core.plugin.protocols import Facts, Policy, permission


@dataclass(frozen=True)
class TorchScriptFile:
    """A TorchScript module, feed-forward or recurrent, for example `torchscript:policy.pt`.

    rpd reads the file and evaluates its network itself, with a list of harmless operators; a file
    that wants more is refused unless `trust=true`, which hands it to torch.
    """

    path: Path
    """The `.pt` file; with trust=true also a torch.export program or a pickled module."""
    output: Literal["auto", "logits", "q", "probabilities", "action"] = "auto"
    """What the module returns; `auto` goes by its last operators and its name, else logits."""
    deterministic: bool | None = None
    """Take the best action (true) or draw (false); none: draw unless they are action values."""
    hidden: tuple[int, ...] = ()
    """Size of the hidden state of one lane, where the weights do not show it."""
    hidden_axis: int = 0
    """Axis of lanes in the hidden state: 0, or 1 for the layout of nn.GRU and nn.LSTM."""
    layout: Literal["auto", "same", "first", "last", "flat", "one-hot"] = "auto"
    """Axes as they are, channels moved first or last, flat, one-hot; `auto`: what it takes."""
    divide: float | None = None
    """Divide observations by this: 255 for modules trained on pixels of 0 to 1."""
    stack: int = 1
    """Frames to stack, oldest first, if the environment gives single ones."""
    preprocess: Literal["none", "baby-a3c"] = "none"
    """`baby-a3c`: 80x80 frames from the view `screen`, as that project makes them."""
    epsilon: float = 0.0
    """Share of steps with a random action."""
    trust: bool = permission()
    """Load the file in full, whatever it wants to run."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.epsilon <= 1.0:
            raise ConfigError(f"epsilon must lie between 0 and 1, got {self.epsilon}")
        if self.stack < 1:
            raise ConfigError(f"stack must be at least 1, got {self.stack}")
        if self.divide is not None and not 0.0 < self.divide < math.inf:
            raise ConfigError(f"divide must be a number above 0, got {self.divide}")

    @classmethod
    def from_object(cls, thing: Any, save: Callable[[str, bytes], Path]) -> TorchScriptFile:
        """Return the recipe of a module that lives in this process, saved by `save`."""
        from rpd_torchscript.objects import saved_module  # torch takes seconds to import

        path, trust = saved_module(thing, save)
        return cls(path, trust=trust)

    @property
    def runs_code(self) -> bool:
        """Whether code of the file's author may run: only if it is trusted."""
        return self.trust

    @property
    def needs(self) -> tuple[str, ...]:
        return ("screen",) if self.preprocess == "baby-a3c" else ()

    def load(self, facts: Facts) -> Policy:
        """Load the module and fit it to the environment."""
        from rpd_torchscript.loading import load_policy  # torch takes seconds to import

        return load_policy(self, facts)

    def describe(self) -> dict[str, str]:
        """Return what the file says about the policy, without an environment."""
        from rpd_torchscript.loading import describe_file  # torch takes seconds to import

        return describe_file(self)
