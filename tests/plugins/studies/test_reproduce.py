"""The paper's evaluation again: its data, our numbers beside it, and games from file to row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import refusal

import rpd
from rpd_core.errors import ConfigError
from rpd_core.plugin.protocols import Opening
from rpd_core.plugin.registry import installed
from rpd_studies.paper import (
    Printed,
    Reproduction,
    compared,
    differences_of,
    paper_task,
    paper_tasks,
    reproduced_row,
)
from rpd_studies.reproduce import Wanted, notes_on
from rpd_studies.reproduce_command import show_reproduction
from rpd_studies.reproduction_tables import markdown, sentences, tables_of
from rpd_studies.results import CellResult, Failure, Spread, row_of

GAMES = sorted(name for name, task in paper_tasks().items() if task.env.startswith("atari:"))


def test_the_papers_tables_are_carried_whole() -> None:
    """26, 26, 19 and 19 rows; 25 games and Breakout twice; 25 tasks with settings."""
    tasks = paper_tasks().values()
    for table, rows in (("repeat90", 26), ("repeat50", 26), ("random90", 19), ("random50", 19)):
        assert sum(table in task.results for task in tasks) == rows
    assert len(GAMES) == 25 + 1
    named = [task for task in tasks if task.condition_at_least is not None]
    assert len(named) == 25 + 1  # Breakout has two rows
    assert sum(task.ranking_seconds is not None for task in tasks) == 25
    pong = paper_task("pong")
    assert (pong.episodes, pong.mutation_rate, pong.test_episodes) == (1000, 0.2, 50)
    assert pong.printed("repeat", "90", "states") == Printed(21, 3)
    assert pong.printed("random", "50", "random_steps") == Printed(65, 3)
    assert paper_task("IceHockey").printed("repeat", "90", "random_states") == Printed(None, None)
    assert paper_task("Krull").printed("random", "90", "states") is None
    assert paper_task("CartPole").ranking_seconds == 9 * 60 + 40


def test_atari_rows_have_the_papers_states_whatever_the_task_recommends() -> None:
    named = {name: paper_task(name).settings()["abstraction"] for name in GAMES}
    assert named.pop("Breakout-abs") == ("breakout",)
    assert set(named.values()) == {("atari",)}


def test_a_printed_condition_is_used_only_where_random_play_fails_it() -> None:
    used = {task.name: task.condition for task in paper_tasks().values() if task.condition}
    assert used == {
        "MiniGrid": "return>=0.8", "CartPole": "return>=200", "Boxing": "return>=0",
        "Hero": "return>=910", "IceHockey": "return>=0", "Pong": "return>=0",
        "RoadRunner": "return>=600",
    }  # fmt: skip


def test_figures_agree_within_eight_points_or_twice_the_joint_deviation() -> None:
    ours = Spread(40.0, 3.0, None, None, 5)
    assert compared(ours, Printed(32, 0)).within is True
    assert compared(ours, Printed(31, 0)).within is False
    wide = compared(ours, Printed(30, 4))
    assert (wide.tolerance, wide.difference, wide.within) == (10.0, 10.0, True)
    assert compared(ours, Printed(None, None)).within is False
    never = Spread(100.0, 0.0, None, None, 5, 5)
    assert compared(never, Printed(None, None)).within is True
    assert compared(never, Printed(99, 1)).within is False
    assert compared(ours, None).within is None


def results(values: Sequence[float], never: bool = False) -> list[CellResult]:
    """Return repeats in which every share is the same figure."""
    names = [
        f"{kind}{percent}.{name}"
        for kind in ("states", "steps", "episode_steps")
        for percent in ("90", "50")
        for name in ("portfolio", "random")
    ]
    figures = [dict.fromkeys(names, value) | {"return": 5.0} for value in values]
    missed = tuple(names) if never else ()
    return [
        CellResult(seed, "run", some, missed, ranking_seconds=90.0 + seed)
        for seed, some in enumerate(figures)
    ]


def rows_of(repeat: list[CellResult], random: list[CellResult], task: str = "Pong") -> Any:
    return [
        reproduced_row(paper_task(task), action, "", row_of(place, {}, some, ()))
        for place, (action, some) in enumerate((("repeat", repeat), ("random", random)), 1)
    ]


def test_the_difference_between_default_actions_is_theirs_and_ours() -> None:
    rows = rows_of(results([0.2, 0.3]), results([0.5, 0.6]))
    (one,) = differences_of(rows)
    assert one.ours == pytest.approx(dict.fromkeys(one.ours, 30.0))
    assert one.paper == {"states90": 19, "states50": 20, "steps90": 54, "steps50": 31}
    (one,) = differences_of(rows_of(results([1.0], never=True), results([0.5])))
    assert one.ours["states90"] is None


def test_the_tables_are_those_of_the_paper() -> None:
    rows = rows_of(results([0.2, 0.3]), results([1.0, 1.0], never=True))
    failed = reproduced_row(
        paper_task("Alien"), "repeat", "", row_of(3, {}, [], [Failure(0, "no such file")])
    )
    found = Reproduction("f", 2, 1, (*rows, failed), differences_of(rows), ("a note",))
    first, second, third, *_ = tables_of(found)
    assert first.rows[0] == (
        "Pong", "25 ± 7 (21 ± 3)", "25 ± 7 (79 ± 3)", "25 ± 7 (42 ± 1)", "25 ± 7 (78 ± 3)",
        "25 ± 7", "25 ± 7", "1 of 4",
    )  # fmt: skip
    assert first.rows[1][:2] == ("Alien", "failed")
    assert "50 %" in second.title
    assert third.rows[0][1] == "never (40 ± 0)"
    text = markdown(found)
    assert "Alien, default action repeat: failed with seed 0: no such file" in text
    assert "| Pong | repeat | 5 (6.7) | – (-13.1) | – | – | 1:31 min (31:41 min) |" in text
    assert "Note: a note." in text
    reading, why, *_ = sentences(found)
    assert reading.startswith("Ours: mean ± standard deviation over 2 repeats, in percent")
    assert why.startswith("Alien, default action repeat: failed")
    assert (
        "Pong, repeat, 90 %, states: random: -54.0 points against the paper, more than the 15.4 up "
        "to which figures agree" in text
    )


def test_what_is_asked_for_is_checked_before_anything_is_played() -> None:
    with pytest.raises(ConfigError, match="no policy ships for Pong: give one"):
        Wanted(("Pong",))
    with pytest.raises(ConfigError, match=r"no task 'Pung'. Did you mean 'Pong'\?"):
        Wanted(("Pung",))
    with pytest.raises(ConfigError, match="CartPole is named twice"):
        Wanted(("CartPole", "cartpole"))
    with pytest.raises(ConfigError, match=r"repeats must be a whole number in 1..1000, got 0"):
        Wanted(repeats=0)
    with pytest.raises(ConfigError, match="one policy fits one task"):
        rpd.reproduce("CartPole", "MiniGrid", policy="random")
    assert "no policy ships for Pong" in refusal("reproduce", "Pong")
    told = "there is a policy for MiniGrid, but only CartPole would be played"
    assert told in refusal("reproduce", "CartPole", "--policy", "minigrid=random")
    with pytest.raises(ConfigError, match=told):
        rpd.reproduce("CartPole", policy={"MiniGrid": "random"})
    assert "none.zip' does not exist" in refusal("reproduce", "Pong", "--policy", "sb3:none.zip")
    plan = Wanted(("CartPole",), {"cartpole": "random"}, 2).plan()
    assert plan.seeds == (0, 1)
    assert [cell.settings["default_action"] for cell in plan.cells] == ["repeat", "random"]
    assert plan.cells[0].settings["policy"] == "random"
    assert (plan.cells[0].settings["sweep"], plan.finish) == ("full", "sweep")


def test_only_settings_with_another_value_are_told_to_differ_from_the_papers() -> None:
    def told(**settings: Any) -> list[str]:
        return notes_on(Wanted(("Pong",), {"Pong": "random"}, 5, settings=settings))

    assert told(sweep="full", mutation_rate=0.2, condition="return>=0") == []
    assert told(sweep="adaptive", episodes=1000) == ["not the paper's settings: sweep"]
    assert told(unmutated_episodes=400, episodes=5) == ["not the paper's settings: episodes"]
    both = Wanted(("CartPole", "MiniGrid"), settings={"mutation_rate": 0.2})
    assert notes_on(both)[-1] == "not the paper's settings: mutation_rate"


# ------------------------------------------------------------------------------ Atari

TINY = {
    "episodes": 8, "test_episodes": 2, "unmutated_episodes": 2, "shares": (0.0, 0.5, 1.0),
    "random_rankings": 1, "lanes": 4, "chunk": 8, "reference": -1e6,
}  # fmt: skip
"""Short games need not beat random play: shares are measured from far below."""


def every_other(episodes: Any) -> Any:
    """A condition that splits any suite."""
    return (episodes.index % 2).astype(np.float64)


def scripted_policy(env: str, path: Path) -> str:
    """Save a TorchScript policy for a game: its screens, through one layer."""
    import torch

    class Net(torch.nn.Module):
        def __init__(self, actions: int) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4 * 84 * 84, actions)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(torch.flatten(x.float() / 255.0, 1))

    environment = installed().make("environment", env)
    with torch.no_grad():
        lanes = environment.open(Opening(lanes=1))
        torch.manual_seed(0)
        net = Net(int(lanes.facts.action_space.n))
        lanes.close()
        torch.jit.script(net).save(str(path))
    return f"torchscript:{path},output=logits"


def play(game: str, folder: Path) -> Reproduction:
    """Play a game of the paper with tiny numbers, from a policy file to the row of the table."""
    env = f"{paper_task(game).env},max_steps=10,noop_max=5"
    policy = scripted_policy(env, folder / "policy.pt")
    return rpd.reproduce(
        game, policy=policy, repeats=1, default_actions=("repeat",), out=folder / "out",
        settings={**TINY, "env": env, "condition": every_other}, progress=False,
    )  # fmt: skip


def test_a_game_is_played_from_a_policy_file_to_the_row_of_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = play("Pong", tmp_path)
    (row,) = found.rows
    assert (row.task, row.failed) == ("Pong", ())
    ours = row.figures["50"]["states"].ours
    assert ours is not None
    assert 0 <= ours.mean <= 100
    assert row.figures["90"]["states"].paper == Printed(21, 3)
    assert row.ranking_seconds is not None
    for name in ("reproduced.html", "reproduced.md", "table.parquet"):
        assert (tmp_path / "out" / name).stat().st_size > 500
    stored = json.loads((tmp_path / "out" / "reproduced.json").read_text("utf-8"))
    assert stored["rows"][0]["task"] == "Pong"
    page = (tmp_path / "out" / "reproduced.html").read_text("utf-8")
    assert "data:image/svg+xml" in page
    assert "FreqVis ranks states by how often they are visited" in page
    show_reproduction(found, as_json=False)
    told = capsys.readouterr().out.splitlines()[-1]
    assert told.startswith("Tables: ")
    assert told.endswith("reproduced.json")


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_every_game_of_the_paper_comes_to_its_row(game: str, tmp_path: Path) -> None:
    (row,) = play(game, tmp_path).rows
    assert (row.task, row.failed) == (game, ())
    for percent in ("90", "50"):
        assert row.figures[percent]["steps"].ours is not None
