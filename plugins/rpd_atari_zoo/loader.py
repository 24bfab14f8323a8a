"""The recipe behind `atari-zoo:model.pb`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rpd_core.errors import ConfigError
from rpd_core.plugin.protocols import Facts, Policy


@dataclass(frozen=True)
class AtariZooFile:
    """A frozen TensorFlow-1 graph of the Atari Zoo, for example `atari-zoo:model1_final.pb`.

    The graph is data: its nodes are computed with torch one by one, nothing in the file is run.
    """

    path: Path
    """The `.pb` file."""
    family: Literal["auto", "dqn", "rainbow", "a2c", "apex", "ga", "es", "impala"] = "auto"
    """The algorithm, which fixes the names of nodes; `auto` recognises it."""
    node: str | None = None
    """Node with one number per action, for graphs with names of their own."""
    output: Literal["auto", "q", "logits", "scores"] = "auto"
    """What the numbers are: action values, logits, or scores that only compare."""
    deterministic: bool | None = None
    """Take the best action (true) or draw one (false); none: draw from logits only."""
    epsilon: float = 0.0
    """Share of steps with a random action; Dopamine's evaluation uses 0.001."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.epsilon <= 1.0:
            raise ConfigError(f"epsilon must lie between 0 and 1, got {self.epsilon}")

    @property
    def runs_code(self) -> bool:
        """Return whether, with these parameters, code of the file's author may run."""
        return False  # a graph is data

    def load(self, facts: Facts) -> Policy:
        """Read the graph and fit it to the environment."""
        from rpd_atari_zoo.assembly import load_policy  # torch takes seconds to import

        return load_policy(self, facts)

    def describe(self) -> dict[str, str]:
        """Return what the file says about the policy, without an environment."""
        from rpd_atari_zoo.assembly import describe_file  # torch takes seconds to import

        return describe_file(self)
