"""A small run of CartPole with pictures, and what Gymnasium itself draws, for tests of films."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

import gymnasium
import numpy as np

import rpd

SMALL = {
    "episodes": 60, "chunk": 60, "lanes": 10, "test_episodes": 4, "unmutated_episodes": 4,
    "confirm_episodes": 30, "confirm_tries": 2, "target": (0.5,), "minimise_steps": 80_000,
    "confidence": 0.6, "shares": (0.5, 1.0), "evidence": 3, "condition": "return>=120",
    "random_rankings": 1, "analysis": "small",
}  # fmt: skip


@functools.cache
def cartpole_run() -> rpd.Run:
    """Return a run that is played once; copy it before you change it."""
    folder = Path(tempfile.mkdtemp(prefix="rpd-films-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return rpd.run("cartpole", out=folder / "run", **SMALL)


def plain_frames(seed: int, actions: list[int]) -> list[np.ndarray]:
    """Return what Gymnasium itself draws before each action, and at the end."""
    env = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    env.reset(seed=seed)
    drawn = [env.render()]
    for action in actions:
        env.step(action)
        drawn.append(env.render())
    env.close()
    return drawn
