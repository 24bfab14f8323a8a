"""Executors that lose work: named, nothing concluded from the rest, and the rest kept."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from stores import build, contents, corridor, finish, ready, session_at, tree

import rpd
from rpd_core.errors import ExecutionError, RpdError, StoreError
from rpd_kit.hostile import Hostile


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Everything but run.json of a run that nothing happened to."""
    return contents(ready(tmp_path_factory.mktemp("unbroken") / "run").path, "*")


NARROW = {"chunk": 5, "lanes": 2}
"""So few lanes that sets of five episodes share no item of work."""


def test_a_run_whose_executor_loses_work_concludes_nothing(tmp_path: Path) -> None:
    """The first things it plays are the two references, each one item: it loses the second."""
    with pytest.raises(ExecutionError) as caught:
        finish(tmp_path, corridor(**NARROW), executor=Hostile("loses the last"))
    assert str(caught.value) == (
        "the executor ended without episodes 0 to 4 of default-everywhere: what came back is "
        "stored; run the same command again, maybe with another --executor"
    )
    assert list(tmp_path.rglob("summary.json")) == []
    assert [path.name for path in (tmp_path / "analyses").iterdir()] == ["question.json"]
    assert len(list(tmp_path.glob("pruning/original-*/part-*.json"))) == 1


@pytest.mark.parametrize(
    ("fault", "lost", "kept"),
    [
        ("loses the last", (40, 59), [(0, 19), (20, 39)]),
        ("skips one", (20, 39), [(0, 19), (40, 59)]),
    ],
)
def test_lost_mutant_episodes_are_named_and_the_others_used_by_the_next_try(
    tmp_path: Path, fault: Any, lost: tuple[int, int], kept: Any, unbroken: dict[str, bytes]
) -> None:
    with Hostile(fault).open(1) as engine:
        session = session_at(tmp_path, corridor(), engine=engine)
        with pytest.raises(ExecutionError, match=f"ended without episodes {lost[0]} to {lost[1]}:"):
            build(session)
    assert session.directory.suite().covered() == kept
    before = contents(tmp_path / "suite")
    assert list(tmp_path.rglob("summary.json")) == []
    played: list[tuple[str, int, int]] = []
    again = finish(tmp_path, progress=lambda *told: played.append(told))
    assert [told for told in played if told[0] == "suite"] == [("suite", 40, 60), ("suite", 60, 60)]
    after = contents(tmp_path / "suite")
    assert {name: after[name] for name in before} == before
    assert contents(tmp_path, "*") == unbroken, "as if nothing had happened"
    assert again.progress == (60, 60)


def test_tries_with_an_executor_that_always_loses_the_last_item_still_get_on(
    tmp_path: Path,
) -> None:
    """Each try of a stage with n items leaves one undone, until that is all there is to do."""
    held, run = [], tmp_path / "run"
    for _ in range(4):
        held.append(len(list(run.rglob("part-*.json"))))
        with pytest.raises(RpdError, match="ended without"):
            finish(run, corridor(**NARROW), executor=Hostile("loses the last"))
    assert held[1] > held[0]
    assert sorted(held) == held
    assert list(run.rglob("summary.json")) == []
    finish(run, corridor(**NARROW))
    finish(tmp_path / "unbroken", corridor(**NARROW))
    assert contents(run, "*") == contents(tmp_path / "unbroken", "*")


def build_with(fault: Any, path: Path) -> dict[str, bytes]:
    """Build the suite with an executor that has a fault; return what lies there then."""
    with Hostile(fault).open(1) as engine:
        build(session_at(path, corridor(), engine=engine))
    return contents(path / "suite", "*")


def suite_of(whole: dict[str, bytes]) -> dict[str, bytes]:
    return {
        name.removeprefix("suite/"): content
        for name, content in whole.items()
        if name.startswith("suite/")
    }


@pytest.mark.parametrize("fault", ["repeats", "swaps", "invents"])
def test_answers_that_cannot_be_relied_on_are_refused_and_leave_nothing_wrong(
    tmp_path: Path, fault: Any, unbroken: dict[str, bytes]
) -> None:
    with pytest.raises((ExecutionError, StoreError), match="cannot be relied on"):
        build_with(fault, tmp_path)
    build(session_at(tmp_path, corridor()))
    assert contents(tmp_path / "suite", "*") == suite_of(unbroken)


@pytest.mark.parametrize("fault", ["copies", "dies once", "drains once"])
def test_what_is_only_tried_again_ends_with_the_same_bytes(
    tmp_path: Path, fault: Any, unbroken: dict[str, bytes]
) -> None:
    assert build_with(fault, tmp_path) == suite_of(unbroken)


def test_a_worker_that_always_dies_is_given_up_with_its_episodes(tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match=r"doing episodes 0 to 4 of original and 1 more$"):
        finish(tmp_path, executor=Hostile("dies always"))


def test_an_answer_with_other_episodes_is_refused(tmp_path: Path) -> None:
    from dataclasses import replace

    session = session_at(tmp_path, corridor())
    execute = session.engine.execute

    class Shifting:
        def execute(self, queue: Any) -> Any:
            for outcome in execute(queue):
                chunk = outcome.value
                episodes = replace(chunk.suite.episodes, index=chunk.suite.episodes.index + 1)
                wrong = replace(chunk, suite=replace(chunk.suite, episodes=episodes))
                yield replace(outcome, value=wrong)

    session.engine = Shifting()
    with pytest.raises(StoreError, match=r"^episodes 0 to 19 came back with other episodes"):
        build(session)
    assert session.directory.suite().covered() == []


# ------------------------------------------------------------------------- nothing is rewritten


def test_a_repeated_run_writes_neither_run_json_nor_any_part(tmp_path: Path) -> None:
    ready(tmp_path)
    files = [tmp_path / "run.json", *tmp_path.rglob("part-*")]
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
    finish(tmp_path)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files} == before


def test_readers_write_nothing_at_all(tmp_path: Path) -> None:
    ready(tmp_path)
    before = tree(tmp_path)
    run = rpd.open_run(tmp_path)
    assert run.top()
    assert run.ranking("ochiai").columns["score"][0] >= 0
    assert run.curves["wong2"].returns.shape == (3, 5)
    assert run.threshold() is not None
    assert run.progress == (60, 60)
    assert len(run.suite.episodes) == 60
    assert re.match(r"Run\('.*', analysis='return-ge-2.5", repr(run))
    assert tree(tmp_path) == before
