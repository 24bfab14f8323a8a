"""Reading is not playing: neither policy, environment nor lock, and nothing changes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import refusal, rpd_command
from stores import build, corridor, finish, ready, session_at, tree
from strangers import having, plugin

import rpd
from rpd_core.errors import RpdError, StoreError
from rpd_core.plugin.protocols import Component
from rpd_core.pruning.stored_sweep import read_evaluation

FILED: tuple[tuple[str, Component], ...] = (
    ("environment", Component("corridor", "worlds:Corridor", "A world", runs_code=False)),
    ("policy", Component("filed", "report_worlds:Filed", "Goes as a file says", runs_code=False)),
)
STRANGE = plugin("strange-worlds", "1.0", FILED)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a stranger's environment, with a policy in a file."""
    folder = tmp_path_factory.mktemp("played")
    (folder / "policy.txt").write_text("1")
    with having(STRANGE):
        finish(folder / "run", corridor(env="corridor", policy=f"filed:{folder / 'policy.txt'}"))
    return folder


@pytest.fixture
def bare(played: Path, tmp_path: Path) -> Iterator[Path]:
    """The run elsewhere, without policy file, without environment, locked by another process."""
    run = shutil.copytree(played / "run", tmp_path / "elsewhere")
    hold = (
        "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX);"
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, run / ".lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        (played / "policy.txt").rename(played / "gone.txt")
        try:
            with having(but=lambda one: one.name in ("rpd_gym", "rpd_minigrid", "rpd_atari")):
                yield run
        finally:
            (played / "gone.txt").rename(played / "policy.txt")
            holder.kill()


def test_reading_needs_no_policy_no_environment_and_no_lock(bare: Path, played: Path) -> None:
    before = tree(bare)
    run = rpd.open_run(bare)
    top = run.top(3)
    assert [row.rank for row in top] == [1, 2, 3]
    assert top == run.summary.decisions[:3]
    assert len(run.ranking("ochiai")) == run.summary.suite.states
    assert run.curves["tarantula"].mean_return[-1] == run.summary.original.return_mean == 3.5
    found = run.threshold(0.5, "wong2")
    assert found is not None
    assert run.policy(0.5) == run.summary.policies["0.5"]
    assert run.analysed("return>=1", typed=True).condition_text == "return>=1"
    for words in (("show",), ("rank",), ("rank", "--condition", "return>=1")):
        for more in ((), ("--json",)):
            result = rpd_command(words[0], bare, *words[1:], *more)
            assert result.exit_code == 0, result.output
            assert result.stderr == ""
            assert result.stdout
    assert tree(bare) == before
    assert rpd.open_run(played / "run").summary == run.summary


def test_a_condition_that_the_whole_policy_fails_brings_the_advice_of_a_run(bare: Path) -> None:
    told = " ".join(rpd_command("rank", bare, "--condition", "return>=4").stdout.split())
    assert "Advice: the whole policy passes return>=4 in 0% of its episodes only: pass" in told
    met = rpd_command("rank", bare, "--condition", "return>=1")
    assert "Advice" not in met.stdout


def test_every_state_has_its_words_wherever_it_is_read(bare: Path) -> None:
    """They are stored with the states: the abstraction itself is not needed."""
    run = rpd.open_run(bare)
    states = run.summary.suite.states
    ranked = json.loads(rpd_command("rank", bare, "--all", "--top", "1000", "--json").stdout)
    keys = [row["key"] for row in ranked["rankings"]["impact:shrunken"]]
    rows = [row for row in run.effects(1000, "freqvis") if row.key in keys]
    assert len(keys) == states
    assert 3 < len(rows) < states, "those without evidence are set aside"
    assert len({row.state for row in rows}) == len(rows), "different states have different words"
    assert all(row.state and f"{row.key:016x}" not in row.state for row in rows)


def test_playing_needs_them_and_says_so(bare: Path) -> None:
    before = tree(bare)
    assert "no environment is called 'corridor'" in refusal("prune", bare)
    assert "no environment is called 'corridor'" in refusal("replay", bare, "suite:3")
    assert tree(bare) == before


def test_writers_are_kept_out_while_readers_are_not(bare: Path, played: Path) -> None:
    with having(STRANGE):
        (played / "policy.txt").write_text("1")
        try:
            with pytest.raises(StoreError, match="another rpd is writing to"):
                finish(bare, corridor(env="corridor", policy=f"filed:{played / 'policy.txt'}"))
        finally:
            (played / "policy.txt").unlink()
    assert rpd.open_run(bare).summary.seed == 0


# ------------------------------------------------------------------------- not finished


@pytest.fixture
def half(tmp_path: Path) -> Path:
    """A run whose suite lacks the last of three parts; nothing was concluded from it."""
    build(session_at(tmp_path / "half", corridor()))
    (tmp_path / "half" / "suite" / "part-000000040-000000059.json").unlink()
    return tmp_path / "half"


def test_an_incomplete_suite_is_opened_and_says_how_far_it_is(half: Path) -> None:
    before = tree(half)
    run = rpd.open_run(half)
    assert run.name is None
    assert run.analyses == []
    assert run.progress == (40, 60)
    for use in (lambda: run.summary, run.top, run.ranking, lambda: run.curves, run.threshold):
        with pytest.raises(StoreError, match=r"no finished analysis \(40 of 60 mutant episodes"):
            use()
    shown = rpd_command("show", half)
    assert "Not finished: 40 of 60 mutant episodes are stored" in shown.stdout
    asked = json.loads(rpd_command("show", half, "--json").stdout)
    told = {"finished": False, "episodes_done": 40, "episodes": 60, "missing": [[40, 59]]}
    assert asked == told
    assert tree(half) == before


def test_a_ranking_of_an_incomplete_suite_says_first_what_it_stands_on(half: Path) -> None:
    before = tree(half)
    result = rpd_command("rank", half, "--condition", "return>=2.5", "--top", "3")
    assert result.exit_code == 0, result.output
    note = (
        "rpd: note: this stands on 40 of 60 episodes: the suite is not complete, episodes 40 to 59 "
        "are missing\n"
    )
    assert result.stderr == note
    assert result.output.startswith(note), "before the answer"
    assert "passed means return>=2.5" in " ".join(result.stdout.split())
    assert tree(half) == before, "nothing is stored"
    assert "has no finished analysis: give --condition" in rpd_command("rank", half).stderr


def test_a_list_is_headed_by_what_it_is_about_and_says_whether_it_comes_back(half: Path) -> None:
    asked = ("rank", half, "--condition", "return>=2.5", "--evidence", "2")
    told = " ".join(rpd_command(*asked).stdout.split())
    assert told.startswith("Effects in a policy that acts by default in 30% of its states")
    assert "worlds.Goes on worlds.Corridor" in told
    assert "passed means return>=2.5" in told
    found = json.loads(rpd_command(*asked, "--json").stdout)["stability"]["impact:shrunken"]
    assert 0 < found["top10"] <= 1
    assert (
        f"Is the list stable? In random halves of the suite the first ten have {found['top10']:.0%}"
        in told
    )
    assert "* matters, ? undecided. Of " in told
    assert json.loads(rpd_command(*asked, "--all", "--json").stdout)["stability"] == {}


def test_a_list_with_states_without_evidence_says_what_no_mark_means(half: Path) -> None:
    told = rpd_command("rank", half, "--condition", "return>=2.5", "--all").stdout
    assert "no mark: too few episodes" in told


def test_a_list_of_what_is_reached_says_what_it_leaves_out(tmp_path: Path) -> None:
    run = ready(tmp_path / "run")
    told = " ".join(rpd_command("rank", run.path, "--reached", "--evidence", "1").stdout.split())
    assert "Left out: 5 decisions that the unmutated policy never reaches." in told
    assert "Is the list stable? In random halves of the suite" in told


def test_without_unmutated_episodes_nothing_is_said_to_be_unreached(tmp_path: Path) -> None:
    run = ready(tmp_path / "run")
    shutil.rmtree(run.path / "unmutated")
    line = refusal("rank", run.path, "--reached")
    assert "holds no unmutated episodes" in line
    assert f"rpd prune {run.path} plays them; or leave --reached out" in line
    assert "holds no unmutated episodes" in rpd_command("rank", run.path).stderr


def test_what_is_ranked_is_what_is_there(half: Path) -> None:
    found = rpd.open_run(half).analysed("return>=2.5", typed=True)
    assert found.episodes.index.tolist() == list(range(40))
    assert found.rank_by("freqvis", rpd_measure("freqvis")).scores.max() <= 40


def rpd_measure(name: str) -> Any:
    from rpd_core.plugin.registry import installed

    return installed().make("measure", name)


def test_pruning_an_incomplete_suite_is_refused_and_changes_nothing(half: Path) -> None:
    before = tree(half)
    line = refusal("prune", half)
    assert "holds 40 of 60 episodes, and pruning plays no mutant episode" in line
    assert f"finish the suite first with rpd suite {half}" in line
    assert tree(half) == before


def test_a_run_without_what_is_asked_of_it_is_answered_with_an_example(tmp_path: Path) -> None:
    run = ready(tmp_path / "run").path
    line = refusal("explain", run)
    assert line == (
        f"rpd: STATE or RANK is missing after {str(run)!r}: for example rpd explain {run} 1"
    )
    assert refusal("draw", run).endswith(f"for example rpd draw {run} curves")
    assert refusal("replay", run).endswith(f"for example rpd replay {run} suite:0")


# ------------------------------------------------------------------------- files that have gone


def test_a_latest_analysis_that_has_gone_is_named(tmp_path: Path) -> None:
    run = ready(tmp_path / "run").path
    last = finish(run, corridor(condition="return>=1"))
    (run / "analyses" / str(last.name) / "summary.json").unlink()
    verified = rpd_command("verify", run)
    assert verified.exit_code == 3
    assert f"{last.name}/summary.json' is missing: rpd prune {run} makes it again" in (
        verified.stdout
    )
    other = rpd.open_run(run).name
    for command in (("show",), ("rank",), ("explain", "1")):
        shown = rpd_command(command[0], run, *command[1:])
        assert shown.output.startswith("rpd: note: "), "before the answer"
        assert f"{last.name!r}, has no summary.json any more: this is {other!r}" in shown.stderr
    assert rpd_command("show", run, "--analysis", other).stderr == ""


def test_names_that_have_gone_are_missed(tmp_path: Path) -> None:
    run = ready(tmp_path / "run").path
    (run / "names.json").unlink()
    verified = rpd_command("verify", run)
    assert verified.exit_code == 3
    assert "names.json' is missing: actions and entries have no names" in verified.stdout


# ------------------------------------------------------------------------- refused commands


@pytest.fixture(scope="module")
def cartpole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Suites that the command line can continue: one finished run, one suite alone."""
    folder = tmp_path_factory.mktemp("cartpole")
    words = ["--env", "cartpole", "--policy", "random", "--episodes", 40, "--workers", 1]
    assert rpd_command("suite", *words, "--out", folder / "suite").exit_code == 0
    shutil.copytree(folder / "suite", folder / "run")
    few = {"test_episodes": 3, "shares": [0, 0.5, 1], "random_rankings": 1}
    rpd.run("cartpole", "random", episodes=40, condition="auto", out=folder / "run", **few)
    return folder


@pytest.mark.parametrize("which", ["run", "suite"])
def test_a_refused_command_changes_nothing(cartpole: Path, which: str) -> None:
    run = cartpole / which
    before, content = tree(run), (run / ".lock").read_bytes()
    for words, told in [
        (("prune", run, "--condition", "return<0"), "all 40 episodes failed return<0"),
        (("prune", run, "--condition", "nosuch"), "no condition is called 'nosuch'"),
        (("prune", run, "--measure", "tarantola"), "Did you mean 'tarantula'?"),
        (("prune", run, "--analysis", "../x", "--condition", "auto"), "cannot be called '../x'"),
        (("suite", run, "--seed", "3"), "seed: stored 0, asked 3"),
        (("rank", run, "--condition", "return<0"), "all 40 episodes failed return<0"),
        (("rank", run, "--condition", "auto", "--top", "0"), "top must be at least 1"),
        (("show", run, "--analysis", "nosuch"), "has no analysis 'nosuch'"),
    ]:
        assert told in refusal(*words)
        assert tree(run) == before, words
        assert (run / ".lock").read_bytes() == content


def test_a_question_that_no_suite_can_answer_is_refused_before_anything_is_played(
    cartpole: Path,
) -> None:
    assert not (cartpole / "suite" / "pruning").exists()
    assert "all 40 episodes failed" in refusal(
        "prune", cartpole / "suite", "--condition", "return<0"
    )
    assert not (cartpole / "suite" / "pruning").exists()


# ------------------------------------------------------------------------- evaluations


def test_an_incomplete_evaluation_is_never_analysed(tmp_path: Path) -> None:
    few = {"shares": (0.0, 0.5, 1.0), "random_rankings": 1}
    run = finish(tmp_path, corridor(chunk=4, episodes=20, **few))
    parts = run.directory.evaluation(run.asked.evaluations["tarantula"])
    assert parts.covered() == [(0, 3), (4, 7), (8, 11), (12, 14)]
    assert len(read_evaluation(parts, 15)) == 15
    for gone, held in (((12, 14), 12), ((4, 7), 8)):
        (parts.path / f"part-{gone[0]:09d}-{gone[1]:09d}.json").unlink()
        with pytest.raises(StoreError, match=rf"holds {held} of 15 episodes: run rpd prune again"):
            read_evaluation(parts, 15)
        with pytest.raises(StoreError, match="run rpd prune again"):
            _ = rpd.open_run(tmp_path).curves
    for one in parts.path.glob("part-*.json"):
        one.unlink()
    with pytest.raises(StoreError, match="holds no episodes: run rpd prune again"):
        read_evaluation(parts, 15)


# ------------------------------------------------------------------------- strange files


def test_a_pipe_in_place_of_a_file_is_named_and_waited_for_by_nobody(tmp_path: Path) -> None:
    name = ready(tmp_path).name
    places = ["run.json", f"analyses/{name}/summary.json", "suite/part-000000000-000000019.json"]
    places += ["suite/visits/part-000000000-000000019.parquet", f"analyses/{name}/analysis.json"]
    for place in places:
        path = tmp_path / place
        content = path.read_bytes()
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(RpdError) as caught:
            read_all(tmp_path, name)
        assert "\n" not in str(caught.value)
        path.unlink()
        path.write_bytes(content)
    assert rpd.open_run(tmp_path).top()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ready(tmp_path_factory.mktemp("small") / "run").path


@pytest.mark.parametrize("place", ["suite", "pruning", "analyses", "rankings", "names.json"])
@pytest.mark.parametrize("kind", ["file", "pipe", "link out"])
def test_something_else_in_a_place_of_ours_is_one_line(
    tmp_path: Path, small: Path, place: str, kind: str
) -> None:
    run, outside = shutil.copytree(small, tmp_path / "run"), tmp_path / "outside"
    outside.mkdir()
    path = run / place
    if place == "rankings":
        path = run / "analyses" / str(rpd.open_run(run).name) / "rankings"
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    {
        "file": lambda: path.write_text("a file"),
        "pipe": lambda: os.mkfifo(path),
        "link out": lambda: path.symlink_to(outside),
    }[kind]()
    lines = []
    for use in (read_all, finish):
        try:
            use(run)
        except RpdError as error:
            lines.append(str(error))
    assert [line for line in lines if "\n" in line] == []
    assert list(outside.iterdir()) == [], "nothing is written outside the run"


def read_all(path: Path, analysis: str | None = None) -> None:
    run = rpd.open_run(path, analysis)
    _ = run.progress, run.summary, run.top(), run.effects(), run.curves


def test_a_link_to_a_neighbour_with_a_longer_name_leads_out_of_the_run(tmp_path: Path) -> None:
    """`run-2` begins like `run`, and yet it is another directory."""
    ready(tmp_path / "run")
    neighbour = shutil.copytree(tmp_path / "run", tmp_path / "run-2")
    (tmp_path / "run" / "run.json").unlink()
    (tmp_path / "run" / "run.json").symlink_to(neighbour / "run.json")
    with pytest.raises(StoreError, match="is a link out of the run directory: delete it"):
        rpd.open_run(tmp_path / "run")


def test_what_is_no_run_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path, tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(StoreError, match=r"is not a run directory: it has no run\.json"):
            rpd.open_run(path)


# ------------------------------------------------------------------------- code


def test_no_code_runs_that_only_a_file_names(tmp_path: Path, monkeypatch: Any) -> None:
    """A run directory from a stranger may name any function as its condition or measure."""
    ready(tmp_path / "run")
    marker = tmp_path / "ran"
    (tmp_path / "evil_module.py").write_text(
        f"import pathlib\npathlib.Path({str(marker)!r}).touch()\ndef f(given): return 1 / 0\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    run = rpd.open_run(tmp_path / "run")
    folder = tmp_path / "run" / "analyses" / str(run.name)
    stored = {name: (folder / name).read_text() for name in ("analysis.json", "summary.json")}
    for name, old, new in [
        ("analysis.json", '"return>=2.5"', '"python:evil_module:f"'),
        ("analysis.json", '"list_by": "impact:shrunken"', '"list_by": "python:evil_module:f"'),
    ]:
        assert old in stored[name]
        (folder / name).write_text(stored[name].replace(old, new))
        with pytest.raises(RpdError, match="may run code that came with it: refused"):
            rpd.open_run(tmp_path / "run").effects(10_000)
        (folder / name).write_text(stored[name])
    assert not marker.exists()
    assert rpd.open_run(tmp_path / "run").top()
