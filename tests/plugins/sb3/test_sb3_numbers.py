"""Numbers that are none are refused by name: in weights, in statistics and while playing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_toys import (
    PUSHES,
    VECTOR,
    batch,
    facts_of,
    rewritten,
    samples,
    saved,
    seen,
    train,
    weights_bytes,
    weights_of,
)

from rpd_core.errors import EpisodeError, SpecError
from rpd_sb3.loader import Sb3File

TWO = spaces.Discrete(2)
FACTS = facts_of(VECTOR, TWO)
NAN, INFINITE = float("nan"), float("inf")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(train("PPO", "MlpPolicy", VECTOR, TWO), tmp_path_factory.mktemp("good"))


@pytest.mark.parametrize("number", [NAN, INFINITE, -INFINITE])
def test_weights_that_are_not_finite_are_refused_by_name(good: Path, number: float) -> None:
    weights = weights_of(good)
    weights["mlp_extractor.policy_net.2.weight"][3, 5] = number
    path = rewritten(good, policy_pth=weights_bytes(weights))
    words = r"rewritten\.zip: the weights 'mlp_extractor\.policy_net\.2\.weight'.*not all finite"
    for trust in (False, True):
        with pytest.raises(SpecError, match=words):
            Sb3File(path, trust=trust).load(FACTS)


@pytest.mark.parametrize("part", ["mean", "var"])
@pytest.mark.parametrize("number", [NAN, INFINITE])
def test_statistics_that_are_not_finite_are_refused_by_name(
    good: Path, tmp_path: Path, part: str, number: float
) -> None:
    held = {"mean": np.zeros(4), "var": np.ones(4), "epsilon": 1e-8, "clip_obs": 10.0}
    held[part][2] = number  # type: ignore[index]
    np.savez(tmp_path / "stats.npz", **held)
    with pytest.raises(SpecError, match=rf"stats\.npz: its statistics 'obs_rms\.{part}' are not"):
        Sb3File(good, vecnormalize=tmp_path / "stats.npz").load(FACTS)


@pytest.mark.parametrize(
    ("name", "number"), [("epsilon", NAN), ("epsilon", -1.0), ("clip_obs", NAN), ("clip_obs", -2.0)]
)
def test_settings_of_statistics_that_make_no_sense_are_refused(
    good: Path, tmp_path: Path, name: str, number: float
) -> None:
    held = {"mean": np.zeros(4), "var": np.ones(4), "epsilon": 1e-8, "clip_obs": 10.0}
    np.savez(tmp_path / "stats.npz", **(held | {name: number}))
    with pytest.raises(SpecError, match=rf"stats\.npz: its {name} is {number}"):
        Sb3File(good, vecnormalize=tmp_path / "stats.npz").load(FACTS)


@pytest.mark.parametrize(
    ("name", "actions", "output"),
    [
        ("PPO", TWO, "logits"),
        ("PPO", spaces.MultiDiscrete([2, 3]), "logits"),
        ("PPO", spaces.MultiBinary(3), "logits"),
        ("PPO", PUSHES, "actions"),
        ("DQN", TWO, "action values"),
        ("SAC", PUSHES, "actions"),
        ("TD3", PUSHES, "actions"),
        ("ARS", TWO, "logits"),
        ("QRDQN", TWO, "action values"),
    ],
)
def test_outputs_that_are_not_finite_end_the_episode_by_name(
    tmp_path: Path, name: str, actions: Any, output: str
) -> None:
    path = saved(train(name, "MlpPolicy", VECTOR, actions), tmp_path)
    policy = Sb3File(path).load(facts_of(VECTOR, actions))
    rows = batch(samples(VECTOR))
    policy(seen(rows))
    rows[4, 1] = NAN
    words = rf"the policy's {output} are not all finite numbers \(lane 4\)"
    with pytest.raises(EpisodeError, match=words) as caught:
        policy(seen(rows))
    assert "\n" not in str(caught.value)


def test_loading_and_playing_leave_the_number_of_threads_as_it_was(good: Path) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        loader = Sb3File(good)
        policy = loader.load(FACTS)
        assert torch.get_num_threads() == 3
        inside = []
        network = policy.model.policy.action_net
        network.register_forward_hook(lambda *_: inside.append(torch.get_num_threads()))
        policy(seen(batch(samples(VECTOR))))
        assert torch.get_num_threads() == 3
        assert inside == [1]
        loader.describe()
        with pytest.raises(SpecError):
            Sb3File(good.with_name("nowhere.zip")).load(FACTS)
        with pytest.raises(EpisodeError):
            policy(seen(batch(samples(VECTOR)) * NAN))
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_the_number_of_threads_of_the_caller_does_not_change_an_action(tmp_path: Path) -> None:
    wide = {"policy_kwargs": {"net_arch": [512, 512]}}
    model = train("PPO", "MlpPolicy", VECTOR, PUSHES, **wide)
    policy = Sb3File(saved(model, tmp_path)).load(facts_of(VECTOR, PUSHES))
    rows = np.tile(batch(samples(VECTOR)), (50, 1))
    before, found = torch.get_num_threads(), []
    try:
        for count in (1, 2, 4):
            torch.set_num_threads(count)
            found.append(policy(seen(rows)).actions)
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
