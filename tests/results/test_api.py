"""The public Python interface, with an environment and a policy of one's own."""

from __future__ import annotations

import csv
import functools
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pyarrow.parquet as pq
import pytest
import worlds

import rpd
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.errors import RpdError
from rpd_core.plugin.registry import installed
from rpd_core.pruning.stored_sweep import read_evaluation
from rpd_core.store.codec import to_plain


class Bridge(gymnasium.Env[Any, Any]):
    """Reach the other side of six planks within twenty steps; action 1 goes on, 0 goes back."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(0, 6, (1,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.place = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(0, 3))
        return np.array([self.place], np.float32), {}

    def step(self, action: Any) -> Any:
        self.place = max(0, self.place + (1 if action == 1 else -1))
        over = self.place >= 6
        return np.array([self.place], np.float32), float(over), over, False, {"is_success": over}


def make_bridge() -> Any:
    if "RpdBridge-v0" not in gymnasium.registry:
        gymnasium.register("RpdBridge-v0", entry_point=Bridge, max_episode_steps=20)
    return gymnasium.make("RpdBridge-v0")


def goes_on(observations: Any) -> Any:
    assert observations.shape[1:] == (1,)
    return np.ones(len(observations), dtype=int)


SETTINGS: dict[str, Any] = {
    "episodes": 200,
    "chunk": 100,
    "lanes": 100,
    "test_episodes": 10,
    "abstraction": ("auto",),
    "default_action": "constant:0",
    "shares": [0, 0.25, 0.5, 0.75, 1],
    "random_rankings": 4,
    "unmutated_episodes": 50,
    "confirm_episodes": 50,
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> rpd.Run:
    out = tmp_path_factory.mktemp("runs") / "bridge"
    return rpd.run(make_bridge, goes_on, out=out, **SETTINGS)


def test_a_run_with_ones_own_environment_and_policy(finished: rpd.Run) -> None:
    summary = finished.summary
    assert summary.original.return_mean == 1.0
    assert summary.original.episodes == 10
    assert summary.original.default_everywhere == 0.0
    assert summary.original.reference_source == "random play"
    assert 0 <= summary.original.reference < 1
    assert summary.condition == "return>=1"
    assert summary.suite.episodes == len(finished.suite.episodes) == 200
    assert summary.suite.states == len(finished.suite.states) <= 6
    assert summary.suite.steps == finished.suite.episodes.length.sum()
    assert summary.seed == 0
    assert summary.pass_rates.original == 1.0


def test_the_summary_has_the_promised_shape(finished: rpd.Run) -> None:
    name = finished.analyses[0]
    stored = json.loads((finished.path / "analyses" / name / "summary.json").read_text())
    point = {"measure", "kept", "states", "steps", "overrides", "return_mean", "episodes"}
    for fraction in ("0.9", "0.5"):
        entries = stored["thresholds"][fraction]
        assert set(entries) >= {
            "tarantula", "ochiai", "zoltar", "wong2", "freqvis", "portfolio", "random",
        }  # fmt: skip
        for entry in entries.values():
            if entry is not None:
                assert set(entry) == {"fewest_states", "fewest_steps"}
                assert set(entry["fewest_states"]) == set(entry["fewest_steps"]) == point
    found = finished.threshold(0.9)
    # Every plank must be kept: mutated at one, the walker turns back for ever.
    assert found is not None
    assert found.fewest_states.states == 1.0
    policy = finished.policy(0.9)
    assert policy is not None
    assert policy.met
    assert stored["policy"] == stored["policies"]["0.9"] == to_plain(policy)
    assert set(stored["policy"]) >= {
        *(point - {"overrides"}), "return_low", "return_high", "target", "met", "episodes",
    }  # fmt: skip


def test_curves_start_with_the_default_and_end_with_the_policy(finished: rpd.Run) -> None:
    for curve in finished.curves.values():
        assert curve.mean_return[0] == 0.0
        assert curve.mean_return[-1] == 1.0
        assert (curve.step_shares[0], curve.step_shares[-1]) == (0.0, 1.0)
        assert curve.returns.shape == (5, 10)


def test_a_ranking_becomes_csv_parquet_and_a_data_frame(finished: rpd.Run, tmp_path: Path) -> None:
    table = finished.ranking("ochiai")
    assert len(table) == len(finished.suite.states)
    frame = table.to_dataframe()
    assert frame["rank"].tolist() == list(range(1, len(table) + 1))
    assert (np.diff(frame["score"]) <= 0).all()
    cells = frame[["mutated_failed", "mutated_passed", "kept_failed", "kept_passed"]]
    assert cells.sum(axis=1).tolist() == frame["episodes"].tolist()
    table.to_csv(tmp_path / "deep" / "ranking.csv")
    with (tmp_path / "deep" / "ranking.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["key"]) for row in rows] == frame["key"].tolist()
    assert [float(row["score"]) for row in rows] == frame["score"].tolist()
    assert [float(row["value_0"]) for row in rows] == [value[0] for value in frame["value"]]
    table.to_parquet(tmp_path / "ranking.parquet")
    back = pq.read_table(tmp_path / "ranking.parquet")
    assert back["key"].to_pylist() == frame["key"].tolist()
    assert back["value"].to_pylist() == [list(value) for value in frame["value"]]


def test_a_new_measure_costs_no_episode(finished: rpd.Run) -> None:
    one = finished.ranking("tarantula:reading=mutation")
    assert one.name == "tarantula:mutation"
    assert sorted(one.columns["key"]) == sorted(finished.ranking().columns["key"])
    with pytest.raises(RpdError, match="Did you mean 'tarantula'"):
        finished.ranking("tarantola")


def test_the_top_decisions_are_in_words(finished: rpd.Run) -> None:
    rows = finished.effects(3, "tarantula")
    assert [row.rank for row in rows] == [1, 2, 3]
    assert all("x0" in row.state for row in rows)
    assert [row.key for row in rows] == finished.ranking("tarantula").columns["key"][:3].tolist()
    assert finished.top(3) == finished.summary.decisions[:3]


def test_rankings_lie_in_the_directory(finished: rpd.Run) -> None:
    stored = pq.read_table(
        finished.path / "analyses" / finished.analyses[0] / "rankings" / "wong2.parquet"
    )
    assert stored["key"].to_pylist() == finished.ranking("wong2").columns["key"].tolist()


def test_running_again_plays_nothing_and_gives_the_same(finished: rpd.Run) -> None:
    told: list[tuple[str, int, int]] = []
    again = rpd.run(
        make_bridge, goes_on, out=finished.path, progress=lambda *t: told.append(t), **SETTINGS
    )
    assert all(done == total for _, done, total in told)
    assert again.summary == finished.summary


def test_another_configuration_in_the_same_directory_is_refused(finished: rpd.Run) -> None:
    with pytest.raises(RpdError, match=r"mutation_rate: stored 0.2, asked 0.4"):
        rpd.run(make_bridge, goes_on, out=finished.path, **SETTINGS, mutation_rate=0.4)


def test_a_function_that_was_defined_anew_is_the_one_that_plays(tmp_path: Path) -> None:
    """As in a notebook: the same name in the same module, other content."""
    module = ModuleType("my_notebook")
    sys.modules["my_notebook"] = module
    changes = {
        "reference": -1.0, "default_action": "random", "mutation_rate": 0.9,
        "episodes": 50, "shares": [0, 1], "random_rankings": 1,
    }  # fmt: skip
    lengths = []
    try:
        for action in (1, 0):
            exec(
                f"import numpy\ndef decide(batch):\n    return numpy.full(len(batch), {action})\n",
                vars(module),
            )
            out, decide = tmp_path / str(action), vars(module)["decide"]
            done = rpd.run(make_bridge, decide, out=out, **{**SETTINGS, **changes})
            parts = done.directory.evaluation(done.asked.evaluations["original"])
            lengths.append(read_evaluation(parts, 10).length.mean())
    finally:
        del sys.modules["my_notebook"]
    assert lengths[0] < 7
    assert lengths[1] == 20


class Decides:
    """A policy that is an object and not a function."""

    def __call__(self, observations: Any) -> Any:
        return goes_on(observations)


@pytest.mark.parametrize("make", [Decides, lambda: functools.partial(goes_on)])
def test_an_object_that_can_be_called_is_known_again(make: Any) -> None:
    first, second = (
        resolve(Request(make_bridge, policy), installed()).config.suite_json()
        for policy in (make(), make())
    )
    assert first == second
    assert " at 0x" not in str(first)


def test_recipes_made_in_python_run_too(tmp_path: Path) -> None:
    done = rpd.run(
        worlds.Corridor(),
        worlds.Goes(),
        out=tmp_path / "c",
        episodes=400,
        seed=5,
        shares=[0, 0.5, 1],
        test_episodes=5,
    )
    assert done.summary.original.return_mean == 3.5
    assert done.summary.original.default_everywhere == 0.0
    assert done.summary.suite.states == worlds.STATES


def test_a_policy_no_better_than_its_reference_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RpdError, match=r"is not clearly above the reference 3.5"):
        rpd.run(worlds.Corridor(), worlds.Goes(), out=tmp_path / "c", reference=3.5)


def test_names_of_the_public_interface_exist() -> None:
    for name in rpd.__all__:
        assert getattr(rpd, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = rpd.nothing


def test_a_run_made_of_functions_says_so_and_is_continued_by_no_other_process(
    finished: rpd.Run, tmp_path: Path
) -> None:
    """Two functions of one name cannot be told apart; another process cannot know either."""
    stored = finished.directory.stored()
    assert stored.live
    assert stored.policy.endswith(":goes_on")
    copy = shutil.copytree(finished.path, tmp_path / "copy")
    text = (copy / "run.json").read_text().replace(stored.process, "0" * 16)
    (copy / "run.json").write_text(text)
    with pytest.raises(RpdError, match="made from functions of a Python process that has ended"):
        rpd.run(make_bridge, goes_on, out=copy, **SETTINGS)
    assert rpd.open_run(copy).summary == finished.summary, "it can be read"
    assert (copy / "run.json").read_text() == text


def test_what_cannot_be_asked_is_refused_in_our_own_words(finished: rpd.Run) -> None:
    with pytest.raises(RpdError, match=r"no threshold of 0.8"):
        finished.threshold(0.8)
    with pytest.raises(RpdError, match="was not pruned"):
        finished.threshold(0.9, "nosuch")
    with pytest.raises(RpdError, match="no measure is called 'nosuch'"):
        finished.effects(measure="nosuch")
    assert len(finished.effects(2, "wong2:reading=mutation")) == 2
    with pytest.raises(RpdError, match="workers must be a whole number"):
        rpd.run(make_bridge, goes_on, workers=0)
    with pytest.raises(RpdError, match="environment must be a spec string"):
        rpd.run(3)
    with pytest.raises(RpdError, match="is always shown"):
        rpd.run(make_bridge, goes_on, measures="random")


def test_shares_say_what_is_kept(finished: rpd.Run) -> None:
    states = len(finished.suite.states)
    for curve in finished.curves.values():
        assert curve.shares.tolist() == [kept / states for kept in curve.kept]
