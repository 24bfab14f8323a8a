"""Every algorithm and policy class acts in a batch as `predict` does on each observation alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_toys import IMAGE, MIXED, PUSHES, VECTOR, batch, facts_of, samples, saved, seen, train

from rpd_sb3.loader import Sb3File

SMALL = {"net_arch": [8, 8]}
LSTM = {"lstm_hidden_size": 8, "net_arch": [8]}
FOUR = spaces.Discrete(4)
WIDE = spaces.Box(-1e9, 1e9, (1,), np.float32)
GSDE = {"use_sde": True}

CASES = [
    ("PPO", "MlpPolicy", VECTOR, FOUR, {}),
    ("PPO", "MlpPolicy", VECTOR, PUSHES, {}),
    ("PPO", "MlpPolicy", VECTOR, PUSHES, GSDE | {"policy_kwargs": {"squash_output": True}}),
    ("PPO", "MlpPolicy", VECTOR, spaces.MultiDiscrete([3, 2]), {}),
    ("PPO", "MlpPolicy", VECTOR, spaces.MultiBinary(3), {}),
    ("PPO", "MlpPolicy", spaces.Discrete(5), FOUR, {}),
    ("PPO", "CnnPolicy", IMAGE, WIDE, {}),
    ("PPO", "MultiInputPolicy", MIXED, FOUR, {}),
    ("A2C", "MlpPolicy", VECTOR, FOUR, {"policy_kwargs": {"activation_fn": torch.nn.ReLU}}),
    ("TRPO", "MlpPolicy", VECTOR, PUSHES, {}),
    ("MaskablePPO", "MlpPolicy", VECTOR, FOUR, {}),
    ("ARS", "MlpPolicy", VECTOR, PUSHES, {}),
    ("ARS", "LinearPolicy", VECTOR, FOUR, {}),
    ("DQN", "MlpPolicy", VECTOR, FOUR, {"policy_kwargs": SMALL}),
    ("DQN", "CnnPolicy", IMAGE, FOUR, {}),
    ("DQN", "MultiInputPolicy", MIXED, FOUR, {}),
    ("QRDQN", "MlpPolicy", VECTOR, FOUR, {"policy_kwargs": SMALL | {"n_quantiles": 5}}),
    ("SAC", "MlpPolicy", VECTOR, PUSHES, {"policy_kwargs": SMALL}),
    ("SAC", "MlpPolicy", VECTOR, PUSHES, GSDE | {"policy_kwargs": SMALL}),
    ("TD3", "MlpPolicy", VECTOR, PUSHES, {"policy_kwargs": SMALL}),
    ("DDPG", "MlpPolicy", VECTOR, PUSHES, {"policy_kwargs": SMALL}),
    ("TQC", "MlpPolicy", VECTOR, PUSHES, {"policy_kwargs": SMALL}),
    ("CrossQ", "MlpPolicy", VECTOR, PUSHES, {"policy_kwargs": SMALL}),
]


@pytest.mark.parametrize(("name", "policy", "observation", "action", "extra"), CASES)
def test_a_batch_gets_the_actions_that_predict_gives_one_by_one(
    tmp_path: Path, name: str, policy: str, observation: Any, action: Any, extra: dict[str, Any]
) -> None:
    model = train(name, policy, observation, action, **extra)
    loaded = Sb3File(saved(model, tmp_path)).load(facts_of(observation, action))
    rows = samples(observation)
    expected = np.stack([model.predict(row, deterministic=True)[0] for row in rows])
    choice = loaded(seen(batch(rows)))
    assert loaded.describe()["algorithm"] == name
    np.testing.assert_allclose(choice.actions, expected, atol=1e-5, rtol=1e-5)
    answers = expected if choice.action_values is None else choice.action_values
    assert len(np.unique(answers.reshape(len(rows), -1), axis=0)) > 1  # else it proves little


@pytest.mark.parametrize(("name", "attribute"), [("DQN", "q_net"), ("QRDQN", "quantile_net")])
def test_q_learners_offer_the_values_of_their_actions(
    tmp_path: Path, name: str, attribute: str
) -> None:
    model = train(name, "MlpPolicy", VECTOR, FOUR, policy_kwargs=SMALL)
    loaded = Sb3File(saved(model, tmp_path)).load(facts_of(VECTOR, FOUR))
    rows = samples(VECTOR)
    choice = loaded(seen(batch(rows)))
    with torch.no_grad():
        values = getattr(model.policy, attribute)(torch.from_numpy(batch(rows)))
    expected = values.mean(dim=1) if name == "QRDQN" else values
    np.testing.assert_allclose(choice.action_values, expected.numpy(), atol=1e-5)
    assert choice.probabilities is None


def test_actors_offer_the_probabilities_of_their_actions(tmp_path: Path) -> None:
    model = train("PPO", "MlpPolicy", VECTOR, FOUR)
    loaded = Sb3File(saved(model, tmp_path)).load(facts_of(VECTOR, FOUR))
    rows = samples(VECTOR)
    choice = loaded(seen(batch(rows)))
    with torch.no_grad():
        chances = model.policy.get_distribution(torch.from_numpy(batch(rows))).distribution.probs
    np.testing.assert_allclose(choice.probabilities, chances.numpy(), atol=1e-5)
    assert choice.action_values is None


@pytest.mark.parametrize(
    ("policy", "space", "extra"),
    [
        ("MlpLstmPolicy", VECTOR, {}),
        ("MlpLstmPolicy", VECTOR, {"n_lstm_layers": 2, "shared_lstm": True}),
        ("MultiInputLstmPolicy", MIXED, {}),
    ],
)
def test_each_lane_of_a_recurrent_policy_remembers_its_own_episode(
    tmp_path: Path, policy: str, space: Any, extra: dict[str, Any]
) -> None:
    kwargs = LSTM | extra | {"enable_critic_lstm": "shared_lstm" not in extra}
    model = train("RecurrentPPO", policy, space, FOUR, policy_kwargs=kwargs)
    loaded = Sb3File(saved(model, tmp_path)).load(facts_of(space, FOUR))
    steps = [samples(space, seed=step) for step in range(6)]
    restarts = np.zeros((6, 6), dtype=bool)
    restarts[0], restarts[3, 2], restarts[4, 5] = True, True, True
    memory, states = None, [None] * 6
    for step, rows in enumerate(steps):
        choice = loaded(seen(batch(rows), restarts[step], memory, step))
        memory = choice.memory
        for lane, row in enumerate(rows):
            start = np.array([restarts[step, lane]])
            action, states[lane] = model.predict(
                row, state=states[lane], episode_start=start, deterministic=True
            )
            assert choice.actions[lane] == action
            hidden = torch.as_tensor(states[lane][0])[:, 0]
            torch.testing.assert_close(memory[1][0][0][:, lane], hidden, atol=1e-5, rtol=1e-4)


def test_maskable_policies_heed_the_masks_that_an_environment_offers(tmp_path: Path) -> None:
    model = train("MaskablePPO", "MlpPolicy", VECTOR, FOUR)
    facts = facts_of(VECTOR, FOUR, views=("action_mask",))
    loaded = Sb3File(saved(model, tmp_path)).load(facts)
    rows = samples(VECTOR)
    masks = np.eye(4, dtype=bool)[[0, 1, 2, 3, 1, 2]] | np.eye(4, dtype=bool)[[3] * 6]
    expected = [
        int(model.predict(row, deterministic=True, action_masks=mask)[0])
        for row, mask in zip(rows, masks, strict=True)
    ]
    choice = loaded(seen(batch(rows), views={"action_mask": masks}))
    assert loaded.needs == ("action_mask",)
    assert choice.actions.tolist() == expected
    assert (choice.probabilities[~masks] == 0).all()


def test_a_row_does_not_depend_on_its_neighbours(tmp_path: Path) -> None:
    model = train("PPO", "MlpPolicy", VECTOR, FOUR)
    loaded = Sb3File(saved(model, tmp_path)).load(facts_of(VECTOR, FOUR))
    rows = samples(VECTOR)
    whole = loaded(seen(batch(rows))).probabilities
    mixed = loaded(seen(batch([rows[0], *samples(VECTOR, 5, seed=9)]))).probabilities
    assert whole[0].tobytes() == mixed[0].tobytes()
