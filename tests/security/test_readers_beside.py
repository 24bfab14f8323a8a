"""Readers beside a writer: each is answered or told in one line, and the writer never notices."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import rpd_command
from stores import contents, finish, ready
from test_killed import RUN

from rpd import open_run
from rpd_core.errors import RpdError


def look(run: Path) -> str:
    """Read what a run tells so far; return what became of that."""
    try:
        opened = open_run(run)
        done, asked = opened.progress
        if opened.name is None:
            assert done <= asked
            return "unfinished"
        assert opened.top()
    except RpdError as error:
        return "refused" if str(error).isprintable() else "more than a line"
    return "finished"


def show(run: Path, *words: str) -> str:
    """Call `rpd show`; return what became of that."""
    result = rpd_command("show", run, *words)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    assert "Traceback" not in result.output
    if result.exit_code != 0:
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        return "refused"
    return "answered"


def test_two_readers_at_every_moment_of_a_run_change_nothing(tmp_path: Path) -> None:
    """At every moment at which the writer tells how far it is."""
    whole, run = ready(tmp_path / "whole"), tmp_path / "run"
    seen: Counter[tuple[str, str, str]] = Counter()

    def read(stage: str, done: int, total: int) -> None:
        seen[stage, look(run), show(run, "--json")] += 1

    finish(run, progress=read)
    stages = {"suite", "pruning", "minimising", "losses", "traces", "imitation"}
    assert stages <= {stage for stage, *_ in seen}
    assert {(told, shown) for _, told, shown in seen} == {("unfinished", "answered")}
    assert contents(run, "*") == contents(whole.path, "*")
    assert (look(run), show(run)) == ("finished", "answered")


@pytest.mark.slow
def test_two_that_read_all_the_time_beside_another_process(start: Callable, tmp_path: Path) -> None:
    alone = start(*RUN, "--out", "alone")
    assert alone.wait(timeout=120) == 0
    run, done = tmp_path / "run", threading.Event()
    seen: list[str] = []
    writer = start(*RUN, "--out", "run")

    def reads() -> None:
        while not done.is_set():
            seen.append(look(run))

    reader = threading.Thread(target=reads)
    reader.start()
    try:
        while writer.poll() is None:
            show(run)
    finally:
        done.set()
        reader.join()
    assert writer.returncode == 0, writer.stderr.read()
    assert "unfinished" in seen
    assert "more than a line" not in seen
    assert (look(run), show(run)) == ("finished", "answered")
    assert contents(run, "*") == contents(tmp_path / "alone", "*")
