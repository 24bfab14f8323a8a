"""Stored episodes played again: the same steps, decided by the same, or the difference said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import worlds
from commands import refusal, rpd_command
from stores import build, corridor, finish, session_at, tree
from strangers import WORLDS, having, plugin

import rpd
from rpd_core.errors import RpdError
from rpd_core.pruning.stored_sweep import stored_table
from rpd_core.store.parts import Parts

KEY_OF = dict(zip(worlds.corridor_keys().tolist(), range(worlds.STATES), strict=True))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[rpd.Run]:
    """A stored run whose components are installed, opened as by anybody."""
    path = tmp_path_factory.mktemp("replay") / "run"
    with having(plugin("strange-worlds", "1.0", WORLDS)):
        finish(path, corridor(env="corridor", policy="goes", confirm_episodes=4))
        yield rpd.open_run(path)


def stored(run: rpd.Run, what: str, kept: int) -> Any:
    """Return the stored rows of one pruned policy, in the order of its test episodes."""
    frame = stored_table(run.directory, run.asked.evaluations[what]).to_pandas()
    return frame[(frame["kept"] == kept) & (frame["ranking"] == frame["ranking"].iloc[0])]


def test_mutant_episodes_are_played_again_step_by_step(run: rpd.Run) -> None:
    suite = run.suite
    for index in (0, 17, 38, 59):
        again = run.replay(f"suite:{index}")
        assert again.episode == f"suite:{index}"
        assert again.agrees
        assert again.difference == ""
        assert again.total_return == again.stored_return == suite.episodes.total_return[index]
        assert sum(step.reward for step in again.steps) == again.total_return
        assert len(again.steps) == suite.episodes.length[index]
        assert again.seed == suite.episodes.seed[index]
        assert [step.number for step in again.steps] == list(range(len(again.steps)))


def test_who_decided_is_who_the_coin_chose(run: rpd.Run) -> None:
    visits = run.suite.visits
    both = set()
    for index in range(6):
        mine = visits.episode == index
        mutated = dict(zip(visits.key[mine].tolist(), visits.mutated[mine].tolist(), strict=True))
        again = run.replay(index)
        assert {step.key for step in again.steps} == set(mutated)
        for step in again.steps:
            assert step.decided_by == ("default" if mutated[step.key] else "policy")
            assert (step.action, step.other) == (
                ("drift", "go") if mutated[step.key] else ("go", "drift")
            )
            both.add(step.decided_by)
        decided = sum(step.decided_by == "policy" for step in again.steps)
        assert decided == run.suite.episodes.policy_steps[index]
    assert both == {"policy", "default"}


def test_steps_follow_the_world(run: rpd.Run) -> None:
    again = run.replay("suite:5")
    cells = [KEY_OF[step.key] for step in again.steps]
    for here, there, step in zip(cells, cells[1:], again.steps, strict=False):
        moves = worlds.GO if step.action == "go" else worlds.DRIFT
        assert moves[here] == there
    assert [step.state for step in again.steps] == [str(cell) for cell in cells]


@pytest.mark.parametrize(
    ("name", "what"), [("original", "original"), ("default", "default-everywhere")]
)
def test_unmutated_episodes_are_played_again(run: rpd.Run, name: str, what: str) -> None:
    rows = stored(run, what, 0)
    for index in range(5):
        again = run.replay(f"{name}:{index}")
        row = rows.iloc[index]
        assert again.stored_return == again.total_return == row["total_return"]
        assert len(again.steps) == row["length"]
        assert again.seed == row["seed"]
        deciding = {"original": "policy", "default": "default"}[name]
        assert {step.decided_by for step in again.steps} == {deciding}


def test_episodes_of_the_sweep_are_played_again(run: rpd.Run) -> None:
    curve = run.curves["ochiai"]
    kept = int(curve.kept[1])
    assert 0 < kept < len(run.ranking("ochiai"))
    top = set(run.ranking("ochiai").columns["key"][:kept].tolist())
    point = run.asked.sweep["ochiai"][1]
    rows = stored(run, point.sets[0], kept)
    for index in range(5):
        again = run.replay(f"ochiai@{kept}:{index}")
        assert again.stored_return == again.total_return == curve.returns[1, index]
        assert len(again.steps) == rows.iloc[index]["length"]
        for step in again.steps:
            assert (step.decided_by == "policy") == (step.key in top)


def test_episodes_of_the_chosen_pruned_policy_are_played_again(run: rpd.Run) -> None:
    chosen = run.policy()
    assert chosen is not None
    assert chosen.episodes > 4, "a later look added to the first"
    again = [run.replay(f"pruned:{index}") for index in range(chosen.episodes)]
    assert all(one.stored_return is not None and one.agrees for one in again)
    assert np.mean([one.total_return for one in again]) == chosen.return_mean
    steps = [step for one in again for step in one.steps]
    assert np.mean([step.decided_by == "policy" for step in steps]) == pytest.approx(chosen.steps)
    seeds = {one.seed for one in again}
    assert not seeds & {run.replay(f"original:{index}").seed for index in range(5)}, "fresh ones"


def test_a_pruned_policy_that_was_never_played_can_be_watched(run: rpd.Run) -> None:
    again = run.replay("wong2@1:3")
    assert again.stored_return is None
    assert again.agrees
    assert again.seed == run.replay("original:3").seed
    shown = rpd_command("replay", run.path, "wong2@1:3")
    assert shown.exit_code == 0
    assert "(never played before)" in shown.stdout


def test_an_episode_that_is_still_missing_can_be_watched(tmp_path: Path) -> None:
    with having(plugin("strange-worlds", "1.0", WORLDS)):
        build(session_at(tmp_path, corridor(env="corridor", policy="goes")))
        whole = rpd.open_run(tmp_path).replay("suite:50")
        (tmp_path / "suite" / "part-000000040-000000059.json").unlink()
        half = rpd.open_run(tmp_path).replay("suite:50")
    assert whole.stored_return == whole.total_return
    assert half.stored_return is None
    assert half.steps == whole.steps


def test_pictures_have_the_shape_of_render(run: rpd.Run) -> None:
    again = run.replay("suite:3", frames=True)
    frames = [step.frame for step in again.steps]
    assert all(frame is not None and frame.shape == (2, 2, 3) for frame in frames)
    assert all(frame is not None and frame.dtype == np.uint8 for frame in frames)
    assert again.last_frame is not None
    assert again.last_frame.shape == (2, 2, 3)
    plain = run.replay("suite:3")
    assert plain.last_frame is None
    assert {step.frame is None for step in plain.steps} == {True}


def test_replaying_changes_nothing(run: rpd.Run) -> None:
    before = tree(run.path)
    for name in ("suite:1", "original:1", "default:1", "pruned:1", "tarantula@1:1"):
        run.replay(name, frames=True)
    assert rpd_command("replay", run.path, "pruned:1").exit_code == 0
    assert tree(run.path) == before


# ------------------------------------------------------------------------- differences


def change_return(parts: Parts, first: int, last: int, row: int) -> None:
    """Store another return, with everything else, checksums included, as it must be."""
    tables = parts.read(first, last)
    episodes = tables["episodes"]
    returns = episodes["total_return"].to_numpy().copy()
    returns[row] += 1
    place = episodes.column_names.index("total_return")
    tables["episodes"] = episodes.set_column(place, "total_return", [returns])
    parts.write(first, last, tables, parts.record(first, last).origin)


def test_a_difference_is_said(run: rpd.Run, tmp_path: Path) -> None:
    path = shutil.copytree(run.path, tmp_path / "run")
    copy = rpd.open_run(path)
    change_return(copy.directory.suite(), 0, 19, 7)
    change_return(copy.directory.evaluation(copy.asked.evaluations["original"]), 0, 4, 2)
    for name in ("suite:7", "original:2"):
        again = copy.replay(name)
        assert not again.agrees
        assert again.stored_return == again.total_return + 1
        assert (
            f"the return is {again.total_return!r} now and {again.stored_return!r} as stored"
            in (again.difference)
        )
        shown = rpd_command("replay", path, name)
        assert shown.exit_code == 3
        assert again.difference in shown.stderr
        assert f"(stored: {again.stored_return:g})" in shown.stdout
    assert copy.replay("suite:6").agrees


def test_the_command_line_prints_the_same_as_json(run: rpd.Run) -> None:
    result = rpd_command("replay", run.path, "suite:17", "--json")
    assert result.exit_code == 0, result.output
    printed, again = json.loads(result.stdout), run.replay("suite:17")
    assert printed["total_return"] == printed["stored_return"] == again.total_return
    assert [step["state"] for step in printed["steps"]] == [step.state for step in again.steps]
    assert [step["decided_by"] for step in printed["steps"]] == [
        step.decided_by for step in again.steps
    ]


# ------------------------------------------------------------------------- wrong names


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("suite", "'suite' is not the name of an episode: write suite:17"),
        ("suite:", "is not the name of an episode"),
        ("suite:-1", "is not the name of an episode"),
        ("suite:1.5", "is not the name of an episode"),
        ("", "is not the name of an episode"),
        ("suite:60", "there is no episode suite:60: they go from 0 to 59"),
        ("60", "there is no episode suite:60: they go from 0 to 59"),
        ("original:5", "there is no episode original:5: they go from 0 to 4"),
        ("default:99", "they go from 0 to 4"),
        ("pruned:99", "they go from 0 to "),
        (
            "tarantula:3",
            "'tarantula' names no episodes: there are suite, original, default",
        ),
        ("tarantola@3:1", "Did you mean 'tarantula'?"),
        ("tarantula@99:1", "the ranking has 15 states, not 99"),
        ("tarantula@3:5", "they go from 0 to 4"),
        ("suite:999999999999999999", "is not the name of an episode"),
        ("nosuch@1:1", "no measure is called 'nosuch'"),
    ],
)
def test_wrong_names_are_one_line(run: rpd.Run, name: str, told: str) -> None:
    with pytest.raises(RpdError) as caught:
        run.replay(name)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_command_line_says_a_wrong_name_in_one_line(run: rpd.Run) -> None:
    assert "there is no episode suite:60" in refusal("replay", run.path, "suite:60")
    assert "Did you mean 'tarantula'?" in refusal("replay", run.path, "tarantola@3:1")


def test_without_an_analysis_only_mutants_can_be_replayed(tmp_path: Path) -> None:
    with having(plugin("strange-worlds", "1.0", WORLDS)):
        build(session_at(tmp_path, corridor(env="corridor", policy="goes")))
        opened = rpd.open_run(tmp_path)
        assert opened.replay(3).agrees
        for name in ("original:1", "pruned:1", "tarantula@1:1"):
            with pytest.raises(RpdError, match="has no finished analysis"):
                opened.replay(name)


def test_a_run_of_ones_own_recipes_is_replayed_by_the_process_that_made_it(tmp_path: Path) -> None:
    with having():
        done = finish(tmp_path)
        assert done.replay("suite:3").agrees
        with pytest.raises(RpdError, match=r"no environment is called 'worlds\.Corridor'"):
            rpd.open_run(tmp_path).replay("suite:3")
