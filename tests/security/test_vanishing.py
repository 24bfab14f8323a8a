"""A suite that somebody takes away while it grows is never answered as if it were whole."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from stores import build, corridor, session_at

from rpd_core import pipeline
from rpd_core.errors import StoreError


@pytest.mark.parametrize("taken", ["", "suite"])
def test_a_run_that_is_removed_in_the_middle_is_not_concluded(tmp_path: Path, taken: str) -> None:
    def interfere(stage: str, done: int, total: int) -> None:
        if (stage, done) == ("suite", 40):
            shutil.rmtree(tmp_path / "run" / taken)

    session = session_at(tmp_path / "run", corridor(), progress=interfere)
    with pytest.raises(StoreError) as caught:
        pipeline.build_parts(session)
    assert "holds 20 of 60 episodes, although all were played" in str(caught.value)


def test_it_is_mended_by_the_same_command(tmp_path: Path) -> None:
    whole = build(session_at(tmp_path / "run", corridor()))
    min((tmp_path / "run" / "suite").glob("part-*.json")).unlink()
    again = build(session_at(tmp_path / "run", corridor()))
    assert again.episodes.total_return.tolist() == whole.episodes.total_return.tolist()
