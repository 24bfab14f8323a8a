"""Episodes that a run keeps step by step: what really happened, whoever played them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import worlds
from page_worlds import edit
from stores import contents, corridor, finish

import rpd
from rpd_core.errors import StoreError
from rpd_core.plugin.protocols.suite import Trace
from rpd_core.pruning.records import TRACED
from rpd_core.results.verification import verify
from rpd_core.store.tables import WrongTable, check_table, read_table, table_of


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> rpd.Run:
    path = tmp_path_factory.mktemp("traces") / "run"
    return finish(path, corridor(confirm_episodes=60))


def test_forty_episodes_of_both_policies_are_kept(run: rpd.Run) -> None:
    traces = run.traces
    assert traces is not None
    assert (len(traces.smallest), len(traces.whole)) == (TRACED, TRACED)
    assert traces.smallest.episodes.seed.tolist() == traces.whole.episodes.seed.tolist()


def test_a_traced_episode_is_the_confirming_one(run: rpd.Run) -> None:
    """Replaying plays the very episode that confirmed the policy."""
    assert run.traces is not None
    for index in (0, 7, TRACED - 1):
        again, steps = run.replay(f"pruned:{index}"), run.traces.smallest.steps(index)
        assert steps.step.tolist() == list(range(len(again.steps)))
        assert steps.key.tolist() == [one.key for one in again.steps]
        assert steps.reward.tolist() == [one.reward for one in again.steps]
        assert steps.kept.tolist() == [one.decided_by == "policy" for one in again.steps]
        assert again.stored_return == run.traces.smallest.episodes.total_return[index]


def test_the_policy_decides_in_its_decisions_and_the_default_elsewhere(run: rpd.Run) -> None:
    assert run.traces is not None
    trace, keys = run.traces.smallest.trace, run.decision_keys
    assert trace.kept.tolist() == np.isin(trace.key, keys).tolist()
    assert run.traces.whole.trace.kept.all()


def test_an_override_is_a_step_at_which_the_actions_differ(run: rpd.Run) -> None:
    assert run.traces is not None
    for one in (run.traces.smallest, run.traces.whole):
        differ = (one.trace.policy != one.trace.default).any(axis=1)
        assert one.trace.override.tolist() == differ.tolist()
        counted = np.bincount(one.trace.episode, one.trace.override & one.trace.kept)
        assert counted.tolist() == one.episodes.overrides.tolist()


def test_a_short_vector_is_kept_as_the_policy_saw_it(run: rpd.Run) -> None:
    assert run.traces is not None
    trace = run.traces.whole.trace
    places = dict(zip(worlds.corridor_keys().tolist(), range(worlds.STATES), strict=True))
    assert trace.observation[:, 0].tolist() == [places[key] for key in trace.key.tolist()]


def test_traces_do_not_depend_on_who_plays_them(run: rpd.Run, tmp_path: Path) -> None:
    finish(tmp_path / "two", corridor(confirm_episodes=60), workers=2)
    folders = [sorted(path.glob("pruning/trace-*")) for path in (run.path, tmp_path / "two")]
    assert [one.name for one in folders[0]] == [one.name for one in folders[1]]
    assert len(folders[0]) == 2
    for mine, other in zip(*folders, strict=True):
        assert contents(mine) == contents(other)


def test_a_damaged_trace_is_refused_found_and_played_again(run: rpd.Run, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run.path, copy)
    file = next(copy.glob("pruning/trace-smallest-*/trace/*.parquet"))
    file.write_bytes(file.read_bytes()[:-1])
    broken = rpd.open_run(copy)
    with pytest.raises(StoreError, match="was changed after it was written"):
        _ = broken.traces
    assert [file.name in fault for fault in verify(broken.directory).faults] == [True]
    finish(copy, corridor(confirm_episodes=60))
    assert contents(copy / "pruning") == contents(run.path / "pruning")


def test_a_run_that_kept_none_has_none(run: rpd.Run, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run.path, copy)
    edit(copy / f"analyses/{run.name}/analysis.json", lambda it: it.update(evaluations={}))
    assert rpd.open_run(copy).traces is None


def test_steps_out_of_order_are_refused(run: rpd.Run) -> None:
    file = next(run.path.glob("pruning/trace-whole-*/trace/*.parquet"))
    table: pa.Table = pq.read_table(file)
    check_table("trace", table, 0, TRACED - 1)
    for wrong, told in (
        (table.take([1, 0]), "not in order"),
        (table.slice(1), "not in order"),
        (table, "of other episodes"),
    ):
        last = 0 if told == "of other episodes" else TRACED - 1
        with pytest.raises(WrongTable, match=told):
            check_table("trace", wrong, 0, last)


def test_a_trace_is_written_and_read_as_it_is() -> None:
    one = Trace(
        episode=np.array([0, 0]), step=np.array([0, 1]), key=np.array([7, 8], dtype=np.uint64),
        kept=np.array([True, False]), override=np.array([False, True]),
        reward=np.array([0.5, -1.0]), policy=np.array([[0.0], [1.0]]),
        default=np.array([[0.0], [0.0]]), observation=np.zeros((2, 0)),
    )  # fmt: skip
    again = read_table(Trace, table_of(one))
    for name, column in vars(one).items():
        assert getattr(again, name).tolist() == column.tolist(), name
