"""Policies that tools export play as they do where they were trained."""

from __future__ import annotations

import re
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stable_baselines3
import torch
from gymnasium import spaces
from onnx_files import LANES, VECTOR, export, facts, loaded, rows, seen
from torch import nn

from rpd_core.errors import FitError
from rpd_onnx.loader import OnnxFile
from rpd_sb3.loader import Sb3File

GUIDE = Path(__file__).resolve().parents[3] / "docs/how-to/load-an-onnx-policy.md"
MANY = 4096
by_torch_export = pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 7),
    reason="torch 2.6 exports by torch.export with no version of onnxscript that was tried",
)
TORQUES = spaces.Box(np.array([-2.0, 0.0], np.float32), np.array([1.0, 3.0], np.float32))


class Pure(nn.Module):
    """What stable-baselines3 documents: a module that calls parts of a policy."""

    def __init__(self, policy: Any, part: Any) -> None:
        super().__init__()
        self.policy, self.part = policy, part

    def forward(self, observation: torch.Tensor) -> Any:
        return self.part(self.policy, observation)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Any]]:
    """Return models that were trained for a few steps, with their files."""
    folder, found = tmp_path_factory.mktemp("models"), {}
    for name, env, settings in (
        ("PPO", "CartPole-v1", {"n_steps": 64}),
        ("DQN", "CartPole-v1", {"learning_starts": 10}),
        ("SAC", "Pendulum-v1", {"learning_starts": 10}),
    ):
        kind = getattr(stable_baselines3, name)
        model = kind("MlpPolicy", env, seed=0, device="cpu", **settings)
        model.learn(128 if name == "PPO" else 40)
        model.save(folder / f"{name}.zip")
        found[name] = folder / f"{name}.zip", model
    return found


def both(path: Path, zipped: Path, model: Any, **options: Any) -> tuple[Any, Any]:
    """Return what `onnx:` and `sb3:` choose on thousands of observations."""
    where = facts(model.observation_space, model.action_space, MANY)
    size = model.observation_space.shape[0]
    step = seen(rows(1, MANY, size), lanes=MANY)
    ours = OnnxFile(path, **options).load(where)(step)
    return ours, Sb3File(zipped).load(where)(step)


@pytest.mark.parametrize(
    "exporter", ["TorchScript", pytest.param("torch.export", marks=by_torch_export)]
)
def test_a_ppo_that_returns_actions_plays_as_sb3_does(
    models: Any, exporter: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", False)
    zipped, model = models["PPO"]
    pure = Pure(model.policy, lambda policy, seen: policy(seen, deterministic=True))
    new = {"dynamo": True, "verbose": False} if exporter == "torch.export" else {}
    path = export(pure, (torch.zeros(1, 4),), tmp_path / "ppo.onnx", input_names=["input"], **new)
    ours, theirs = both(path, zipped, model)
    assert np.array_equal(ours.actions, theirs.actions)
    assert len(np.unique(ours.actions)) == 2


@by_torch_export
def test_what_the_guide_exports_plays_as_sb3_does(
    models: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    zipped, model = models["PPO"]
    shutil.copy(zipped, tmp_path / "model.zip")
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code, {})
    assert {file.name for file in tmp_path.iterdir()} == {"model.zip", "model.onnx"}
    ours, theirs = both(tmp_path / "model.onnx", zipped, model, deterministic=True)
    assert np.array_equal(ours.actions, theirs.actions)
    assert np.allclose(ours.probabilities, theirs.probabilities, atol=1e-6)


def test_the_logits_of_a_ppo_give_the_probabilities_of_sb3(models: Any, tmp_path: Path) -> None:
    zipped, model = models["PPO"]

    def logits_and_value(policy: Any, seen: Any) -> Any:
        hidden, critic = policy.mlp_extractor(seen)
        return policy.action_net(hidden), policy.value_net(critic)

    axes = {"input": {0: "batch"}}
    path = export(
        Pure(model.policy, logits_and_value), (torch.zeros(1, 4),), tmp_path / "ppo.onnx",
        input_names=["input"], dynamic_axes=axes,
    )  # fmt: skip
    ours, theirs = both(path, zipped, model, deterministic=True)
    assert np.array_equal(ours.actions, theirs.actions)
    assert np.allclose(ours.probabilities, theirs.probabilities, atol=1e-6)


def test_a_dqn_plays_and_values_actions_as_sb3_does(models: Any, tmp_path: Path) -> None:
    zipped, model = models["DQN"]
    pure = Pure(model.policy, lambda policy, seen: policy.q_net(seen))
    path = export(
        pure, (torch.zeros(1, 4),), tmp_path / "dqn.onnx",
        input_names=["input"], dynamic_axes={"input": {0: "batch"}},
    )  # fmt: skip
    ours, theirs = both(path, zipped, model)
    assert np.array_equal(ours.actions, theirs.actions)
    assert np.allclose(ours.action_values, theirs.action_values, atol=1e-5)
    assert "goes by the name" in loaded(path, facts(VECTOR, 2)).describe()["output"]


def test_a_sac_is_stretched_to_the_bounds_of_the_actions(models: Any, tmp_path: Path) -> None:
    zipped, model = models["SAC"]
    actor = model.policy.actor
    squashed = nn.Sequential(actor.latent_pi, actor.mu, nn.Tanh())
    plain = nn.Sequential(actor.latent_pi, actor.mu)
    for module, output in ((squashed, "unit"), (plain, "tanh")):
        path = export(module, (torch.zeros(1, 3),), tmp_path / f"{output}.onnx")
        ours, theirs = both(path, zipped, model, output=output)
        assert np.allclose(ours.actions, theirs.actions, atol=1e-5)
        assert len(np.unique(ours.actions)) > MANY / 2
    with pytest.raises(FitError, match="output=unit to stretch -1 to 1"):
        both(tmp_path / "unit.onnx", zipped, model)


@by_torch_export
def test_weights_beside_the_model_are_read_and_count(tmp_path: Path) -> None:
    module = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 3))
    path = export(module, (torch.zeros(1, 4),), tmp_path / "a.onnx", dynamo=True, verbose=False)
    beside = tmp_path / "a.onnx.data"
    assert OnnxFile(path).inputs() == (beside,)
    with torch.inference_mode():
        best = module(torch.from_numpy(rows())).argmax(dim=1).numpy()
    assert np.array_equal(loaded(path, deterministic=True)(seen(rows())).actions, best)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(path, elsewhere)
    with pytest.raises(FitError, match=r"a\.onnx\.data' does not exist"):
        loaded(elsewhere / "a.onnx")


class Recurrent(nn.Module):
    """Actor of Isaac Lab's exporter: a normaliser, a memory, and layers."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.rnn = getattr(nn, kind)(4, 8, num_layers=2)
        self.actor = nn.Sequential(nn.Linear(8, 8), nn.ELU(), nn.Linear(8, 2))

    def forward(self, obs: torch.Tensor, *hidden: torch.Tensor) -> Any:
        given = tuple(hidden) if len(hidden) == 2 else hidden[0]
        out, after = self.rnn(((obs - 0.1) / 2.0).unsqueeze(0), given)
        states = after if isinstance(after, tuple) else (after,)
        return self.actor(out.squeeze(0)), *states


@pytest.mark.parametrize(("kind", "letters"), [("LSTM", "hc"), ("GRU", "h")])
@pytest.mark.parametrize("fixed", [True, False])
def test_hidden_states_are_carried_and_forgotten(
    kind: str, letters: str, fixed: bool, tmp_path: Path
) -> None:
    module = Recurrent(kind)
    inputs = ["obs", *(f"{letter}_in" for letter in letters)]
    outputs = ["actions", *(f"{letter}_out" for letter in letters)]
    axes = {name: {0 if name in ("obs", "actions") else 1: "n"} for name in (*inputs, *outputs)}
    given = torch.zeros(1, 4), *[torch.zeros(2, 1, 8)] * len(letters)
    path = export(
        module, given, tmp_path / "rnn.onnx", input_names=inputs, output_names=outputs,
        dynamic_axes={} if fixed else axes,
    )  # fmt: skip
    policy = loaded(path, facts(VECTOR, TORQUES))
    assert policy.describe()["batches"].startswith("one row" if fixed else "whole")
    expected = [torch.zeros(2, LANES, 8)] * len(letters)
    memory = None
    for step in range(4):
        starts = np.arange(LANES) < 2 if step == 2 else np.full(LANES, step == 0)
        expected = [state * torch.from_numpy(~starts)[None, :, None] for state in expected]
        with torch.inference_mode():
            mean, *expected = module(torch.from_numpy(rows(step)), *expected)
        choice = policy(seen(rows(step), step, memory=memory, starts=starts))
        memory = choice.memory
        clipped = np.clip(mean.numpy(), TORQUES.low, TORQUES.high)
        assert np.allclose(choice.actions, clipped, atol=1e-5)


class RlModule(nn.Module):
    """What RLlib exports: a dictionary of inputs, states and lengths of sequences."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Linear(4, 6)

    def forward(self, batch: dict[str, torch.Tensor], states: Any, lengths: Any) -> Any:
        return self.net(batch["obs"]), states * 1.0 + lengths.sum() * 0.0


def test_an_rllib_model_gives_logits_or_means(tmp_path: Path) -> None:
    names, outputs = ["obs", "state_ins", "seq_lens"], ["output", "state_outs"]
    path = export(
        RlModule(), ({"obs": torch.zeros(1, 4)}, torch.ones(1), torch.ones(1), {}),
        tmp_path / "rllib.onnx", input_names=names, output_names=outputs,
        dynamic_axes={name: {0: "batch_size"} for name in names},
    )  # fmt: skip
    with torch.inference_mode():
        raw = RlModule().net(torch.from_numpy(rows())).numpy()
    logits = loaded(path, facts(VECTOR, 6), deterministic=True)
    assert np.array_equal(logits(seen(rows())).actions, raw.argmax(axis=1))
    box = spaces.Box(-9.0, 9.0, (3,), np.float32)
    stretched = loaded(path, facts(VECTOR, box))  # RLlib's default is normalize_actions
    assert np.allclose(stretched(seen(rows())).actions, 9.0 * raw[:, :3].clip(-1.0, 1.0))
    plain = loaded(path, facts(VECTOR, box), output="mean")
    assert np.allclose(plain(seen(rows())).actions, raw[:, :3])
    branches = loaded(path, facts(VECTOR, spaces.MultiDiscrete([2, 4])), deterministic=True)
    best = np.stack([raw[:, :2].argmax(axis=1), raw[:, 2:].argmax(axis=1)], axis=1)
    assert np.array_equal(branches(seen(rows())).actions, best)


class MlAgents(nn.Module):
    """The outputs of an ML-Agents actor with one discrete branch and a memory."""

    def __init__(self, steady: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net, self.memory, self.steady = nn.Linear(4, 3), nn.Linear(4, 2), steady
        self.version = nn.Parameter(torch.tensor([3.0]), requires_grad=False)

    def forward(self, seen: Any, masks: torch.Tensor, memories: torch.Tensor) -> Any:
        logits = self.net(seen) + (1.0 - masks) * -1e8
        drawn = torch.multinomial(logits.softmax(dim=1), 1)
        best = logits.argmax(dim=1, keepdim=True)
        after = memories + self.memory(seen)[:, None]
        return self.version, drawn, best if self.steady else drawn * 1, after


def test_an_ml_agents_model_decides_by_its_steady_output(tmp_path: Path) -> None:
    names = ["obs_0", "action_masks", "recurrent_in"]
    outputs = ["version_number", "discrete_actions", "deterministic_discrete_actions"]
    given = torch.zeros(1, 4), torch.ones(1, 3), torch.zeros(1, 1, 2)
    paths = [
        export(
            MlAgents(steady), given, tmp_path / f"{steady}.onnx", input_names=names,
            output_names=[*outputs, "recurrent_out"],
            dynamic_axes={name: {0: "batch"} for name in (*names, *outputs[1:], "recurrent_out")},
        )
        for steady in (True, False)
    ]  # fmt: skip
    policy = loaded(paths[0], facts(VECTOR, 3, views=("action_mask",)))
    assert policy.needs == ("action_mask",)
    allowed = np.tile([True, False, True], (LANES, 1))
    with torch.inference_mode():
        logits = MlAgents(True).net(torch.from_numpy(rows())).numpy()
    best = np.where(allowed, logits, -np.inf).argmax(axis=1)
    step = seen(rows(), views={"action_mask": allowed})
    assert np.array_equal(policy(step).actions, best)
    with pytest.raises(FitError, match="drawn by the graph itself"):
        loaded(paths[1])
