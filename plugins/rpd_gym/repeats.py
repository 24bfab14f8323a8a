"""Does an environment play the same episode again for the same seed?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from rpd_core.errors import FitError, RpdError
from rpd_gym.layout import Layout

SEED, OTHERS = 12, (34, 56)
STEPS, BETWEEN = 150, 25
"""Steps of the episode that is compared, and of those in between."""


Factory = Callable[[], "gymnasium.Env[Any, Any]"]


def must_rebuild(factory: Factory, name: str) -> bool:
    """Tell whether an environment must be made anew for every episode.

    It plays one short episode when fresh, then again after others. Where the second differs, a
    fresh one must give the first again; else its episodes hang on more than the seed. One that
    fails here is left for the episodes, where the error names the episode.
    """
    try:
        first, *later = _trial(factory, (SEED, OTHERS[0], SEED, OTHERS[1], SEED))
        if all(again == first for again in later):
            return False
        (anew,) = _trial(factory, (SEED,))
    except RpdError:
        raise
    except Exception:  # an environment may raise anything
        return False
    if anew == first:
        return True
    raise FitError(
        f"{name} plays different episodes for one seed, even when it is made anew: draw all its "
        "chance from self.np_random after reset(seed=...), or write rebuild=false to go on as it is"
    )


def _trial(factory: Factory, seeds: tuple[int, ...]) -> list[list[bytes]]:
    """Play short episodes in one environment and give those of the seed in question."""
    env = factory()
    try:
        played = [(seed, _play(env, seed, STEPS if seed == SEED else BETWEEN)) for seed in seeds]
    finally:
        env.close()
    return [seen for seed, seen in played if seed == SEED]


def _play(env: gymnasium.Env[Any, Any], seed: int, steps: int) -> list[bytes]:
    """Give what one episode of fixed random actions shows, byte for byte."""
    layout = Layout.of(env.observation_space)
    observation, _ = env.reset(seed=seed)
    env.action_space.seed(SEED)  # afterwards: some environments make a new space at reset
    seen = [_bytes(layout, observation)]
    for _ in range(steps):
        observation, reward, over, cut, _ = env.step(env.action_space.sample())
        seen += [_bytes(layout, observation), np.float64(reward).tobytes()]
        if over or cut:
            break
    return seen


def _bytes(layout: Layout, observation: Any) -> bytes:
    batch = layout.blank(1)
    layout.put(batch, 0, observation)
    parts = list(batch.values()) if isinstance(batch, dict) else [batch]
    return b"".join(part.tobytes() for part in parts)
