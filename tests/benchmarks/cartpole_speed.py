"""How much faster is a suite than a plain loop? `python tests/benchmarks/cartpole_speed.py`.

The plain loop steps one Gymnasium environment and calls the same network with a batch of one. It
does less: no abstraction, no keys, no record. Both run in this process, one after the other and
interleaved, so that a busy machine slows both; what counts is the ratio of steps per second of
processor time.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
import torch
from suites import suite_speed

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cartpole_module import load_network  # of the tests

PLAIN_STEPS = 20_000
EPISODES = 5000
ROUNDS = 5


def plain_loop(steps: int) -> float:
    """Play with one environment and one observation at a time; return steps per second."""
    env = gymnasium.make("CartPole-v1", max_episode_steps=200)
    module = load_network("good")
    observation, _ = env.reset(seed=0)
    start = time.process_time()
    with torch.inference_mode():
        for step in range(steps):
            preferences = module(torch.from_numpy(observation)[None])
            observation, _, over, cut, _ = env.step(int(preferences.argmax()))
            if over or cut:
                observation, _ = env.reset(seed=step)
    return steps / (time.process_time() - start)


def measure() -> dict[str, float]:
    """Interleave both and return the median ratio."""
    suite_speed("cartpole", 512)
    pairs = [(plain_loop(PLAIN_STEPS), suite_speed("cartpole", EPISODES)) for _ in range(ROUNDS)]
    ratios = [fast / slow for slow, fast in pairs]
    return {"ratio_median": float(np.median(ratios)), "ratio_min": min(ratios)}


if __name__ == "__main__":
    print(json.dumps(measure()))
