"""From a batch of observations to a batch of actions, as `predict` of each algorithm does it.

A head runs the network; a chooser turns what comes out into actions. Where an action is drawn,
the draws come from the loop and from nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.policies import BaseModel

from rpd_core.errors import EpisodeError, FitError
from rpd_core.plugin.protocols import PolicyInput
from rpd_sb3.building import Model
from rpd_sb3.density import GaussianDensity
from rpd_sb3.noise import ExplorationNoise

Array = NDArray[Any]
Tensors = torch.Tensor | dict[str, torch.Tensor]
MASK_VIEW = "action_mask"
_MASKED = -1e8
_LIBRARIES = ("stable_baselines3.", "sb3_contrib.")
_DECIDING = ("_predict", "get_distribution", "extract_features", "_get_action_dist_from_latent")


@dataclass(frozen=True)
class Output:
    """What a head gives: raw actions and what else the network knows."""

    actions: Array
    action_values: Array | None = None
    probabilities: Array | None = None
    memory: Any = None
    log_probability: GaussianDensity | None = None
    """Of raw actions."""


class Head(Protocol):
    """A network with its way of choosing."""

    def __call__(self, observations: Tensors, seen: PolicyInput, memory: Any) -> Output:
        """Decide in all lanes."""


def head_for(model: Model, deterministic: bool) -> Head:
    """Return the head that belongs to the algorithm."""
    policy, name = model.policy, model.algorithm.name
    if _decides_by_itself(policy):
        if not deterministic:
            raise FitError(
                f"{type(policy).__name__} draws actions in a way of its own, which would differ "
                "from run to run: use deterministic=true"
            )
        return _DirectHead(lambda observations: policy._predict(observations, deterministic=True))
    if name == "dqn":
        return _ValueHead(policy.q_net, 0.0 if deterministic else model.epsilon)
    if name == "qrdqn":
        return _ValueHead(_mean_quantile(policy), 0.0 if deterministic else model.epsilon)
    if name in ("td3", "ddpg"):
        return _DirectHead(policy.actor)
    if name == "ars":
        return _DirectHead(_linear_actions(policy, model.action_space))
    if name in ("sac", "tqc", "crossq"):
        return _SquashedHead(policy.actor, deterministic)
    chooser = _chooser_for(policy, model.action_space, deterministic)
    if name == "ppo_lstm":
        return _RecurrentHead(policy, chooser)
    return _ActorHead(policy, chooser)


def _decides_by_itself(policy: Any) -> bool:
    """Return whether a policy class of the author's own changes how actions are chosen.

    Such classes come only from files that are loaded in full.
    """
    kind = type(policy)
    if kind.__module__.startswith(_LIBRARIES):
        return False
    base = next(one for one in kind.__mro__ if one.__module__.startswith(_LIBRARIES))
    if not hasattr(base, "get_distribution"):
        return True
    return any(getattr(kind, name) is not getattr(base, name) for name in _DECIDING)


def _mean_quantile(policy: Any) -> Callable[[Tensors], torch.Tensor]:
    def values(observations: Tensors) -> torch.Tensor:
        quantiles: torch.Tensor = policy.quantile_net(observations)
        return quantiles.mean(dim=1)

    return values


def _linear_actions(policy: Any, space: Any) -> Callable[[Tensors], torch.Tensor]:
    def actions(observations: Tensors) -> torch.Tensor:
        features = policy.extract_features(observations, policy.features_extractor)
        raw: torch.Tensor = policy.action_net(features)
        if not isinstance(space, spaces.Discrete):
            return raw
        return finite(raw, "logits").argmax(dim=1)

    return actions


@dataclass
class _ValueHead:
    """Takes the action of the highest value; at a rate of `epsilon` any action."""

    values: Callable[[Tensors], torch.Tensor]
    epsilon: float

    def __call__(self, observations: Tensors, seen: PolicyInput, memory: Any) -> Output:
        values = finite(self.values(observations), "action values").numpy()
        actions = values.argmax(axis=1)
        if self.epsilon > 0:
            chance = seen.draws.uniform(2)
            anything = (chance[:, 1] * values.shape[1]).astype(np.int64)
            actions = np.where(chance[:, 0] < self.epsilon, anything, actions)
        return Output(actions, action_values=values)


@dataclass
class _DirectHead:
    """Does what the network says; such policies are deterministic."""

    network: Callable[[Tensors], torch.Tensor]

    def __call__(self, observations: Tensors, seen: PolicyInput, memory: Any) -> Output:
        return Output(finite(self.network(observations), "actions").numpy())


class _SquashedHead:
    """A _Gaussian squeezed into the bounds, as SAC, TQC and CrossQ learn it."""

    def __init__(self, actor: Any, deterministic: bool) -> None:
        self.actor, self.deterministic = actor, deterministic
        state_dependent = actor.use_sde and not deterministic
        self.noise = ExplorationNoise(actor.action_dist, actor) if state_dependent else None

    def __call__(self, observations: Tensors, seen: PolicyInput, memory: Any) -> Output:
        mean, log_std, extra = self.actor.get_action_dist_params(observations)
        density = None
        if not self.actor.use_sde:
            density = GaussianDensity(mean, log_std.exp(), squashed=True)
        if self.noise is not None:
            shift, memory = self.noise(extra["latent_sde"], seen, memory)
            mean = mean + shift
        elif not self.deterministic:
            mean = mean + log_std.exp() * normal(seen, mean.shape[1])
        mean = finite(mean, "actions")
        return Output(torch.tanh(mean).numpy(), memory=memory, log_probability=density)


@dataclass
class _ActorHead:
    """The actor of PPO, A2C, TRPO and MaskablePPO."""

    policy: Any
    chooser: Chooser

    def __call__(self, observations: Tensors, seen: PolicyInput, memory: Any) -> Output:
        features = _features_of(self.policy, observations)
        latent = self.policy.mlp_extractor.forward_actor(features)
        return self.chooser(self.policy.action_net(latent), latent, seen, memory)


@dataclass
class _RecurrentHead:
    """The actor of RecurrentPPO; each lane has its own hidden state, zero as an episode starts."""

    policy: Any
    chooser: Chooser

    def __call__(self, observations: Tensors, seen: PolicyInput, memory: Any) -> Output:
        states, noise = memory or (None, None)
        features = _features_of(self.policy, observations)
        if states is not None:
            keep = torch.from_numpy(~seen.starts)[None, :, None]
            states = tuple(torch.where(keep, state, 0.0) for state in states)
        hidden, states = self.policy.lstm_actor(features[None], states)
        latent = self.policy.mlp_extractor.forward_actor(hidden[0])
        chosen = self.chooser(self.policy.action_net(latent), latent, seen, noise)
        return replace(chosen, memory=(states, chosen.memory))


def finite(values: torch.Tensor, output: str) -> torch.Tensor:
    """Return what a network computed, or refuse numbers that an action cannot come from."""
    if not bool(torch.isfinite(values).all()):
        lane = int((~torch.isfinite(values.reshape(len(values), -1))).any(dim=1).nonzero()[0])
        raise EpisodeError(
            f"the policy's {output} are not all finite numbers (lane {lane}): its observation is "
            "not finite or too large for it; check the environment and the normalisation statistics"
        )
    return values


def _features_of(policy: Any, observations: Tensors) -> torch.Tensor:
    """Return what the actor's feature extractor makes of the observations."""
    found: torch.Tensor = BaseModel.extract_features(
        policy, observations, policy.pi_features_extractor
    )
    return found


def normal(seen: PolicyInput, columns: int) -> torch.Tensor:
    """Return standard normal draws in the precision of the networks."""
    return torch.from_numpy(seen.draws.normal(columns).astype(np.float32))


# ------------------------------------------------------------------- choosers

Chooser = Callable[[torch.Tensor, torch.Tensor, PolicyInput, Any], Output]
"""(what the last layer gives, what came into it, the step, memory) -> actions."""


def _chooser_for(policy: Any, space: Any, deterministic: bool) -> Chooser:
    """Return the way of choosing that the action space asks for."""
    if isinstance(space, spaces.Discrete):
        return _Categorical(deterministic)
    if isinstance(space, spaces.MultiDiscrete):
        return _ManyCategorical(deterministic, tuple(space.nvec.tolist()))
    if isinstance(space, spaces.MultiBinary):
        return _Binary(deterministic)
    if isinstance(space, spaces.Box):
        return _Gaussian(policy, deterministic)
    raise FitError(f"actions of {space} are not supported")


@dataclass(frozen=True)
class _Categorical:
    """The likeliest of several actions, or one drawn by its probability."""

    deterministic: bool

    def __call__(
        self, raw: torch.Tensor, latent: torch.Tensor, seen: PolicyInput, memory: Any
    ) -> Output:
        raw = finite(raw, "logits")
        mask = seen.views.get(MASK_VIEW)
        if mask is not None:
            raw = torch.where(torch.from_numpy(np.asarray(mask, dtype=bool)), raw, _MASKED)
        logits = raw - raw.logsumexp(dim=-1, keepdim=True)
        chances = torch.softmax(logits, dim=-1).numpy()
        actions = chances.argmax(axis=1) if self.deterministic else seen.draws.choose(chances)
        return Output(actions, probabilities=chances, memory=memory)


@dataclass(frozen=True)
class _ManyCategorical:
    """Several choices at once, each among its own actions."""

    deterministic: bool
    sizes: tuple[int, ...]

    def __call__(
        self, raw: torch.Tensor, latent: torch.Tensor, seen: PolicyInput, memory: Any
    ) -> Output:
        split = torch.split(finite(raw, "logits"), list(self.sizes), dim=1)
        parts = [torch.softmax(part, dim=-1).numpy() for part in split]
        if self.deterministic:
            chosen = [part.argmax(axis=1) for part in parts]
        else:
            chosen = [seen.draws.split(place).choose(part) for place, part in enumerate(parts)]
        return Output(np.stack(chosen, axis=1), memory=memory)


@dataclass(frozen=True)
class _Binary:
    """Several switches."""

    deterministic: bool

    def __call__(
        self, raw: torch.Tensor, latent: torch.Tensor, seen: PolicyInput, memory: Any
    ) -> Output:
        chances = torch.sigmoid(finite(raw, "logits"))
        if self.deterministic:
            on = torch.round(chances).numpy() > 0
        else:
            on = seen.draws.uniform(raw.shape[1]) < chances.numpy()
        return Output(on.astype(np.int64), memory=memory)


class _Gaussian:
    """The mean, or a draw around it."""

    def __init__(self, policy: Any, deterministic: bool) -> None:
        self.policy, self.deterministic = policy, deterministic
        self.squashed = bool(policy.squash_output)
        explores = bool(getattr(policy, "use_sde", False))
        state_dependent = explores and not deterministic
        self.noise = ExplorationNoise(policy.action_dist, policy) if state_dependent else None
        self.plain = not explores and not self.squashed
        """Whether the deviation is that of the file, for all states alike."""

    def __call__(
        self, raw: torch.Tensor, latent: torch.Tensor, seen: PolicyInput, memory: Any
    ) -> Output:
        density = GaussianDensity(raw, self.policy.log_std.exp()) if self.plain else None
        if self.noise is not None:
            shift, memory = self.noise(latent, seen, memory)
            raw = raw + shift
        elif not self.deterministic:
            raw = raw + self.policy.log_std.exp() * normal(seen, raw.shape[1])
        raw = finite(raw, "actions")
        actions = (torch.tanh(raw) if self.squashed else raw).numpy()
        return Output(actions, memory=memory, log_probability=density)
