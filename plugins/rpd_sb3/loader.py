"""The recipe behind `sb3:path.zip`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rpd_core.plugin.protocols import Facts, Policy, permission


@dataclass(frozen=True)
class Sb3File:
    """A policy saved by stable-baselines3 or sb3-contrib, for example `sb3:ppo.zip`."""

    path: Path
    """The zip that `model.save` wrote, or, with `algo=`, what `policy.save` wrote."""
    algo: str | None = None
    """The algorithm, for example `ppo` or `qrdqn`; none: recognised from the zip of a model."""
    deterministic: bool = True
    """Take the best action; false: draw one as the policy does in training."""
    vecnormalize: Path | None = None
    """Normalisation statistics (.pkl or .npz); none: those found beside the zip, if any."""
    normalize: bool = True
    """Whether to apply normalisation statistics at all."""
    extractor: str | None = None
    """Feature extractor of your own, `module:Class`, if the file needs one."""
    key: str | None = None
    """Which part of a dictionary of observations the model sees; none: the one that fits."""
    stack: int | None = None
    """How many observations the model sees at once; none: what its space says."""
    mission: str | None = None
    """The mission text, for MiniGrid models that read it."""
    trust: bool = permission()
    """Load the file in full and run the code in it; only for files that you trust."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", _with_suffix(self.path))

    @property
    def runs_code(self) -> bool:
        """Return whether, with these parameters, code of the file's author may run."""
        return self.trust or self.extractor is not None

    @classmethod
    def from_object(cls, thing: Any, save: Callable[[str, bytes], Path]) -> Sb3File:
        """Return the recipe of a model that lives in this process, saved by `save`."""
        from rpd_sb3.objects import saved_model  # stable-baselines3 takes seconds to import

        return saved_model(cls, thing, save)

    def inputs(self) -> tuple[Path, ...]:
        """Return the statistics found beside the zip: they decide what the policy does, too."""
        from rpd_sb3.assembly import statistics_beside  # stable-baselines3 takes seconds to import

        statistics = statistics_beside(self)
        return (statistics,) if statistics is not None else ()

    def load(self, facts: Facts) -> Policy:
        """Load the policy and fit it to the environment."""
        from rpd_sb3.assembly import load_policy  # stable-baselines3 takes seconds to import

        return load_policy(self, facts)

    def describe(self) -> dict[str, str]:
        """Return what the file says about the policy, without an environment."""
        from rpd_sb3.assembly import describe_file  # stable-baselines3 takes seconds to import

        return describe_file(self)


def _with_suffix(path: Path) -> Path:
    """Return `model.zip` for `model` where only that is a file, as stable-baselines3 does."""
    try:
        longer = path.with_name(f"{path.name}.zip")
        return longer if not path.is_file() and longer.is_file() else path
    except (OSError, ValueError):  # a name that no file can have: loading says so
        return path
