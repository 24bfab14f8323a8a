"""Modules and objects with the interfaces of other libraries are asked for their best action."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import Tensor, nn
from torch.distributions import Categorical, Independent, Normal

from rpd_core.chance import Draws
from rpd_core.config.resolve import choose
from rpd_core.errors import ConfigError, FitError
from rpd_core.plugin.protocols import Choice, Facts, PolicyInput
from rpd_core.plugin.registry import installed

LANES = 4
VECTOR = spaces.Box(-1.0, 1.0, (3,), np.float32)
PUSH = spaces.Box(-2.0, 2.0, (1,), np.float32)
ROWS = np.random.default_rng(0).uniform(-1.0, 1.0, (LANES, 3)).astype(np.float32)


def play(thing: Any, actions: Any) -> Choice:
    """Return what an object that is handed over does."""
    draws = Draws(np.arange(LANES, dtype=np.uint64), np.zeros(LANES, np.int64))
    zeros = np.zeros(LANES)
    seen = PolicyInput(ROWS, {}, np.ones(LANES, bool), None, draws, zeros, zeros)
    choice: Choice = choose(installed(), "policy", thing).recipe.load(
        Facts(VECTOR, actions, LANES)
    )(seen)
    return choice


class CleanAgent(nn.Module):
    """CleanRL's PPO: no forward, actions are drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.actor, self.critic = nn.Linear(3, 5), nn.Linear(3, 1)

    def get_action_and_value(self, x: Tensor, action: Any = None) -> Any:
        chances = Categorical(logits=self.actor(x))
        action = chances.sample() if action is None else action
        return action, chances.log_prob(action), chances.entropy(), self.critic(x)


class CleanActor(nn.Module):
    """CleanRL's SAC: forward gives mean and deviation, get_action the action."""

    def __init__(self) -> None:
        super().__init__()
        self.fc_mean, self.fc_logstd = nn.Linear(3, 1), nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Any:
        return self.fc_mean(x), self.fc_logstd(x)

    def get_action(self, x: Tensor) -> Any:
        mean, log_std = self(x)
        drawn = torch.tanh(Normal(mean, log_std.exp()).rsample())
        return 2.0 * drawn, None, 2.0 * torch.tanh(mean)


class TianshouPolicy(nn.Module):
    """tianshou: sees a batch, draws, and scales what it does by map_action."""

    def __init__(self) -> None:
        super().__init__()
        self.actor = nn.Linear(3, 1)

    def forward(self, batch: Any, state: Any = None) -> Any:
        mean = self.actor(torch.as_tensor(batch.obs))
        drawn = Independent(Normal(mean, torch.ones_like(mean)), 1).sample()
        return SimpleNamespace(act=drawn, state=state)

    def map_action(self, act: Tensor) -> Any:
        return 2.0 * np.clip(act.numpy(), -1.0, 1.0)


class TorchrlActor(nn.Module):
    """torchrl: gives a tuple of what its keys name."""

    def __init__(self) -> None:
        super().__init__()
        self.in_keys, self.out_keys = ["observation"], ["loc", "scale", "action"]
        self.layer = nn.Linear(3, 1)

    def forward(self, observation: Tensor) -> Any:
        loc = self.layer(observation)
        return loc, torch.ones_like(loc), 2.0 * torch.tanh(loc)


class SkrlModel(nn.Module):
    """skrl: act draws, compute gives the mean; both see a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.net_container = nn.Linear(3, 1)

    def forward(self, *arguments: Any) -> None:
        raise NotImplementedError

    def act(self, inputs: Any, *, role: str = "") -> Any:
        mean, others = self.compute(inputs, role=role)
        return Normal(mean, 1.0).rsample(), others

    def compute(self, inputs: Any, role: str = "") -> Any:
        return self.net_container(inputs["observations"]), {"log_std": torch.zeros(1)}


CONTINUOUS: dict[str, tuple[type[Any], Any]] = {
    "cleanrl sac": (CleanActor, lambda m, x: 2.0 * torch.tanh(m.fc_mean(x))),
    "tianshou": (TianshouPolicy, lambda m, x: 2.0 * m.actor(x).clamp(-1.0, 1.0)),
    "torchrl": (TorchrlActor, lambda m, x: 2.0 * torch.tanh(m.layer(x))),
    "skrl": (SkrlModel, lambda m, x: m.net_container(x)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_a_module_does_the_middle_of_what_it_would_draw(name: str) -> None:
    torch.manual_seed(0)
    kind, reference = CONTINUOUS[name]
    module = kind()
    with torch.no_grad():
        wanted = reference(module, torch.from_numpy(ROWS)).numpy()
    np.testing.assert_allclose(play(module, PUSH).actions, wanted, atol=1e-6)


def test_an_agent_without_forward_takes_its_likeliest_action() -> None:
    torch.manual_seed(0)
    agent = CleanAgent()
    wanted = agent.actor(torch.from_numpy(ROWS)).argmax(1).tolist()
    assert play(agent, spaces.Discrete(5)).actions.tolist() == wanted
    drawn = {int(agent.get_action_and_value(torch.zeros(1, 3))[0]) for _ in range(60)}
    assert len(drawn) > 1  # outside, distributions draw as before


def test_numbers_are_preferred_to_the_action_that_was_made_of_them() -> None:
    values = torch.tensor([[0.0, 3.0]]).expand(LANES, 2)

    class Values(nn.Module):
        in_keys, out_keys = ("observation",), ["action", "action_value", "chosen_action_value"]

        def forward(self, observation: Tensor) -> Any:
            return torch.tensor([0, 1]).expand(LANES, 2), values, values[:, 1:]

    shares = play(Values(), spaces.Discrete(2)).probabilities
    np.testing.assert_allclose(shares, values.double().softmax(1).numpy())


def test_a_softmax_at_the_end_gives_probabilities() -> None:
    shares = play(nn.Sequential(nn.Linear(3, 2), nn.Softmax(1)), spaces.Discrete(2)).probabilities
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_a_module_that_draws_in_a_way_of_its_own_is_refused() -> None:
    class Own(nn.Module):
        def forward(self, observation: Tensor) -> Tensor:
            return torch.rand(len(observation), 2)

    with pytest.raises(FitError, match=r"draws random numbers itself, so no run could be repeated"):
        play(Own(), spaces.Discrete(2))


def test_a_module_that_cannot_be_asked_is_refused_in_a_sentence() -> None:
    class Silent(nn.Module):
        """Nothing but weights."""

    with pytest.raises(FitError, match=r"^Silent has no forward, act, predict or get_action for a"):
        play(Silent(), spaces.Discrete(2))


# ------------------------------------------------------------------- objects of other kinds


class Predicts:
    """An object with `predict`, as agents without torch are; `load` is for its files."""

    def predict(self, observations: Any, state: Any = None) -> Any:
        return (observations[:, 0] > 0).astype(int), state

    def load(self, path: str) -> None: ...


class Acts:
    def act(self, observations: Any) -> Any:
        return torch.from_numpy(observations[:, 0] > 0).long().requires_grad_(False)


class Gets:
    def get_action(self, observations: Any) -> Any:
        return [int(row[0] > 0) for row in observations]


class Goes:
    def forward(self, observations: Any) -> Any:
        return tuple(int(row[0] > 0) for row in observations)


@pytest.mark.parametrize("kind", [Predicts, Acts, Gets, Goes])
def test_an_object_is_asked_by_its_method(kind: type[Any]) -> None:
    wanted = (ROWS[:, 0] > 0).astype(int).tolist()
    assert play(kind(), spaces.Discrete(2)).actions.tolist() == wanted


def test_an_object_without_any_such_method_is_refused_in_a_sentence() -> None:
    with pytest.raises(ConfigError) as caught:
        play(object.__new__(type("Nothing", (), {})), spaces.Discrete(2))
    assert "an object with predict, act or get_action for such a batch" in str(caught.value)
