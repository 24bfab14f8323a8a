"""The typed summary: the same when read again, and one line when it is broken."""

from __future__ import annotations

import copy
import io
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import refusal, rpd_command
from rich.console import Console
from stores import corridor, finish, ready

import rpd
from rpd_core.cli.screen import print_answer
from rpd_core.errors import StoreError
from rpd_core.pruning.curves import Curve
from rpd_core.pruning.records import PrunedPoint
from rpd_core.pruning.sweep import Sweep
from rpd_core.results.records import Growth, Summary, Threshold
from rpd_core.results.sentences import few_digits, growth_words
from rpd_core.results.summary import _thresholds
from rpd_core.store.codec import from_plain, to_bytes, to_plain


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> rpd.Run:
    return ready(tmp_path_factory.mktemp("summary") / "run")


def summary_file(run: rpd.Run) -> Path:
    return run.path / "analyses" / str(run.name) / "summary.json"


def test_a_summary_survives_being_stored(run: rpd.Run) -> None:
    summary = run.summary
    assert isinstance(summary, Summary)
    assert from_plain(Summary, to_plain(summary), "it") == summary
    assert from_plain(Summary, json.loads(to_bytes(summary)), "it") == summary
    assert rpd.open_run(run.path).summary == summary
    assert isinstance(summary.thresholds["0.9"]["portfolio"], Threshold)
    assert isinstance(summary.decisions, tuple)


def test_the_file_is_what_the_command_prints(run: rpd.Run) -> None:
    printed = json.loads(rpd_command("show", run.path, "--json").stdout)
    assert printed == json.loads(summary_file(run).read_text()) == to_plain(run.summary)


def screen(summary: Summary, others: Sequence[str] = ()) -> str:
    """Return what is printed of a summary on a screen of 100 columns."""
    console = Console(width=100, file=io.StringIO())
    print_answer(console, summary, Path("run"), others)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_as_many_other_analyses_are_named_as_fit_a_line(run: rpd.Run) -> None:
    names = [f"return-ge-200_top-{number}" for number in range(5)]
    (line,) = (one for one in screen(run.summary, names).splitlines() if "Other" in one)
    assert line == f"Other analyses (--analysis NAME): {names[0]} and 4 more (rpd show --full)"


@pytest.mark.parametrize(
    ("ranks", "told"),
    [
        ((2,), "rank 2 of the first 5 decisions is"),
        ((1, 2), "ranks 1, 2 of the first 5 decisions are"),
    ],
)
def test_open_ranks_are_counted(ranks: tuple[int, ...], told: str) -> None:
    assert f"{told} open" in growth_words(Growth((600,), 5, False, ranks, 600))


def test_where_the_default_action_is_the_finding_nothing_else_is_advised(run: rpd.Run) -> None:
    policy = run.policy()
    assert policy is not None
    alone = replace(policy, kept=0, states=0.0, steps=0.0, outcome="met")
    told = screen(replace(run.summary, decisions=(), policy=alone, policies={"0.9": alone}))
    assert "More: rpd show run --full" in told
    assert told.startswith("The default action alone keeps")


def test_a_condition_is_shown_in_few_digits(run: rpd.Run) -> None:
    told = screen(replace(run.summary, condition="return>=-137.60104086813664"))
    assert "return>=-137.6" in told
    assert "-137.60" not in told
    assert few_digits("return>=0.0000123456789 and length<100.25") == (
        "return>=1.2346e-05 and length<100.25"
    )


def test_numbers_that_json_does_not_have_become_null() -> None:
    assert to_plain({"a": float("nan"), "b": [float("inf"), 1.5], "c": (1, None)}) == {
        "a": None, "b": [None, 1.5], "c": [1, None],
    }  # fmt: skip


# ------------------------------------------------------------------------- broken files

WRONG = ("text", 3.5, -1, True, None, [], {}, [1, "a"], {"a": {}})


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value of a JSON table, but not into settings: they may be anything."""
    if at[:1] == ("configuration",) and at != ("configuration",):
        return
    if at:
        yield at
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        if isinstance(inner, dict | list):
            yield from places(inner, (*at, key))
        else:
            yield (*at, key)


def mutations(whole: dict[str, Any]) -> Iterator[str]:
    """Make sixty summaries that are none: keys missing, other types, cut short."""
    chance = random.Random(7)
    every = [place for place in places(whole) if isinstance(place[-1], str)]
    made = 0
    while made < 40:
        changed, place = copy.deepcopy(whole), chance.choice(every)
        inner = changed
        for key in place[:-1]:
            inner = inner[key]
        if chance.random() < 0.5:
            del inner[place[-1]]
        else:
            inner[place[-1]] = chance.choice(WRONG)
        if not readable(changed):
            made += 1
            yield json.dumps(changed)
    text = json.dumps(whole)
    for _ in range(10):
        yield text[: chance.randrange(1, len(text))]
    yield from (
        "[]",
        "3",
        "null",
        '"summary"',
        "",
        "{}",
        "\x00",
        "[" * 5000,
        "{" * 5000,
        "nonsense",
    )


def readable(value: Any) -> bool:
    """Return whether it still is a summary, as where a number took the place of another."""
    try:
        from_plain(Summary, value, "it")
    except StoreError:
        return False
    return True


def test_most_changes_of_type_and_all_missing_keys_make_a_summary_unreadable(run: rpd.Run) -> None:
    whole = to_plain(run.summary)
    for key in whole:
        assert not readable({name: value for name, value in whole.items() if name != key}), key
    for name in ("original", "suite", "coverage", "pass_rates", "list"):
        for key in {*whole[name]} - {"note"}:  # there was none at first
            assert not readable({**whole, name: {k: v for k, v in whole[name].items() if k != key}})
    for key in ("thresholds", "targets", "ties", "played", "seed", "env"):
        wrong = [value for value in WRONG if readable({**whole, key: value})]
        assert len(wrong) <= 2, (key, wrong)


def test_broken_summaries_are_one_line_each(run: rpd.Run) -> None:
    path = summary_file(run)
    before = path.read_bytes()
    count = 0
    try:
        for text in mutations(to_plain(run.summary)):
            path.write_text(text)
            with pytest.raises(StoreError) as caught:
                _ = rpd.open_run(run.path).summary
            line = str(caught.value)
            assert "\n" not in line
            assert str(path) in line
            assert len(line) < 600
            count += 1
        assert "summary.json" in refusal("show", run.path)
    finally:
        path.write_bytes(before)
    assert count == 60


def test_what_is_wrong_is_named_with_its_place(run: rpd.Run) -> None:
    whole = to_plain(run.summary)
    for change, told in [
        ({"seed": "0"}, "seed must be a whole number, not '0'"),
        ({"seed": True}, "seed must be a whole number, not True"),
        ({"suite": {**whole["suite"], "states": 1.5}}, "suite.states must be a whole number"),
        ({"targets": {"0.9": "much"}}, "targets.0.9 must be a number, not 'much'"),
        ({"played": [{"parts": 1}]}, "played[0].origin is missing"),
        ({"thresholds": {"0.9": {"portfolio": {}}}}, "thresholds.0.9.portfolio.fewest_states is"),
        ({"list": []}, "list must be a table, not []"),
    ]:
        with pytest.raises(StoreError) as caught:
            from_plain(Summary, {**whole, **change}, "'summary.json'")
        assert f"'summary.json': {told}" in str(caught.value)


# ------------------------------------------------------------------------- one policy, one row


def curve(name: str, returns: list[float], steps: list[int]) -> Curve:
    """Four pruned policies of ten states, each with two episodes of ten steps."""
    kept = np.array([0, 2, 5, 10])
    columns = [np.repeat(np.array(one)[:, None], 2, axis=1) for one in (returns, steps)]
    lengths = np.full((4, 2), 10)
    return Curve(
        name,
        kept / 10,
        kept,
        columns[0].astype(float),
        lengths,
        columns[1],
        columns[1] - 1,
        lengths * 0.5,
    )


def test_no_entry_joins_figures_of_two_pruned_policies() -> None:
    """The one with the fewest states and the one with the fewest steps are different here."""
    curves = {
        "tarantula": curve("tarantula", [0, 9, 9, 10], [0, 8, 7, 10]),
        "ochiai": curve("ochiai", [0, 0, 9.5, 10], [0, 1, 2, 10]),
    }
    randoms = [curve("random:seed=0", [0, 0, 0, 10], [0, 1, 1, 10])]
    entry = _thresholds(Sweep(curves, randoms), 9.0)["portfolio"]
    assert entry is not None
    assert entry.fewest_states == PrunedPoint("tarantula", 2, 0.2, 0.8, 0.7, 9.0, 2)
    assert entry.fewest_steps == PrunedPoint("ochiai", 5, 0.5, 0.2, 0.1, 9.5, 2)
    points = {
        (one.name, int(kept)): (share, step, mean)
        for one in curves.values()
        for kept, share, step, mean in zip(
            one.kept, one.shares, one.step_shares, one.mean_return, strict=True
        )
    }
    for point in (entry.fewest_states, entry.fewest_steps):
        figures = point.states, point.steps, point.return_mean
        assert points[point.measure, point.kept] == figures


def test_every_figure_of_a_real_run_belongs_to_its_policy(run: rpd.Run) -> None:
    for entries in run.summary.thresholds.values():
        for name, entry in entries.items():
            if entry is None or name.startswith("random"):
                continue
            for point in (entry.fewest_states, entry.fewest_steps):
                made = run.curves[point.measure]
                row = made.kept.tolist().index(point.kept)
                assert (point.states, point.steps, point.return_mean) == (
                    made.shares[row], made.step_shares[row], made.mean_return[row],
                )  # fmt: skip


def test_rules_of_a_policy_with_one_action_per_state_keep_what_it_keeps(run: rpd.Run) -> None:
    met = [one for one in run.summary.policies.values() if one is not None and one.met]
    assert met
    for policy in met:  # the policy of the corridor always goes
        assert policy.rules_alone == pytest.approx(policy.share)
        assert policy.rules_alone_bound == pytest.approx(policy.share_bound)


def test_a_list_by_returns_is_split_like_any_other(tmp_path: Path) -> None:
    asked = corridor(episodes=400, list_by="effect-return", measures=("effect-return",), evidence=5)
    stability = finish(tmp_path / "r", asked).summary.stability
    assert stability is not None
    assert stability.top10 > 0.5
