"""Policies saved the way that each library's documentation says, or modules written as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import sb3_contrib
import stable_baselines3
import torch
from gymnasium import spaces
from script_files import save
from test_torchscript_evaluation import compare, compare_answers, copied, seeded
from torch import Tensor, nn

from rpd_torchscript.loading import load_module

PENDULUM, CARTPOLE = (torch.linspace(-1, 1, 18).reshape(6, 3),), (torch.ones(6, 4) * 0.1,)
PICTURE = (torch.arange(2 * 4 * 36 * 36).reshape(2, 4, 36, 36).to(torch.uint8),)

pytestmark = pytest.mark.filterwarnings("ignore")  # of tracing, which bakes shapes in


class Screens(gymnasium.Env[np.ndarray, int]):
    """Four small frames as bytes."""

    observation_space = spaces.Box(0, 255, (4, 36, 36), np.uint8)
    action_space = spaces.Discrete(3)  # type: ignore[assignment]


class Deterministic(nn.Module):
    """What the documentation of Stable-Baselines3 wraps around a policy to export it."""

    def __init__(self, policy: Any) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, observation: Tensor) -> Any:
        return self.policy(observation, deterministic=True)


class OnlyLogits(nn.Module):
    """The part of an actor-critic policy that chooses, to be scripted."""

    def __init__(self, policy: Any) -> None:
        super().__init__()
        self.body, self.head = policy.mlp_extractor.policy_net, policy.action_net

    def forward(self, observation: Tensor) -> Tensor:
        return self.head(self.body(torch.flatten(observation, 1)))


ALGORITHMS: dict[str, tuple[Any, Any, tuple[Tensor, ...]]] = {
    "PPO": (stable_baselines3.PPO, "CartPole-v1", CARTPOLE),
    "PPO, continuous": (stable_baselines3.PPO, "Pendulum-v1", PENDULUM),
    "A2C": (stable_baselines3.A2C, "CartPole-v1", CARTPOLE),
    "DQN": (stable_baselines3.DQN, "CartPole-v1", CARTPOLE),
    "SAC": (stable_baselines3.SAC, "Pendulum-v1", PENDULUM),
    "TD3": (stable_baselines3.TD3, "Pendulum-v1", PENDULUM),
    "QRDQN": (sb3_contrib.QRDQN, "CartPole-v1", CARTPOLE),
    "TQC": (sb3_contrib.TQC, "Pendulum-v1", PENDULUM),
    "CrossQ": (sb3_contrib.CrossQ, "Pendulum-v1", PENDULUM),
    "PPO of pictures": (stable_baselines3.PPO, Screens(), PICTURE),
}


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_traced_policy_of_sb3_answers_as_in_torch(
    tmp_path: Path, name: str, frozen: bool
) -> None:
    algorithm, environment, inputs = ALGORITHMS[name]
    kind = "CnnPolicy" if inputs is PICTURE else "MlpPolicy"
    model = algorithm(kind, environment, device="cpu", seed=0)
    with torch.no_grad():
        traced: Any = torch.jit.trace(Deterministic(model.policy).eval(), (inputs[0][:1],))
        traced = torch.jit.freeze(traced) if frozen else traced
        if frozen and inputs is not PICTURE:  # torch cannot load its own optimised convolutions
            traced = torch.jit.optimize_for_inference(traced)
    path = tmp_path / "a.pt"
    traced.save(str(path))
    compare_answers(load_module(path, trust=False), load_module(path, trust=True), inputs)


def test_a_scripted_policy_of_sb3_answers_as_in_torch(tmp_path: Path) -> None:
    model = stable_baselines3.PPO("MlpPolicy", "CartPole-v1", device="cpu", seed=0)
    compare(save(OnlyLogits(model.policy), tmp_path / "a.pt"), CARTPOLE)


# ------------------------------------------------------------- modules of other libraries


class CleanRlAtari(nn.Module):
    """CleanRL's networks divide bytes inside."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(
            nn.Conv2d(4, 8, 8, stride=4), nn.ReLU(), nn.Conv2d(8, 8, 4, stride=2), nn.ReLU(),
            nn.Flatten(), nn.Linear(72, 16), nn.ReLU(), nn.Linear(16, 3),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x / 255.0)


class CleanRlC51(nn.Module):
    """Action values as means of distributions."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("atoms", torch.linspace(-1.0, 1.0, 11))
        self.network = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2 * 11))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        chances = torch.softmax(self.network(x).view(len(x), 2, 11), dim=2)
        values = (chances * self.atoms).sum(2)
        return torch.argmax(values, 1), values


class CleanRlSac(nn.Module):
    """A squashed normal distribution, of which the mean is played."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.mean, self.spread = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 2)
        self.register_buffer("action_scale", torch.tensor([2.0, 1.0]))
        self.register_buffer("action_bias", torch.tensor([0.0, 0.5]))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        found = nn.functional.relu(self.body(x))
        mean, log_std = self.mean(found), torch.tanh(self.spread(found))
        std = (-5 + 0.5 * (2 - -5) * (log_std + 1)).exp()
        chance = -((mean - 0.1) ** 2) / (2 * std**2) - std.log() - 0.9189385332046727
        chance = chance - torch.log(self.action_scale * (1 - torch.tanh(mean).pow(2)) + 1e-6)
        action = torch.tanh(mean) * self.action_scale + self.action_bias
        return action, std, chance.sum(1, keepdim=True)


class CleanRlLstm(nn.Module):
    """CleanRL's loop over the steps of a sequence, with a list that grows."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.actor = nn.LSTM(4, 8), nn.Linear(8, 3)

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor], done: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        hidden = x.reshape((-1, state[0].shape[1], self.lstm.input_size))
        done = done.reshape((-1, state[0].shape[1]))
        found: list[Tensor] = []
        for row, over in zip(hidden, done):  # noqa: B905 (TorchScript has no strict)
            goes_on = (1.0 - over).view(1, -1, 1)
            row, state = self.lstm(row.unsqueeze(0), (goes_on * state[0], goes_on * state[1]))
            found += [row]
        return self.actor(torch.flatten(torch.cat(found), 0, 1)), state


class D3rlpyPolicy(nn.Module):
    """d3rlpy's `save_policy` writes scalers around the policy."""

    def __init__(self) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.SiLU(), nn.Dropout(0.2))
        self.head = nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        mean, std = torch.tensor([[0.1] * 4]), torch.tensor([[1.5] * 4])
        action = torch.tanh(self.head(self.actor((x - mean) / (std + 1e-3))))
        low, high = torch.tensor([[-2.0] * 2]), torch.tensor([[2.0] * 2])
        return (high - low) * ((action + 1.0) / 2.0) + low


class TorchRlActor(nn.Module):
    """torchrl's `NormalParamExtractor` and the mode of a squashed normal distribution."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.core = nn.Linear(4, 8), nn.GRU(8, 8, batch_first=True)
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        found, hidden = self.core(torch.tanh(self.body(x)).unsqueeze(1), hidden)
        loc, scale = self.head(found.squeeze(1)).chunk(2, -1)
        scale = nn.functional.softplus(scale + 0.54).clamp_min(1e-4)
        return torch.tanh(loc).clamp(-0.999, 0.999), scale, hidden


class RlGamesActor(nn.Module):
    """rl-games' running statistics in double precision, ELU layers, clipped actions."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("running_mean", torch.zeros(4, dtype=torch.float64))
        self.register_buffer("running_var", torch.ones(4, dtype=torch.float64))
        self.actor = nn.Sequential(nn.Linear(4, 8), nn.ELU(), nn.Linear(8, 8), nn.ELU())
        self.mu, self.value = nn.Linear(8, 2), nn.Linear(8, 1)
        self.sigma = nn.Parameter(torch.zeros(2))

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        scaled = (obs - self.running_mean.float()) / torch.sqrt(self.running_var.float().abs() + 1)
        found = self.actor(torch.clamp(scaled, min=-5.0, max=5.0))
        mu = self.mu(found)
        return torch.clamp(mu, -1.0, 1.0), mu * 0 + self.sigma, self.value(found)


class MaskedActor(nn.Module):
    """Actions that the observation rules out."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.head(x)
        ruled_out = torch.where(mask > 0.5, logits, torch.full_like(logits, -1e8))
        return logits.masked_fill(mask == 0, float("-inf")), ruled_out.log_softmax(-1)


ROWS = torch.linspace(-2.0, 2.0, 24).reshape(6, 4)
STATE = torch.linspace(-0.5, 0.5, 48).reshape(1, 6, 8)
MODULES: dict[str, tuple[type[nn.Module], tuple[Any, ...]]] = {
    "CleanRL, Atari": (CleanRlAtari, PICTURE),
    "CleanRL, C51": (CleanRlC51, (ROWS,)),
    "CleanRL, SAC": (CleanRlSac, (ROWS,)),
    "CleanRL, LSTM": (CleanRlLstm, (ROWS, (STATE, STATE), torch.zeros(6))),
    "d3rlpy": (D3rlpyPolicy, (ROWS,)),
    "torchrl": (TorchRlActor, (ROWS, STATE)),
    "rl-games": (RlGamesActor, (ROWS,)),
    "masks": (MaskedActor, (ROWS, (ROWS[:, :3] > 0).float())),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_scripted_module_of_another_library_answers_as_in_torch(
    tmp_path: Path, name: str
) -> None:
    make, inputs = MODULES[name]
    compare(save(seeded(make()), tmp_path / "a.pt"), inputs)


@pytest.mark.parametrize("name", [name for name in MODULES if name != "CleanRL, Atari"])
def test_a_traced_module_of_another_library_answers_as_in_torch(tmp_path: Path, name: str) -> None:
    make, inputs = MODULES[name]
    traced: Any = torch.jit.trace(seeded(make()), copied(inputs), check_trace=False)
    traced.save(str(tmp_path / "a.pt"))
    compare(tmp_path / "a.pt", inputs)


def test_bytes_divided_by_a_traced_number_become_ordinary_floats(tmp_path: Path) -> None:
    """Torch's optimiser takes such constants for numbers; without it, they would be doubles."""
    module = seeded(CleanRlAtari())
    path = save(module, tmp_path / "a.pt", PICTURE)
    with torch.inference_mode():
        found, expected = load_module(path, trust=False).call({"x": PICTURE[0]}), module(*PICTURE)
    assert found.dtype == torch.float32
    assert torch.equal(found, expected)
