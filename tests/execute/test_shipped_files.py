"""Files that work reads: checked where it runs, or delivered there."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import itemwork
import pytest

from rpd_core.errors import ExecutionError
from rpd_core.execute.items import _place, contents, deliver, input_files, moved, perform, run_items
from rpd_core.execute.local import LocalProcesses
from rpd_core.plugin.protocols import WorkItem


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder with a model, its statistics, and another model of the same name."""
    home = tmp_path / "home"
    (home / "other").mkdir(parents=True)
    (home / "model.zip").write_text("model")
    (home / "vecnormalize.pkl").write_text("statistics")
    (home / "other" / "model.zip").write_text("another model")
    return home


def reading(*paths: Path) -> WorkItem:
    """Return an item that reads files, made while they are in place."""
    argument = itemwork.Reader(paths)
    return WorkItem("read", itemwork.read_all, argument, "reading", input_files(paths))


def error_of(item: WorkItem) -> BaseException:
    error = perform(item).error
    assert error is not None
    return error


def test_work_reads_its_files_where_they_are(home: Path) -> None:
    item = reading(home / "model.zip", home / "vecnormalize.pkl")
    assert perform(item).value == [
        (str(home / "model.zip"), "model"),
        (str(home / "vecnormalize.pkl"), "statistics"),
    ]


def test_a_file_counts_once_and_by_its_absolute_path(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    files = input_files([Path("model.zip"), home / "model.zip"])
    assert [file.path for file in files] == [home / "model.zip"]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_file_that_has_changed_is_one_line(home: Path, workers: int) -> None:
    item = reading(home / "model.zip")
    digest = item.files[0].digest
    (home / "model.zip").write_text("trained further")
    with (
        pytest.raises(ExecutionError) as caught,
        LocalProcesses().open(workers) as engine,
    ):
        run_items(engine, [item], lambda item, value: None)
    message = str(caught.value)
    assert message.startswith(f"'{home / 'model.zip'}' on ")
    assert message.endswith(
        f" is not the file that the run was started with ({digest[:19]}...): restore it, or start "
        "a new run"
    )


def test_a_file_that_is_missing_is_one_line(home: Path) -> None:
    item = reading(home / "model.zip")
    (home / "model.zip").unlink()
    message = str(error_of(item))
    assert message.startswith("the worker on ")
    assert message.endswith(
        f" has no file '{home / 'model.zip'}': put it there, or use an executor that ships files"
    )
    assert [_place(file) for file in item.files] == [None]


def elsewhere(folder: Path, item: WorkItem, deliver_first: bool) -> str:
    """Do an item in a fresh process, as on a machine that has none of its files."""
    shipped = contents(item.files) if deliver_first else {}
    (folder / "shipment").write_bytes(pickle.dumps((item, shipped)))
    for file in item.files:
        file.path.unlink()
    script = (
        "import pickle, sys\n"
        f"sys.path.insert(0, {str(Path(itemwork.__file__).parent)!r})\n"
        f"item, shipped = pickle.loads(open({str(folder / 'shipment')!r}, 'rb').read())\n"
        "from rpd_core.execute.items import _place, deliver, perform\n"
        "deliver(shipped)\n"
        "print([_place(file) for file in item.files].count(None))\n"
        "for _ in range(2):\n"
        "    answer = perform(item)\n"
        "print(answer.error or answer.value)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_delivered_files_are_used_where_the_paths_do_not_exist(home: Path, tmp_path: Path) -> None:
    paths = home / "model.zip", home / "vecnormalize.pkl", home / "other" / "model.zip"
    told = elsewhere(tmp_path, reading(*paths), deliver_first=True)
    lacking, answer = told.splitlines()
    assert lacking == "0"
    found = eval(answer)
    assert [text for _, text in found] == ["model", "statistics", "another model"]
    first, beside, other = (Path(path) for path, _ in found)
    assert (first.name, beside.name, other.name) == ("model.zip", "vecnormalize.pkl", "model.zip")
    assert first.parent == beside.parent, "a loader finds one beside the other"
    assert other.parent == first.parent / "other"
    assert not first.exists(), "what was delivered goes when the process ends"


def test_without_a_delivery_the_file_is_missed(home: Path, tmp_path: Path) -> None:
    told = elsewhere(tmp_path, reading(home / "model.zip"), deliver_first=False)
    assert told.splitlines()[0] == "1"
    assert "has no file" in told


def test_a_delivery_stands_in_for_a_file_that_has_changed(home: Path) -> None:
    item = reading(home / "model.zip")
    deliver(contents(item.files))
    (home / "model.zip").write_text("trained further")
    ((path, text),) = perform(item).value
    assert text == "model"
    assert path != str(home / "model.zip")
    assert None not in [_place(file) for file in item.files]


def test_a_delivery_that_is_not_what_its_digest_says_is_not_used(home: Path) -> None:
    (home / "model.zip").write_text("a model of which only damaged copies arrive")
    item = reading(home / "model.zip")
    deliver({item.files[0].digest: b"damaged"})
    (home / "model.zip").unlink()
    assert "has no file" in str(error_of(item))


@dataclass(frozen=True)
class Inner:
    path: Path


@dataclass(frozen=True)
class Outer:
    inner: Inner
    others: tuple[Path, ...]
    name: str = "same"


def test_paths_are_replaced_at_any_depth_and_nothing_else() -> None:
    a, b, c = (Path("/nowhere") / name for name in "abc")
    value = Outer(Inner(a), (b, c))
    assert moved(value, {a: Path("/x"), c: Path("/y")}) == Outer(Inner(Path("/x")), (b, Path("/y")))
    assert moved(value.inner, {b: Path("/x")}) is value.inner
