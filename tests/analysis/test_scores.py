"""Measures of one's own: plain functions, and scores with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow.parquet as pq
import pytest
from commands import rpd_command
from stores import corridor, finish
from strangers import having, plugin

import rpd
from rpd_core.analysis.ranking import rank
from rpd_core.errors import ComponentError
from rpd_core.plugin.protocols import Component, Evidence, Scores, Spectrum

LOWER = Component("lower", "cautious_measures:Lower", "A lower bound", runs_code=False)


def evidence(count: int) -> Evidence:
    cells = [np.full(count, 3.0)] * 4
    return Evidence(Spectrum(*cells), np.arange(count, dtype=np.uint64))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("scores") / "run"
    with having(plugin("cautious", "0.1", (("measure", LOWER),))):
        yield finish(path, corridor(measures=("lower",)))


def test_intervals_are_part_of_a_ranking(run: rpd.Run) -> None:
    table = run.ranking("lower")
    score, low, high = (table.columns[name] for name in ("score", "low", "high"))
    assert (np.diff(score) <= 0).all()
    np.testing.assert_array_equal(low, score)
    known = ~np.isnan(high)
    assert (high[known] >= low[known]).all()
    assert known.sum() == len(table) - 1, "one state has no interval"
    stored = pq.read_table(run.path / "analyses" / str(run.name) / "rankings" / "lower.parquet")
    assert stored["high"].to_pylist()[:3] == high[:3].tolist()
    assert "low" not in run.ranking("tarantula").columns


def test_intervals_are_part_of_each_decision(run: rpd.Run) -> None:
    """Whatever the list is sorted by, the interval shown is that of the effect."""
    columns = run.ranking("lower").columns
    place = {int(key): row for row, key in enumerate(columns["key"])}
    by_lower, by_other = run.effects(1000, "lower"), run.effects(1000, "tarantula")
    assert len(by_lower) > 3
    assert [row.score for row in by_lower] == [columns["score"][place[r.key]] for r in by_lower]
    intervals = {row.key: (row.low, row.effect, row.high) for row in by_other}
    assert {row.key: (row.low, row.effect, row.high) for row in by_lower} == intervals
    assert all(low <= effect <= high for low, effect, high in intervals.values())


def test_the_command_line_shows_the_score(run: rpd.Run) -> None:
    shown = rpd_command("rank", run.path, "--measure", "lower").stdout
    first = run.effects(1, "lower")[0]
    assert "Decisions by lower" in shown
    assert f" {first.score:.3g} " in shown
    assert f" {first.effect:+.2f}" in shown


def test_a_measure_with_intervals_is_pruned_like_any_other(run: rpd.Run) -> None:
    found = run.threshold(0.5, "lower")
    assert found is not None
    assert found.fewest_states.measure == "lower"
    assert "lower" in run.curves


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        (Scores(np.ones(3), np.ones(2), np.ones(3)), r"ends of intervals \(low\) of shape \(2,\)"),
        (Scores(np.ones(3), np.ones(3), np.ones((3, 1))), r"ends of intervals \(high\) of shape"),
        (Scores(np.ones(3), np.array(["a"] * 3), np.ones(3)), "that are not numbers"),  # type: ignore[arg-type]
        (Scores(np.ones(3), np.full(3, 2.0), np.ones(3)), "gave an interval from 2 to 1"),
        (Scores(np.full(3, np.nan), np.ones(3), np.ones(3)), "gave nan for a state with"),
    ],
)
def test_intervals_of_a_strangers_measure_are_checked(scores: Scores, told: str) -> None:
    with pytest.raises(ComponentError, match=told):
        rank("m", lambda given: scores, evidence(3))


def test_lists_serve_as_well_as_arrays() -> None:
    given: Any = Scores([1.0, 3.0], [0.0, 2.0], [2.0, np.nan])  # type: ignore[arg-type]
    ranking = rank("m", lambda some: given, evidence(2))
    assert ranking.interval is not None
    assert ranking.interval.low[ranking.order].tolist() == [2.0, 0.0]


# ------------------------------------------------------------------------- functions


def by_failures(given: Evidence) -> Any:
    return given.spectrum.mutated_failed


def test_a_plain_function_ranks(run: rpd.Run) -> None:
    table = run.ranking(by_failures)
    failures = table.columns["mutated_failed"]
    np.testing.assert_array_equal(table.columns["score"], failures)
    assert (np.diff(failures) <= 0).all()
    assert table.name == f"python:{__name__}:by_failures"
    assert run.effects(2, by_failures)[0].score == failures[0]


def test_functions_of_one_name_are_not_mixed_up(run: rpd.Run) -> None:
    """As in a notebook whose cell is run again after a change."""
    up, down = (
        run.ranking(lambda given, sign=sign: sign * given.spectrum.mutated_failed)
        for sign in (1, -1)
    )
    assert up.name == down.name
    np.testing.assert_array_equal(up.columns["score"].max(), -down.columns["score"].min())
    assert up.columns["key"].tolist() != down.columns["key"].tolist()


def test_a_function_may_ask_for_the_suite_and_give_intervals(run: rpd.Run) -> None:
    def by_returns(given: Evidence) -> Scores:
        assert given.suite is not None
        assert given.weights is not None
        state, episode = given.suite.state_of_visit(), given.suite.episode_of_visit()
        count = np.bincount(state, minlength=len(given.keys))
        total = np.bincount(state, given.suite.episodes.total_return[episode])
        return Scores(total / count, total / count - 1, total / count + 1)

    by_returns.needs = ("suite",)  # type: ignore[attr-defined]
    table = run.ranking(by_returns)
    np.testing.assert_allclose(table.columns["high"] - table.columns["low"], 2)


def test_what_a_function_raises_is_one_line_with_its_name(run: rpd.Run) -> None:
    def broken(given: Evidence) -> Any:
        raise ZeroDivisionError("no\nway")

    with pytest.raises(ComponentError, match=r"broken' raised ZeroDivisionError: no way$"):
        run.ranking(broken)


def test_a_recipe_of_ones_own_ranks(run: rpd.Run) -> None:
    class Asks:
        needs: ClassVar[tuple[str, ...]] = ("suite",)

        def __call__(self, given: Evidence) -> Any:
            assert given.suite is not None
            return given.suite.states.visits

    visits = run.ranking(Asks()).columns["visits"]
    assert (np.diff(visits) <= 0).all()


def test_a_run_with_a_function_as_its_measure_is_read_in_its_own_process(tmp_path: Path) -> None:
    done = finish(tmp_path, corridor(measures=(by_failures,)))
    name = f"python:{__name__}:by_failures"
    assert name in done.curves
    assert done.threshold(0.5, name) is not None
    assert rpd.open_run(tmp_path).top(2)
