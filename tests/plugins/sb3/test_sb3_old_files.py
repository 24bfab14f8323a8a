"""Files of earlier years: gym spaces, schedules of other Pythons, weights under older names."""

from __future__ import annotations

import pickle
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_toys import (
    IMAGE,
    PUSHES,
    VECTOR,
    batch,
    entry,
    facts_of,
    rewritten,
    samples,
    saved,
    seen,
    train,
    weights_bytes,
    weights_of,
)

from rpd_sb3.loader import Sb3File

FOUR = spaces.Discrete(4)


@pytest.fixture
def gym(monkeypatch: pytest.MonkeyPatch) -> dict[str, type]:
    """Return stand-ins for the space classes of gym, importable while files are written."""
    found = {}
    for package in ("gym", "gym.spaces"):
        monkeypatch.setitem(sys.modules, package, types.ModuleType(package))
    sys.modules["gym"].__version__ = "0.21.0"  # type: ignore[attr-defined]
    for module, name in (("box", "Box"), ("discrete", "Discrete"), ("dict", "Dict")):
        kind = type(name, (), {"__module__": f"gym.spaces.{module}"})
        holder = types.ModuleType(f"gym.spaces.{module}")
        setattr(holder, name, kind)
        monkeypatch.setitem(sys.modules, f"gym.spaces.{module}", holder)
        found[name] = kind
    return found


def old(kind: type, **state: Any) -> Any:
    made = kind()
    made.__dict__.update(state)
    return made


def old_box(gym: dict[str, type], space: spaces.Box) -> Any:
    return old(
        gym["Box"],
        dtype=space.dtype,
        shape=space.shape,
        low=space.low,
        high=space.high,
        bounded_below=space.low > -np.inf,
        bounded_above=space.high < np.inf,
        _np_random=np.random.RandomState(3),
    )


def forget(gym: dict[str, type], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("gym", "gym.spaces", *(f"gym.spaces.{name.lower()}" for name in gym)):
        monkeypatch.delitem(sys.modules, module)


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_spaces_of_gym_and_schedules_of_other_pythons_load(
    tmp_path: Path, gym: dict[str, type], monkeypatch: pytest.MonkeyPatch, protocol: int
) -> None:
    model = train("PPO", "MlpPolicy", VECTOR, FOUR)
    actions = old(gym["Discrete"], n=4, shape=(), dtype=np.dtype(np.int64), _np_random=None)
    broken = entry(b"\x80\x04bytecode of another Python")
    path = rewritten(
        saved(model, tmp_path),
        {
            "observation_space": entry(pickle.dumps(old_box(gym, VECTOR), protocol)),
            "action_space": entry(pickle.dumps(actions, protocol)),
            "lr_schedule": broken,
            "clip_range": broken,
            "learning_rate": broken,
        },
    )
    forget(gym, monkeypatch)
    loaded = Sb3File(path).load(facts_of(VECTOR, FOUR))
    assert loaded.model.observation_space == VECTOR
    assert loaded.model.action_space == FOUR
    rows = samples(VECTOR)
    expected = [int(model.predict(row, deterministic=True)[0]) for row in rows]
    assert loaded(seen(batch(rows))).actions.tolist() == expected


def test_a_dictionary_of_gym_spaces_becomes_one_of_gymnasium(
    tmp_path: Path, gym: dict[str, type], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = spaces.Dict({"a": VECTOR, "b": PUSHES})
    model = train("PPO", "MultiInputPolicy", parts, FOUR)
    inner = {name: old_box(gym, part) for name, part in parts.items()}
    pickled = pickle.dumps(old(gym["Dict"], spaces=inner, shape=None, dtype=None))
    path = rewritten(saved(model, tmp_path), {"observation_space": entry(pickled)})
    forget(gym, monkeypatch)
    assert Sb3File(path).load(facts_of(parts, FOUR)).model.observation_space == parts


def test_an_extractor_that_was_stored_once_serves_actor_and_critic(tmp_path: Path) -> None:
    wide = spaces.Box(-1e9, 1e9, (1,), np.float32)
    model = train("PPO", "CnnPolicy", IMAGE, wide)
    path = saved(model, tmp_path)
    kept = {k: v for k, v in weights_of(path).items() if not k.startswith(("pi_", "vf_"))}
    assert len(kept) < len(weights_of(path))
    loaded = Sb3File(rewritten(path, policy_pth=weights_bytes(kept))).load(facts_of(IMAGE, wide))
    rows = samples(IMAGE)
    expected = np.stack([model.predict(row, deterministic=True)[0] for row in rows])
    np.testing.assert_allclose(loaded(seen(batch(rows))).actions, expected, rtol=1e-5)


@pytest.mark.parametrize(("arch", "own"), [([8, {"pi": [6], "vf": [5]}], True), ([8, 6], False)])
def test_layers_that_actor_and_critic_shared_are_given_to_both(
    tmp_path: Path, arch: list[Any], own: bool
) -> None:
    architecture = {"pi": [8, 6], "vf": [8, 5] if own else [8, 6]}
    model = train("PPO", "MlpPolicy", VECTOR, FOUR, policy_kwargs={"net_arch": architecture})
    state = model.policy.state_dict()
    shared = 1 if own else 2
    before = {}
    for name, value in state.items():
        if not name.startswith("mlp_extractor."):
            before[name] = value
            continue
        net, place, kind = name.split(".")[1:]
        if int(place) >= 2 * shared:
            before[f"mlp_extractor.{net}.{int(place) - 2 * shared}.{kind}"] = value
        elif net == "policy_net":
            before[f"mlp_extractor.shared_net.{place}.{kind}"] = value
    path = rewritten(
        saved(model, tmp_path),
        {"policy_kwargs": {"net_arch": arch}},
        policy_pth=weights_bytes(before),
    )
    loaded = Sb3File(path).load(facts_of(VECTOR, FOUR))
    rows = samples(VECTOR)
    expected = model.policy.get_distribution(torch.from_numpy(batch(rows))).distribution.probs
    found = loaded(seen(batch(rows))).probabilities
    np.testing.assert_allclose(found, expected.detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("actions", [FOUR, PUSHES])
def test_the_linear_policy_of_ars_loads_under_its_old_names(tmp_path: Path, actions: Any) -> None:
    model = train("ARS", "LinearPolicy", VECTOR, actions)
    path = saved(model, tmp_path)
    assert list(weights_of(path)) == ["action_net.0.weight"]
    before = {"action_net.weight": weights_of(path)["action_net.0.weight"]}
    path = rewritten(path, policy_pth=weights_bytes(before))
    loaded = Sb3File(path).load(facts_of(VECTOR, actions))
    rows = samples(VECTOR)
    expected = np.stack([model.predict(row, deterministic=True)[0] for row in rows])
    np.testing.assert_allclose(loaded(seen(batch(rows))).actions, expected, rtol=1e-5)


def test_arguments_that_no_longer_exist_and_say_nothing_are_dropped(tmp_path: Path) -> None:
    model = train("PPO", "MlpPolicy", VECTOR, FOUR)
    path = rewritten(
        saved(model, tmp_path), {"policy_kwargs": {"sde_net_arch": None, "device": "x"}}
    )
    Sb3File(path).load(facts_of(VECTOR, FOUR))


def test_with_trust_a_file_with_gym_spaces_loads_in_full(
    tmp_path: Path, gym: dict[str, type], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = train("PPO", "MlpPolicy", VECTOR, FOUR)
    pickled = pickle.dumps(old_box(gym, VECTOR))
    path = rewritten(saved(model, tmp_path), {"observation_space": entry(pickled)})
    forget(gym, monkeypatch)
    loaded = Sb3File(path, trust=True).load(facts_of(VECTOR, FOUR))
    rows = samples(VECTOR)
    expected = [int(model.predict(row, deterministic=True)[0]) for row in rows]
    assert loaded(seen(batch(rows))).actions.tolist() == expected
