"""How much faster is a suite than a plain loop? `python tests/benchmarks/minigrid_speed.py`.

The plain loop steps one MiniGrid environment and calls the same network with a batch of one. It
does less: no mutation, no abstraction, no keys, no record. Both run in this process, one after
the other and interleaved, so that a busy machine slows both; what counts is the ratio of steps
per second of processor time. Plain episodes last about 20 steps and mutant ones ten times as
long, so the plain loop resets more often per step: `ratio_without_resets_*` takes all of its
resets out, though the suite still pays for its own.
"""

from __future__ import annotations

import json
import time

import gymnasium
import minigrid  # noqa: F401  # registers its tasks
import numpy as np
import torch
from suites import suite_speed

from rpd_minigrid.network import load_network
from rpd_minigrid.policy import ACTIONS, SIZE

PLAIN_STEPS = 4_000
EPISODES = 5000
ROUNDS = 5


def plain_loop(steps: int) -> tuple[float, float]:
    """Play one environment, one observation at a time.

    Gives steps per second with all resets, and steps per second of stepping alone.
    """
    env = gymnasium.make("MiniGrid-SimpleCrossingS9N1-v0")
    network = load_network("simple-crossing", SIZE, ACTIONS)
    chance = np.random.default_rng(0)
    observation, _ = env.reset(seed=0)
    resets = 0.0
    start = time.process_time()
    with torch.inference_mode():
        for step in range(steps):
            image = torch.from_numpy(observation["image"])[None]
            odds = torch.softmax(network(image, torch.tensor([observation["direction"]])), dim=1)
            totals = odds.numpy()[0].cumsum()
            action = min(int((totals <= chance.random() * totals[-1]).sum()), 6)
            observation, _, over, cut, _ = env.step(action)
            if over or cut:
                before = time.process_time()
                observation, _ = env.reset(seed=step)
                resets += time.process_time() - before
    spent = time.process_time() - start
    return steps / spent, steps / (spent - resets)


def measure() -> dict[str, float]:
    """Interleave both and return the ratios."""
    suite_speed("minigrid", 512)
    ratios, strict = [], []
    for _ in range(ROUNDS):
        (slow, slow_without_resets), fast = (
            plain_loop(PLAIN_STEPS),
            suite_speed("minigrid", EPISODES),
        )
        ratios.append(fast / slow)
        strict.append(fast / slow_without_resets)
    return {
        "ratio_median": float(np.median(ratios)),
        "ratio_min": min(ratios),
        "ratio_without_resets_median": float(np.median(strict)),
        "ratio_without_resets_min": min(strict),
        "last_suite_steps_per_second": fast,
        "last_plain_steps_per_second": slow,
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
