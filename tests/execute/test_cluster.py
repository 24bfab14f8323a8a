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
from rpd_core.execute.cluster import Foreman, Reply, Sender, outcome_of
from rpd_core.plugin.protocols import WorkItem


@pytest.fixture
def foreman() -> Iterator[Foreman]:
    foreman = Foreman()
    yield foreman
    foreman.close()


def value(item: WorkItem, reply: Reply):
    outcome = outcome_of(item, reply)
    assert outcome.error is None, outcome
    return outcome.value


def test_a_run_keeps_its_process_and_another_gets_its_own(foreman):
    first, second = Sender(60), Sender(60)
    one, two, three = items(itemwork.process_id, 1, 2, 3)
    kept = value(one, foreman.do(first.errand(one)))
    assert value(two, foreman.do(first.errand(two))) == kept
    assert value(three, foreman.do(second.errand(three))) != kept


def test_files_that_have_not_come_are_asked_for(foreman, tmp_path):
    path = tmp_path / "model"
    path.write_text("weights")
    (item,) = items(itemwork.read_all, itemwork.Reader((path,)), files=(path,))
    sender = Sender(60)
    assert foreman.do(sender.errand(item)) == Reply(lacking=True)
    path.unlink()
    foreman.keep(sender.owner, {item.files[0].digest: b"weights"})
    ((_, text),) = value(item, foreman.do(sender.errand(item)))
    assert text == "weights"


def test_a_process_that_died_while_idle_is_replaced(foreman):
    one, two = items(itemwork.process_id, 1, 2)
    sender = Sender(60)
    first = value(one, foreman.do(sender.errand(one)))
    subprocess.run(["kill", "-9", str(first)], check=True)
    (staff,) = foreman._staffs.values()
    assert wait_until(lambda: staff.idle[0].worker.speaks())  # its last thread has ended, too
    assert value(two, foreman.do(sender.errand(two))) != first


def test_dismissal_ends_an_item_in_the_middle(foreman):
    sender, replies = Sender(60), []
    (item,) = items(where, 600)
    working = threading.Thread(target=lambda: replies.append(foreman.do(sender.errand(item))))
    working.start()
    assert wait_until(lambda: any(staff.busy for staff in foreman._staffs.values()))
    time.sleep(0.2)
    foreman.dismiss(sender.owner)
    working.join(30)
    assert replies[0].lost
    assert "was killed by SIGKILL" in replies[0].error


def test_processes_of_a_run_that_sends_no_more_are_ended(foreman, monkeypatch):
    monkeypatch.setattr(module, "IDLE", 0.2)
    monkeypatch.setattr(module, "_LOOKS", 0.1)
    (item,) = items(itemwork.process_id, 1)
    process_number = value(item, foreman.do(Sender(60).errand(item)))
    assert wait_until(lambda: not is_running(process_number))
    assert foreman._staffs == {}


def start_a_child(number: int) -> bool:
    """Do what a daemonic process may not."""
    child = get_context("spawn").Process(target=print)
    child.start()
    child.join()
    return process.current_process().daemon


def test_a_daemonic_worker_may_have_processes_and_they_theirs(foreman, monkeypatch):
    monkeypatch.setitem(process.current_process()._config, "daemon", True)
    (item,) = items(start_a_child, 1)
    assert value(item, foreman.do(Sender(60).errand(item))) is False
    assert process.current_process().daemon


PROGRAM = """
import sys
sys.path.insert(0, {tests!r})
from clusters import items, where
from rpd_core.execute.cluster import Sender, foreman, outcome_of
if __name__ != "__main__":
    raise SystemExit("the program was imported by its process")
(item,) = items(where, 0)
print(outcome_of(item, foreman.do(Sender(60).errand(item))).value[0])
"""


def test_a_worker_that_ends_takes_its_processes_along_and_is_not_imported_by_them(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(tests=str(Path(itemwork.__file__).parent)))
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert wait_until(lambda: not is_running(int(done.stdout)))
