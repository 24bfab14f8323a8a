"""While training: `rpd.sb3.DecisionCallback` analyses checkpoints and logs what it finds."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecEnvWrapper

from rpd_core.api import run as play_run
from rpd_core.errors import ConfigError, RpdError
from rpd_core.results.run import Run
from rpd_work.figures import figures_of

__all__ = ["DecisionCallback"]

_log = logging.getLogger("rpd")


class DecisionCallback(BaseCallback):
    """Runs a quick analysis every so many steps of training, logs it and keeps the run.

    Logged as `rpd/...` are the figures of `figures_of`: decisions of the smallest policy, its share
    of steps, overrides, needed decisions and returns. A checkpoint that cannot be analysed yet,
    for example because it is no better than the default action, is passed over with a warning.
    Training goes on exactly as without the callback.
    """

    def __init__(
        self,
        every: int,
        budget: int = 500,
        out: str | os.PathLike[str] = "runs/training",
        env: Any = None,
        verbose: int = 0,
        **settings: Any,
    ) -> None:
        """Analyse after every `every` steps of training, and at its end.

        `budget` is the number of mutant episodes of each analysis, which all its work grows with;
        `out` the folder that its runs are stored in (with a number where it is taken); `env` a
        spec, an environment or a function that makes one; none: the environment of the training.
        The rest is as for `rpd.run`; states are `auto` unless `abstraction=` says otherwise, since
        rules take longer to find. `like=` measures every checkpoint as a stored run was measured.
        """
        super().__init__(verbose)
        numbers: dict[str, Any] = {"every": every, "budget": budget}
        for name, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ConfigError(f"{name} must be a whole number of at least 1, got {value!r}")
        self.every, self.budget, self.env, self.settings = every, budget, env, settings
        self.folder = _free(Path(out))
        self.runs: list[Run] = []
        """The runs so far. `rpd.compare(*callback.runs[-2:])` takes them where states are not
        learned anew for each: with `like=`, or an abstraction that learns nothing."""
        self._next = every
        self._analysed = 0

    def _on_step(self) -> bool:
        if self.num_timesteps >= self._next:
            self._next = self.num_timesteps - self.num_timesteps % self.every + self.every
            self._analyse()
        return True

    def _on_training_end(self) -> None:
        if 2 * (self.num_timesteps - self._analysed) >= self.every:
            self._analyse()

    def _analyse(self) -> None:
        self._analysed = self.num_timesteps
        asked: dict[str, Any] = {"progress": False, "finish": (), "note": self._note}
        if "like" not in self.settings:
            asked |= {"env": self._environment(), **_within(self.budget)}
        asked |= {"episodes": self.budget, **self.settings}
        out = self.folder / f"step-{self.num_timesteps:09d}"
        try:
            run = play_run(policy=self.model, out=out, **asked)
        except RpdError as error:
            # the logger of a model with verbose=0 shows nothing, not even warnings
            _log.warning("no analysis after %d steps: %s", self.num_timesteps, error)
            return
        self.runs.append(run)
        for name, value in figures_of(run).items():
            self.logger.record(f"rpd/{name}", value)
        self.logger.dump(self.num_timesteps)

    def _note(self, text: str) -> None:
        if self.verbose > 0:
            self.logger.info(f"rpd: {text}")

    def _environment(self) -> Any:
        """Return the environment to play in: the one given, or the first of the training."""
        if self.env is not None:
            return self.env
        found: VecEnv = self.training_env
        while isinstance(found, VecEnvWrapper):  # normalisation comes along with the model
            found = found.venv
        if not isinstance(found, DummyVecEnv):
            raise ConfigError(
                f"the environment of the training is in other processes ({type(found).__name__}): "
                "give DecisionCallback env=, a spec or a function that makes one"
            )
        env: Any = found.envs[0]
        while isinstance(env, Monitor):
            env = env.env
        return env


def _within(budget: int) -> dict[str, Any]:
    """Return settings of an analysis that costs little more than its mutant episodes."""
    return {
        "quick": True,
        "abstraction": "auto",
        "unmutated_episodes": max(budget // 4, 50),
        "test_episodes": max(budget // 20, 10),
        "confirm_episodes": max(budget // 2, 100),
        "confirm_tries": 3,
        "confirm_margin": 0.1,
    }


def _free(path: Path) -> Path:
    """Return a path that is not taken: this one, or with a number."""
    free, number = path, 2
    while free.exists():
        free, number = path.with_name(f"{path.name}-{number}"), number + 1
    return free
