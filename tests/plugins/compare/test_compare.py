"""Two runs side by side: where the policies agree, and what gained or lost effect."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import worlds
from commands import refusal, rpd_command
from page_worlds import PICTURE
from report_worlds import Wavers
from stores import corridor, finish, tree
from strangers import having

import rpd
from rpd_compare import timelines
from rpd_compare.agreement import bound_if_all_agree, states_to_show
from rpd_compare.changes import Change
from rpd_compare.page import page_of
from rpd_compare.records import Need
from rpd_compare.timelines import draw_both
from rpd_core.errors import ConfigError, EvidenceError, StoreError, counted
from rpd_core.plugin.protocols import Text

WAVERING = 2
"""The one state of the corridor in which the second policy does something else."""
KEYS = [int(key) for key in worlds.corridor_keys()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of a policy that goes, and of one that drifts in one state."""
    path = tmp_path_factory.mktemp("compared")
    more = {"random_rankings": 1, "confirm_tries": 1, "minimise_steps": 40_000}
    live = finish(path / "a", corridor(episodes=300, chunk=300, **more))
    rpd.run(policy=Wavers(WAVERING), like=live, out=path / "b")
    finish(path / "rate", corridor(mutation_rate=0.5, random_rankings=1, confirm_tries=1))
    return path


@pytest.fixture(scope="module")
def found(folder: Path) -> rpd.Comparison:
    return rpd.compare(folder / "a", folder / "b")


def test_they_agree_in_all_states_but_the_one(found: rpd.Comparison, folder: Path) -> None:
    met = [rpd.open_run(folder / name).analysis.counted.states.key for name in "ab"]
    common = {*met[0].tolist()} & {*met[1].tolist()}
    assert (found.common, found.disagreements, found.unclear) == (len(common), 1, 0)
    assert (found.only_a, found.only_b) == (len(met[0]) - len(common), len(met[1]) - len(common))
    assert [curve.measure for curve in found.agreement] == (
        ["impact:shrunken", "tarantula", "freqvis"]
    )
    every = found.agreement_in_first(1.0)
    assert (every.states, every.same) == (len(common), len(common) - 1)


@pytest.mark.parametrize("measure", ["impact:shrunken", "tarantula", "freqvis"])
def test_agreement_falls_where_the_ranking_of_the_first_run_has_that_state(
    found: rpd.Comparison, folder: Path, measure: str
) -> None:
    run = rpd.open_run(folder / "a")
    common = {*rpd.open_run(folder / "b").analysis.counted.states.key.tolist()}
    ranked = [key for key in run.ranked(measure).ranked_keys.tolist() if key in common]
    place = ranked.index(KEYS[WAVERING])
    (curve,) = (one for one in found.agreement if one.measure == measure)
    for point in curve.points:
        assert point.same == point.states - (point.states > place)


def test_the_disagreement_is_named_with_what_each_policy_does(found: rpd.Comparison) -> None:
    (row,) = found.disagreeing
    assert (row.key, row.state, row.same, row.overlap) == (KEYS[WAVERING], "2", False, 0.0)
    assert (row.a.action, row.b.action) == ("go", "drift")
    assert row.b.rank is None, "there the default action never differs"
    assert row.a.rank is not None


def test_the_same_run_agrees_with_itself_and_no_effect_changed(folder: Path) -> None:
    same = rpd.compare(folder / "a", folder / "a", ["ochiai"])
    assert [curve.measure for curve in same.agreement] == ["ochiai", "freqvis"]
    assert {p.agreement for curve in same.agreement for p in curve.points} == {1.0}
    assert (same.gained, same.lost, same.disagreements) == (0, 0, 0)
    assert same.judged > 3
    assert same.notes == (
        "Both are the same policy: what only one of its smallest policies needs has a substitute "
        "in the other.",
        "Both are the same run.",
    )
    assert {one.need for one in same.needs} == {Need.BOTH}
    assert [one.a for one in same.needs] == [one.b for one in same.needs]
    assert [one.key for one in same.needs] == [
        one.key for one in rpd.open_run(folder / "a").decisions if one.needed
    ]


def test_effects_are_the_ones_of_the_runs_and_differences_run_from_a_to_b(
    found: rpd.Comparison, folder: Path
) -> None:
    """Where the policy itself drifts, being mutated there changes nothing any more."""
    runs = [rpd.open_run(folder / name) for name in "ab"]
    for row in (*found.changes, *found.disagreeing):
        for side, run in zip((row.a, row.b), runs, strict=True):
            judged = run.decided()
            at = judged.counted.states.key.tolist().index(row.key)
            assert side.effect == judged.effects.estimate[at]
        assert row.difference == pytest.approx(row.b.effect - row.a.effect)
        assert row.low < row.difference < row.high
    assert all(row.change in (Change.GAINED, Change.LOST) for row in found.changes)
    assert len(found.changes) == found.gained + found.lost


def test_both_pruning_curves_are_those_of_the_runs(found: rpd.Comparison, folder: Path) -> None:
    for name, curves in (("a", found.curves_a), ("b", found.curves_b)):
        own = rpd.open_run(folder / name).curves
        assert {*curves} == {*own, "random"}
        assert curves["ochiai"].returns == tuple(own["ochiai"].mean_return.tolist())
        assert curves["ochiai"].steps == tuple(own["ochiai"].step_shares.tolist())


# -------------------------------------------------------------------------- what each needs


def test_what_each_smallest_policy_needs_is_told_apart(found: rpd.Comparison, folder: Path) -> None:
    one, two = (rpd.open_run(folder / name) for name in "ab")
    needed = [{row.key for row in run.decisions if row.needed} for run in (one, two)]
    assert all(needed)
    assert {row.key for row in found.needed(Need.NEW)} == needed[1] - needed[0]
    assert {row.key for row in found.needed(Need.GONE)} == needed[0] - needed[1]
    assert {row.key for row in found.needed(Need.BOTH)} == needed[0] & needed[1]
    kinds = [row.need for row in found.needs]
    assert kinds == sorted(kinds, key=[Need.NEW, Need.GONE, Need.BOTH].index)
    for need in Need:
        losses = [row.loss for row in found.needed(need)]
        assert losses == sorted(losses, reverse=True)
    for row in found.needs:
        for side, run in ((row.a, one), (row.b, two)):
            assert side == {one.key: one for one in run.decisions}.get(row.key)
    assert found.a.smallest is not None
    policy = one.policy()
    assert policy is not None
    assert (found.a.smallest.kept, found.a.smallest.share) == (policy.kept, policy.share)
    assert found.a.smallest.needed == len(needed[0])


def test_without_a_confirmed_policy_needs_are_not_compared(folder: Path) -> None:
    a, b = (rpd.open_run(folder / name) for name in "ab")
    unproven = dataclasses.replace(b.summary.policy, met=False)
    vars(b)["summary"] = dataclasses.replace(
        b.summary, decisions=(), policies={"0.9": unproven, "0.5": None}
    )
    told = rpd.compare(a, b)
    assert (told.needs, told.b.smallest) == ((), None)
    assert told.notes[0] == (
        "B has no confirmed smallest policy, so that what each needs is not compared."
    )


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two policies over rules that the first run learned, and over the second's own."""
    path = tmp_path_factory.mktemp("learned")
    small = {
        "episodes": 200, "test_episodes": 10, "unmutated_episodes": 20, "confirm_episodes": 60,
        "random_rankings": 1, "condition": "return>=100", "finish": (), "workers": 1,
        "target": (0.5,),
    }  # fmt: skip
    rpd.run("cartpole", "cartpole:good", out=path / "old", abstraction="rules", **small)
    sizes = {name: small[name] for name in ("workers", "finish")}
    rpd.run(policy="cartpole:weak", like=path / "old", out=path / "new", **sizes)
    rpd.run("cartpole", "cartpole:weak", out=path / "own", abstraction="rules", **small)
    return path


def test_a_newer_policy_is_compared_over_the_rules_that_the_older_run_learned(
    learned: Path,
) -> None:
    told = refusal("compare", learned / "old", learned / "own")
    assert "rules has learned other states in each" in told
    assert "rpd run --like" in told
    found = rpd.compare(learned / "old", learned / "new")
    assert found.common > 2
    assert found.only_a + found.only_b < found.common
    words = {row.key: row.state for row in rpd.open_run(learned / "old").decisions}
    assert all(row.state == words.get(row.key, row.state) for row in found.needs)
    told = " ".join(rpd_command("compare", learned / "old", learned / "new").stdout.split())
    assert f"in the {found.common} rules that both suites met" in told
    assert f"of {found.a.states} rules keep" in told
    assert "…" not in told, "no condition of a rule is hidden"
    plain = json.loads(rpd_command("compare", learned / "old", learned / "new", "--json").stdout)
    assert [row["key"] for row in plain["needs"]] == [row.key for row in found.needs]


# ------------------------------------------------------------------- what cannot be compared


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("default_action", "random", "different default actions (constant:0 and random)"),
        ("abstraction", ["round:0"], "different abstractions (identity and round:0)"),
        ("env", "cartpole", "different tasks (worlds.Corridor and cartpole)"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    folder: Path, tmp_path: Path, name: str, value: str | list[str], told: str
) -> None:
    other = shutil.copytree(folder / "b", tmp_path / "b")
    stored = json.loads((other / "run.json").read_text())
    (stored if name == "env" else stored["settings"])[name] = value
    stored["components"][name] = {"name": value}
    (other / "run.json").write_text(json.dumps(stored))
    assert told in refusal("compare", folder / "a", other)
    assert "is not a run directory" in refusal("compare", folder / "a", folder / "nowhere")


def test_tasks_and_learned_states_must_be_the_same(folder: Path, tmp_path: Path) -> None:
    other = shutil.copytree(folder / "b", tmp_path / "b")
    stored = json.loads((other / "run.json").read_text())
    (other / "run.json").write_text(json.dumps({**stored, "max_steps": 99}))
    assert "different tasks (episodes of at most 24 and 99 steps)" in (
        refusal("compare", folder / "a", other)
    )
    (other / "run.json").write_text(json.dumps(stored))
    (other / "prepared.json").write_text(json.dumps({"fitted": [None], "digest": "0"}))
    assert "identity has learned other states in each" in refusal("compare", folder / "a", other)


def test_other_rates_leave_the_choices_comparable_but_not_the_effects(folder: Path) -> None:
    found = rpd.compare(folder / "a", folder / "rate")
    assert found.agreement_in_first(1.0).agreement == 1.0
    assert (found.judged, found.changes) == (0, ())
    assert found.notes[-1].startswith(
        "Effects are not compared, because the runs have different mutation rates 0.3 and 0.5"
    )


def test_an_unfinished_run_and_an_unknown_measure_are_one_line(
    folder: Path, tmp_path: Path
) -> None:
    half = shutil.copytree(folder / "b", tmp_path / "half")
    shutil.rmtree(half / "analyses")
    assert "has no finished analysis" in refusal("compare", folder / "a", half)
    assert "Did you mean 'tarantula'?" in (
        refusal("compare", folder / "a", folder / "b", "--measure", "tarantul")
    )
    with pytest.raises(ConfigError, match="has no analysis 'x'"):
        rpd.compare(rpd.open_run(folder / "a", "x"), folder / "b")


def test_suites_without_a_common_state_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = rpd.open_run(folder / "a"), rpd.open_run(folder / "b")
    counted = b.analysis.counted
    states = dataclasses.replace(counted.states, key=counted.states.key + 1)
    moved = dataclasses.replace(b.analysis, counted=dataclasses.replace(counted, states=states))
    monkeypatch.setitem(vars(b), "analysis", dataclasses.replace(moved, rankings={}))
    with pytest.raises(EvidenceError, match="no state in common"):
        rpd.compare(a, b)


# -------------------------------------------------------------------------- how it is shown


@pytest.fixture
def bare() -> Iterator[None]:
    """Neither the environment nor the policies are installed."""
    with having(but=lambda one: one.name in ("rpd_gym", "rpd_minigrid", "rpd_atari")):
        yield


@pytest.mark.usefixtures("bare")
def test_reading_two_runs_plays_nothing_and_fits_a_screen(folder: Path, tmp_path: Path) -> None:
    before = tree(folder)
    page = tmp_path / "page.html"
    shown = rpd_command("compare", folder / "a", folder / "b", "--page", page)
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert len(lines) <= 45
    ended = " ".join(lines[-4:-1])
    assert "B's smallest policy needs " in ended
    assert "The policies choose the same action in " in ended
    assert lines[-1].endswith("page.html")
    plain = json.loads(rpd_command("compare", folder / "a", folder / "b", "--json").stdout)
    assert plain["disagreeing"][0]["a"]["action"] == "go"
    assert tree(folder) == before


def test_ci_is_told_with_exit_code_3_where_the_lower_bound_is_too_low(
    folder: Path, found: rpd.Comparison
) -> None:
    low = found.agreement_in_first(0.1).low
    words = ("compare", folder / "a", folder / "b", "--fail-under")
    assert rpd_command(*words, low - 1e-6).exit_code == 0
    failed = rpd_command(*words, low + 1e-6, "--json")
    assert failed.exit_code == 3
    assert json.loads(failed.stdout)["common"] == found.common
    assert "which is below" in failed.stderr
    assert "--fail-under must lie in [0, 1], got 80" in refusal(*words, "80")


def test_ci_is_told_where_so_few_states_can_never_show_it(folder: Path) -> None:
    words = ("compare", folder / "a", folder / "b", "--fail-under")
    failed = rpd_command(*words, 0.99)
    told = " ".join(failed.stderr.split())
    assert failed.exit_code == 3
    assert "even if all agree: compare runs with 3801 states or more in common" in told
    assert "no number of them 100.0%: ask for less" in rpd_command(*words, 1).stderr
    assert "even if all agree" not in rpd_command(*words, "0.01").stderr
    assert bound_if_all_agree(10) == pytest.approx(0.722, abs=0.001)
    for share in (0.5, 0.8, 0.99):
        needed = states_to_show(share)
        assert needed is not None
        assert bound_if_all_agree(needed - 1) < share <= bound_if_all_agree(needed)


def test_the_page_needs_nothing_else_and_escapes_what_comes_from_outside(
    found: rpd.Comparison,
) -> None:
    hostile = "<script>alert(1)</script>\"'{{ 1 + 1 }}"
    side = dataclasses.replace(found.a, policy=hostile, path=hostile, condition=hostile)
    needs = tuple(dataclasses.replace(row, state=hostile) for row in found.needs)
    rows = tuple(
        dataclasses.replace(row, state=hostile, a=dataclasses.replace(row.a, action=hostile))
        for row in found.disagreeing
    )
    curves = tuple(dataclasses.replace(one, measure=hostile + str(n))
                   for n, one in enumerate(found.agreement))  # fmt: skip
    page = page_of(
        dataclasses.replace(found, env=hostile, abstraction=(hostile,), default_action=hostile,
                            a=side, disagreeing=rows, agreement=curves, notes=(hostile,),
                            needs=needs)
    )  # fmt: skip
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 10
    assert "{{ 1 + 1 }}" in page
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert page_of(found) == page_of(found)


def test_the_page_begins_with_the_sentence_and_both_timelines(
    found: rpd.Comparison, folder: Path
) -> None:
    drawn = draw_both(*(rpd.open_run(folder / name) for name in "ab"))
    assert drawn is not None
    assert drawn.heroes is None, "in a corridor there is nothing to lay steps out by"
    page = page_of(found, drawn)
    new = len(found.needed(Need.NEW))
    assert f"<h1>B&#39;s smallest policy needs {counted(new, 'decision')} that A&#39;s" in page
    assert page.count("data:image/svg+xml") == 3, "two timelines, and pruning curves in a fold"
    assert page.index("data:image/svg+xml") < page.index("What B needs that A does not")
    assert str(folder) not in page, "a page that is mailed tells nobody's folders"
    assert "data:image/svg+xml" not in page_of(found).partition("<details>")[0]


def test_timelines_share_their_axes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [rpd.open_run(folder / name) for name in "ab"]
    drawn = draw_both(*runs)
    assert drawn is not None
    words = [
        [shape.text for shape in one.shapes if isinstance(shape, Text) and shape.anchor == "middle"]
        for one in drawn.timelines
    ]
    assert words[0] == words[1], "the same steps at the same places"
    tops = [
        max(float(shape.text) for shape in one.shapes if is_loss(shape)) for one in drawn.timelines
    ]
    assert tops[0] == tops[1], "and losses"
    traces = {runs[0].path: runs[0].traces, runs[1].path: None}
    monkeypatch.setattr(timelines, "read_traces", lambda run: traces[run.path])
    assert draw_both(*runs) is None


def test_maps_of_both_stand_side_by_side(found: rpd.Comparison, folder: Path) -> None:
    drawn = draw_both(*(rpd.open_run(folder / name) for name in "ab"))
    assert drawn is not None
    page = page_of(found, dataclasses.replace(drawn, heroes=drawn.timelines))
    assert page.count("data:image/svg+xml") == 5
    assert page.index("Where each policy matters") < page.index("What B needs that A does not")


def is_loss(shape: object) -> bool:
    """Return whether a shape is a number beside the bars."""
    return isinstance(shape, Text) and shape.anchor == "end" and shape.text[:1].isdecimal()


def test_pictures_that_a_run_stores_are_inside_the_page(
    found: rpd.Comparison, tmp_path: Path
) -> None:
    picture = tmp_path / "state.webp"
    picture.write_bytes(PICTURE)
    assert "data:image/webp;base64,UklGRhoAAABXRUJQ" in page_of(with_picture(found, picture))


def test_what_is_no_picture_is_not_in_the_page(found: rpd.Comparison, tmp_path: Path) -> None:
    picture = tmp_path / "state.webp"
    picture.write_bytes(b"RIFF <script>")
    assert "UklGRiA8" not in page_of(with_picture(found, picture)), "its first bytes"


@pytest.mark.parametrize("kind", ["large", "link"])
def test_a_file_that_a_picture_cannot_be_is_refused(
    found: rpd.Comparison, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "a").mkdir()
    picture, other = tmp_path / "a" / "state.webp", tmp_path / "other.webp"
    other.write_bytes(PICTURE)
    make = {
        "large": lambda: picture.write_bytes(PICTURE + bytes(2**22)),
        "link": lambda: picture.symlink_to(other),
    }
    make[kind]()
    with pytest.raises(StoreError, match=r"state\.webp'"):
        page_of(with_picture(found, picture))


def with_picture(found: rpd.Comparison, picture: Path) -> rpd.Comparison:
    (row,) = found.disagreeing
    rows = (dataclasses.replace(row, picture=str(picture)),)
    return dataclasses.replace(found, disagreeing=rows)
