"""What someone would write instead: loops over environments that only play, timed.

They have no mutation, no states and no record. Each returns steps per second of processor time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

Make = Callable[[], "gymnasium.Env[Any, Any]"]
Act = Callable[[Any], Any]
"""From a batch of observations to a batch of actions."""
SEEN = "image", "direction"
"""The parts of MiniGrid's observations that are looked at."""


def plain(make: Make, act: Act, steps: int) -> float:
    """Play one environment, one observation at a time."""
    env = make()
    observation, _ = env.reset(seed=0)
    start = time.process_time()
    for step in range(steps):
        action = act(_batch_of_one(observation))[0]
        observation, _, over, cut, _ = env.step(action)
        if over or cut:
            observation, _ = env.reset(seed=step)
    return steps / (time.process_time() - start)


def _batch_of_one(observation: Any) -> Any:
    if isinstance(observation, dict):
        return {name: np.asarray(part)[None] for name, part in observation.items() if name in SEEN}
    return observation[None]


def bare(make: Make, act: Act, steps: int) -> float:
    """Step one environment through what a policy did before: nothing is decided, nothing kept."""
    env = make()
    actions: list[Any] = []

    def noted(observation: Any) -> Any:
        actions.append(act(observation)[0])
        return actions[-1:]

    plain(make, noted, steps)
    env.reset(seed=0)
    start = time.process_time()
    for step, action in enumerate(actions):
        _, _, over, cut, _ = env.step(action)
        if over or cut:
            env.reset(seed=step)
    return steps / (time.process_time() - start)


def replayed(make: Make, episodes: list[tuple[int, list[Any]]]) -> float:
    """Step one environment through the actions of a suite."""
    env = make()
    start = time.process_time()
    for seed, actions in episodes:
        env.reset(seed=seed)
        for action in actions:
            env.step(action)
    return sum(len(actions) for _, actions in episodes) / (time.process_time() - start)


def batched(make: Make, act: Act, episodes: list[tuple[int, list[Any]]], lanes: int) -> float:
    """Step environments in turn through the actions of a suite; ask the policy for all at once."""
    envs = [make() for _ in range(lanes)]
    start = time.process_time()
    rest = iter(episodes)
    under_way: dict[int, Iterator[Any]] = dict.fromkeys(range(lanes), iter(()))
    seen = np.stack([env.reset()[0] for env in envs])
    while under_way:
        act(seen)
        for lane, actions in list(under_way.items()):
            action = next(actions, None)
            if action is not None:
                seen[lane] = envs[lane].step(action)[0]
            elif (another := next(rest, None)) is None:
                del under_way[lane]
            else:
                seen[lane] = envs[lane].reset(seed=another[0])[0]
                under_way[lane] = iter(another[1])
    return sum(len(actions) for _, actions in episodes) / (time.process_time() - start)


def vector(env: VectorEnv[Any, Any, Any], act: Act, steps: int) -> float:
    """Play a vectorised environment."""
    observations, _ = env.reset(seed=0)
    start = time.process_time()
    for _ in range(max(1, steps // env.num_envs)):
        observations, *_ = env.step(act(observations))
    spent = time.process_time() - start
    env.close()
    return max(1, steps // env.num_envs) * env.num_envs / spent


def in_torch(network: Any) -> Act:
    """Return what takes the likeliest action of a network on vectors."""

    @torch.inference_mode()
    def act(observations: Any) -> Any:
        return network(torch.from_numpy(observations)).argmax(dim=1).numpy()

    return act


def synchronous(make: Make, lanes: int) -> VectorEnv[Any, Any, Any]:
    """Return Gymnasium's vector of single environments, which loses no step to a reset."""
    return SyncVectorEnv([make] * lanes, autoreset_mode=AutoresetMode.SAME_STEP)


def registered(name: str, **options: Any) -> Make:
    """Return what makes an environment by its id."""
    return partial(gymnasium.make, name, **options)
