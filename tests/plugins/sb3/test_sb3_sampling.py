"""Stochastic policies draw from the loop's draws and from nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sb3_toys import PUSHES, VECTOR, batch, facts_of, samples, saved, seen, train

from rpd_core.plugin.protocols import Facts
from rpd_sb3.loader import Sb3File

MANY = 4000


def drawing(model: Any, folder: Path, action: Any) -> Any:
    facts = Facts(VECTOR, action, MANY)
    return Sb3File(saved(model, folder), deterministic=False).load(facts)


def test_discrete_actions_are_drawn_with_their_probabilities(tmp_path: Path) -> None:
    loaded = drawing(
        train("PPO", "MlpPolicy", VECTOR, spaces.Discrete(3)), tmp_path, spaces.Discrete(3)
    )
    rows = np.repeat(batch(samples(VECTOR, 1)), MANY, axis=0)
    choice = loaded(seen(rows))
    shares = np.bincount(choice.actions, minlength=3) / MANY
    np.testing.assert_allclose(shares, choice.probabilities[0], atol=0.03)


def test_gaussian_actions_spread_as_the_model_says(tmp_path: Path) -> None:
    wide = spaces.Box(-100.0, 100.0, (1,), np.float32)
    model = train("PPO", "MlpPolicy", VECTOR, wide)
    loaded = drawing(model, tmp_path, wide)
    row = samples(VECTOR, 1)[0]
    actions = loaded(seen(np.repeat(row[None], MANY, axis=0))).actions[:, 0]
    mean = model.predict(row, deterministic=True)[0][0]
    std = float(model.policy.log_std.detach().exp())
    assert abs(actions.mean() - mean) < 4 * std / np.sqrt(MANY)
    np.testing.assert_allclose(actions.std(), std, rtol=0.05)


def test_squashed_gaussians_are_those_of_the_actor(tmp_path: Path) -> None:
    model = train("SAC", "MlpPolicy", VECTOR, PUSHES, policy_kwargs={"net_arch": [8]})
    loaded = drawing(model, tmp_path, PUSHES)
    row = samples(VECTOR, 1)[0]
    actions = loaded(seen(np.repeat(row[None], MANY, axis=0))).actions
    with torch.no_grad():
        mean, log_std, _ = model.actor.get_action_dist_params(torch.from_numpy(row[None]))
    back = np.arctanh(
        np.clip(2 * (actions - PUSHES.low) / (PUSHES.high - PUSHES.low) - 1, -0.9999, 0.9999)
    )
    low, middle, high = np.quantile(back, [0.159, 0.5, 0.841], axis=0)
    std = log_std.exp().numpy()[0]
    inside = np.abs(mean.numpy()[0]) + std < 2.5  # beyond that tanh loses the digits
    assert inside.any()
    np.testing.assert_allclose(middle[inside], mean.numpy()[0][inside], atol=0.15)
    np.testing.assert_allclose(((high - low) / 2)[inside], std[inside], rtol=0.15)


def test_the_density_of_gaussian_actions_is_that_of_the_model(tmp_path: Path) -> None:
    wide = spaces.Box(-100.0, 100.0, (2,), np.float32)
    model = train("PPO", "MlpPolicy", VECTOR, wide)
    loaded = Sb3File(saved(model, tmp_path)).load(facts_of(VECTOR, wide))
    rows = batch(samples(VECTOR))
    actions = np.linspace(-1, 1, 2 * len(rows), dtype=np.float32).reshape(-1, 2)
    found = loaded(seen(rows)).log_probability(actions)
    with torch.no_grad():
        density = model.policy.get_distribution(torch.from_numpy(rows))
        expected = density.log_prob(torch.from_numpy(actions)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_the_density_of_squashed_actions_is_that_of_the_actor(tmp_path: Path) -> None:
    """Up to the width of the action space, which is the same for every action."""
    model = train("SAC", "MlpPolicy", VECTOR, PUSHES, policy_kwargs={"net_arch": [8]})
    loaded = Sb3File(saved(model, tmp_path)).load(facts_of(VECTOR, PUSHES))
    rows = batch(samples(VECTOR))
    scaled = np.linspace(-0.9, 0.9, PUSHES.shape[0] * len(rows)).reshape(len(rows), -1)
    scaled = scaled.astype(np.float32)
    actions = PUSHES.low + 0.5 * (scaled + 1) * (PUSHES.high - PUSHES.low)
    found = loaded(seen(rows)).log_probability(actions)
    with torch.no_grad():
        mean, log_std, _ = model.actor.get_action_dist_params(torch.from_numpy(rows))
        density = model.actor.action_dist.proba_distribution(mean, log_std)
        expected = density.log_prob(torch.from_numpy(scaled)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_draws_are_fixed_by_episode_and_step(tmp_path: Path) -> None:
    model = train("PPO", "MlpPolicy", VECTOR, PUSHES)
    loaded = Sb3File(saved(model, tmp_path), deterministic=False).load(facts_of(VECTOR, PUSHES))
    rows = batch(samples(VECTOR))
    torch.manual_seed(1)
    first = loaded(seen(rows, step=3)).actions
    torch.manual_seed(2)
    again, later = loaded(seen(rows, step=3)).actions, loaded(seen(rows, step=4)).actions
    assert first.tobytes() == again.tobytes()
    assert (first != later).any()


def test_a_q_learner_explores_at_the_rate_its_training_ended_with(tmp_path: Path) -> None:
    action = spaces.Discrete(4)
    model = train("DQN", "MlpPolicy", VECTOR, action, policy_kwargs={"net_arch": [8]})
    model.exploration_rate = 0.4
    loaded = drawing(model, tmp_path, action)
    row = samples(VECTOR, 1)[0]
    actions = loaded(seen(np.repeat(row[None], MANY, axis=0))).actions
    best = int(model.predict(row, deterministic=True)[0])
    assert abs((actions != best).mean() - 0.4 * 3 / 4) < 0.03


def test_state_dependent_noise_is_one_function_per_episode(tmp_path: Path) -> None:
    model = train("PPO", "MlpPolicy", VECTOR, PUSHES, use_sde=True)
    loaded = Sb3File(saved(model, tmp_path), deterministic=False).load(facts_of(VECTOR, PUSHES))
    rows = batch(samples(VECTOR))
    first = loaded(seen(rows, True, None, step=0))
    same = loaded(seen(rows, False, first.memory, step=1))
    restart = np.arange(6) == 2
    other = loaded(seen(rows, restart, same.memory, step=2))
    assert same.actions.tobytes() == first.actions.tobytes()
    changed = (other.memory[1] != first.memory[1]).flatten(1).any(dim=1)
    assert changed.tolist() == restart.tolist()


def test_many_choices_at_once_are_drawn_independently(tmp_path: Path) -> None:
    action = spaces.MultiDiscrete([2, 2])
    loaded = drawing(train("PPO", "MlpPolicy", VECTOR, action), tmp_path, action)
    rows = np.repeat(batch(samples(VECTOR, 1)), MANY, axis=0)
    actions = loaded(seen(rows)).actions
    joint = (actions[:, 0] & actions[:, 1]).mean()
    assert abs(joint - actions[:, 0].mean() * actions[:, 1].mean()) < 0.02
