"""The page of a run, as a file."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import page_worlds
import pytest
from commands import refusal, rpd_command
from page_worlds import edit, panel, spoil_everything, store_pictures
from stores import ready, tree
from strangers import having, plugin

import rpd
from rpd import open_run
from rpd_core.errors import ComponentError
from rpd_core.plugin.protocols import Axis, Layer, Paragraph, Plane
from rpd_core.plugin.registry import installed
from rpd_core.results.sentences import headline
from rpd_report import page as building
from rpd_report import sentences
from rpd_report.blocks import Room, binned, checked_blocks
from rpd_report.markup import inline_json


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
        assert f"{row.effect:+.2f}" in page
    returns = finished.suite.episodes.total_return
    assert f"60, mean return {returns.mean():.4g}" in page
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


def test_the_page_shows_the_answer_the_decisions_and_how_to_repeat_it(run: Path) -> None:
    page, summary = page_of(run), open_run(run).summary
    for words in ("What was analysed", "Pruning curves", "The decisions", "How to repeat it"):
        assert f">{words}</h2>" in page
    assert "rpd run --config RUN/run.json" in page
    assert summary.decisions
    assert len(summary.ranking) > len(summary.decisions)
    for row in (*summary.decisions, *summary.ranking):
        assert f"<span>{row.state}</span>" in page
    assert page.count('class="interval"') == len(summary.decisions) + len(summary.ranking)
    assert page.index('id="decisions-table"') < page.index('id="effects-table"')


def test_the_head_has_the_figures_of_the_smallest_policy_and_of_what_else_would_do(
    run: Path,
) -> None:
    summary = open_run(run).summary
    policy = dataclasses.replace(
        summary.policy,
        kept=3, states=0.011, steps=0.28, overrides=0.26, overrides_whole=0.79, share=0.9,
        share_bound=0.88, return_mean=181.0, pass_rate=0.83, pass_rate_whole=1.0,
        worst_tenth=30.9,
    )  # fmt: skip
    told = dict(sentences.figures(summary, policy))
    assert told["28%"] == "of the steps are in them"
    assert told["26%"] == "of the steps differ from the default action (whole policy: 79%)"
    assert told["90%"] == "of the return is kept: 181; at least 88% with 95% confidence"
    assert told["83%"] == "of its episodes pass (whole policy: 100%)"
    assert told["30.9"] == "mean return of the worst tenth of its episodes"
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
    assert "Nothing proven yet: " in page.partition('class="answer">')[2].partition("</p>")[0]
    assert "Nothing is proven, so that no decision is listed as important. What would help" in page
    assert 'id="decisions-table"' not in page
    assert ">What was tried</h2>" in page
    assert 'id="keep"' not in page
    assert ">Effects in a mutated policy</h2>" in page


def test_the_page_is_for_people_who_were_not_there(run: Path) -> None:
    summary = open_run(run).summary
    assert summary.policy is not None
    page = page_of(run)
    assert f"In {summary.policy.kept} states it does what the policy does" in page
    assert "the default action (" in page
    assert "rpd validate RUN" in page, "what was not tried is said"
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


def test_pictures_and_clips_that_are_stored_are_in_the_page(run: Path) -> None:
    keys = [row.key for row in open_run(run).summary.decisions[:2]]
    assert "No pictures are stored with this run." in page_of(run)
    store_pictures(run, name_of(run), keys)
    page = page_of(run)
    assert page.count('<img src="data:image/webp') >= 2
    assert "policy decides: return 200" in page
    assert "Without the policy here 31 of 40 such episodes return less" in page
    (run / "pictures" / name_of(run) / f"states/{keys[0]}.webp").write_bytes(b"<html>")
    assert page_of(run).count('<img src="data:image/webp') < page.count('<img src="data:image/webp')


@pytest.mark.slow
def test_a_page_stays_below_five_megabytes_however_much_there_is(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [row.key for row in open_run(run).summary.decisions]
    store_pictures(run, name_of(run), keys)
    big = page_worlds.PICTURE + bytes(400_000)
    for path in (run / "pictures").rglob("*.webp"):
        path.write_bytes(big)
    assert len(building.build_page(open_run(run))) < building.LARGEST
    monkeypatch.setattr(building, "LARGEST", 2_000_000)
    assert len(building.build_page(open_run(run))) < 2_000_000


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
    "Markup": "draw() returned a str among its blocks",
    "Unsure": "SystemExit: no idea",
    "Untrue": "an image is not &#39;image/png&#39;",
    "Missing": "it is broken",
    "Between": "x and y of a plane must be from 0 to 1, got 0.5",
    "Vast": "&#39;c&#39; must hold one finite number per state",
    "Forever": "draw() returned more than 400 blocks",
    "Wallpaper": "the panels have more than 20 planes",
}


def test_a_panel_that_fails_becomes_a_line_that_names_it(run: Path) -> None:
    odd = tuple(panel(target.lower(), target) for target in FAULTS)
    with having(plugin("rpd-odd", "1", (panel("good", "Good"), *odd))):
        page = page_of(run)
    for target, fault in FAULTS.items():
        line = f"The panel {target.lower()} (rpd-odd) could not be drawn: "
        assert fault in page.partition(line)[2].partition("</p>")[0]
    assert "Third party" in page, "the others are there"


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


def test_planes_of_all_panels_share_the_numbers_that_a_page_can_hold() -> None:
    place, room = np.zeros(10), Room(numbers=3000)
    plane = Plane((Axis("a", place), Axis("b", place)), (Layer("c", place),) * 198)
    assert len(list(checked_blocks([plane], room))) == 1
    assert room.numbers == 1000
    with pytest.raises(ComponentError, match="hold more than 4000000 numbers"):
        list(checked_blocks([plane], room))
    with pytest.raises(ComponentError, match="more than 200 axes of a plane"):
        list(checked_blocks([Plane((Axis("a", place),) * 201, plane.layers)], Room()))


def test_texts_of_a_panel_are_cut() -> None:
    (block,) = checked_blocks([Paragraph("a" * 10_000)], Room())
    assert isinstance(block, Paragraph)
    assert block.text == "a" * 4000 + "…"


def test_data_inside_the_page_cannot_end_its_script() -> None:
    text = inline_json({"</script>": ["<!--", "\u2028&"]})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"</script>": ["<!--", "\u2028&"]}


def test_values_on_a_grid_have_a_bin_each_and_others_share_some() -> None:
    found = binned("height", " m", np.array([0.0, 0.1, 0.3, 0.1]))
    assert found.at.tolist() == [0, 1, 3, 1]
    assert found.width == pytest.approx(0.1)
    assert found.start == pytest.approx(-0.05)
    assert binned("x", "", np.random.default_rng(0).random(500)).at.max() == 39
