"""Kept states that are damaged are found by `verify`."""

from __future__ import annotations

from pathlib import Path

from stores import corridor, finish

from rpd_core.results.verification import verify
from rpd_core.store.directory import RunDirectory


def test_kept_states_that_are_missing_or_fewer_are_found(tmp_path: Path) -> None:
    run = finish(tmp_path / "run", corridor())
    assert verify(RunDirectory(run.path)).faults == ()
    (file,) = (run.path / "analyses" / str(run.name) / "policies").glob("0.9.json")
    file.write_text('{"x":')
    (fault,) = verify(RunDirectory(run.path)).faults
    assert "0.9.json" in fault
    file.unlink()
    (fault,) = verify(RunDirectory(run.path)).faults
    assert "does not hold the" in fault
