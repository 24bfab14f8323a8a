"""How fast is a suite beside what someone would write? `python tests/benchmarks/against.py`.

A suite decides, mutates, finds states and records; the loops of `loops.py` only play. Both take
their steps in this process, in turns, so that a busy machine slows both; what counts is the ratio
of steps per second of processor time. Vectors are measured at each number of lanes and count at
the best. Policies of classic control, LunarLander and Pong are untrained networks of
Stable-Baselines3, called by `predict` in the loops, which play the policy's own episodes (vectors
only their beginnings); "the same steps" are those of the suite's episodes, with `predict` called
for all lanes or, bare, not at all. Prints CSV; arguments choose cases.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import loops
import minigrid  # noqa: F401  # registers its tasks
import numpy as np
import torch
from ale_py.vector_env import AtariVectorEnv
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation, TimeLimit
from stable_baselines3 import PPO
from suites import suite_actions, suite_speed

from rpd_core.play.heartbeat import one_numeric_thread
from rpd_core.plugin.protocols import PolicyInput
from rpd_gym.cartpole_dynamics import Carts
from rpd_gym.cartpole_network import Greedy, load_weights

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cartpole_module import load_network  # of the tests
from minigrid_module import load_network as load_minigrid

Speed = Callable[[], float]
Case = tuple[Speed, dict[str, list[Speed]]]
"""A suite, and baselines, each at some numbers of lanes."""


def drawn(network: Any) -> loops.Act:
    """Return what draws actions by a network on MiniGrid's views."""
    chance = np.random.default_rng(0)

    @torch.inference_mode()
    def act(observations: Any) -> Any:
        image, direction = (torch.from_numpy(np.asarray(observations[n])) for n in loops.SEEN)
        odds = torch.softmax(network(image, direction), dim=1).numpy()
        totals = odds.cumsum(axis=1)
        draws = chance.random(len(totals))[:, None] * totals[:, -1:]
        return np.minimum((totals <= draws).sum(axis=1), odds.shape[1] - 1)

    return act


def cartpole() -> Case:
    """Return CartPole: the paper's loop, and Gymnasium's own vector."""
    make, act = (
        loops.registered("CartPole-v1", max_episode_steps=200),
        loops.in_torch(load_network("good")),
    )

    def gymnasiums(lanes: int) -> float:
        vector = gymnasium.make_vec(
            "CartPole-v1", lanes, "vector_entry_point", max_episode_steps=200
        )
        return loops.vector(vector, act, 1_000_000)

    @one_numeric_thread()  # as the suite
    def computed(lanes: int) -> float:
        carts, network = Carts(), Greedy(load_weights("good"))
        state = np.random.default_rng(0).uniform(-0.05, 0.05, (4, lanes))
        nothing: Any = np.zeros(lanes)
        start = time.process_time()
        for _ in range(400):
            rows = state.T.astype(np.float32)
            seen = PolicyInput(rows, {}, nothing, None, nothing, nothing, nothing)
            state = carts.push(state, network(seen).actions)
        return 400 * lanes / (time.process_time() - start)

    return partial(suite_speed, "cartpole", 5000), {
        "network and dynamics alone": [partial(computed, 2500)],
        "plain loop": [partial(loops.plain, make, act, 10_000)],
        "CartPoleVectorEnv": [partial(gymnasiums, lanes) for lanes in (512, 1024, 2500)],
    }


def minigrid_crossing() -> Case:
    """Return MiniGrid's crossing."""
    make, act = loops.registered("MiniGrid-SimpleCrossingS9N1-v0"), drawn(load_minigrid())
    return partial(suite_speed, "minigrid", 2500), {
        "plain loop": [partial(loops.plain, make, act, 4000)]
    }


def single(name: str, folder: Path, episodes: int, steps: int) -> Case:
    """Return an environment of Gymnasium's with a network of Stable-Baselines3."""
    make = loops.registered(name)
    model = PPO("MlpPolicy", make(), seed=0, device="cpu")
    model.save(folder / name)

    def act(observations: Any) -> Any:
        return model.predict(observations, deterministic=True)[0]

    def vector(lanes: int) -> float:
        return loops.vector(loops.synchronous(make, lanes), act, steps)

    asked = {"policy": f"sb3:{folder / name}.zip", "abstraction": ("round:digits=0",)}
    done = suite_actions(f"gym:{name}", episodes, **asked)
    return partial(suite_speed, f"gym:{name}", episodes, **asked), {
        "the same steps in 64 lanes": [partial(loops.batched, make, act, done, 64)],
        "the same steps, bare": [partial(loops.replayed, make, done)],
        "plain loop": [partial(loops.plain, make, act, steps // 4)],
        "SyncVectorEnv": [partial(vector, lanes) for lanes in (16, 64, 256)],
        "bare env.step": [partial(loops.bare, make, act, steps // 2)],
    }


def pong(folder: Path) -> Case:
    """Return beginnings of Pong with an untrained convolutional network."""

    def make() -> Any:
        game = AtariPreprocessing(gymnasium.make("PongNoFrameskip-v4"))
        return TimeLimit(FrameStackObservation(game, 4, padding_type="zero"), 200)

    model = PPO("CnnPolicy", make(), seed=0, device="cpu", n_steps=8)
    model.save(folder / "pong")

    def act(observations: Any) -> Any:
        return model.predict(observations, deterministic=True)[0]

    def ales(lanes: int) -> float:
        games = AtariVectorEnv(
            "pong", lanes, num_threads=1, reward_clipping=False, use_fire_reset=False
        )
        return loops.vector(games, act, 2000)

    asked = {"policy": f"sb3:{folder / 'pong'}.zip", "abstraction": ("atari",)}
    return partial(suite_speed, "atari:Pong,max_steps=200", 25, **asked), {
        "plain loop": [partial(loops.plain, make, act, 400)],
        "AtariVectorEnv": [partial(ales, lanes) for lanes in (8, 25)],
    }


def cases(folder: Path) -> dict[str, Callable[[], Case]]:
    """Return what is measured, by name."""
    classic = {
        name: partial(single, name, folder, 250, 4000)
        for name in ("Acrobot-v1", "MountainCar-v0", "Pendulum-v1")
    }
    return {
        "cartpole": cartpole,
        "minigrid": minigrid_crossing,
        **classic,
        "LunarLander-v3": partial(single, "LunarLander-v3", folder, 250, 4000),
        "Pong": partial(pong, folder),
    }


def measure(case: Case, rounds: int) -> Iterator[tuple[str, float, float]]:
    """Yield, for each baseline, the median and the smallest ratio."""
    suite, baselines = case
    suite()
    speeds = [
        (suite(), {name: max(speed() for speed in some) for name, some in baselines.items()})
        for _ in range(rounds)
    ]
    for name in baselines:
        ratios = [ours / theirs[name] for ours, theirs in speeds]
        yield name, float(np.median(ratios)), min(ratios)


def main(names: list[str], rounds: int) -> None:
    """Measure the cases that are named, or all."""
    torch.set_num_threads(1)
    table = csv.writer(sys.stdout)
    table.writerow(["suite", "against", "ratio", "smallest round"])
    with tempfile.TemporaryDirectory() as folder:
        known = cases(Path(folder))
        for name in names or known:
            for against, median, least in measure(known[name](), rounds):
                table.writerow([name, against, f"{median:.3g}", f"{least:.3g}"])
                sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    main(asked.names, asked.rounds)
