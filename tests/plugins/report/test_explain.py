"""Everything known about one decision, in a small run on the corridor."""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import report_worlds
import stores
import worlds
from commands import refusal, rpd_command
from rich.console import Console

from rpd import open_run
from rpd_core.errors import ConfigError
from rpd_core.results.run import Run
from rpd_core.results.words import alike
from rpd_report.explanation_text import print_explanation

QUICK = {"confirm_episodes": 40, "minimise_steps": 40_000}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    path = tmp_path_factory.mktemp("explain") / "run"
    sizes = {"episodes": 400, "chunk": 100, "unmutated_episodes": 50, "evidence": 25}
    stores.finish(path, stores.corridor(**sizes, **QUICK))
    return open_run(path)


def test_a_rank_is_a_place_by_loss_in_the_smallest_policy(run: Run):
    top = run.top(5)
    assert len(top) == 4
    for place, one in enumerate(top):
        found = run.explain(place + 1)
        assert (found.decision, found.key, found.decisions) == (one, one.key, 4)
        assert found.above == top[max(place - 2, 0) : place]
        assert found.below == top[place + 1 : place + 3]
        assert found.effect.key == one.key
        assert found.effect.in_policy


def test_a_state_is_found_by_key_and_by_words(run: Run):
    key = int(worlds.corridor_keys()[7])
    for name in (key, str(key), f"{key:016x}", f"0x{key:X}"):
        found = run.explain(name)
        assert (found.key, found.state) == (key, "7")
    assert run.explain("1").key == run.top(1)[0].key, "a rank comes first"


def test_a_state_outside_the_smallest_policy_is_said_to_be_outside_first(run: Run):
    inside = {one.key for one in run.decisions}
    key = next(int(one) for one in run.decided().counted.states.key if int(one) not in inside)
    found = run.explain(key)
    assert (found.decision, found.above, found.below) == (None, (), ())
    assert (found.effect.in_policy, found.kept["0.9"]) == (False, False)
    lines = rpd_command("explain", run.path, f"{key:016x}").stdout.splitlines()
    assert lines[0] == (
        "Not in the smallest policy for 90% of the return, which acts by default here: "
        + found.state
    )
    assert "In a policy that is mutated at rate 0.3, by 400 mutants:" in lines
    assert not any("Without it" in line for line in lines)


def test_without_a_confirmed_policy_no_number_is_a_decision(run: Run):
    opened = open_run(run.path)
    vars(opened)["summary"] = dataclasses.replace(run.summary, decisions=())
    with pytest.raises(ConfigError, match="no decision 3: no smallest policy is confirmed"):
        opened.explain(3)
    assert opened.explain(int(worlds.corridor_keys()[12])).decision is None


def test_the_cells_and_shares_are_those_of_the_suite(run: Run):
    key = int(worlds.corridor_keys()[10])
    found = run.explain(key)
    suite, weights = run.suite, run.analysis.weights
    mine = suite.visits.key == key
    failed = weights[suite.episode_of_visit()] == 0
    mutated = suite.visits.mutated
    cells = found.cells
    assert cells.mutated_failed == (mine & mutated & failed).sum()
    assert cells.mutated_passed == (mine & mutated & ~failed).sum()
    assert cells.kept_failed == (mine & ~mutated & failed).sum()
    assert cells.kept_passed == (mine & ~mutated & ~failed).sum()
    assert found.policy_shares == {"go": 1.0}
    assert found.default_shares == {"drift": 1.0}
    assert (found.value_gap, found.default_gap, found.entropy) == (None, None, None)


def test_reach_is_counted_over_unmutated_episodes(run: Run):
    on_the_way, beside = (run.explain(int(worlds.corridor_keys()[s])).reached for s in (10, 11))
    assert vars(on_the_way) == {
        "episodes": 50, "total_episodes": 50, "steps": 50, "total_steps": 400,
    }  # fmt: skip
    assert (beside.episodes, beside.steps) == (0, 0)


def test_the_first_visit_and_the_examples_are_in_the_suite(run: Run):
    key = int(worlds.corridor_keys()[10])
    found, suite = run.explain(key), run.suite
    rows = np.flatnonzero(suite.visits.key == key)
    first = rows[0]
    assert found.first_seen.episode == suite.visits.episode[first]
    assert found.first_seen.step == suite.visits.first_step[first]
    assert found.first_seen.seed == suite.episodes.seed[found.first_seen.episode]
    arms = [(one.arm, one.passed) for one in found.examples]
    assert arms == sorted(arms, key=lambda arm: (arm[0] == "kept", arm[1]))
    assert {arm for arm, _ in arms} == {"mutated", "kept"}
    for one in found.examples:
        (row,) = rows[suite.visits.episode[rows] == one.episode]
        assert (one.step, one.visits) == (
            suite.visits.first_step[row],
            suite.visits.count[row],
        )
        assert suite.visits.mutated[row] == (one.arm == "mutated")
        assert one.passed == run.analysis.weights[one.episode]
        assert one.seed == suite.episodes.seed[one.episode]
        assert one.total_return == suite.episodes.total_return[one.episode]
    assert found.replay == f"rpd replay {run.path} suite:{found.examples[0].episode}"


def test_every_measure_of_the_analysis_has_a_score_and_a_rank(run: Run):
    found = run.explain(2)
    asked = [name for name in run.asked.settings.measures if name != "default-gap"]
    assert [one.measure for one in found.measures] == asked
    for one in found.measures:
        ranking = run.ranked(one.measure)
        assert ranking.ranked_keys[one.rank - 1] == found.key
        assert one.score == ranking.scores[ranking.order[one.rank - 1]]
    assert list(found.not_measured) == ["default-gap"], "the policy offers nothing"


def test_the_smallest_policies_of_all_targets_keep_it_or_not(run: Run):
    keys = [int(key) for key in run.decided().counted.states.key]
    found = {key: run.explain(key).kept for key in keys}
    for fraction in (0.9, 0.5):
        kept = run.kept(fraction)
        assert kept is not None
        assert {key for key in keys if found[key][f"{fraction:g}"]} == {*kept.keys}


def test_a_state_that_is_set_aside_is_explained_with_the_reason(run: Run):
    judged = run.decided()
    unlisted = np.setdiff1d(np.arange(len(judged.counted.states)), judged.listed())
    assert len(unlisted)
    found = run.explain(int(judged.counted.states.key[unlisted[0]]))
    assert found.effect.rank == 0
    assert found.set_aside
    printed = rpd_command("explain", run.path, f"{found.key:016x}").stdout
    assert f"Not in the list by {found.measure} ({found.set_aside})" in printed


def test_an_explanation_is_rounded_and_its_losses_are_whole(run: Run):
    found = run.explain(1)
    assert found.decision is not None
    lost = dataclasses.replace(
        found.decision, loss=0.0941, loss_low=0.077, loss_high=0.113, at_least=True
    )
    long = dataclasses.replace(found, decision=lost, condition="return>=117.14999999999996")
    console = Console(file=io.StringIO(), width=100)
    print_explanation(
        console, dataclasses.replace(long, above=(dataclasses.replace(lost, state="x" * 200),))
    )
    assert isinstance(console.file, io.StringIO)
    told = console.file.getvalue()
    assert "passed means return>=117.15." in told
    assert told.count("  at least 0.0941  0.077 to 0.113") == 2


def test_the_command_says_what_is_lost_without_it_and_json_is_the_same(run: Run):
    told = rpd_command("explain", run.path, 1)
    assert told.exit_code == 0, told.output
    found = run.explain(1)
    lines, words = told.stdout.splitlines(), " ".join(told.stdout.split())
    first = f"Decision 1 of 4 of the smallest policy for 90% of the return: {found.state}"
    assert lines[0] == first
    assert "Policy: go. Default: drift." in lines
    lost = found.decision
    assert lost is not None
    before, after = alike(lost.return_without + lost.loss, lost.return_without)
    assert f"Without it the return goes from {before} to {after} (95%: " in words
    assert f"a loss of {lost.loss:.3g} ({lost.loss_low:.3g} to " in words
    assert f"{lost.share:.0%} of all losses, by {lost.twins} twins. It is needed." in words
    assert "limit of steps" not in words, "where no return is negative more steps lose no more"
    assert "The smallest policy reaches it in 100% of its episodes, the whole policy in" in words
    cells = ["mutated", *(f"{n:g}" for n in list(vars(found.cells).values())[:2])]
    assert any(line.split()[:3] == cells for line in lines)
    assert f"Play one again: {found.replay}" in lines
    plain = json.loads(rpd_command("explain", run.path, 1, "--json").stdout)
    assert plain["decision"]["loss"] == lost.loss
    assert plain["effect"]["in_policy"] is True
    assert plain["cells"]["kept_failed"] == found.cells.kept_failed


def test_an_undecided_effect_says_what_would_settle_it(run: Run):
    undecided = [one for one in run.effects(100) if one.verdict == "undecided"]
    assert undecided
    told = rpd_command("explain", run.path, f"{undecided[0].key:016x}").stdout
    settled = f"A suite of about {undecided[0].settled_at} episodes (now 400) would settle it"
    assert settled in " ".join(told.split())


def test_a_replay_of_an_example_visits_the_state_at_its_step(run: Run, tmp_path: Path):
    path = tmp_path / "live"
    live = stores.finish(path, stores.corridor(**QUICK))
    found = live.explain(1)
    one = found.examples[0]
    step = live.replay(f"suite:{one.episode}").steps[one.step]
    assert step.key == found.key
    assert step.decided_by == ("default" if one.arm == "mutated" else "policy")


def test_nothing_is_written_and_the_policy_need_not_be_there(tmp_path: Path):
    file = tmp_path / "action"
    file.write_text("1")
    stores.finish(tmp_path / "run", stores.corridor(policy=report_worlds.Filed(file), **QUICK))
    file.unlink()
    moved = tmp_path / "moved"
    shutil.move(tmp_path / "run", moved)
    before = stores.tree(moved)
    told = rpd_command("explain", moved, 1)
    assert told.exit_code == 0, told.output
    assert stores.tree(moved) == before
    assert not (moved / ".lock").exists() or (moved / ".lock").stat().st_size == 0


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("0", "there is no decision 0: the smallest policy has 4; write 1 to 4, or another"),
        ("-3", "there is no decision -3"),
        ("999", "there is no decision 999"),
        ("", "no state is named"),
        ("ffffffffffffffff", "no state is called 'ffffffffffffffff'"),
        ("9" * 40, "no state is called"),
        ("²", "no state is called '²'"),
    ],
)
def test_a_state_that_is_not_there_is_one_line(run: Run, state: str, told: str):
    assert told in refusal("explain", run.path, "--", state)


def test_words_that_fit_several_states_are_refused_with_the_first(run: Run):
    with pytest.raises(ConfigError, match=r"', of' fits \d+ states \(.*write more of its words"):
        _two_words(run).explain(", of")


def test_words_that_nearly_fit_are_suggested(run: Run):
    with pytest.raises(ConfigError, match=r"Did you mean 'at 12, of 15'\?"):
        _two_words(run).explain("at 12 of 15")
    assert _two_words(run).explain("AT 12, of").state == "at 12, of 15"


def _two_words(run: Run) -> Run:
    """Return the run with states that have longer words."""
    named = open_run(run.path)
    plain = named.analysis.stored.words
    named.analysis.stored.words = lambda keys: {  # type: ignore[method-assign]
        key: f"at {words}, of 15" for key, words in plain(keys).items()
    }
    return named


def test_an_analysis_that_is_not_there_is_one_line(run: Run):
    assert "has no analysis 'nothing'" in refusal("explain", run.path, 1, "--analysis", "nothing")


def test_a_decision_says_how_much_the_policy_prefers_its_action(tmp_path: Path):
    run = stores.finish(tmp_path, stores.corridor(policy=worlds.Minds()))
    key = int(worlds.corridor_keys()[7])
    assert run.explain(key).default_gap == 7.0
