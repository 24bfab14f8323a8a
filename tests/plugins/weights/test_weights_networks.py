"""State dicts of libraries act as the modules that they were saved of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import library_networks as nets
import numpy as np
import pytest
import runner_networks as runners
import torch
from torch import nn
from weight_files import ATARI, CART, LANES, PENDULUM, ask, facts, rows_of

from rpd_weights.loader import WeightsFile

Case = tuple[tuple[Any, Any], Callable[[Any], Any], Any, str]
"""World, what the network gives, what is saved, and a part of what `describe` says."""


def _plain(module: nn.Module, world: Any, said: str) -> Case:
    return world, module, module.state_dict(), said


def _nested(module: nn.Module, world: Any, said: str, **around: Any) -> Case:
    return world, module, around, said


def _torchrl(world: Any, said: str, *sizes: int, split: bool) -> Case:
    module, network = nets.torchrl_actor(*sizes, split=split)
    if not split:
        return world, network, module.state_dict(), said
    return world, lambda x: 2.0 * torch.tanh(network(x)[:, :1]), module.state_dict(), said


def _skrl_agent() -> Case:
    policy, value, scaler = nets.SkrlModel(3, 1), nets.SkrlModel(3, 1), nets.SkrlScaler(3)
    saved = {
        "policy": policy.state_dict(),
        "value": value.state_dict(),
        "optimizer": torch.optim.Adam(policy.parameters()).state_dict(),
        "observation_preprocessor": scaler.state_dict(),
        "value_preprocessor": nets.SkrlScaler(1).state_dict(),
    }
    return PENDULUM, lambda x: policy(scaler(x)).clamp(-2.0, 2.0), saved, "default of skrl"


def _rsl_runner() -> Case:
    actor, critic = runners.RslModel(3, 1), runners.RslModel(3, 1)
    critic.obs_normalizer._mean += 1.0
    saved = {"critic_state_dict": critic.state_dict(), "actor_state_dict": actor.state_dict()}
    said = "normalised by actor_state_dict.obs_normalizer"
    return PENDULUM, lambda x: actor(x).clamp(-2.0, 2.0), saved, said


def _rllib_continuous() -> Case:
    module = runners.RllibModule(3, 1)
    return (
        PENDULUM,
        lambda x: module(x)[:, :1].clamp(-1.0, 1.0) * 2.0,
        module.state_dict(),
        "mean, clipped to -1 and 1, scaled to the bounds (as RLlib has it)",
    )


def _clean_tuple(actor: nn.Module, said: str) -> Case:
    critic = nets.CleanSoftQ().state_dict()
    return PENDULUM, actor, (actor.state_dict(), critic, critic), said


def _tianshou_algorithm() -> Case:
    actor, critic = nets.TianshouActor(), nets.TianshouNet(4, 16, 1)
    saved = {f"policy.actor.{name}": one for name, one in actor.state_dict().items()}
    saved |= {f"critic.preprocess.{name}": one for name, one in critic.state_dict().items()}
    return CART, actor, saved, "default of tianshou"


def _tianshou_dqn() -> Case:
    net = nets.TianshouNet(4, 16, 16, 2)
    names = net.state_dict().items()
    saved = {f"{part}.{n}": v for part in ("model", "model_old") for n, v in names}
    return CART, net, saved, "q (a target network lies beside it)"


def _d3_dqn() -> Case:
    q = nets.D3Q()
    ensemble = nn.ModuleList([q]).state_dict()
    saved = {"q_funcs": ensemble, "targ_q_funcs": ensemble, "optim": {"optim": {"state": {}}}}
    return CART, q, saved, "q (by its name)"


def _d3_sac() -> Case:
    policy = nets.D3Normal()
    return PENDULUM, policy, {"policy": policy.state_dict(), "q_funcs": {}}, "default of d3rlpy"


def _tutorial_dqn() -> Case:
    net = nets.CourseReinforce()
    saved = {"policy_net": net.state_dict(), "target_net": net.state_dict(), "step": 7}
    return CART, net, {"epoch": 3, "nets": saved}, "q (a target network lies beside it)"


CASES: dict[str, Callable[[], Case]] = {
    "cleanrl ppo": lambda: _plain(nets.CleanPpo(), CART, "PPO with actor and critic"),
    "cleanrl ppo continuous": lambda: _plain(
        nets.CleanPpoContinuous(), PENDULUM, "PPO with actor and critic"
    ),
    "cleanrl ppo atari": lambda: _plain(nets.CleanAtari(), ATARI, "divided by 255"),
    "cleanrl dqn": lambda: _plain(nets.CleanDqn(), CART, "q (named as in CleanRL's DQN)"),
    "cleanrl dqn atari": lambda: _plain(nets.CleanDqnAtari(), ATARI, "q (named as in CleanRL"),
    "cleanrl sac": lambda: _clean_tuple(nets.CleanSac(), "mean, tanh, scaled to the bounds"),
    "cleanrl td3": lambda: _clean_tuple(nets.CleanTd3(), "action, tanh, scaled to the bounds"),
    "deep rl course": lambda: _plain(nets.CourseReinforce(), CART, "logits (assumed"),
    "deep rl course, checkpoint": lambda: _nested(
        module := nets.CourseReinforce(), CART, "relu", model_state_dict=module.state_dict(),
        optimizer_state_dict=torch.optim.Adam(module.parameters()).state_dict(), epoch=3,
    ),
    "tianshou actor": lambda: _plain(nets.TianshouActor(), CART, "default of tianshou"),
    "tianshou algorithm": _tianshou_algorithm,
    "tianshou dqn": _tianshou_dqn,
    "tianshou dueling": lambda: _plain(
        nets.TianshouNet(4, 16, last=True, dueling=True), CART, "q (a dueling network)"
    ),
    "tianshou ppo continuous": lambda: _plain(
        nets.TianshouGaussian(False), PENDULUM, "clipped to -1 and 1, scaled"
    ),
    "tianshou sac": lambda: _plain(nets.TianshouGaussian(True), PENDULUM, "mean, tanh, scaled"),
    "tianshou atari": lambda: _plain(nets.TianshouAtari(), ATARI, "divided by 255"),
    "skrl categorical": lambda: _plain(nets.SkrlModel(4, 2), CART, "default of skrl"),
    "skrl shared": lambda: _plain(nets.SkrlModel(4, 2, shared=True), CART, "default of skrl"),
    "skrl agent": _skrl_agent,
    "torchrl actor": lambda: _torchrl(PENDULUM, "default of torchrl", 3, 16, 2, split=True),
    "torchrl q": lambda: _torchrl(CART, "default of torchrl", 4, 16, 2, split=False),
    "d3rlpy dqn": _d3_dqn,
    "rsl-rl runner": _rsl_runner,
    "rllib continuous": _rllib_continuous,
    "rllib dqn": lambda: _plain(runners.RllibDqn(True), CART, "q (a dueling network)"),
    "rllib dqn, one stream": lambda: _plain(runners.RllibDqn(False), CART, "q (by its name)"),
    "d3rlpy sac": _d3_sac,
    "dueling streams": lambda: _plain(nets.Streams(), CART, "q (a dueling network)"),
    "policy and target": _tutorial_dqn,
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_state_dict_acts_as_the_module_that_it_was_saved_of(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    world, reference, saved, said = CASES[name]()
    path = tmp_path / "model.pt"
    torch.save(saved, path)
    policy = WeightsFile(path).load(facts(world))
    for seed in range(4):
        rows = rows_of(world, seed)
        choice = ask(policy, rows)
        with torch.no_grad():
            wanted = reference(torch.from_numpy(rows).float()).numpy()
        _check(choice, wanted)
    assert said in " ".join(policy.describe().values())


def _check(choice: Any, wanted: Any) -> None:
    """Compare actions, and the numbers behind them, with a module's."""
    if choice.actions.dtype.kind == "f":
        np.testing.assert_allclose(choice.actions, wanted, atol=1e-6)
        return
    assert choice.actions.tolist() == wanted.argmax(axis=1).tolist()
    if choice.action_values is not None:
        np.testing.assert_allclose(choice.action_values, wanted, atol=1e-6)
    else:
        shares = torch.softmax(torch.from_numpy(wanted).double(), dim=1).numpy()
        np.testing.assert_allclose(choice.probabilities, shares, atol=1e-6)


CORES: dict[str, Callable[[], Any]] = {
    "cleanrl ppo lstm": nets.CleanAtariLstm,
    "tianshou recurrent": nets.TianshouRecurrent,
    "sample-factory gru": nets.SampleFactory,
    "rsl-rl recurrent": runners.RslRecurrent,
}


@pytest.mark.parametrize("name", CORES)
def test_a_recurrent_network_remembers_and_forgets_as_its_module(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = CORES[name]()
    saved = {"model_state_dict": module.state_dict(), "env_steps": 10}
    torch.save(saved, tmp_path / "model.pth")
    activation = "relu" if "cleanrl" in name else "auto"
    policy = WeightsFile(tmp_path / "model.pth", activation=activation).load(facts(CART))
    rows = np.stack([rows_of(CART, seed) for seed in range(4)])
    with torch.no_grad():
        whole = module.steps(torch.from_numpy(rows)).softmax(-1).numpy()
        again = module.steps(torch.from_numpy(rows[2:])).softmax(-1).numpy()
    memory, begins = None, np.ones(LANES, bool)
    for step in range(4):
        choice = ask(policy, rows[step], begins, memory)
        memory, begins = choice.memory, np.zeros(LANES, bool)
        wanted = whole[step].copy()
        if step >= 2:  # the episode of lane 1 began anew at step 2
            wanted[1] = again[step - 2][1]
        np.testing.assert_allclose(choice.probabilities, wanted, atol=1e-6)
        begins[1] = step == 1
