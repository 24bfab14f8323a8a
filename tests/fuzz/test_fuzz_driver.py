"""The fuzzing command, on a format made up for the purpose."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rpd_core.errors import RpdError
from tests.fuzz.formats import find_formats, load_format

ROOT = Path(__file__).resolve().parents[2]

FAKE = """
import os, time
from rpd_core.errors import SpecError

SUFFIX = ".fake"
DEEDS = ["fine", "refuse", "raise", "leave", "die", "hang", "hoard", "run code", "litter", "print"]


def cases(seed):
    for number, deed in enumerate(DEEDS):
        canary = os.environ["RPD_FUZZ_CANARY"]
        yield f"{seed}-{number} {deed}", f"{deed}|{canary}".encode()


def attempt(path):
    assert path.suffix == ".fake"
    assert os.listdir() == []
    deed, canary = path.read_text().split("|")
    if deed == "refuse":
        raise SpecError("no")
    if deed == "raise":
        raise KeyError("oh dear")
    if deed == "leave":
        raise SystemExit(0)
    if deed == "die":
        os.abort()
    if deed == "hang":
        time.sleep(600)
    if deed == "hoard":
        bytearray(8 * 1024**3)
    if deed == "run code":
        open(canary, "w").close()
    if deed == "litter":
        open("litter", "w").close()
    if deed == "print":
        print("hello")
"""
FATES = {
    "2 raise": "traceback",
    "3 leave": "traceback",
    "4 die": "crash",
    "5 hang": "hang",
    "6 hoard": "memory",
    "7 run code": "code run",
    "8 litter": "code run",
}


def run_fuzz(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.fuzz", "--folder", str(folder), "--wall", "2", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


def counts(finished: subprocess.CompletedProcess[str], name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(finished.stdout)["formats"][name]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("formats")
    (made / "fake.py").write_text(FAKE)
    (made / "helper.py").write_text("raise RuntimeError('not a format: never imported')")
    return made


def test_every_fate_is_counted_and_the_case_is_blamed(folder: Path, tmp_path: Path) -> None:
    finished = run_fuzz(folder, "--seed", "3", "--json", "--save", str(tmp_path / "kept"))
    assert finished.returncode == 1, finished.stderr
    found = counts(finished, "fake")
    assert (found["tried"], found["held"], found["refused"]) == (10, 3, 1)
    fates = {failure["case"]: failure["kind"] for failure in found["failures"]}
    assert fates == {f"3-{case}": fate for case, fate in FATES.items()}
    details = {failure["case"]: failure["detail"] for failure in found["failures"]}
    assert "KeyError: 'oh dear'" in details["3-2 raise"]
    assert details["3-4 die"].startswith("SIGABRT")
    assert "attempt" in details["3-4 die"], "the place where it died"
    assert details["3-8 litter"] == "files were written: litter"
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {
        f"fake-{case}.fake" for case in fates
    }


def test_one_case_can_be_repeated_as_the_report_says(folder: Path) -> None:
    again = run_fuzz(folder, "--format", "fake", "--seed", "0", "--case", "0-2 raise")
    assert again.returncode == 1
    heading, row = again.stdout.splitlines()[:2]
    assert heading.split() == ["format", "tried", "held", "refused", "failed"]
    assert row.split() == ["fake", "1", "0", "0", "1"]
    assert again.stdout.splitlines()[-1] == (
        "again: python -m tests.fuzz --format fake --seed 0 --case '0-2 raise'"
    )
    fine = run_fuzz(folder, "--format", "fake", "--case", "0-0 fine")
    assert fine.returncode == 0, fine.stdout
    assert run_fuzz(folder, "--format", "fake", "--case", "none").returncode == 2
    unknown = run_fuzz(folder, "--format", "fak")
    assert unknown.returncode == 2
    assert "there are: fake" in unknown.stderr


ENDLESS = """
import itertools, os


def cases(seed):
    yield from ((str(number), b"") for number in itertools.count())


def attempt(path):
    open(os.environ["LOG"], "a").write(f"{os.getpid()}\\n")
"""


def test_the_time_is_kept_and_the_child_stays_warm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    (tmp_path / "endless.py").write_text(ENDLESS)
    (tmp_path / "endless_twin.py").write_text(ENDLESS)
    finished = run_fuzz(tmp_path, "--seconds", "3", "--json")
    assert finished.returncode == 0, finished.stderr
    tried = sum(counts(finished, name)["tried"] for name in ("endless", "endless_twin"))
    children = (tmp_path / "log").read_text().split()
    assert len(children) == tried > 20
    assert len(set(children)) <= 2 + tried // 500


def test_a_format_that_cannot_start_is_no_clean_bill(tmp_path: Path) -> None:
    broken = ENDLESS + "\n\ndef warm():\n    raise ImportError('no such library')\n"
    (tmp_path / "broken.py").write_text(broken)
    finished = run_fuzz(tmp_path, "--seconds", "1")
    assert finished.returncode == 1
    assert "broken.py does not start" in finished.stderr
    assert "no such library" in finished.stderr


@pytest.mark.parametrize("path", find_formats(ROOT / "tests/fuzz").values(), ids=lambda p: p.stem)
def test_a_whole_file_of_each_format_is_read(path: Path, tmp_path: Path) -> None:
    """Find a format that no longer fits the package before the long command does."""
    chosen = load_format(path)
    name, content = next(chosen.cases(0))
    whole = tmp_path / f"whole{chosen.suffix}"
    whole.write_bytes(content)
    with contextlib.suppress(RpdError):
        chosen.attempt(whole)
    assert name
