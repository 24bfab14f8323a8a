"""Policies that trainers export themselves, with what the trainers do on a few observations.

Each function imports its library, trains next to nothing, writes files into a folder and yields
what it wrote. No two of these libraries need to be installed together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

STEPS, LANES = 3, 8
CART, PENDULUM = "CartPole-v1", "Pendulum-v1"


@dataclass(frozen=True)
class Exported:
    """Files of one policy."""

    name: str
    env: str
    specs: tuple[str, ...]
    """Of rpd, with the names of files alone."""
    act: Callable[[np.ndarray], Any] = field(repr=False)
    """What the library does with the observations of one step, episodes beginning at the first."""


def observations(env: str) -> np.ndarray:
    """Return observations of several steps and lanes, as float32."""
    space = gymnasium.spec(env).make().observation_space
    drawn = np.random.default_rng(0).normal(size=(STEPS, LANES, *space.shape))
    return drawn.astype(np.float32)


def rsl_rl(folder: Path) -> Iterator[Exported]:
    """Isaac Lab's trainer: ONNX and TorchScript of its runner, and the runner's checkpoint."""
    from rsl_lanes import Lanes
    from rsl_rl.runners import OnPolicyRunner
    from tensordict import TensorDict

    cores: dict[str, dict[str, Any]] = {
        "MLPModel": {},
        "RNNModel": {"rnn_type": "lstm", "rnn_hidden_dim": 16, "rnn_num_layers": 2},
    }
    for kind, core in cores.items():
        net = {"class_name": kind, "hidden_dims": [32], "obs_normalization": True, **core}
        settings = {
            "num_steps_per_env": 16, "save_interval": 100, "algorithm": {"class_name": "PPO"},
            "obs_groups": {"actor": ["policy"], "critic": ["policy"]}, "critic": dict(net),
            "actor": net | {"distribution_cfg": {"class_name": "GaussianDistribution"}},
        }  # fmt: skip
        runner = OnPolicyRunner(Lanes(PENDULUM), settings, log_dir=None)
        runner.learn(2)
        runner.export_policy_to_onnx(str(folder), f"{kind}.onnx")
        runner.export_policy_to_jit(str(folder), f"{kind}.script.pt")
        runner.save(str(folder / f"{kind}.pt"))
        policy = runner.get_inference_policy()
        policy.reset()

        def act(rows: np.ndarray, policy: Any = policy) -> Any:
            with torch.no_grad():
                seen = TensorDict({"policy": torch.from_numpy(rows)}, batch_size=[len(rows)])
                return policy(seen)

        specs = f"onnx:{kind}.onnx", f"weights:{kind}.pt", f"torchscript:{kind}.script.pt"
        yield Exported(f"rsl-rl {kind}", PENDULUM, specs, act)


def rllib(folder: Path) -> Iterator[Exported]:
    """RLlib: ONNX of the old stack's own exporter, and modules of the new one by torch."""
    import ray
    from ray.rllib.algorithms.dqn import DQNConfig
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.utils.spaces.space_utils import unsquash_action

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    for kind, env in ((PPOConfig, CART), (PPOConfig, PENDULUM), (DQNConfig, CART)):
        space = gymnasium.spec(env).make().action_space

        def decided(numbers: torch.Tensor, space: Any = space) -> Any:
            if isinstance(space, gymnasium.spaces.Discrete):
                return numbers.argmax(dim=1)
            return unsquash_action(numbers[:, :1].detach().numpy(), space)

        settings = kind().environment(env).env_runners(num_env_runners=0)
        name = f"{kind.__name__[:3].lower()}-{env[:4].lower()}"
        module = settings.build_algo().get_module().eval()
        given = {"obs": torch.from_numpy(observations(env)[0][:1])}
        torch.save(module.state_dict(), folder / f"{name}.pt")
        specs = [f"weights:{name}.pt"]
        if kind is PPOConfig:  # the others' forward takes what only RLlib gives
            path = str(folder / f"{name}.onnx")
            torch.onnx.export(module, (), path, kwargs={"batch": given}, verbose=False)
            specs.append(f"onnx:{name}.onnx")
        yield Exported(
            f"rllib {name}", env, tuple(specs),
            lambda rows, m=module, d=decided: d(_inferred(m, rows)),
        )  # fmt: skip
        if kind is PPOConfig:
            algorithm = settings.copy(copy_frozen=False).api_stack(
                enable_rl_module_and_learner=False, enable_env_runner_and_connector_v2=False
            )
            built = algorithm.build_algo()
            built.export_policy_model(str(folder / name), onnx=17)
            model = built.get_policy().model
            yield Exported(
                f"rllib old {name}", env, (f"onnx:{name}/model.onnx",),
                lambda rows, m=model, d=decided: d(m({"obs": torch.from_numpy(rows)})[0]),
            )  # fmt: skip
    ray.shutdown()


def _inferred(module: Any, rows: np.ndarray) -> torch.Tensor:
    with torch.no_grad():
        found = module.forward_inference({"obs": torch.from_numpy(rows)})
    if "actions" in found:
        return torch.nn.functional.one_hot(found["actions"], 2)
    return found["action_dist_inputs"]


def d3rlpy(folder: Path) -> Iterator[Exported]:
    """d3rlpy: `save_policy` as ONNX and TorchScript, and `save_model`."""
    import d3rlpy

    scaler = d3rlpy.preprocessing.MinMaxActionScaler(minimum=[-2.0], maximum=[2.0])
    for name, settings, env in (
        ("bc", d3rlpy.algos.DiscreteBCConfig(), CART),
        ("dqn", d3rlpy.algos.DoubleDQNConfig(), CART),
        ("sac", d3rlpy.algos.SACConfig(action_scaler=scaler), PENDULUM),
    ):
        algorithm = settings.create(device="cpu")
        algorithm.build_with_env(gymnasium.make(env))
        algorithm.save_model(str(folder / f"{name}.pt"))
        specs = [f"weights:{name}.pt"]
        for loader, ending in (("torchscript", "script.pt"), ("onnx", "onnx")):
            algorithm.save_policy(str(folder / f"{name}.{ending}"))
            specs.append(f"{loader}:{name}.{ending}")
        yield Exported(f"d3rlpy {name}", env, tuple(specs), algorithm.predict)


def torchrl(folder: Path) -> Iterator[Exported]:
    """torchrl: an actor exported as its tutorial does, and its state dict."""
    from tensordict.nn import TensorDictModule
    from torch.distributions import Categorical
    from torchrl.envs.utils import ExplorationType, set_exploration_type
    from torchrl.modules import MLP, ProbabilisticActor

    torch.manual_seed(0)
    net = MLP(in_features=4, out_features=2, num_cells=[32, 32], activation_class=torch.nn.Tanh)
    module = TensorDictModule(net, in_keys=["observation"], out_keys=["logits"])
    actor = ProbabilisticActor(module, in_keys=["logits"], distribution_class=Categorical)
    given = {"observation": torch.zeros(4)}
    with set_exploration_type(ExplorationType.DETERMINISTIC):
        torch.onnx.export(actor, (), str(folder / "a.onnx"), kwargs=given, verbose=False)
    torch.save(actor.state_dict(), folder / "a.pt")
    yield Exported(
        "torchrl", CART, ("onnx:a.onnx", "weights:a.pt"),
        lambda rows: net(torch.from_numpy(rows)).argmax(dim=1),
    )  # fmt: skip


def mlagents(folder: Path) -> Iterator[Exported]:
    """ML-Agents: ONNX of its ModelSerializer, and weights, which rpd refuses."""
    from mlagents.torch_utils import set_torch_config
    from mlagents.trainers.policy.torch_policy import TorchPolicy
    from mlagents.trainers.settings import NetworkSettings, TorchSettings
    from mlagents.trainers.torch_entities.model_serialization import ModelSerializer
    from mlagents.trainers.torch_entities.networks import SimpleActor
    from mlagents_envs.base_env import (
        ActionSpec,
        BehaviorSpec,
        DimensionProperty,
        ObservationSpec,
        ObservationType,
    )

    set_torch_config(TorchSettings(device="cpu"))
    memory = NetworkSettings.MemorySettings(memory_size=16, sequence_length=8)
    for name, env, action, kept in (
        ("discrete", CART, ActionSpec.create_discrete((2,)), None),
        ("memory", CART, ActionSpec.create_discrete((2,)), memory),
        ("continuous", PENDULUM, ActionSpec.create_continuous(1), None),
    ):
        size = observations(env).shape[-1]
        seen = ObservationSpec((size,), (DimensionProperty.NONE,), ObservationType.DEFAULT, "v")
        net = NetworkSettings(hidden_units=32, num_layers=2, normalize=True, memory=kept)
        policy = TorchPolicy(
            0, BehaviorSpec([seen], action), net, SimpleActor,
            {"conditional_sigma": False, "tanh_squash": False},
        )  # fmt: skip
        ModelSerializer(policy).export_policy_model(str(folder / name))
        torch.save({"Policy": policy.actor.state_dict()}, folder / f"{name}.pt")
        specs = f"onnx:{name}.onnx", f"weights:{name}.pt"
        yield Exported(f"ml-agents {name}", env, specs, _Remembering(policy.actor))


class _Remembering:
    """Calls an actor of ML-Agents with the memory of the step before."""

    def __init__(self, actor: Any) -> None:
        self.actor, self.memory = actor, None

    def __call__(self, rows: np.ndarray) -> Any:
        from mlagents.trainers.torch_entities.model_serialization import exporting_to_onnx

        if self.memory is None:
            self.memory = torch.zeros(len(rows), 1, self.actor.memory_size)
        with exporting_to_onnx(), torch.no_grad():  # else memories are laid out in another way
            found = self.actor([torch.from_numpy(rows)], torch.ones(len(rows), 2), self.memory)
        if self.actor.memory_size:
            self.memory = found[-1]
            return found[-2]
        return found[-1]


EXPORTERS = {one.__name__: one for one in (rsl_rl, rllib, d3rlpy, torchrl, mlagents)}
os.environ.setdefault("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "python")  # for ML-Agents
