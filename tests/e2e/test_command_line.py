"""What a person types, and what they get."""

from __future__ import annotations

import json
import re
import subprocess
from importlib.metadata import version

import pytest
import typer
from commands import QUICK, invoke

from rpd_core.cli import shared
from rpd_core.config.settings import PORTFOLIO
from rpd_core.plugin.registry import installed
from rpd_core.results.records import Coverage, SuiteFacts
from rpd_core.results.run import open_run
from rpd_core.results.sentences import advice as advice_for
from rpd_core.results.sentences import headline


def test_run_begins_with_the_answer(finished):
    summary = open_run(finished.path).summary
    assert summary.policy is not None
    assert summary.policy.met
    lines = finished.stdout.splitlines()
    assert len(lines) <= 29, "the next prompt takes a line"
    wide = [line for line in lines if len(line) > 100]
    assert len(wide) <= 1, "where to look: a line that is to be copied"
    told = " ".join(finished.stdout.split())
    assert told.startswith(headline(summary))
    shown = told.count(" -> ")
    assert shown == 7 or len(lines) >= 29, "seven, unless what is below takes their place"
    assert shown >= 5
    assert f" {len(summary.decisions) - shown} more" in told
    assert "Also enough: " in told
    assert "Ranking alone, as in the paper: " in told
    assert " (2500 mutant episodes). " in told
    assert " Confirmed on " in told
    assert "shrunken" not in told
    path = str(finished.path)
    assert told.replace("full,", "full").endswith(f"rpd show {path} --full rpd rank {path}")


def test_the_full_answer_has_what_the_screen_leaves_out(finished, cli):
    told = cli("show", finished.path, "--full").stdout
    assert "keep 90% of the return" in told
    assert "keep 50% of the return" in told
    assert "For 50% of the return:" in told
    assert "On the way to it" in told
    for name in (*PORTFOLIO, "freqvis", "differ", "portfolio", "random (mean)"):
        assert f"\n{name} " in told
    assert "random (best of 4)" in told
    assert told.count(" -> ") == len(open_run(finished.path).decisions)


def test_a_policy_on_the_way_can_be_chosen(finished, cli):
    summary = open_run(finished.path).summary
    assert summary.policy is not None
    sizes = sorted({point.decisions for point in summary.policy.front})
    asked = sizes[1] - 1 if len(sizes) > 1 else sizes[0] + 5  # the next smaller one is meant
    chosen = json.loads(cli("show", finished.path, "--keep", str(asked), "--json").stdout)
    assert chosen["point"]["decisions"] == len(chosen["states"]) == sizes[0]
    known = {one.key: one.loss for one in summary.decisions}
    for row in chosen["states"]:
        assert row["loss"] == known.get(row["key"])
        assert row["state"].startswith("cart ")
    told = " ".join(cli("show", finished.path, "--keep", str(asked)).stdout.split())
    assert told.startswith(f"Deciding in {sizes[0]} of {summary.suite.states} states (")
    assert told.count("cart ") == sizes[0]
    refused = cli("show", finished.path, "--keep", str(sizes[0] - 1))
    half = summary.policies["0.5"]
    assert half is not None
    assert half.met
    assert half.kept < sizes[0]
    other = f"{half.kept} keep 50% of the return (rpd show {finished.path} --full)"
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == (
        f"rpd: no policy of the front has at most {sizes[0] - 1} decisions: the fewest is "
        f"{sizes[0]}; {other}\n"
    )


@pytest.mark.slow
def test_a_quick_look_is_called_one_and_makes_no_page(cli, tmp_path):
    words = ["--env", "cartpole", "--quick", "--workers", "1", "--test-episodes", "20"]
    done = invoke(["run", *words, "--out", str(tmp_path / "run")], columns=100)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("A quick look: ")
    assert not (tmp_path / "run" / "report.html").exists()
    assert not (tmp_path / "run" / "pictures").exists()
    asked = open_run(tmp_path / "run").asked.settings
    assert (asked.quick, asked.test_episodes, asked.target) == (True, 20, (0.9,))
    assert open_run(tmp_path / "run").summary.suite.episodes == 1250
    assert cli("show", tmp_path / "run").stdout.startswith("A quick look: ")


DECISION = {
    "rank", "key", "state", "policy_action", "default_action", "loss", "loss_low", "loss_high",
    "return_without", "return_without_low", "return_without_high", "share", "needed", "overrides",
    "reached", "reached_whole",
}  # fmt: skip
RANKED = {
    "key", "state", "policy_action", "default_action", "risk_mutated", "risk_kept", "effect",
    "low", "high", "reached", "episodes_mutated", "episodes_kept", "verdict", "in_policy",
}  # fmt: skip
POINT = {"measure", "kept", "states", "steps", "overrides", "return_mean"}
"""What is said of one pruned policy."""
POLICY = {
    *POINT, "overrides_whole", "return_low", "return_high", "target", "met", "episodes",
    "share_bound", "pass_rate", "pass_rate_whole", "worst_tenth", "rules_alone",
    "rules_alone_bound", "baselines", "front",
}  # fmt: skip


def test_the_summary_holds_what_scripts_rely_on(finished, cli):
    path = finished.path
    (stored,) = path.glob("analyses/*/summary.json")
    summary = json.loads(stored.read_text())
    assert summary["analysis"] == stored.parent.name
    assert summary["original"]["return_mean"] == 200.0
    assert summary["original"]["episodes"] == 25
    assert summary["original"]["reference"] == 0.0
    assert 5 < summary["original"]["default_everywhere"] < 20
    assert summary["suite"]["episodes"] == 2500
    assert 0 < summary["suite"]["passed"] < 2500
    assert summary["suite"]["states"] > 100
    assert summary["suite"]["steps"] > 10000
    assert summary["condition"] == "return>=200"
    assert set(summary["thresholds"]) == {"0.9", "0.5"}
    for entries in summary["thresholds"].values():
        for name in ("tarantula", "ochiai", "zoltar", "wong2", "freqvis", "portfolio", "random"):
            entry = entries[name]
            assert entry is None or set(entry) == {"fewest_states", "fewest_steps"}
            for point in (entry or {}).values():
                assert point is None or set(point) >= POINT
    assert set(summary["policy"]) >= POLICY
    assert {"random", "differ", "default_gap", "imitation"} <= set(summary["policy"]["baselines"])
    kept = summary["decisions"]
    assert len(kept) == summary["policy"]["kept"]
    for row in kept:
        assert set(row) >= DECISION
        assert row["loss_low"] <= row["loss"] <= row["loss_high"]
    assert [row["loss"] for row in kept] == sorted((row["loss"] for row in kept), reverse=True)
    inside = {row["key"] for row in kept}
    for row in summary["ranking"]:
        assert set(row) >= RANKED
        assert row["low"] <= row["effect"] <= row["high"]
        assert min(row["episodes_mutated"], row["episodes_kept"]) >= 10
        assert row["in_policy"] == (row["key"] in inside)
    assert set(summary["stability"]) >= {"top10", "top50"}
    assert summary["seed"] == 0
    played = summary["played"][0]
    assert played["origin"]["distributions"]["numpy"]
    assert json.loads(cli("show", path, "--json").stdout) == summary


def test_the_same_command_again_changes_nothing_and_prints_the_same(finished, cli):
    path, told = finished.path, finished.stdout
    before = {p: p.read_bytes() for p in path.rglob("*") if p.is_file()}
    again = cli("run", *finished.words, "--out", path)
    assert again.stdout == told
    assert {p: p.read_bytes() for p in path.rglob("*") if p.is_file()} == before
    assert cli("show", path).stdout.strip() in again.stdout


@pytest.mark.slow
def test_a_run_can_be_repeated_from_its_configuration(finished, cli, tmp_path):
    path = finished.path
    again = cli("run", "--config", path / "run.json", "--out", tmp_path / "again", "--workers", "2")
    assert again.exit_code == 0, again.output
    parts = list(path.rglob("*.parquet"))
    assert len(parts) > 20
    for part in parts:
        twin = tmp_path / "again" / part.relative_to(path)
        assert twin.read_bytes() == part.read_bytes()
    (stored,) = path.glob("analyses/*/summary.json")
    assert (tmp_path / "again" / stored.relative_to(path)).read_bytes() == stored.read_bytes()


@pytest.mark.slow
def test_a_new_measure_or_condition_plays_no_mutant_episode(finished, cli, tmp_path):
    path = finished.copy(tmp_path)
    before = {p: p.stat().st_mtime_ns for p in path.glob("suite/*/*")}
    ranked = cli("rank", path, "--measure", "wong2:mutation", "--condition", "length>=150")
    assert ranked.exit_code == 0, ranked.output
    assert "wong2:mutation under length>=150" in ranked.stdout
    pruned = cli("prune", path, "--condition", "auto", "--workers", "1", "--json")
    assert pruned.exit_code == 0, pruned.output
    answer = json.loads(pruned.stdout)
    assert answer["condition_asked"] == "auto"
    assert answer["condition"].startswith("return>=")
    assert {p: p.stat().st_mtime_ns for p in path.glob("suite/*/*")} == before


def test_more_episodes_extend_a_suite(cli, tmp_path):
    words = ["--env", "cartpole", "--workers", "1"]
    assert cli("suite", *words, "--episodes", "100", "--out", tmp_path / "grown").exit_code == 0
    grown = cli("suite", tmp_path / "grown", "--episodes", "160", "--workers", "1", "--json")
    assert json.loads(grown.stdout)["episodes"] == 160
    cli("suite", *words, "--episodes", "160", "--out", tmp_path / "whole")
    rows = [
        json.loads(cli("rank", tmp_path / name, "--condition", "return>=200", "--json").stdout)
        for name in ("grown", "whole")
    ]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("abstraction", "advice"),
    [
        ("identity", r"Advice: none of \d+ states .* visited 1\.0 times on average\); a coarser"),
        ("round:-3", r"Advice: everything is one state.* try a finer --abstraction"),
        ("round:0", None),
    ],
)
def test_a_suite_too_fine_or_too_coarse_says_so(cli, abstraction, advice):
    words = ["--policy", "random", "--default-action", "constant:0", "--abstraction", abstraction]
    played = cli("suite", "--env", "gym:CartPole-v1", *words, "--episodes", "200", "--workers", "1")
    assert played.exit_code == 0, played.stderr
    told = " ".join(played.stdout.split())
    assert re.search(advice, told) if advice else "Advice" not in told


def test_a_ranking_can_be_exported(finished, cli, tmp_path):
    pandas = pytest.importorskip("pandas")
    path = finished.path
    for name in ("ranking.csv", "ranking.parquet"):
        assert cli("rank", path, "--export", tmp_path / name).exit_code == 0
    table = pandas.read_parquet(tmp_path / "ranking.parquet")
    assert list(table["rank"]) == list(range(1, len(table) + 1))
    assert table["score"].is_monotonic_decreasing
    inside = set(table["key"][table["in_policy"]])
    assert inside == {row.key for row in open_run(path).decisions}
    assert all(state.startswith("cart ") for state in table["state"])
    csv = pandas.read_csv(tmp_path / "ranking.csv")
    assert list(csv["score"]) == pytest.approx(list(table["score"]))
    assert cli("rank", path, "--export", tmp_path / "ranking.xlsx").exit_code == 2


def test_a_dry_run_counts_the_episodes_in_which_rules_grow(cli):
    def pruned(*words):
        call = ("--env", "cartpole", "--episodes", "2000", "--dry-run", "--json", *words)
        estimate = json.loads(cli("run", *call).stdout)["estimate"]
        return estimate["pruning_episodes"] - estimate["minimising_episodes"]

    assert pruned("--abstraction", "rules") == pruned() + 12 * 2000


def test_a_dry_run_counts_the_steps_that_minimising_may_take(cli):
    def told(steps):
        call = ("--env", "cartpole", "--dry-run", "--minimise-steps", steps, "--target", "0.9")
        return json.loads(cli("run", *call, "--json").stdout)["estimate"]

    few, many = told("1000"), told("3e6")
    assert few["minimising_episodes"] < 100 < 3e6 / 200 < many["minimising_episodes"]
    more = many["minimising_episodes"] - few["minimising_episodes"]
    assert many["pruning_episodes"] - few["pruning_episodes"] == more
    assert many["seconds"] > few["seconds"]


def test_a_dry_run_writes_nothing_and_tells_the_cost(cli, tmp_path):
    result = cli("run", "--env", "cartpole", "--dry-run", "--workers", "1")
    assert result.exit_code == 0, result.output
    assert "mutation_rate" in result.stdout
    told = " ".join(result.stdout.split())
    assert re.search(
        r"About .* and [\d.]+ MB for 5000 mutant and \d+ pruned episodes \(\d+ of them", told
    )
    assert told.endswith("pictures and the page come on top. Nothing was written.")
    assert list(tmp_path.iterdir()) == []
    plain = json.loads(cli("run", "--env", "cartpole", "--dry-run", "--json").stdout)
    assert plain["config"]["suite"]["settings"]["episodes"] == 5000
    assert plain["estimate"]["seconds"] > 0


def test_a_dry_run_says_that_the_directory_would_be_refused(cli, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    result = cli("run", "--env", "cartpole", "--dry-run", "--out", tmp_path)
    assert result.exit_code == 2
    assert "holds 'thesis.tex' but no run.json" in result.stderr


CHATTY = """
import os, sys
import gymnasium
from gymnasium.wrappers import TimeLimit
class Chatty(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(6)
    action_space = gymnasium.spaces.Discrete(2)
    def __init__(self):
        print("born")
    def reset(self, seed=None, options=None):
        print("a new day")
        print("on purpose", file=sys.__stdout__)
        os.system("echo from another program")
        self.at = 0
        return self.at, {}
    def step(self, action):
        self.at += 1
        return self.at, float(action), self.at == 5, False, None
def make():
    return TimeLimit(Chatty(), 9)
def ones(seen):
    return seen * 0 + 1
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_environment_that_prints_does_not_spoil_the_json(rpd, tmp_path, workers, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    (tmp_path / "chatty.py").write_text(CHATTY)
    finished = rpd(
        "run", "--env", "python:chatty:make", "--policy", "python:chatty:ones", "--json",
        "--episodes", "40", "--test-episodes", "3", "--workers", workers, *QUICK,
        "--default-action", "constant:0", "--out", "run",
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)["suite"]["states"] == 5
    assert json.loads(rpd("rank", "run", "--json").stdout)["rankings"]
    assert "on purpose" in finished.stderr
    assert "a new day" in finished.stderr
    assert "from another program" in finished.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--dry-run", "--policy", "python:chatty:ones", "--default-action", "constant:0"],
        ["describe", "policy", "python:chatty:ones", "--episodes", "2"],
    ],
)
def test_nor_does_it_spoil_that_of_other_commands(rpd, tmp_path, words):
    (tmp_path / "chatty.py").write_text(CHATTY)
    finished = rpd(*words, "--env", "python:chatty:make", "--json")
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)
    assert "a new day" in finished.stderr


LIGHT = ["--env", "gym:CartPole-v1", "--policy", "random", "--default-action", "constant:0"]
"""What imports no torch."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("closed", "what"),
    [
        (">&-", LIGHT),
        ("<&-", LIGHT),
        ("2>&-", LIGHT),
        ("<&- >&-", LIGHT),
        ("<&- >&- 2>&-", ["--env", "cartpole"]),
    ],
)
def test_closed_streams_do_no_harm(rpd, tmp_path, closed, what):
    words = ["suite", *what, "--episodes", "600", "--workers", "2", "--out", "run"]
    command = " ".join([*rpd.command(*words), closed])
    finished = subprocess.run(["bash", "-c", command], cwd=tmp_path, stderr=subprocess.PIPE)
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "run" / "suite").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["describe", "policy", "random", "--episodes", "1"],
        ["suite", "--policy", "random", "--episodes", "20", "--workers", "1"],
    ],
)
def test_an_id_that_is_replaced_is_noted_by_every_command(cli, words):
    played = cli(*words, "--env", "gym:Pendulum-v1")
    assert "note" not in played.stderr
    played = cli(*words, "--env", "gym:Pendulum-v0")
    assert played.exit_code == 0, played.stderr
    assert "rpd: note: Pendulum-v0 is gone: Pendulum-v1 is used" in played.stderr


@pytest.mark.slow
def test_another_text_of_ones_own_module_is_another_run(rpd, tmp_path):
    words = ["suite", "--env", "python:mine:make", "--policy", "python:mine:ones", "--json",
             "--episodes", "20", "--workers", "1", "--default-action", "constant:0"]  # fmt: skip
    (tmp_path / "mine.py").write_text(CHATTY)
    before = json.loads(rpd(*words).stdout)
    assert json.loads(rpd(*words).stdout) == before
    (tmp_path / "mine.py").write_text(CHATTY.replace("float(action)", "2 * float(action)"))
    after = json.loads(rpd(*words).stdout)
    assert after["return_mean"] == 2 * before["return_mean"]
    assert after["out"] != before["out"]
    refused = rpd(*words, "--out", before["out"])
    assert refused.returncode == 2
    assert "env: the text of its module has changed" in refused.stderr


@pytest.mark.parametrize(
    ("words", "reader"),
    [
        (["list-plugins"], "head -1"),
        (["--help"], "true"),
        (["show", "RUN"], "true"),
        (["show", "RUN", "--json"], "true"),
    ],
    ids=" ".join,
)
def test_a_reader_who_leaves_early_is_no_fault_of_anybodys(rpd, tmp_path, finished, words, reader):
    listing = " ".join(rpd.command(*(str(finished.path) if w == "RUN" else w for w in words)))
    command = f"{listing} 2>errors | {reader}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True)
    assert (done.returncode, (tmp_path / "errors").read_text()) == (0, "")


def test_a_broken_pipe_inside_a_command_is_no_reader_who_left(monkeypatch, tmp_path):
    def breaks():
        raise BrokenPipeError(32, "a worker is gone")

    with pytest.raises(BrokenPipeError):
        shared.reporting(breaks)()


def test_memory_that_runs_out_is_one_line(capsys):
    with pytest.raises(typer.Exit) as caught:
        shared.reporting(lambda: bytearray(1 << 60))()
    assert caught.value.exit_code == shared.BAD_INPUT
    told = capsys.readouterr().err
    assert told.startswith("rpd: memory ran out: use fewer --workers")
    assert "Traceback" not in told


def test_advice_fits_what_is_wrong():
    def advice(states, identified, original, pruned, elsewhere=False):
        suite = SuiteFacts(100, 50.0, states, 1000, 0.3, identified, 20)
        return advice_for(suite, Coverage(original, pruned), elsewhere)

    assert advice(100, 80, 1.0, 1.0) == []
    assert "one state" in advice(1, 1, 1.0, 1.0)[0]
    assert advice(1, 1, 0.5, 0.5) == advice(1, 1, 1.0, 1.0)
    assert [text.split(" ")[0] for text in advice(100, 1, 0.5, 0.4)] == ["50%", "only"]
    assert "spends 88% of its steps in states that the suite never saw" in advice(9, 9, 1, 0.12)[0]
    told = advice(9, 9, 0.5, 0.12, elsewhere=True)
    assert "where the policy decides as before: judge by the share of steps" in told[1]
    assert "--unvisited" not in " ".join(told)


def test_describe_reads_parameters_from_the_source(cli):
    told = json.loads(cli("describe", "abstraction", "round", "--json").stdout)
    assert told["parameters"][0]["name"] == "digits"
    assert told["parameters"][0]["default"] == "(1,)"
    assert told["parameters"][0]["help"].startswith("Decimal places")


def test_list_plugins_gives_the_promised_keys(cli):
    rows = json.loads(cli("list-plugins", "--kind", "measure", "--json").stdout)
    assert {row["name"] for row in rows} >= {"tarantula", "ochiai", "zoltar", "wong2"}
    keys = {"kind", "name", "plugin", "distribution", "version", "status", "summary"}
    assert all(keys <= set(row) for row in rows)


def test_the_default_directory_has_a_readable_name(cli, tmp_path):
    cli("suite", "--env", "cartpole", "--episodes", "10", "--workers", "1")
    (only,) = (tmp_path / "runs").iterdir()
    assert only.name == "cartpole"


def test_check_plugin_notes_what_it_could_not_check_until_it_is_given_an_environment(cli):
    told = cli("check-plugin", "rpd_atari")
    assert told.exit_code == 0, told.output
    assert "ok    abstraction ram\n" in told.stdout
    assert "note  abstraction pong\n      fits none of the kit's 6 environments" in told.stdout
    assert "note  environment atari\n      needs game" in told.stdout
    rows = json.loads(cli("check-plugin", "rpd_atari", "--env", "atari:Pong", "--json").stdout)
    found = {row["name"]: row for row in rows if row["kind"] == "abstraction"}
    assert (found["pong"]["faults"], found["pong"]["notes"]) == ([], [])
    (note,) = found["breakout"]["notes"]
    assert note.startswith("does not fit atari:Pong: ")


def test_help_cuts_no_summary_on_a_narrow_terminal(rpd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    told = rpd("--help").stdout
    assert "..." not in told.partition("Analyse:")[2]
    for one in installed().of_kind("command"):
        assert f"  {one.component.name} " in told
        assert one.component.summary in " ".join(told.split())
    headings = re.findall(r"^(\w.*):$", told, re.MULTILINE)
    assert headings == ["Options", "Analyse", "Look", "Compare and study", "Runs", "Plugins"]


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_is_short_to_ask_for(cli, flag):
    told = cli(flag)
    assert told.exit_code == 0
    assert "Which decisions of a trained reinforcement-learning policy matter?" in told.stdout
    for command in ("run", "suite", "rank", "prune", "show", "replay", "list-plugins"):
        assert f"\n  {command} " in told.stdout
    assert "Play a stored episode again" in cli("replay", flag).stdout


def test_the_version_is_that_of_the_distribution(cli):
    told = cli("--version")
    assert (told.exit_code, told.stdout) == (0, f"rpd {version('ranking-policy-decisions')}\n")
