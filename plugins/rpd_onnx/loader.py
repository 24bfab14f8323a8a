"""The recipe behind `onnx:model.onnx`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rpd_core.errors import ConfigError
from rpd_core.plugin.protocols import Facts, Policy


@dataclass(frozen=True)
class OnnxFile:
    """A policy in ONNX form, feed-forward or recurrent, for example `onnx:model.onnx`.

    Files that hold more than a plain network, or do not answer in time, are refused.
    """

    path: Path
    """The `.onnx` file; weights that were exported beside it are found by themselves."""
    output: Literal["auto", "logits", "q", "probabilities", "action", "mean", "unit", "tanh"] = (
        "auto"
    )
    """What the numbers mean; `unit`: -1 to 1, stretched to the bounds; `tanh`: tanh first."""
    node: str | None = None
    """Name of the output that decides; none: by name, shape and type."""
    input: tuple[str, ...] = ()
    """Names of the inputs that take observations; none: by name and shape."""
    deterministic: bool | None = None
    """Take the best action (true) or draw (false); none: draw unless they are action values."""
    layout: Literal["auto", "same", "first", "last", "reshaped", "one-hot"] = "auto"
    """Axes as they are, channels moved first or last, reshaped, one-hot; `auto`: what fits."""
    divide: float | None = None
    """Divide observations by this: 255 for models trained on pixels of 0 to 1."""
    vecnormalize: Path | None = None
    """Normalisation statistics (.npz with mean, var, epsilon, clip_obs), if the graph has none."""
    epsilon: float = 0.0
    """Share of steps with a random action."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.epsilon <= 1.0:
            raise ConfigError(f"epsilon must lie between 0 and 1, got {self.epsilon}")
        if self.divide is not None and not 0.0 < self.divide < math.inf:
            raise ConfigError(f"divide must be a number above 0, got {self.divide}")

    @classmethod
    def from_object(cls, thing: Any, save: Callable[[str, bytes], Path]) -> OnnxFile:
        """Return the recipe of a session that lives in this process."""
        path = getattr(thing, "_model_path", None)
        if path:
            return cls(Path(path).absolute())
        content = getattr(thing, "_model_bytes", None)
        if not isinstance(content, bytes):
            raise ConfigError("this InferenceSession does not tell its model: hand over the file")
        return cls(save("model.onnx", content))

    def inputs(self) -> tuple[Path, ...]:
        """Return the weights beside the model."""
        from rpd_onnx.model import weights_beside  # NumPy

        return weights_beside(self.path)

    def load(self, facts: Facts) -> Policy:
        """Load the model and fit it to the environment."""
        from rpd_onnx.loading import load_policy  # onnxruntime

        return load_policy(self, facts)

    def describe(self) -> dict[str, str]:
        """Return what the file says about the policy, without an environment."""
        from rpd_onnx.loading import describe_file  # onnxruntime

        return describe_file(self)
