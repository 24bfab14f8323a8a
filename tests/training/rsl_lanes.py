"""A Gymnasium environment as RSL-RL's runner wants it."""

from __future__ import annotations

from typing import Any

import gymnasium
import torch
from rsl_rl.env import VecEnv
from tensordict import TensorDict


class Lanes(VecEnv):
    """A few lanes of an environment with continuous actions."""

    def __init__(self, name: str, lanes: int = 4) -> None:
        self.env = gymnasium.make_vec(name, lanes)
        self.num_envs, self.device, self.cfg = lanes, "cpu", {}
        self.num_actions = self.env.single_action_space.shape[0]
        self.max_episode_length = 200
        self.episode_length_buf = torch.zeros(lanes)
        self.seen = self.env.reset(seed=0)[0]

    def get_observations(self) -> TensorDict:
        rows = torch.as_tensor(self.seen, dtype=torch.float32)
        return TensorDict({"policy": rows}, batch_size=[self.num_envs])

    def step(self, actions: torch.Tensor) -> tuple[Any, ...]:
        self.seen, rewards, ended, cut, _ = self.env.step(actions.numpy())
        more = {"time_outs": torch.as_tensor(cut)}
        rewards = torch.as_tensor(rewards, dtype=torch.float32)
        return self.get_observations(), rewards, torch.as_tensor(ended | cut).float(), more
