"""A run that holds more episodes than are asked for: its first ones answer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from commands import QUICK, refusal, rpd_command
from stores import contents, corridor, finish, ready

import rpd
from rpd_core.cli.run import of_the_latest
from rpd_core.errors import StoreError
from rpd_core.results.verification import verify
from rpd_core.store.directory import RunDirectory

FEWER = 50
"""Between two ends of parts: those of the corridor hold twenty episodes."""


@pytest.fixture(scope="module")
def shrunk(tmp_path_factory: pytest.TempPathFactory) -> rpd.Run:
    """A finished run of sixty episodes that was then asked for fifty."""
    path = tmp_path_factory.mktemp("first") / "run"
    ready(path)
    return finish(path, corridor(episodes=FEWER))


@pytest.mark.parametrize("episodes", [FEWER, pytest.param(40, marks=pytest.mark.slow)])
def test_the_first_episodes_answer_as_a_run_of_their_own_does(
    episodes: int, tmp_path: Path
) -> None:
    ready(tmp_path / "large")
    first = finish(tmp_path / "large", corridor(episodes=episodes))
    own = finish(tmp_path / "own", corridor(episodes=episodes))
    assert first.summary.suite == own.summary.suite
    assert first.summary.decisions == own.summary.decisions
    assert first.summary.thresholds == own.summary.thresholds
    folders = [run.path / "analyses" / str(run.name) / "rankings" for run in (first, own)]
    assert contents(folders[0]) == contents(folders[1])


def test_only_the_part_that_is_cut_is_played_again_and_none_is_lost(tmp_path: Path) -> None:
    ready(tmp_path)
    before = contents(tmp_path / "suite")
    told: list[tuple[str, int, int]] = []
    notes: list[str] = []
    asked = corridor(episodes=FEWER)
    finish(tmp_path, asked, progress=lambda *one: told.append(one), note=notes.append)
    assert [one for one in told if one[0] == "suite"] == [("suite", 40, 50), ("suite", 50, 50)]
    assert notes == [
        f"{str(tmp_path)!r} holds 60 mutant episodes: the first 50 are used, and all are kept",
        "measure 'default-gap' needs action values, probabilities or a log density, which the "
        "policy does not offer in this suite: it is left out",
    ]
    after = contents(tmp_path / "suite")
    assert before.items() <= after.items()
    assert {name.partition("/")[0] for name in after.keys() - before.keys()} == {"first-50"}


def test_answers_of_different_sizes_live_side_by_side(shrunk: rpd.Run) -> None:
    names = rpd.open_run(shrunk.path).analyses
    sizes = {name: rpd.open_run(shrunk.path, name).summary.suite.episodes for name in names}
    assert sorted(sizes.values()) == [FEWER, 60]
    assert sizes[str(shrunk.name)] == FEWER
    assert str(shrunk.name).endswith("_episodes-50")


def test_readers_stand_on_the_first_episodes(shrunk: rpd.Run) -> None:
    note = "rpd: note: this stands on the first 50 of 60 stored episodes\n"
    for words in (["show"], ["rank"], ["explain"]):
        result = rpd_command(*words, shrunk.path, *(["1"] if words == ["explain"] else []))
        assert (result.exit_code, result.stderr) == (0, note), result.output
    assert len(shrunk.suite.episodes) == FEWER
    assert len(rpd.open_run(shrunk.path).analysed("return>=1", typed=True).episodes) == FEWER
    assert verify(shrunk.directory).faults == ()


def test_pruning_asks_the_first_episodes(shrunk: rpd.Run, tmp_path: Path) -> None:
    path = shutil.copytree(shrunk.path, tmp_path / "run")
    asked = corridor(episodes=FEWER, condition="return>=1")
    assert finish(path, asked).asked.episodes == FEWER


def test_a_larger_run_that_was_broken_off_leaves_the_finished_answer_finished(
    tmp_path: Path,
) -> None:
    ready(tmp_path)

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "suite" and done >= 80:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finish(tmp_path, corridor(episodes=1000), progress=stop)
    shown = rpd_command("show", tmp_path)
    assert shown.exit_code == 0
    assert "Not finished" not in shown.stdout
    assert shown.stderr == (
        "rpd: note: this stands on 60 episodes; the suite holds 80 of 1000 by now\n"
    )
    assert verify(rpd.open_run(tmp_path).directory).faults == ()
    again = finish(tmp_path)
    assert again.analyses == [again.name]


def test_a_cut_that_is_not_played_is_refused_with_what_plays_it(shrunk: rpd.Run) -> None:
    with pytest.raises(StoreError, match=r"rpd suite .* --episodes 33 first"):
        _ = rpd.open_run(shrunk.path).analysed("return>=1", True, 33)


CARTPOLE = ["run", "--env", "cartpole", "--test-episodes", 2, "--workers", 1, *QUICK]


LIGHT = ["--env", "gym:CartPole-v1", "--policy", "random", "--default-action", "constant:0"]


def test_a_dry_run_says_that_more_is_there(tmp_path: Path) -> None:
    words = [*LIGHT, "--abstraction", "round", "--workers", 1, "--out", tmp_path / "run"]
    few = ["--unmutated-episodes", 20]
    assert rpd_command("suite", *words, *few, "--episodes", 90).exit_code == 0
    tried = rpd_command("run", *words, "--episodes", 60, "--dry-run")
    assert tried.exit_code == 0, tried.output
    assert "holds 90 mutant episodes: the first 60 are used" in tried.stderr
    assert " for 0 mutant and " in tried.stdout
    facts = rpd_command("suite", tmp_path / "run", *few, "--episodes", 60, "--json")
    assert json.loads(facts.stdout)["episodes"] == 60


@pytest.mark.slow
def test_a_typed_number_that_was_too_large_spoils_nothing(tmp_path: Path) -> None:
    """From the command line: a suite of its own, then a dry run, a run and pruning with less."""
    out = ["--out", tmp_path / "run"]
    large = ["suite", "--env", "cartpole", "--episodes", 300, "--workers", 1, *QUICK[:2]]
    assert rpd_command(*large, *out).exit_code == 0
    note = "holds 300 mutant episodes: the first 250 are used"
    tried = rpd_command(*CARTPOLE, "--episodes", 250, *out, "--dry-run")
    assert (tried.exit_code, note in tried.stderr) == (0, True), tried.output
    assert "Nothing was written" in tried.stdout
    done = rpd_command(*CARTPOLE, "--episodes", 250, *out, "--json")
    assert (done.exit_code, note in done.stderr) == (0, True), done.output
    assert json.loads(done.stdout)["suite"]["episodes"] == 250
    stored = json.loads((tmp_path / "run" / "run.json").read_text())
    stored["settings"]["episodes"] = 10**9  # as a larger run does that is broken off
    (tmp_path / "run" / "run.json").write_text(json.dumps(stored))
    more = ["prune", tmp_path / "run", "--unvisited", "policy", "--workers", 1, "--json"]
    assert json.loads(rpd_command(*more).stdout)["suite"]["episodes"] == 250


def test_pruning_goes_on_with_the_finished_answer_of_a_run_that_is_to_grow(tmp_path: Path) -> None:
    ready(tmp_path)
    assert of_the_latest(RunDirectory(tmp_path)) == {}
    stored = json.loads((tmp_path / "run.json").read_text())
    stored["settings"]["episodes"] = 10**9
    (tmp_path / "run.json").write_text(json.dumps(stored))
    assert of_the_latest(RunDirectory(tmp_path)) == {"episodes": 60}


def test_a_suite_without_an_answer_that_is_not_complete_is_not_pruned(tmp_path: Path) -> None:
    ready(tmp_path)
    shutil.rmtree(tmp_path / "analyses")
    stored = json.loads((tmp_path / "run.json").read_text())
    stored["settings"]["episodes"] = 100
    (tmp_path / "run.json").write_text(json.dumps(stored))
    assert "holds 60 of 100 episodes" in refusal("prune", tmp_path)
