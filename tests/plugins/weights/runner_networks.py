"""Networks with the parts, and so the names, of RSL-RL and RLlib."""

from __future__ import annotations

from collections import OrderedDict

import torch
from library_networks import mlp
from torch import Tensor, nn


class RslNormaliser(nn.Module):
    """RSL-RL, `EmpiricalNormalization`."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("_mean", torch.linspace(-1.0, 1.0, size)[None])
        self.register_buffer("_var", torch.full((1, size), 0.04))
        self.register_buffer("_std", self._var.sqrt())

    def forward(self, x: Tensor) -> Tensor:
        return (x - self._mean) / (self._std + 1e-2)


class RslModel(nn.Module):
    """RSL-RL since its version 4, `MLPModel`."""

    def __init__(self, size: int, actions: int) -> None:
        super().__init__()
        self.obs_normalizer = RslNormaliser(size)
        self.mlp = mlp(size, 16, 16, actions, activation=nn.ELU)

    def forward(self, x: Tensor) -> Tensor:
        return self.mlp(self.obs_normalizer(x))


class RslRecurrent(nn.Module):
    """RSL-RL 3, `ActorCriticRecurrent`."""

    def __init__(self) -> None:
        super().__init__()
        self.std = nn.Parameter(torch.ones(2))
        self.memory_a, self.memory_c = nn.ModuleDict(), nn.ModuleDict()
        for core in (self.memory_a, self.memory_c):
            core["rnn"] = nn.LSTM(4, 8)
        self.actor = mlp(8, 16, 2, activation=nn.ELU)
        self.critic = mlp(8, 16, 1, activation=nn.ELU)
        self.actor_obs_normalizer, self.critic_obs_normalizer = RslNormaliser(4), RslNormaliser(4)
        self.critic_obs_normalizer._mean += 1.0

    def steps(self, rows: Tensor) -> Tensor:
        return self.actor(self.memory_a["rnn"](self.actor_obs_normalizer(rows))[0])


class RllibModule(nn.Module):
    """RLlib, `DefaultPPOTorchRLModule`."""

    def __init__(self, size: int, actions: int) -> None:
        super().__init__()
        self.encoder = _named("actor_encoder.net.mlp", mlp(size, 16, activation=nn.Tanh, last=True))
        self.pi = _named("net.mlp", mlp(16, 2 * actions))

    def forward(self, x: Tensor) -> Tensor:
        return self.pi(self.encoder(x))


class RllibDqn(nn.Module):
    """RLlib, `DefaultDQNTorchRLModule`, with or without two streams."""

    def __init__(self, dueling: bool) -> None:
        super().__init__()
        self.encoder = _named("net.mlp", mlp(4, 16, activation=nn.Tanh, last=True))
        self.af = _named("net.mlp", mlp(16, 2))
        self.vf = _named("net.mlp", mlp(16, 1)) if dueling else None

    def forward(self, x: Tensor) -> Tensor:
        numbers = self.af(self.encoder(x))
        if self.vf is None:
            return numbers
        return self.vf(self.encoder(x)) + numbers - numbers.mean(dim=1, keepdim=True)


def _named(name: str, module: nn.Module) -> nn.Sequential:
    """Return a module that calls another by a name of several parts."""
    for part in reversed(name.split(".")):
        module = nn.Sequential(OrderedDict({part: module}))
    return module
