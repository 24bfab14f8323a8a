"""The recipe behind `sb3:path.zip`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rpd_core.plugin.protocols import Facts
from rpd_sb3.archive import open_archive
from rpd_sb3.boundary import boundary
from rpd_sb3.building import Model, build
from rpd_sb3.fitting import FitOptions, fit
from rpd_sb3.heads import head_for
from rpd_sb3.policy import Sb3Policy, check_actions, describe_model, mask_views
from rpd_sb3.statistics import Statistics, check_forgotten, find, read_statistics
from rpd_sb3.threads import one_thread
from rpd_sb3.trusted import load_in_full


@dataclass(frozen=True)
class Sb3File:
    """A policy saved by stable-baselines3 or sb3-contrib, for example `sb3:ppo.zip`."""

    path: Path
    """The zip that `model.save` wrote."""
    algo: str | None = None
    """The algorithm, for example `ppo` or `qrdqn`; none: recognised from the file."""
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
    trust: bool = field(default=False, metadata={"not_identity": True})
    """Load the file in full and run the code in it; only for files that you trust."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", _with_suffix(self.path))

    @property
    def runs_code(self) -> bool:
        """Return whether, with these parameters, code of the file's author may run."""
        return self.trust or self.extractor is not None

    def inputs(self) -> tuple[Path, ...]:
        """Return the statistics found beside the zip: they decide what the policy does, too."""
        with boundary(self.path):
            statistics = self._found_statistics()
            return (statistics,) if statistics is not None else ()

    def load(self, facts: Facts) -> Sb3Policy:
        """Load the policy and fit it to the environment."""
        with boundary(self.path), one_thread():
            return self._load(facts)

    def describe(self) -> dict[str, str]:
        """Return what the file says about the policy, without an environment."""
        with boundary(self.path), one_thread():
            return describe_model(self._model())

    def _load(self, facts: Facts) -> Sb3Policy:
        model = self._model()
        check_actions(facts, model)
        statistics = self._statistics()
        options = FitOptions(self.key, self.stack, self.mission, statistics)
        fitting = fit(facts, model.observation_space, options)
        notes = (*model.notes, *((f"statistics of {statistics.source}",) if statistics else ()))
        head = head_for(model, self.deterministic)
        return Sb3Policy(self.path, model, fitting, head, mask_views(facts, model), notes)

    def _model(self) -> Model:
        archive = open_archive(self.path)
        make = load_in_full if self.trust else build
        return make(archive, self.algo, self.extractor)

    def _statistics(self) -> Statistics | None:
        if not self.normalize:
            return None
        path = self.vecnormalize or self._found_statistics()
        if path is None:
            check_forgotten(self.path)
            return None
        return read_statistics(path, self.trust)

    def _found_statistics(self) -> Path | None:
        if self.vecnormalize is not None or not self.normalize:
            return None
        return find(self.path)


def _with_suffix(path: Path) -> Path:
    """Return `model.zip` for `model` where only that is a file, as stable-baselines3 does."""
    try:
        longer = path.with_name(f"{path.name}.zip")
        return longer if not path.is_file() and longer.is_file() else path
    except (OSError, ValueError):  # a name that no file can have: loading says so
        return path
