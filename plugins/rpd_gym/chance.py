"""The global random generators of the process, kept apart for one environment."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np


class OwnChance(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment with its own state of the global generators, as if alone in the process.

    Some environments seed `random` or `numpy.random` at reset and draw from there: side by side
    they would disturb one another. What they start from before the first reset is random on
    purpose, so that an environment that never seeds them is detected.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self._python = random.Random().getstate()
        self._numpy: Any = np.random.RandomState().get_state()

    def reset(self, **options: Any) -> Any:
        """Reset with this environment's generators."""
        with self._own_generators():
            return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        """Step with this environment's generators."""
        with self._own_generators():
            return self.env.step(action)

    @contextmanager
    def _own_generators(self) -> Iterator[None]:
        python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
        random.setstate(self._python)
        np.random.set_state(self._numpy)  # noqa: NPY002
        try:
            yield
        finally:
            self._python, self._numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002
