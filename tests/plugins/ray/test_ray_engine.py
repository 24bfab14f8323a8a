"""A real Ray on this machine: work, files, faults."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator

import itemwork
import pytest
from clusters import (
    SMALL,
    items,
    print_much,
    results,
    stored,
    use_signals,
    where,
)
from faults import (
    check_a_process_that_dies_every_time,
    check_a_process_that_stops,
    check_a_worker_that_is_killed,
    check_memory_that_is_refused,
    check_memory_that_the_kernel_ends,
)

if importlib.util.find_spec("ray") is None:  # not imported before its token is there
    pytest.skip("needs the extra ray", allow_module_level=True)

from rpd_core.api import Call, carry_out
from rpd_core.errors import ExecutionError
from rpd_core.plugin.protocols import Engine
from rpd_kit import check_recipe
from rpd_kit import executors as runners
from rpd_ray.executor import Ray

pytestmark = pytest.mark.extras

ALONE = """
from rpd_ray.executor import Ray

if __name__ == "__main__":
    with Ray().open(1):
        print("open")
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """Yield an engine with a cluster of its own, which others of this process join."""
    with Ray().open(2) as engine:
        results(engine, items(itemwork.double, 1))
        yield engine


def test_ray_writes_no_token_into_the_home_directory(tmp_path):
    """In a process of its own: Ray reads where its token is when it is first imported."""
    home = {**os.environ, "HOME": str(tmp_path)}
    command = [sys.executable, "-c", ALONE]
    done = subprocess.run(command, env=home, capture_output=True, text=True, timeout=120)
    assert done.stdout.endswith("open\n"), done.stderr
    assert not (tmp_path / ".ray" / "auth_token").exists()


@pytest.mark.usefixtures("engine")
def test_the_kit_finds_no_fault(monkeypatch):
    monkeypatch.setattr(runners, "WORKERS", (2,))
    assert check_recipe("executor", Ray()) == []


def test_a_worker_that_is_killed_costs_its_item_only(engine, tmp_path):
    told = check_a_worker_that_is_killed(engine, tmp_path)
    assert told.startswith("the Ray worker died (WorkerCrashedError: ")


def test_an_item_whose_process_dies_again_and_again_ends_the_run_in_one_line(engine):
    check_a_process_that_dies_every_time(engine)


def test_memory_that_runs_out_costs_its_item_only(engine, tmp_path):
    check_memory_that_is_refused(engine, tmp_path)
    check_memory_that_the_kernel_ends(engine)


@pytest.mark.usefixtures("engine")
def test_a_process_that_is_stopped_is_noticed():
    with Ray(stall_timeout=1).open(1) as engine:
        check_a_process_that_stops(engine)


def test_files_are_put_into_the_store_once_and_used_where_there_are_none(engine, tmp_path):
    path = tmp_path / "model.zip"
    path.write_text("model")
    first = items(itemwork.read_all_slowly, *[itemwork.Reader((path,))] * 4, files=(path,))
    later = items(itemwork.read_all_slowly, *[itemwork.Reader((path,))] * 8, files=(path,))
    assert {text for ((_, text),) in results(engine, first)} == {"model"}
    path.unlink()  # it cannot be read again
    found = results(engine, later)
    assert {text for ((_, text),) in found} == {"model"}
    assert str(path) not in {place for ((place, _),) in found}


def test_environments_may_use_signals_and_print_and_have_one_thread(engine, capfd):
    assert results(engine, items(use_signals, 1, 2)) == [1, 2]
    assert results(engine, items(print_much, 1)) == ["1"]
    assert capfd.readouterr().out == ""


@pytest.mark.usefixtures("engine")
def test_what_hangs_is_ended_and_said_in_one_line():
    with (
        pytest.raises(ExecutionError, match=r"^no progress for 1 seconds before the first"),
        Ray(stall_timeout=1).open(1) as engine,
    ):
        results(engine, items(where, 600))


@pytest.mark.usefixtures("engine")
def test_a_run_is_the_same_to_the_byte_and_what_is_connected_stays_so(tmp_path):
    import ray

    carry_out(Call(**SMALL, out=tmp_path / "here"))
    carry_out(Call(**SMALL, out=tmp_path / "there", executor="ray"))
    assert ray.is_initialized()
    there = stored(tmp_path / "there")
    assert len(there) > 20
    assert there == stored(tmp_path / "here")


@pytest.mark.usefixtures("engine")
def test_another_address_is_refused_while_ray_is_connected():
    with (
        pytest.raises(ExecutionError, match=r"^Ray is connected in this process already: leave"),
        Ray("127.0.0.1:6379").open(1),
    ):
        pass
