"""Train the CartPole policies that ship with rpd.

Run `python tests/training/train_cartpole.py` from the project's root, with rpd installed: the
policies in `plugins/rpd_gym/policies` are replaced; another folder may be named after the script.

Proximal policy optimisation from stable-baselines3 on CartPole with 200 steps. While it trains,
the greedy policy is measured; the weak policy is the first one whose mean return lies near 100,
the good one what training ends with, which must balance every measured episode to the end.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from torch import nn

import rpd_gym
from rpd_core.chance import Phase, episode_keys
from rpd_core.play.loop import Plan, Player
from rpd_core.play.recipe import policy_alone
from rpd_gym.cartpole import CartPole
from rpd_gym.cartpole_network import HIDDEN, Greedy, Weights

POLICIES = Path(rpd_gym.__file__).parent / "policies"
SEED = 3
WEAK = (90.0, 110.0)
"""Mean return that counts as weak."""
STEPS = 60_000
"""Length of the training."""
EPISODES = 500
"""Episodes per measurement."""


class _InMemory:
    """A loader for a network that is already there."""

    def __init__(self, module: nn.Sequential) -> None:
        self.module = module

    def load(self, facts: Any) -> Any:
        return Greedy(weights_of(self.module))


def returns_of(module: nn.Sequential, seed: int = 1) -> np.ndarray[Any, Any]:
    """Play a network greedily and return what each episode earned."""
    recipe = policy_alone(CartPole(), _InMemory(module), EPISODES)
    index = np.arange(EPISODES)
    plan = Plan(index, episode_keys(seed, Phase.PROBE, index))
    played = Player(recipe).play(plan, lambda keys, position: np.ones(len(keys), dtype=bool))
    return played.total_return


def actor(model: PPO) -> nn.Sequential:
    """Return the network behind the policy's preferences."""
    hidden = list(model.policy.mlp_extractor.policy_net)
    return nn.Sequential(*hidden, model.policy.action_net).eval()


def weights_of(module: nn.Sequential) -> Weights:
    """Return the weights of a module as they are stored."""
    return {name: value.numpy() for name, value in module.state_dict().items()}


def save(module: nn.Sequential, path: Path) -> None:
    """Write the weights as plain arrays."""
    np.savez(path, **weights_of(module))


def main(folder: Path, seed: int = SEED) -> None:
    """Train, measure, save both."""
    torch.set_num_threads(1)
    env = gymnasium.make("CartPole-v1", max_episode_steps=200)
    layers = {"net_arch": [HIDDEN, HIDDEN], "activation_fn": nn.ReLU}
    model = PPO("MlpPolicy", env, seed=seed, device="cpu", policy_kwargs=layers, n_steps=256)
    weak_found = False
    while model.num_timesteps < STEPS:
        model.learn(256, reset_num_timesteps=False)
        mean = returns_of(actor(model)).mean() if not weak_found else 0.0
        if WEAK[0] <= mean <= WEAK[1]:
            save(actor(model), folder / "cartpole_weak.npz")
            weak_found = True
            print(f"weak: mean return {mean:.1f} after {model.num_timesteps} steps")
    returns = returns_of(actor(model))
    if not weak_found or returns.min() < 200:
        raise SystemExit(f"weak found: {weak_found}, good: {returns.mean():.1f}; change SEED")
    save(actor(model), folder / "cartpole_good.npz")
    print(f"good: mean return {returns.mean():.1f} after {model.num_timesteps} steps")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else POLICIES)
