"""Networks with the parts, and so the names, that libraries give them; tiny where they may be."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn


def mlp(*sizes: int, activation: type[nn.Module] = nn.ReLU, last: bool = False) -> nn.Sequential:
    """Return linear layers with an activation between them, and behind the last one if wanted."""
    layers: list[nn.Module] = []
    for size_in, size_out in pairwise(sizes):
        layers += [nn.Linear(size_in, size_out), activation()]
    return nn.Sequential(*(layers if last else layers[:-1]))


def nature(hidden: int, *more: int) -> nn.Sequential:
    """Return the usual layers for stacks of four pictures of 84 by 84."""
    layers = [
        nn.Conv2d(4, 8, 8, stride=4), nn.ReLU(), nn.Conv2d(8, 8, 4, stride=2), nn.ReLU(),
        nn.Conv2d(8, 8, 3, stride=1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 49, hidden), nn.ReLU(),
    ]  # fmt: skip
    for size in more:
        layers.append(nn.Linear(hidden, size))
    return nn.Sequential(*layers)


class CleanPpo(nn.Module):
    """CleanRL, ppo.py."""

    def __init__(self) -> None:
        super().__init__()
        self.critic = mlp(4, 16, 16, 1, activation=nn.Tanh)
        self.actor = mlp(4, 16, 16, 2, activation=nn.Tanh)

    def forward(self, x: Tensor) -> Tensor:
        return self.actor(x)


class CleanPpoContinuous(nn.Module):
    """CleanRL, ppo_continuous_action.py."""

    def __init__(self) -> None:
        super().__init__()
        self.critic = mlp(3, 16, 1, activation=nn.Tanh)
        self.actor_mean = mlp(3, 16, 1, activation=nn.Tanh)
        self.actor_logstd = nn.Parameter(torch.zeros(1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.actor_mean(x).clamp(-2.0, 2.0)


class CleanAtari(nn.Module):
    """CleanRL, ppo_atari.py."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nature(16)
        self.actor, self.critic = nn.Linear(16, 6), nn.Linear(16, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.actor(self.network(x / 255.0))


class CleanAtariLstm(nn.Module):
    """CleanRL, ppo_atari_lstm.py, on vectors to be quick."""

    def __init__(self) -> None:
        super().__init__()
        self.network = mlp(4, 16, last=True)
        self.lstm = nn.LSTM(16, 8)
        self.actor, self.critic = nn.Linear(8, 2), nn.Linear(8, 1)

    def steps(self, rows: Tensor) -> Tensor:
        """Return the logits of (steps, lanes, 4)."""
        return self.actor(self.lstm(self.network(rows))[0])


class CleanDqn(nn.Module):
    """CleanRL, dqn.py."""

    def __init__(self) -> None:
        super().__init__()
        self.network = mlp(4, 16, 12, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x)


class CleanDqnAtari(nn.Module):
    """CleanRL, dqn_atari.py."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nature(16, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x / 255.0)


class CleanSac(nn.Module):
    """CleanRL, sac_continuous_action.py."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(3, 16), nn.Linear(16, 16)
        self.fc_mean, self.fc_logstd = nn.Linear(16, 1), nn.Linear(16, 1)
        self.register_buffer("action_scale", torch.tensor([[2.0]]))
        self.register_buffer("action_bias", torch.tensor([[0.0]]))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.fc2(torch.relu(self.fc1(x))))
        return torch.tanh(self.fc_mean(x)) * self.action_scale + self.action_bias


class CleanTd3(nn.Module):
    """CleanRL, td3_continuous_action.py."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc_mu = nn.Linear(3, 16), nn.Linear(16, 16), nn.Linear(16, 1)
        self.register_buffer("action_scale", torch.tensor([2.0]))
        self.register_buffer("action_bias", torch.tensor([0.0]))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.fc2(torch.relu(self.fc1(x))))
        return torch.tanh(self.fc_mu(x)) * self.action_scale + self.action_bias


class CleanSoftQ(nn.Module):
    """The critic that CleanRL saves beside the actor of SAC and TD3."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(4, 16), nn.Linear(16, 16), nn.Linear(16, 1)


class CourseReinforce(nn.Module):
    """The Deep RL course, unit 4."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 16), nn.Linear(16, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(torch.relu(self.fc1(x)))


class _TianshouMlp(nn.Module):
    def __init__(self, *sizes: int, last: bool = False) -> None:
        super().__init__()
        self.model = mlp(*sizes, last=last)

    def forward(self, x: Tensor) -> Tensor:
        return self.model(x)


class TianshouNet(nn.Module):
    """tianshou, `Net`: an MLP, with or without a last layer, or with dueling streams."""

    def __init__(self, *sizes: int, last: bool = False, dueling: bool = False) -> None:
        super().__init__()
        self.model = _TianshouMlp(*sizes, last=last)
        if dueling:
            self.Q, self.V = _TianshouMlp(sizes[-1], 8, 2), _TianshouMlp(sizes[-1], 8, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.model(x)
        if not hasattr(self, "Q"):
            return x
        q = self.Q(x)
        return q - q.mean(dim=1, keepdim=True) + self.V(x)


class TianshouActor(nn.Module):
    """tianshou, `DiscreteActor`."""

    def __init__(self) -> None:
        super().__init__()
        self.preprocess = TianshouNet(4, 16, 16, last=True)
        self.last = _TianshouMlp(16, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.preprocess(x))


class TianshouGaussian(nn.Module):
    """tianshou, `ContinuousActorProbabilistic`; its algorithms scale what it gives."""

    def __init__(self, drawn: bool) -> None:
        super().__init__()
        self.preprocess = TianshouNet(3, 16, last=True)
        self.mu = _TianshouMlp(16, 1)
        if drawn:
            self.sigma = _TianshouMlp(16, 1)
        else:
            self.sigma_param = nn.Parameter(torch.zeros(1, 1))

    def forward(self, x: Tensor) -> Tensor:
        mean = self.mu(self.preprocess(x))
        return 2.0 * (torch.tanh(mean) if hasattr(self, "sigma") else mean.clamp(-1.0, 1.0))


class TianshouRecurrent(nn.Module):
    """tianshou, `Recurrent`."""

    def __init__(self) -> None:
        super().__init__()
        self.nn = nn.LSTM(8, 8, num_layers=2, batch_first=True)
        self.fc1, self.fc2 = nn.Linear(4, 8), nn.Linear(8, 2)

    def steps(self, rows: Tensor) -> Tensor:
        hidden, _ = self.nn(self.fc1(rows.transpose(0, 1)))
        return self.fc2(hidden).transpose(0, 1)


class TianshouAtari(nn.Module):
    """tianshou, `DQNet`; the environment divides its pictures by 255."""

    def __init__(self) -> None:
        super().__init__()
        layers = nature(16, 6)
        self.net = nn.Sequential(layers[:7], *layers[7:])

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x / 255.0)


class SkrlModel(nn.Module):
    """skrl, what its model instantiator makes; shared models have two layers behind it."""

    def __init__(self, size_in: int, size_out: int, shared: bool = False) -> None:
        super().__init__()
        self.log_std_parameter = nn.Parameter(torch.zeros(size_out))
        self.net_container = mlp(size_in, 16, 8, activation=nn.ELU, last=True)
        if shared:
            self.policy_layer, self.value_layer = nn.Linear(8, size_out), nn.Linear(8, 1)
        else:
            self.net_container.append(nn.Linear(8, size_out))

    def forward(self, x: Tensor) -> Tensor:
        x = self.net_container(x)
        return self.policy_layer(x) if hasattr(self, "policy_layer") else x


class SkrlScaler(nn.Module):
    """skrl, `RunningStandardScaler`."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("running_mean", torch.linspace(-1.0, 1.0, size, dtype=torch.float64))
        self.register_buffer("running_variance", torch.full((size,), 0.04, dtype=torch.float64))
        self.register_buffer("current_count", torch.ones((), dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        spread = torch.sqrt(self.running_variance.float()) + 1e-8
        return torch.clamp((x - self.running_mean.float()) / spread, -5.0, 5.0)


class _TorchrlStep(nn.Module):
    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module


def torchrl_actor(*sizes: int, split: bool) -> tuple[nn.Module, nn.Module]:
    """Return a module named as torchrl's ProbabilisticActor or QValueActor, and its network."""
    network = mlp(*sizes, activation=nn.Tanh)
    inner = nn.Sequential(network, nn.Identity()) if split else network
    return _TorchrlStep(nn.ModuleList([_TorchrlStep(inner), nn.Identity()])), network


class _D3Encoder(nn.Module):
    def __init__(self, size_in: int) -> None:
        super().__init__()
        self._layers = mlp(size_in, 16, 16, last=True)


class D3Q(nn.Module):
    """d3rlpy, `DiscreteMeanQFunction`."""

    def __init__(self) -> None:
        super().__init__()
        self._encoder, self._fc = _D3Encoder(4), nn.Linear(16, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self._fc(self._encoder._layers(x))


class D3Normal(nn.Module):
    """d3rlpy, `NormalPolicy`."""

    def __init__(self) -> None:
        super().__init__()
        self._encoder = _D3Encoder(3)
        self._mu, self._logstd = nn.Linear(16, 1), nn.Linear(16, 1)

    def forward(self, x: Tensor) -> Tensor:
        return 2.0 * torch.tanh(self._mu(self._encoder._layers(x)))


class _Part(nn.Module):
    """A module with parts of these names."""

    def __init__(self, **parts: nn.Module) -> None:
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part)


class _FactoryMoments(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("running_mean", torch.linspace(-0.5, 0.5, size, dtype=torch.float64))
        self.register_buffer("running_var", torch.full((size,), 0.25, dtype=torch.float64))
        self.register_buffer("count", torch.ones(1, dtype=torch.float64))


class SampleFactory(nn.Module):
    """Sample-Factory, `ActorCriticSharedWeights` with a GRU, and normalised observations."""

    def __init__(self) -> None:
        super().__init__()
        moments = _Part(running_mean_std=nn.ModuleDict({"obs": _FactoryMoments(4)}))
        self.obs_normalizer = _Part(running_mean_std=moments)
        self.returns_normalizer = _FactoryMoments(1)
        head = _Part(mlp_head=mlp(4, 16, 16, activation=nn.ELU, last=True))
        self.encoder = _Part(encoders=nn.ModuleDict({"obs": head}))
        self.core = _Part(core=nn.GRU(16, 8, 1))
        self.decoder = _Part(mlp=nn.Identity())
        self.critic_linear = nn.Linear(8, 1)
        self.action_parameterization = _Part(distribution_linear=nn.Linear(8, 2))

    def steps(self, rows: Tensor) -> Tensor:
        parts: Any = self
        moments = parts.obs_normalizer.running_mean_std.running_mean_std["obs"]
        spread = torch.sqrt(moments.running_var.float() + 1e-5)
        scaled = ((rows - moments.running_mean.float()) * (1.0 / spread)).clamp(-5.0, 5.0)
        hidden, _ = parts.core.core(parts.encoder.encoders["obs"].mlp_head(scaled))
        return parts.action_parameterization.distribution_linear(hidden)


class Streams(nn.Module):
    """A dueling network as tutorials write it."""

    def __init__(self) -> None:
        super().__init__()
        self.feature_layer = mlp(4, 16, last=True)
        self.value_stream = mlp(16, 8, 1)
        self.advantage_stream = mlp(16, 8, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.feature_layer(x)
        advantage = self.advantage_stream(x)
        return self.value_stream(x) + advantage - advantage.mean(dim=1, keepdim=True)
