"""Several analyses of one suite, side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from commands import refusal, rpd_command
from stores import contents, corridor, finish, ready, session_at
from strangers import WORLDS, having, plugin

import rpd
from rpd_core.errors import ConfigError, RpdError
from rpd_core.plugin.protocols import Component

USUAL = {"test_episodes": 20, "random_rankings": 4, "shares": (1.0,)}
USUAL |= {"confirm_episodes": 60, "chunk": 400, "confirm_tries": 8}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three analyses of one suite."""
    path = tmp_path_factory.mktemp("analyses") / "run"
    finish(path, corridor(**USUAL))
    finish(path, corridor(**USUAL, condition="return>=1", unvisited="policy"))
    finish(path, corridor(condition="return>=1"), analysis="mine")
    return path


def files(path: Path, name: str) -> dict[str, bytes]:
    return contents(path / "analyses" / name, "*")


def test_names_say_what_is_asked_and_not_usual(run: Path) -> None:
    assert rpd.open_run(run).analyses == [
        "mine", "return-ge-1_unvisited-policy", "return-ge-2.5"
    ]  # fmt: skip


def test_the_latest_is_the_one_that_is_opened(run: Path) -> None:
    assert rpd.open_run(run).name == "mine"
    assert json.loads((run / "analyses" / "latest.json").read_text()) == {"analysis": "mine"}
    assert rpd.open_run(run).summary.condition == "return>=1"
    assert rpd.open_run(run, "return-ge-2.5").summary.condition == "return>=2.5"


def test_each_stays_as_it_was_when_another_is_made(tmp_path: Path) -> None:
    (first,) = ready(tmp_path).analyses
    before = files(tmp_path, first)
    suite = contents(tmp_path / "suite", "*")
    told: list[tuple[str, int, int]] = []
    for asked in ({"measures": ("random:seed=3",)}, {"test_episodes": 2}, {"shares": (1.0,)}):
        finish(tmp_path, corridor(**asked), progress=lambda *some: told.append(some))
    names = rpd.open_run(tmp_path).analyses
    assert len(names) == 4
    assert files(tmp_path, first) == before
    assert contents(tmp_path / "suite", "*") == suite
    assert {(done, total) for stage, done, total in told if stage == "suite"} == {(60, 60)}
    assert any("_measures-random-3" in name for name in names)
    shares = [name for name in names if name.startswith(f"{first}_")]
    assert len(shares) == 1, "what is not in the name is told apart by a digest"


def test_the_same_question_has_the_same_name(tmp_path: Path) -> None:
    one, two = ready(tmp_path), finish(tmp_path)
    assert one.analyses == two.analyses == [one.name]


def test_another_question_never_takes_a_name_that_is_used(tmp_path: Path) -> None:
    finish(tmp_path, analysis="mine")
    before = contents(tmp_path, "*")
    with pytest.raises(ConfigError, match="has an analysis 'mine' that asks something else"):
        finish(tmp_path, corridor(condition="return>=1"), analysis="mine")
    assert contents(tmp_path, "*") == before
    assert finish(tmp_path, analysis="mine").name == "mine", "the same question may have it"


@pytest.mark.parametrize("name", ["", "../up", "a/b", "-x", ".hidden", "a b", "ü"])
def test_a_name_that_is_no_plain_file_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="an analysis cannot be called"):
        finish(tmp_path / "run", analysis=name)
    assert not (tmp_path / "run").exists()


def test_the_command_line_chooses_one_by_name(run: Path) -> None:
    shown = rpd_command("show", run)
    assert "--analysis mine --full" in shown.stdout
    assert "Other analyses (--analysis NAME): return-ge-1_unvisited-policy, return-ge-2.5" in (
        shown.stdout
    )
    other = rpd_command("show", run, "--analysis", "return-ge-2.5", "--json")
    assert json.loads(other.stdout)["analysis"] == "return-ge-2.5"
    ranked = rpd_command("rank", run, "--analysis", "return-ge-2.5", "--json")
    assert json.loads(ranked.stdout)["condition"] == "return>=2.5"


def test_an_unknown_name_is_one_line_with_the_nearest(run: Path) -> None:
    told = "has no analysis 'return-ge-2.6'. Did you mean 'return-ge-2.5'?"
    assert told in refusal("show", run, "--analysis", "return-ge-2.6")
    assert told in refusal("rank", run, "--analysis", "return-ge-2.6")
    assert told in refusal("replay", run, "suite:0", "--analysis", "return-ge-2.6")
    with pytest.raises(RpdError, match="Did you mean 'mine'"):
        rpd.open_run(run, "mime")
    line = refusal("show", run, "--analysis", "zzz")
    assert "There are: mine, return-ge-1_unvisited-policy, return-ge-2.5." in line


def test_an_unknown_name_in_a_run_without_any_says_that_there_is_none(tmp_path: Path) -> None:
    session_at(tmp_path, corridor())
    with pytest.raises(ConfigError, match="There is none yet"):
        rpd.open_run(tmp_path, "first")


@pytest.mark.parametrize("content", ["{}", '{"analysis": "gone"}', '{"analysis": 3}', None])
def test_without_a_latest_one_of_the_others_is_opened(run: Path, content: Any) -> None:
    latest = run / "analyses" / "latest.json"
    before = latest.read_text()
    latest.unlink()
    if content is not None:
        latest.write_text(content)
    try:
        assert rpd.open_run(run).name == "return-ge-2.5"
    finally:
        latest.write_text(before)


def test_an_analysis_that_was_not_finished_is_none(tmp_path: Path) -> None:
    """Killed between its files: the summary comes after what it stands on."""
    run = ready(tmp_path)
    (tmp_path / "analyses" / str(run.name) / "summary.json").unlink()
    assert rpd.open_run(tmp_path).analyses == []
    again = finish(tmp_path)
    assert again.analyses == [run.name]


def test_rankings_of_each_analysis_are_its_own(run: Path) -> None:
    for name in ("mine", "return-ge-2.5"):
        opened = rpd.open_run(run, name)
        table = pq.read_table(run / "analyses" / name / "rankings" / "ochiai.parquet")
        assert table["score"].to_pylist() == opened.ranking("ochiai").columns["score"].tolist()
    tables = [files(run, name)["rankings/ochiai.parquet"] for name in ("mine", "return-ge-2.5")]
    assert tables[0] != tables[1]


LIFT = ("measure", Component("lift", "rpd_measures.sbfl:Ochiai", "A stranger's", runs_code=False))


def test_a_measure_that_is_not_installed_any_more_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with having(plugin("worlds", "1.0", (*WORLDS, LIFT))):
        asked = corridor(env="corridor", policy="goes", list_by="lift", headline="lift")
        finish(path, asked, analysis="lifted")
    with having(plugin("worlds", "1.0")):
        line = refusal("prune", path, "--objective", "states")
        assert f"The latest analysis of {str(path)!r} used it: install the plugin" in line
        assert line.endswith("or name others with --measure and --headline")
        others = ("--measure", "ochiai", "--headline", "best")
        assert rpd_command("prune", path, "--workers", "1", *others).exit_code == 0
        for command in (("rank",), ("explain", "1")):
            line = refusal(command[0], path, *command[1:], "--analysis", "lifted")
            assert "no measure is called 'lift'" in line
            assert f"It is named by analysis 'lifted' of {str(path)!r}: install the plugin" in line


def test_a_question_that_was_refused_is_not_remembered(tmp_path: Path) -> None:
    path = ready(tmp_path / "run").path
    before = rpd.open_run(path).directory.question()
    with pytest.raises(RpdError, match="not clearly above the reference 5000"):
        finish(path, corridor(reference=5000.0))
    assert rpd.open_run(path).directory.question() == before
