"""The page of a run, as a file."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

import page_worlds
import pytest
from commands import refusal, rpd_command
from page_worlds import edit, panel, spoil_everything, store_pictures
from stores import ready, tree
from strangers import having, plugin

import rpd
from rpd import open_run
from rpd_core.plugin.registry import installed
from rpd_core.results.sentences import headline
from rpd_core.results.words import few, percent, signed
from rpd_report import page as building
from rpd_report import sentences
from rpd_report.markup import inline_json, without_paths


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return ready(tmp_path / "run").path


def name_of(run: Path) -> str:
    return str(open_run(run).name)


def page_of(run: Path) -> str:
    return building.build_page(open_run(run)).decode()


# --------------------------------------------------------------------------- the file


def test_the_page_is_the_same_byte_for_byte_and_nothing_else_is_touched(run: Path) -> None:
    before = tree(run)
    first = building.build_page(open_run(run))
    assert building.build_page(open_run(run)) == first
    moved = shutil.copytree(run, run.parent / "elsewhere")
    assert building.build_page(open_run(moved)) == first
    assert tree(run) == before


def test_the_page_allows_only_its_own_scripts_and_nothing_from_outside(run: Path) -> None:
    page = page_of(run)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', page.partition("<script>")[0]) == []
    assert str(run) not in page


def test_rpd_report_writes_the_page_and_says_where(run: Path, tmp_path: Path) -> None:
    assert rpd_command("report", run).stdout.strip() == str(run / "report.html")
    assert (run / "report.html").read_bytes() == building.build_page(open_run(run))
    out = tmp_path / "mail" / "page.html"
    told = json.loads(rpd_command("report", run, "--out", out, "--json").stdout)
    assert told == {"page": str(out), "bytes": out.stat().st_size}
    assert open_run(run).report() == run / "report.html"


def test_a_page_that_cannot_be_made_is_one_line(run: Path, tmp_path: Path) -> None:
    assert "not a run directory" in refusal("report", tmp_path)
    assert "is a folder" in refusal("report", run, "--out", tmp_path)
    assert "has no analysis 'nope'" in refusal("report", run, "--analysis", "nope")


def test_an_unfinished_run_has_a_page_that_says_how_far_it_is(run: Path) -> None:
    shutil.rmtree(run / "analyses")
    result = rpd_command("report", run)
    assert "no finished analysis" in result.stderr
    page = (run / "report.html").read_text()
    assert "Not finished: 60 of 60 mutant episodes are stored; the pruning is not complete" in page
    assert "<h2" in page
    assert 'id="decisions"' not in page, "nothing is proven"
    assert 'id="effects"' not in page, "nobody has said when an episode passes"


def test_the_page_of_a_run_that_was_broken_off_shows_the_list_so_far(run: Path) -> None:
    finished = open_run(run)
    first = finished.effects(3)
    finished.directory.keep_question(finished.directory.configuration(finished.asked))
    for folder in (run / "analyses").iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)
    page = page_of(run)
    assert "Not finished: 60 of 60 mutant episodes are stored; the pruning is not" in page
    assert "Not final: this is the list after 60 mutant episodes of 60, by" in page
    for row in first:
        assert f">{row.state}<" in page
        assert signed(row.effect) in page
    returns = finished.suite.episodes.total_return
    assert f"60, mean return {few(float(returns.mean()))}" in page
    assert 'id="decisions"' not in page, "nothing is proven"
    question = run / "analyses" / "question.json"
    edit(question, lambda it: it["settings"].update(condition="python:strange:condition"))
    assert "There is no list yet: " in page_of(run)


def test_rpd_run_begins_with_the_headline_and_says_where_the_page_is(tmp_path: Path) -> None:
    small = ("--episodes", "120", "--test-episodes", "3", "--confirm-episodes", "20", "--workers")
    more = ("1", "--unmutated-episodes", "20", "--confirm-tries", "1")
    out = tmp_path / "run"
    words = ("--env", "cartpole", *small, *more, "--report", "--out", out)
    told = rpd_command("run", *words).stdout
    assert " ".join(told.split()).startswith(headline(open_run(out).summary))
    assert str(out / "report.html") in told
    assert (out / "report.html").is_file()


# ------------------------------------------------------------------------- what it holds


def test_the_page_shows_the_answer_before_the_folds(run: Path) -> None:
    page, summary = page_of(run), open_run(run).summary
    order = [
        ">Where does it matter?<", ">When does it matter?<", ">In which situations? ",
        ">Is it true?<", ">Everything else<", "<summary>All ", "<summary>Another size",
        "<summary>For method people", "<summary>Settings, versions",
    ]  # fmt: skip
    places = [page.index(words) for words in order if words in page]
    assert places == sorted(places)
    assert len(places) >= len(order) - 2, "the corridor has neither map nor front"
    assert "rpd run --config RUN/run.json" in page
    for row in (*summary.decisions, *summary.ranking):
        assert f"<span>{row.state}</span>" in page
    assert page.count('class="interval"') == len(summary.decisions) + len(summary.ranking)


def test_the_sentence_counts_the_steps_of_the_episode_that_is_shown(run: Path) -> None:
    opened = open_run(run)
    assert opened.traces is not None
    steps = opened.traces.smallest.steps(opened.traces.typical)
    deciding = int((steps.kept & steps.override).sum())
    page = page_of(run)
    assert f"<h1>{deciding} of {len(steps)} steps decide a typical episode.</h1>" in page
    policy = opened.policy()
    assert policy is not None
    told = headline(opened.summary).partition(f"{percent(policy.share)} of the return")
    assert f"{told[0]}<b>{told[1]}</b>{told[2]}" in page.replace("&gt;", ">"), "as on the screen"
    assert f": it overrides the default action at {deciding} of {len(steps)} steps.</p>" in page


def test_the_timeline_has_a_bar_for_each_deciding_step_and_says_who_acts(run: Path) -> None:
    opened = open_run(run)
    assert opened.traces is not None
    steps = opened.traces.smallest.steps(opened.traces.typical)
    found = page_of(run).partition('id="page-data">')[2].partition("</script>")[0]
    told = json.loads(found)["steps"]
    words = [told["texts"][at] for at in told["at"]]
    assert len(words) == len(steps)
    acts = [one.startswith("policy acts") for one in words]
    assert acts == steps.kept.tolist()


def test_no_path_leaks_from_a_page_that_is_mailed(run: Path) -> None:
    folder = run / "analyses" / name_of(run)
    secret = "/home/somebody/secret/policy.zip"
    edit(folder / "summary.json", lambda it: it.update(policy_spec=f"sb3:{secret},device=cpu"))

    def hide(it: dict[str, Any]) -> None:
        it["configuration"]["suite"]["policy"] = f"sb3:{secret}"

    edit(folder / "summary.json", hide)
    page = page_of(run)
    assert "somebody" not in page
    assert "policy.zip" in page
    assert str(run) not in page
    assert without_paths("see /a/b/c.txt, or 'C:\\x\\y.bin'") == "see c.txt, or 'y.bin'"
    assert without_paths("a/b and 3 / 4") == "a/b and 3 / 4"


def test_the_baselines_stand_beside_the_smallest_policy(run: Path) -> None:
    page = page_of(run)
    for words in ("random states", "a decision tree that plays alone", "the smallest policy"):
        assert f'<th scope="row">{words}</th>' in page


def test_what_is_not_proven_lists_nothing_as_important(run: Path) -> None:
    folder = run / "analyses" / name_of(run)

    def unproven(summary: dict[str, Any]) -> None:
        summary["decisions"] = []
        for policy in (summary["policy"], summary["policies"]["0.9"]):
            policy.update(met=False, outcome="undecided")

    edit(folder / "summary.json", unproven)
    page = page_of(run)
    assert "<h1>No smaller policy is proven yet.</h1>" in page
    assert "Nothing proven yet: " in page.partition('class="lead">')[2].partition("</p>")[0]
    assert ">What was tried, and what to do</h2>" in page
    assert "What would help: " in page
    for words in (
        'id="decisions-table"',
        'id="keep"',
        'id="proof"',
        'id="situations"',
        "data-clip",
    ):
        assert words not in page
    assert ">Effects in a mutated policy: the paper's list</h3>" in page


def test_the_page_is_for_people_who_were_not_there(run: Path) -> None:
    summary = open_run(run).summary
    assert summary.policy is not None
    page = page_of(run)
    assert f"{summary.policy.kept} of {summary.suite.states} states" in page
    assert 'class="kicker">' in page
    assert not re.search(r"\d %", re.sub(r"<script.*", "", page, flags=re.DOTALL)), "2%, not 2 %"
    told = sentences.in_words(installed(), "default-action", "repeat")
    assert told == "repeat – repeat the last action"
    assert sentences.in_words(installed(), "measure", "nobody:1") == "nobody:1"
    far = dataclasses.replace(summary, policy_spec="sb3:/home/me/a/policy.zip", env="gym:ALE/Pong")
    assert sentences.title_of(far) == "sb3:policy.zip on gym:ALE/Pong"
    odd = dataclasses.replace(summary, condition="return>=12.999999999999973")
    assert ("an episode passes if", "return>=13") in [*sentences.about(odd, installed())]


def test_the_curves_are_those_of_the_sweep_with_random_last(run: Path) -> None:
    opened = open_run(run)
    lines = {line.measure: line for line in building.curves_in_order(opened)}
    assert next(iter(lines)) == opened.summary.list.measure
    assert list(lines)[-1] == "random"
    for name, curve in opened.curves.items():
        assert lines[name].returns == pytest.approx(curve.mean_return)
        assert lines[name].steps == pytest.approx(curve.step_shares)
        inside = zip(lines[name].low, lines[name].returns, lines[name].high, strict=True)
        assert all(low <= mean <= high for low, mean, high in inside)


def test_what_the_table_leaves_out_is_counted_and_its_file_named(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    total = open_run(run).summary.list.listed
    monkeypatch.setattr(building, "MOST_ROWS", 3)
    page = page_of(run)
    assert f"{total - 3} further decisions are not in this table" in page
    (file,) = re.findall(r"RUN/(analyses/\S+\.parquet)", page)
    assert (run / file).is_file()


def test_without_the_condition_of_a_stranger_the_summary_has_to_do(run: Path) -> None:
    folder = run / "analyses" / name_of(run)
    edit(folder / "analysis.json", lambda it: it["settings"].update(condition="stranger:1"))
    page = page_of(run)
    assert "decisions can be shown here: no condition is called" in page
    assert open_run(run).summary.decisions[0].state in page


def test_pictures_and_the_film_that_are_stored_are_in_the_page(run: Path) -> None:
    keys = [row.key for row in open_run(run).summary.decisions[:2]]
    alone = page_of(run)
    assert "data-clip" not in alone
    assert "Without the policy there, the mean return falls from" in alone
    store_pictures(run, name_of(run), keys)
    page = page_of(run)
    assert page.count('src="data:image/webp') >= 3
    assert "policy acts: return <b>200</b>" in page
    assert "In 31 of 40 episodes that reach it, return&gt;=" in page
    assert "is met with the policy and missed without it" in page
    assert "Without the policy there, the mean return falls from" not in page
    (run / "pictures" / name_of(run) / "clips/a.webp").write_bytes(b"<html>")
    assert "data-clip" not in page_of(run), "half a pair is none"


def test_a_film_that_shows_the_opposite_is_left_out(run: Path) -> None:
    keys = [row.key for row in open_run(run).summary.decisions[:1]]
    store_pictures(run, name_of(run), keys)
    index = run / "pictures" / name_of(run) / "index.json"
    edit(index, lambda it: it["clips"][0].update(default_return=200.0))
    assert "data-clip" not in page_of(run)


@pytest.mark.slow
def test_a_page_stays_below_three_megabytes_however_much_there_is(run: Path) -> None:
    keys = [row.key for row in open_run(run).summary.decisions]
    store_pictures(run, name_of(run), keys)
    big = page_worlds.PICTURE + bytes(400_000)
    for path in (run / "pictures").rglob("*.webp"):
        path.write_bytes(big)
    assert len(building.build_page(open_run(run))) < building.LARGEST == 3_000_000


@pytest.mark.slow
def test_a_hundred_thousand_states_take_less_than_twenty_seconds(tmp_path: Path) -> None:
    small = {"test_episodes": 2, "confirm_episodes": 20, "confirm_tries": 1}
    rpd.run(
        "cartpole", abstraction="round:digits=2", episodes=1000, unmutated_episodes=20, evidence=1,
        random_rankings=1, finish=(), out=tmp_path / "run", workers=1, **small,
    )  # fmt: skip
    began = time.process_time()
    page = building.build_page(open_run(tmp_path / "run"))
    assert time.process_time() - began < 20, "seconds of the processor"
    assert open_run(tmp_path / "run").summary.suite.states > 100_000
    assert len(page) < building.LARGEST


# --------------------------------------------------------------------- panels, strangers


FAULTS = {
    "Raises": "KeyError",
    "Markup": "a str is no drawing",
    "Unsure": "SystemExit: no idea",
    "Untrue": "an image is not &#39;image/png&#39;",
    "Missing": "it is broken",
    "Vast": "is no place in a drawing",
    "Gaudy": "is no colour",
    "Stranger": "a card stands for [1], no decision",
    "Empty": "it has neither hero() nor frames() nor cards()",
    "Forever": "hero() must return drawings, at most 12",
}


@pytest.mark.parametrize("target", FAULTS)
def test_a_panel_that_fails_becomes_a_line_that_names_it(run: Path, target: str) -> None:
    odd = (panel("odd", target), panel("zz-good", "Good"))
    with having(plugin("rpd-odd", "1", odd)):
        page = page_of(run)
    line = "The panel odd (rpd-odd) could not be drawn: "
    assert FAULTS[target] in page.partition(line)[2].partition("</p>")[0]
    assert "Third party" in page, "what it did not fill is filled by another"


def test_nothing_from_outside_becomes_markup(run: Path) -> None:
    spoil_everything(run)
    odd = (panel("good", "Good"), panel("bad", "Raises"), panel("sly", "Disguised"))
    with having(plugin("rpd-odd", "1", odd)):
        page = page_of(run)
    assert page.count("window.pwned") > 20
    inert = re.sub(r"<script type=.*?</script>", "", page, flags=re.DOTALL)
    assert "<img src=x" not in page
    assert "<script>window" not in page
    assert inert.count("<script>") == 1, "the page's own"


def test_data_inside_the_page_cannot_end_its_script() -> None:
    text = inline_json({"</script>": ["<!--", "\u2028&"]})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"</script>": ["<!--", "\u2028&"]}
