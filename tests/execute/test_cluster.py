"""Processes on behalf of an engine's worker: reused, dismissed, forgotten, never left behind."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing import get_context, process
from pathlib import Path

import itemwork
import pytest
from clusters import items, where
from watching import is_running, wait_until

from rpd_core.execute import cluster as module
from rpd_core.execute.cluster import ClusterWorkers, PackedOutcome, Sender, outcome_of
from rpd_core.plugin.protocols import WorkItem


@pytest.fixture
def cluster_workers() -> Iterator[ClusterWorkers]:
    cluster_workers = ClusterWorkers()
    yield cluster_workers
    cluster_workers.close()


def value(item: WorkItem, packed: PackedOutcome):
    outcome = outcome_of(item, packed)
    assert outcome.error is None, outcome
    return outcome.value


def test_a_run_keeps_its_process_and_another_gets_its_own(cluster_workers):
    first, second = Sender(60), Sender(60)
    one, two, three = items(itemwork.process_id, 1, 2, 3)
    kept = value(one, cluster_workers.do(first.pack(one)))
    assert value(two, cluster_workers.do(first.pack(two))) == kept
    assert value(three, cluster_workers.do(second.pack(three))) != kept


def test_files_that_have_not_come_are_asked_for(cluster_workers, tmp_path):
    path = tmp_path / "model"
    path.write_text("weights")
    (item,) = items(itemwork.read_all, itemwork.Reader((path,)), files=(path,))
    sender = Sender(60)
    assert cluster_workers.do(sender.pack(item)) == PackedOutcome(lacking=True)
    path.unlink()
    cluster_workers.keep(sender.owner, {item.files[0].digest: b"weights"})
    ((_, text),) = value(item, cluster_workers.do(sender.pack(item)))
    assert text == "weights"


def test_a_process_that_died_while_idle_is_replaced(cluster_workers):
    one, two = items(itemwork.process_id, 1, 2)
    sender = Sender(60)
    first = value(one, cluster_workers.do(sender.pack(one)))
    subprocess.run(["kill", "-9", str(first)], check=True)
    (run,) = cluster_workers._runs.values()
    assert wait_until(lambda: run.idle[0].process.speaks())  # its last thread has ended, too
    assert value(two, cluster_workers.do(sender.pack(two))) != first


def test_dismissal_ends_an_item_in_the_middle(cluster_workers):
    sender, outcomes = Sender(60), []
    (item,) = items(where, 600)
    working = threading.Thread(
        target=lambda: outcomes.append(cluster_workers.do(sender.pack(item)))
    )
    working.start()
    assert wait_until(lambda: any(run.busy for run in cluster_workers._runs.values()))
    time.sleep(0.2)
    cluster_workers.dismiss(sender.owner)
    working.join(30)
    assert outcomes[0].lost
    assert "was killed by SIGKILL" in outcomes[0].error


def test_processes_of_a_run_that_sends_no_more_are_ended(cluster_workers, monkeypatch):
    monkeypatch.setattr(module, "IDLE", 0.2)
    monkeypatch.setattr(module, "_LOOKS", 0.1)
    (item,) = items(itemwork.process_id, 1)
    process_number = value(item, cluster_workers.do(Sender(60).pack(item)))
    assert wait_until(lambda: not is_running(process_number))
    assert cluster_workers._runs == {}


def start_a_child(number: int) -> bool:
    """Do what a daemonic process may not."""
    child = get_context("spawn").Process(target=print)
    child.start()
    child.join()
    return process.current_process().daemon


def test_a_daemonic_worker_may_have_processes_and_they_theirs(cluster_workers, monkeypatch):
    monkeypatch.setitem(process.current_process()._config, "daemon", True)
    (item,) = items(start_a_child, 1)
    assert value(item, cluster_workers.do(Sender(60).pack(item))) is False
    assert process.current_process().daemon


PROGRAM = """
import sys
sys.path.insert(0, {tests!r})
from clusters import items, where
from rpd_core.execute.cluster import Sender, cluster_workers, outcome_of
if __name__ != "__main__":
    raise SystemExit("the program was imported by its process")
(item,) = items(where, 0)
print(outcome_of(item, cluster_workers.do(Sender(60).pack(item))).value[0])
"""


def test_a_worker_that_ends_takes_its_processes_along_and_is_not_imported_by_them(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(tests=str(Path(itemwork.__file__).parent)))
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert wait_until(lambda: not is_running(int(done.stdout)))
