"""What a run leaves has the modes that the umask says, and no others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import rpd_command
from stores import contents, corridor, finish, ready

import rpd
from rpd_basics.export import export_pruned
from rpd_core.store.directory import RunDirectory


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def modes(path: Path) -> tuple[set[int], set[int]]:
    """Return the modes of the folders and of the files in a place."""
    entries = [path, *path.rglob("*")]
    folders = {entry.lstat().st_mode & 0o7777 for entry in entries if entry.is_dir()}
    return folders, {entry.lstat().st_mode & 0o7777 for entry in entries if entry.is_file()}


@pytest.mark.parametrize(
    ("mask", "folders", "files"), [(0o077, 0o700, 0o600), (0o000, 0o777, 0o666)]
)
def test_everything_of_a_run_has_the_modes_of_the_umask(
    tmp_path: Path, mask: int, folders: int, files: int
) -> None:
    """Begun, looked at and gone on with; merged, exported, drawn and told as a page."""
    place = tmp_path / "mine"
    with umask(mask):
        run = place / "run"
        asked = corridor()
        rpd.build_suite(asked.env, asked.policy, **asked.given(), out=run, parts=(0, 1),
                        progress=False)  # fmt: skip
        assert rpd.open_run(run).missing == [(20, 59)]
        finished = finish(run)
        assert rpd_command("show", run).exit_code == 0
        assert rpd_command("verify", run).exit_code == 0
        rpd.merge_runs(place / "merged", run, progress=False)
        export_pruned(finished, place / "small.rpd")
        report = rpd_command("report", run)
        assert report.exit_code == 0, report.output
    assert modes(place) == ({folders}, {files})
    whole = ready(tmp_path / "whole").path
    added = {"report.html"}
    assert {name: content for name, content in contents(run, "*").items() if name not in added} == (
        contents(whole, "*")
    )


def test_a_run_that_others_may_read_is_read_by_who_may_write_nothing(tmp_path: Path) -> None:
    """Modes of folders that forbid writing keep nobody from reading (root may write anyway)."""
    run = ready(tmp_path / "run").path
    folders = [run, *(entry for entry in run.rglob("*") if entry.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert rpd.open_run(run).top()
        assert rpd_command("show", run).exit_code == 0
        assert RunDirectory(run).suite().covered() == [(0, 19), (20, 39), (40, 59)]
    finally:
        for folder in folders:
            folder.chmod(0o755)
