"""A pruned policy that plays where its environment plugin is not there."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

import rpd
from rpd_basics.export import export_pruned
from rpd_basics.stored_facts import facts_as_json, facts_from_json
from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.protocols import Entry, Facts
from rpd_work.predictor import trusted_by


@pytest.fixture(scope="module")
def pruned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("pruned")
    run = rpd.run(
        "cartpole", out=folder / "run", episodes=1000, test_episodes=25, confirm_episodes=100,
        confirm_margin=0.1, unmutated_episodes=50, progress=False, finish=(),
    )  # fmt: skip
    export_pruned(run, folder / "pruned.zip")
    return folder / "pruned.zip", run


def repacked(source: Path, target: Path, changes: dict[str, Any]) -> Path:
    """Copy a pruned policy with some of what it says of itself changed."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "pruned.json":
                content = json.dumps(json.loads(content) | changes).encode()
            new.writestr(name, content)
    return target


def test_stable_baselines3_evaluates_it_like_a_model(pruned: Any) -> None:
    path, run = pruned
    envs = make_vec_env("CartPole-v1", 4, seed=3, env_kwargs={"max_episode_steps": 200})
    policy: Any = rpd.load(path)
    returns, _ = evaluate_policy(policy, envs, n_eval_episodes=400, return_episode_rewards=True)
    confirmed = run.policy()
    errors = np.array([np.std(returns) / 20, np.std(returns) / np.sqrt(confirmed.episodes)])
    assert 0 < np.hypot(*errors) < 6
    assert np.mean(returns) == pytest.approx(confirmed.return_mean, abs=3 * np.hypot(*errors))


def test_single_and_batched_observations_get_the_same_actions(pruned: Any) -> None:
    policy = rpd.load(pruned[0])
    rows = np.random.default_rng(0).uniform(-0.1, 0.1, (6, 4)).astype(np.float32)
    together, state = policy.predict(rows)
    assert (together.shape, together.dtype) == ((6,), np.int64)
    assert [int(policy.predict(row)[0]) for row in rows] == together.tolist()
    assert state.previous.tolist() == together.tolist()
    assert state.step.tolist() == [1] * 6
    _, later = policy.predict(rows, state, episode_start=[True, *[False] * 5])
    assert later.step.tolist() == [1, 2, 2, 2, 2, 2]
    assert len({*later.episode.tolist()}) == 6
    assert later.episode[0] > state.episode.max()


def test_the_wrapper_tells_who_decided_and_what_it_was_worth(pruned: Any) -> None:
    path, run = pruned
    losses = {one.state: one.loss for one in run.decisions}
    env = rpd.PrunedWrapper(gymnasium.make("CartPole-v1", max_episode_steps=200), path)
    env.reset(seed=1)
    told, total, previous, over = [], 0.0, 0, False
    while not over:
        before = env.policy.decide(env._seen, env._state)[0]
        _, reward, terminated, truncated, info = env.step()
        told.append(info["rpd"])
        executed = int(env._state.previous[0])  # type: ignore[union-attr]
        if told[-1]["decided"] == "default":
            assert executed == previous  # the default repeats
        assert told[-1]["decided"] == ("policy" if before.kept[0] else "default")
        previous, over, total = executed, terminated or truncated, total + float(reward)
    assert total > 150
    by_policy = [one for one in told if one["decided"] == "policy"]
    assert 0 < len(by_policy) < len(told)
    assert all(one["loss"] == losses[one["state"]] for one in by_policy)
    assert all(one["state"] is None and not one["override"] for one in told if one not in by_policy)


def test_the_wrapper_lets_another_policy_decide_only_where_one_must(pruned: Any) -> None:
    env = rpd.PrunedWrapper(gymnasium.make("CartPole-v1"), pruned[0])
    env.reset(seed=1)
    executed, told = [], []
    for _ in range(6):
        *_, info = env.step(1)
        told.append(info["rpd"]["decided"])
        executed.append(int(env._state.previous[0]))  # type: ignore[union-attr]
    expected, last = [], 0
    for who in told:
        last = 1 if who == "policy" else last
        expected.append(last)
    assert executed == expected


def test_the_environment_plugin_need_not_be_there(pruned: Any, tmp_path: Path) -> None:
    target = repacked(pruned[0], tmp_path / "far.zip", {"env": "their-simulator:v3"})
    with pytest.raises(rpd.RpdError, match="their-simulator"):
        rpd.load(target).file.environment()
    rows = np.random.default_rng(1).uniform(-0.1, 0.1, (9, 4)).astype(np.float32)
    here, there = (rpd.load(path).predict(rows)[0].tolist() for path in (pruned[0], target))
    assert here == there


def test_what_does_not_fit_gets_a_sentence(pruned: Any) -> None:
    policy = rpd.load(pruned[0])
    with pytest.raises(FitError, match=r"an observation of shape \(2, 3, 4\) does not fit"):
        policy.predict(np.zeros((2, 3, 4)))
    with pytest.raises(FitError, match=r"an observation of shape \(5,\) does not fit"):
        policy.predict(np.zeros(5))


def test_an_environment_with_other_actions_is_not_wrapped(pruned: Any) -> None:
    with pytest.raises(FitError, match=r"acts in Discrete\(3\), but 'pruned.zip' was pruned where"):
        rpd.PrunedWrapper(gymnasium.make("Acrobot-v1"), pruned[0])


SPACES = [
    spaces.Box(-np.inf, np.inf, (3,), np.float32),
    spaces.Box(np.array([-1, 0], np.float32), np.array([1, np.inf], np.float32)),
    spaces.Box(0, 255, (2, 2, 3), np.uint8),
    spaces.Discrete(5, start=-2),
    spaces.MultiDiscrete([2, 3], start=[1, 0]),
    spaces.MultiBinary([2, 2]),
    spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Tuple((spaces.MultiBinary(3),))}),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_facts_survive_a_file(space: Any) -> None:
    entry = Entry("x", " m", 2.0, 1, (0.5,), ("left", "right"), ())
    facts = Facts(space, spaces.Discrete(3), 1, ("ram",), 2, ("a", "b", "c"), ("x",), (entry,), "W")
    again = facts_from_json(json.loads(json.dumps(facts_as_json(facts))), "w.zip")
    assert again == facts


@pytest.mark.parametrize(
    "facts",
    [
        3, {}, {"box": [10**9, 10**9], "dtype": "<f4", "low": 0, "high": 1},
        {"box": [2], "dtype": "O", "low": 0, "high": 1}, {"discrete": -3, "start": 0},
    ],
)  # fmt: skip
def test_facts_that_are_none_are_refused(pruned: Any, tmp_path: Path, facts: Any) -> None:
    with zipfile.ZipFile(pruned[0]) as archive:
        held = json.loads(archive.read("pruned.json"))["facts"]
    forged = facts if facts == 3 else held | {"observation_space": facts}
    target = repacked(pruned[0], tmp_path / "forged.zip", {"facts": forged})
    with pytest.raises(rpd.RpdError) as refused:
        rpd.load(target).predict(np.zeros(4))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("observation", ["x", None, {"a": 1}, [[1, 2], [3]], object()])
def test_what_is_no_observation_is_one_line(pruned: Any, observation: Any) -> None:
    with pytest.raises(FitError, match=r"is no observation for 'pruned\.zip'|does not fit"):
        rpd.load(pruned[0]).predict(observation)


ROWS = np.zeros((3, 4))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"observation": np.full(4, np.nan)}, "an observation must not hold NaN, got array"),
        ({"observation": [[0, 0, 0, 0], [0, np.nan, 0, 0]]}, "must not hold NaN"),
        ({"observation": np.zeros((0, 4))}, "holds no observation, its shape is (0, 4)"),
        ({"state": 5}, "state must be what predict returned, or None, got 5"),
        ({"state": ()}, "state must be what predict returned, or None, got ()"),
        ({"episode_start": [1, 0]}, "true or false for each of 3 observations, got [1, 0]"),
        ({"episode_start": np.ones((3, 3))}, "true or false for each of 3 observations, got array"),
        ({"episode_start": [[1], [0, 1]]}, "true or false for each of 3 observations"),
        ({"episode_start": "x"}, "true or false for each of 3 observations, got 'x'"),
        ({"views": 5}, "views must be rows of numbers by name, got 5"),
    ],
)
def test_what_no_episode_goes_on_from_is_one_line(
    pruned: Any, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(rpd.RpdError) as refused:
        rpd.load(pruned[0]).predict(**{"observation": ROWS, **given})
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("lanes", [1, 2])
def test_a_state_of_other_lanes_is_refused(pruned: Any, lanes: int) -> None:
    policy = rpd.load(pruned[0])
    _, state = policy.predict(ROWS[:lanes])
    with pytest.raises(rpd.RpdError, match=rf"state is of {lanes} lanes?, and there are 3 obs"):
        policy.predict(ROWS, state)


@pytest.mark.parametrize("seed", [None, "x", -1, True, 1.5, 2**63])
def test_a_seed_that_is_none_is_refused_when_it_is_given(pruned: Any, seed: Any) -> None:
    with pytest.raises(rpd.RpdError, match=r"^seed must "):
        rpd.load(pruned[0], seed=seed)


def test_a_seed_of_numpy_is_one(pruned: Any) -> None:
    assert rpd.load(pruned[0], seed=np.int64(3)).seed == 3  # type: ignore[arg-type]


@pytest.mark.parametrize("trust", ["false", None, 1])
def test_trust_is_a_plain_yes_or_no(pruned: Any, trust: Any) -> None:
    with pytest.raises(rpd.RpdError, match=r"^trust must be True or False, got "):
        rpd.load(pruned[0], trust=trust)


def test_a_file_that_needs_trust_says_how_python_gives_it(pruned: Any, tmp_path: Path) -> None:
    target = repacked(pruned[0], tmp_path / "runs.zip", {"policy": "python:os:getcwd"})
    with pytest.raises(rpd.RpdError) as refused:
        rpd.load(target)
    assert str(refused.value).endswith("If you trust whoever made it, add trust=True")


def test_spaces_that_are_large_together_are_not_made() -> None:
    space = gymnasium.spaces.Box(0, 1, (2048, 2048))
    stored = facts_as_json(Facts(space, gymnasium.spaces.Discrete(2), 1))
    assert facts_from_json(stored, "it").observation_space == space
    stored["observation_space"] = {"tuple": [{"dict": {"a": stored["observation_space"]}}] * 1000}
    with pytest.raises(ValueError, match="spaces of more than 16,777,216 numbers"):
        facts_from_json(stored, "it")


def test_a_refusal_names_what_python_calls_it() -> None:
    for text in ("add --trust-policy", "add trust=true in the spec or --trust-policy"):
        with pytest.raises(SpecError, match=r"^add trust=True$"), trusted_by("trust=True"):
            raise SpecError(text)
