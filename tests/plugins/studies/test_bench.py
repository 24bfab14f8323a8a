"""Measures compared on the same suites: figures, rows, what is chosen where, resuming."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import refusal, rpd_command
from stores import contents, corridor

import rpd
from rpd_core.analysis.records import Stability
from rpd_core.errors import ConfigError, EvidenceError
from rpd_core.plugin.protocols import Episodes, Evidence
from rpd_core.plugin.protocols.suite import RANKED_STEPS
from rpd_core.pruning.curves import Curve
from rpd_core.pruning.references import References
from rpd_core.pruning.sweep import Sweep
from rpd_core.store.codec import to_plain
from rpd_core.store.directory import RunDirectory
from rpd_studies.bench import Holding, Lists, holding, looked_up
from rpd_studies.bench_results import (
    CRITERIA,
    Bench,
    BenchQuestion,
    SeedFigures,
    bench_rows,
    choosing_seeds,
    chosen_measure,
    notes_on,
    seed_figures,
)
from rpd_studies.bench_tables import markdown
from rpd_studies.series import heard_once


class Stop(Exception):
    """Stands for whatever ends a comparison from outside."""


def compare(out: Path, **more: Any) -> Bench:
    """Compare measures on the corridor, where that takes a moment."""
    asked = {**corridor().given(), "episodes": 200, "test_episodes": 4, **more}
    request = corridor()
    asked = {"seeds": (3, 4, 5), "measures": ("random:seed=1",), **asked}
    return rpd.bench(request.env, request.policy, out=out, **asked)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench") / "seeds"


@pytest.fixture(scope="module")
def found(folder: Path) -> Bench:
    return compare(folder)


def row_of(found: Bench, measure: str) -> Any:
    (row,) = [one for one in found.rows if one.measure == measure]
    return row


# ------------------------------------------------------------------------- figures


def curve(name: str, returns: list[float], steps: list[int]) -> Curve:
    """One episode of ten steps per point, at 0, 1, 2 and 4 of four states."""
    column = np.array(returns)[:, None]
    lengths = np.full(column.shape, 10)
    used = np.array(steps)[:, None]
    shares = np.array([0.0, 0.25, 0.5, 1.0])
    return Curve(name, shares, np.array([0, 1, 2, 4]), column, lengths, used, used, lengths * 1.0)


def references(original: float, reference: float) -> References:
    columns = {name: np.zeros(1, dtype=np.int64) for name in ("index", "seed", "length")}
    more = {"policy_steps": np.zeros(1, dtype=np.int64), "info": {RANKED_STEPS: np.zeros(1)}}
    fields = Episodes.__dataclass_fields__
    rest = {name: np.zeros(1) for name in fields if name not in {*columns, *more}}
    episodes = Episodes(**{**columns, **more, **rest, "total_return": np.array([original])})
    return References(episodes, episodes, reference, "given")


def test_the_figures_of_curves_made_by_hand() -> None:
    """Returns run from the reference 2 to 12, so 11 is 90 %."""
    swept = Sweep({"a": curve("a", [2, 11, 7, 12], [0, 9, 5, 10])}, [])
    found = seed_figures(7, swept, references(12, 2), {"a": Stability(0.3, 0.4, 0.5)})["a"]
    assert found.seed == 7
    assert found.fewest_states is not None
    assert (found.fewest_states.kept, found.fewest_states.steps) == (1, 0.9)
    assert found.fewest_both == found.fewest_steps == found.fewest_states
    assert found.figure("both") == pytest.approx(0.25 + 0.9)
    assert found.area_states == pytest.approx(0.75 * 0.9)
    assert found.area_steps == pytest.approx(0.4 * 0.5 + 0.1 * 0.9)
    assert (found.top10, found.top50) == (0.3, 0.4)


def test_the_fewest_states_and_the_fewest_steps_are_of_a_policy_each() -> None:
    swept = Sweep({"a": curve("a", [0, 9, 10, 10], [0, 9, 4, 10])}, [])
    found = seed_figures(0, swept, references(10, 0), {})["a"]
    assert found.fewest_states is not None
    assert found.fewest_steps is not None
    assert (found.fewest_states.states, found.fewest_states.steps) == (0.25, 0.9)
    assert (found.fewest_steps.states, found.fewest_steps.steps) == (0.5, 0.4)
    assert found.fewest_both == found.fewest_steps


def test_where_no_pruned_policy_is_good_enough_the_whole_one_is_needed() -> None:
    swept = Sweep({"a": curve("a", [0, 1, 2, 8], [0, 9, 4, 10])}, [])
    found = seed_figures(0, swept, references(10, 0), {})["a"]
    assert found.fewest_both is None
    assert [found.figure(name) for name in ("both", "states", "steps")] == [2.0, 1.0, 1.0]
    rows = bench_rows({"tarantula": [found]}, BenchQuestion((0,), ()))
    assert (rows[0].missed, rows[0].means["states"]) == (1, 1.0)


def test_random_rankings_and_the_portfolio_stand_beside_the_measures() -> None:
    flat, steep = [0, 0, 0, 10.0], [0, 10, 10, 10.0]
    curves = {
        "tarantula": curve("tarantula", flat, [0, 1, 2, 10]),
        "ochiai": curve("ochiai", steep, [0, 3, 5, 10]),
    }
    random = [curve("r0", flat, [0, 4, 6, 10]), curve("r1", steep, [0, 4, 6, 10])]
    found = seed_figures(0, Sweep(curves, random), references(10, 0), {})
    assert found["portfolio"].figure("both") == pytest.approx(0.25 + 0.3)
    assert found["portfolio"].area_states == found["ochiai"].area_states
    assert found["random"].figure("states") == 1.0
    assert found["random"].area_states == pytest.approx(0.75 * 0.5)


# ---------------------------------------------------------------------------- rows


def made(seed: int, area: float, top10: float | None = None) -> SeedFigures:
    return SeedFigures(seed, None, None, None, area, 0.5, top10, None)


def test_a_measure_is_chosen_on_some_seeds_and_reported_on_others() -> None:
    asked = BenchQuestion((0, 1, 2), (0,), "base", "area_states")
    figures = {
        "base": [made(0, 0.5), made(1, 0.4), made(2, 0.6)],
        "lucky": [made(0, 0.9), made(1, 0.3), made(2, 0.4)],
        "random": [made(0, 1.0), made(1, 0.1), made(2, 0.1)],
    }
    rows = bench_rows(figures, asked)
    assert [row.measure for row in rows] == ["random", "lucky", "base"]
    assert chosen_measure(rows, asked) == "lucky"
    lucky = rows[1]
    assert lucky.judged == 0.9
    assert lucky.means["area_states"] == pytest.approx(0.35)
    difference = lucky.differences["area_states"]
    assert difference is not None
    assert difference.high is not None
    assert difference.estimate == pytest.approx(-0.15)
    assert difference.high == pytest.approx(-0.15 + 12.7062047 * 0.05)
    assert rows[2].differences["area_states"] is None


def lists(first: list[int], effects: dict[int, float]) -> Lists:
    keys = np.array(sorted(effects), dtype=np.uint64)
    return Lists(
        {"a": np.array(first, dtype=np.uint64)}, keys, np.array([effects[int(k)] for k in keys])
    )


def test_a_list_holds_where_another_suite_sees_the_effects() -> None:
    """Of five states two have a positive effect there, one a negative, two are not met."""
    other = lists([], {2: 0.5, 4: -0.25, 6: 0.75, 8: 1.0})
    found = holding(np.array([6, 2, 4, 1, 9], dtype=np.uint64), other)
    assert found == Holding(0.4, 1.0 / 5)
    assert holding(np.array([3], dtype=np.uint64), lists([], {})) == Holding(0.0, 0.0)
    assert holding(np.zeros(0, dtype=np.uint64), other) is None


def test_the_effect_is_that_of_the_first_ten_and_the_share_of_all() -> None:
    other = lists([], {key: 0.5 if key < 10 else -0.5 for key in range(20)})
    found = holding(np.arange(20, dtype=np.uint64), other)
    assert found == Holding(0.5, 0.5)


def test_seeds_that_choose_and_seeds_that_report_do_not_look_at_each_other() -> None:
    asked = BenchQuestion((0, 1, 2, 3), (0, 1))
    suites = {seed: lists([7], {7: float(seed)}) for seed in asked.seeds}
    rows = looked_up("a", [made(seed, 0.5) for seed in asked.seeds], suites, asked)
    assert [one.effect for one in rows] == [1.0, 0.0, 3.0, 2.0]
    assert [one.holds for one in rows] == [1.0, 0.0, 1.0, 1.0]
    alone = BenchQuestion((0, 1), (0,))
    fresh = [made(seed, 0.5) for seed in alone.seeds]
    assert [one.holds for one in looked_up("a", fresh, suites, alone)] == [None, None]
    assert looked_up("b", [made(0, 0.5)], suites, asked)[0].holds is None


def test_states_that_were_learned_from_other_episodes_are_not_looked_up() -> None:
    asked = BenchQuestion((0, 1, 2), (0,))
    same = lists([7], {7: 1.0})
    other = replace(same, learned="otherwise")
    rows = [made(seed, 0.5) for seed in asked.seeds]
    for second, holds in ((same, 1.0), (other, None)):
        found = looked_up("a", rows, {0: same, 1: same, 2: second}, asked)
        assert [one.holds for one in found] == [None, holds, holds]


def test_of_sizes_the_smallest_is_best_and_what_has_no_figure_comes_last() -> None:
    figures = {"a": [made(0, 0.1, 0.2)], "b": [made(0, 0.1, None)], "c": [made(0, 0.1, 0.9)]}
    asked = BenchQuestion((0,), (), "a", "top10")
    assert [row.measure for row in bench_rows(figures, asked)] == ["c", "a", "b"]
    assert bench_rows(figures, asked)[2].differences["top10"] is None
    none = {"a": [made(0, 0.1)]}
    with pytest.raises(ConfigError, match="no measure has the figure 'top10'"):
        chosen_measure(bench_rows(none, asked), asked)


def test_the_notes_tell_what_the_figures_are_worth() -> None:
    several = tuple(range(10))
    assert notes_on(BenchQuestion(several, (0, 1)), {}) == ()
    assert "flattered" in notes_on(BenchQuestion(several, ()), {})[0]
    assert "flattered" in notes_on(BenchQuestion(several, several), {})[0]
    assert "stand on 3 seeds only" in notes_on(BenchQuestion(), {})[0]
    assert "one seed reports" in notes_on(BenchQuestion((0, 1), (0,)), {})[0]
    assert notes_on(BenchQuestion(several, (0, 1)), {"x": "x needs y: get it"}) == (
        "left out: x needs y",
    )


@pytest.mark.parametrize(
    ("seeds", "judges"),
    [
        ((4,), ()),
        ((4, 5), (4,)),
        ((4, 5, 6), (4,)),
        ((0, 1, 2, 3, 4), (0, 1)),
        (range(10), (0, 1, 2, 3)),
    ],
)
def test_less_than_half_of_the_seeds_choose(seeds: Any, judges: tuple[int, ...]) -> None:
    assert choosing_seeds(tuple(seeds)) == judges


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"seeds": ()}, "seeds must be different numbers, got none"),
        ({"seeds": (1, 1)}, "seeds must be different numbers, got 1, 1"),
        ({"seeds": (1, 2), "choose_on": (3,)}, "must be among the seeds 1, 2, got 3"),
        ({"criterion": "area"}, "criterion must be one of both, states"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        BenchQuestion(**wrong)


# ------------------------------------------------------------------- in the corridor


def test_every_measure_is_compared_on_every_seed(found: Bench) -> None:
    names = [row.measure for row in found.rows]
    assert {"tarantula", "effect", "impact:shrunken", "differ", "dstar", "random"} <= {*names}
    assert all([one.seed for one in row.seeds] == [3, 4, 5] for row in found.rows)
    assert (found.choose_on, found.report_on) == ((3,), (4, 5))
    assert {*found.left_out} == {"value-gap", "entropy", "default-gap"}
    judged = [row.judged for row in found.rows]
    assert judged == sorted(judged)
    assert found.chosen == next(name for name in names if name not in ("random", "portfolio"))


def test_a_row_is_what_a_run_of_that_seed_would_say(found: Bench, folder: Path) -> None:
    asked = {**corridor().given(), "episodes": 200, "test_episodes": 4}
    request = corridor()
    run = rpd.run(request.env, request.policy, seed=4, out=folder / "seed-4", **asked)
    for measure in ("tarantula", "impact:shrunken", "random"):
        figures = row_of(found, measure).seeds[1]
        threshold = run.threshold(0.9, measure)
        wanted = (None, None)
        if threshold is not None:
            wanted = (threshold.fewest_states, threshold.fewest_steps)
        assert (figures.fewest_states, figures.fewest_steps) == wanted
    stability = run.summary.stability
    assert stability is not None
    listed = row_of(found, "impact:shrunken").seeds[1]
    assert (listed.top10, listed.top50) == (stability.top10, stability.top50)


def test_lists_made_from_episodes_have_an_overlap(found: Bench) -> None:
    for measure in ("random", "differ"):  # in the corridor the default action always differs
        assert row_of(found, measure).means["top10"] is None
    for measure in ("effect", "effect-return", "freqvis", "dstar", "regression"):
        assert 0 < row_of(found, measure).means["top10"] <= 1


def test_a_measure_that_looks_at_no_episode_has_no_overlap(found: Bench) -> None:
    assert row_of(found, "random:1").means["top10"] is None


def test_nothing_is_chosen_confirmed_or_stored_as_an_analysis(folder: Path, found: Bench) -> None:
    directory = RunDirectory(folder / "seed-3")
    assert directory.analyses() == []
    names = [path.name for path in (directory.path / "pruning").iterdir()]
    assert not [name for name in names if name.startswith(("trim", "confirm", "without"))]


def test_what_was_broken_off_goes_on_and_plays_nothing_twice(tmp_path: Path, found: Bench) -> None:
    stages: list[str] = []

    def stop(stage: str, done: int, total: int) -> None:
        stages.append(stage)
        if stage == "pruning 4" and done:
            raise Stop

    with pytest.raises(Stop):
        compare(tmp_path, progress=stop)
    assert "pruning 3" in stages
    before = contents(tmp_path)
    assert before
    assert compare(tmp_path) == found
    assert {name: contents(tmp_path)[name] for name in before} == before


def test_rankings_in_the_same_order_are_played_once(folder: Path, found: Bench) -> None:
    played = [path.name.rpartition("-")[0] for path in (folder / "seed-3" / "pruning").iterdir()]
    rows = {row.measure: to_plain(row.seeds[0]) for row in found.rows}
    twins = [name for name in rows if name not in {*played, "random", "portfolio"}]
    twins = [name for name in twins if name.replace(":", "-") not in played]
    assert twins
    for twin in twins:
        others = [one for name, one in rows.items() if name != twin]
        assert rows[twin]["area_steps"] in [one["area_steps"] for one in others]


def test_a_measure_that_cannot_rank_one_of_the_suites_is_no_base(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the base 'nothing' is not compared"):
        compare(tmp_path / "a", seeds=(3,), base="nothing")
    with pytest.raises(ConfigError, match="the base 'entropy' cannot rank every suite"):
        compare(tmp_path / "b", seeds=(3,), base="entropy")


def test_a_measure_that_was_asked_for_is_not_left_out(tmp_path: Path) -> None:
    def refuses(evidence: Evidence) -> Any:
        raise EvidenceError("not today")

    with pytest.raises(EvidenceError, match="not today"):
        compare(tmp_path, measures=(refuses,))


def test_what_bench_does_not_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"bench\(\) has no argument 'seed'"):
        compare(tmp_path, seed=3)
    with pytest.raises(ConfigError, match=r"'episods'. Did you mean 'episodes'"):
        compare(tmp_path, episods=3)


def test_a_note_is_passed_on_once_for_all_seeds() -> None:
    notes: list[str] = []
    note = heard_once(notes.append)
    for text in ("renamed", "renamed", "damaged", "renamed"):
        note(text)
    assert notes == ["renamed", "damaged"]


def test_markdown_has_a_row_per_measure(found: Bench) -> None:
    lines = markdown(found).splitlines()
    rows = [line for line in lines if line.startswith("| `")]
    assert len(rows) == len(found.rows)
    assert {line.count("|") for line in lines if line.startswith("|")} == {13}
    assert any(line.startswith("Best by states + steps on seeds 3 (judged): ") for line in lines)


# ------------------------------------------------------------------------ the command

SMALL = (
    "bench",
    "--env",
    "cartpole",
    "--episodes",
    "150",
    "--test-episodes",
    "2",
    "--workers",
    "1",
)


@pytest.mark.slow
def test_the_command_compares_and_goes_on(tmp_path: Path) -> None:
    words = (*SMALL, "--seeds", "1", "--out", tmp_path / "runs")
    first = rpd_command(*words, "--json", "--markdown", tmp_path / "table.md")
    assert first.exit_code == 0, first.output
    told = json.loads(first.stdout)
    assert {*told} == {*Bench.__dataclass_fields__}
    assert (told["choose_on"], told["report_on"]) == ([1], [1])
    assert {*told["rows"][0]} == {"measure", "judged", "means", "differences", "missed", "seeds"}
    assert {*told["rows"][0]["means"]} == {*CRITERIA}
    assert "| `tarantula` |" in (tmp_path / "table.md").read_text()
    before = contents(tmp_path)
    shown = rpd_command(*words)
    assert shown.exit_code == 0, shown.output
    assert "Best by states + steps on seeds 1 (judged):" in shown.stdout
    assert len([one for one in shown.stdout.splitlines() if one.startswith("tarantula ")]) == 1
    assert contents(tmp_path) == before


def test_the_command_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    assert "seeds must be numbers such as 0,1,2, got 'x'" in refusal(*SMALL, "--seeds", "x")
    missing = tmp_path / "nowhere" / "table.md"
    assert "there is no folder" in refusal(*SMALL, "--markdown", missing)
    assert "criterion must be one of" in refusal(*SMALL, "--criterion", "best")
