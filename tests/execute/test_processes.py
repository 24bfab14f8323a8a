"""Worker processes: their start, their faults and their end."""

from __future__ import annotations

import _thread
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import itemwork
import pytest
from watching import heed_signals, is_running, wait_until

from rpd_core.errors import ExecutionError
from rpd_core.execute import processes
from rpd_core.execute.items import packed, run_items
from rpd_core.execute.local import LocalProcesses
from rpd_core.execute.processes import LocalWorkers
from rpd_core.plugin.protocols import Outcome, WorkItem


@contextmanager
def local_workers(size: int, eager: bool = True) -> Iterator[LocalWorkers]:
    made = LocalWorkers(size, eager=eager)
    try:
        yield made
    finally:
        made.dismiss()


@pytest.fixture
def local() -> Iterator[LocalWorkers]:
    with local_workers(2) as made:
        yield made


class Items:
    """A queue of items for one function."""

    def __init__(self, function: Callable[[Any], Any], *arguments: Any) -> None:
        self.waiting: list[WorkItem] = []
        for argument in arguments:
            self.add(function, argument)

    def add(self, function: Callable[[Any], Any], argument: Any) -> None:
        name = f"{len(self.waiting)} {getattr(function, '__name__', '')}"
        self.waiting.append(WorkItem(name, function, argument))

    def take(self) -> WorkItem | None:
        return self.waiting.pop(0) if self.waiting else None


def outcomes(local: LocalWorkers, function: Callable[[Any], Any], *arguments: Any) -> list[Outcome]:
    return list(local.execute(Items(function, *arguments)))


def value(outcome: Outcome) -> Any:
    assert outcome.error is None
    return outcome.value


def only_error(local: LocalWorkers, function: Callable[[Any], Any], argument: Any) -> BaseException:
    (outcome,) = outcomes(local, function, argument)
    assert outcome.error is not None
    return outcome.error


def test_workers_that_end_in_the_middle_of_an_answer_hold_nobody_up() -> None:
    """Answers of 5 MB are on their way when the listener leaves, as with Ctrl-C."""
    for _ in range(2):
        with local_workers(2) as local:
            answers = local.execute(Items(itemwork.much, *[5_000_000] * 6))
            next(answers)
            started = time.monotonic()
            answers.close()  # type: ignore[attr-defined]
            assert time.monotonic() - started < 30
            assert not local.workers


def test_only_as_many_workers_start_as_there_are_items_and_they_stay(local: LocalWorkers) -> None:
    (first,) = outcomes(local, itemwork.process_id, 1)
    assert len(local.workers) == 1
    (second,) = outcomes(local, itemwork.process_id, 1)
    assert value(first) == value(second)
    outcomes(local, itemwork.double, *range(9))
    assert len(local.workers) == 2


def test_work_that_is_done_sooner_than_a_worker_starts_starts_no_other() -> None:
    with local_workers(2, eager=False) as local:
        assert [value(one) for one in outcomes(local, itemwork.play, *range(20))] == list(range(20))
        assert len(local.workers) == 1


def test_work_that_waits_for_as_long_as_a_start_takes_gets_another_worker(tmp_path: Path) -> None:
    """Both items end only when both are under way."""
    with local_workers(3, eager=False) as local:
        assert [value(one) for one in outcomes(local, itemwork.meet, *[str(tmp_path)] * 2)] == [
            2,
            2,
        ]
        assert len(local.workers) == 2


def test_how_long_work_waits_is_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(processes.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(processes.Worker, "beats", property(lambda self: clock[0] >= 103))
    first = object.__new__(processes.Worker)
    first.started = 100.0
    backlog = processes.Backlog(None)
    assert backlog.pays_another([]), "somebody must do it"
    for clock[0], pays in ((101.0, False), (103.0, False), (105.0, False)):
        assert backlog.pays_another([first]) == pays
    backlog.end()
    for clock[0], pays in ((200.0, False), (200.9, False), (201.0, True)):
        assert backlog.pays_another([first]) == pays, "3 seconds, as the first took to start"


def test_work_without_signs_of_life_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "_LONGEST_START", 0.3)
    with local_workers(2, eager=False) as local:
        outcomes(local, itemwork.sleep, 1.0, 0.0)
        assert len(local.workers) == 2


def test_a_worker_that_dies_takes_only_its_own_item_along(local: LocalWorkers) -> None:
    queue = Items(itemwork.process_id, 1)
    queue.add(itemwork.sleep, 0.5)
    queue.add(itemwork.die, 1)
    found = {outcome.identity: outcome for outcome in local.execute(queue)}
    assert [name for name, outcome in found.items() if outcome.lost] == ["2 die"]
    assert value(found["1 sleep"]) == 0.5
    assert len(local.workers) == 1


def test_a_worker_that_died_while_idle_is_replaced(local: LocalWorkers) -> None:
    (before,) = outcomes(local, itemwork.process_id, 1)
    os.kill(value(before), signal.SIGKILL)
    assert wait_until(local.workers[0].pipe.poll)  # its end of the pipe is closed
    (after,) = outcomes(local, itemwork.process_id, 1)
    assert not after.lost
    assert value(after) not in (None, value(before))


def test_a_dead_worker_is_noticed_though_a_process_it_forked_lives_on(
    local: LocalWorkers, tmp_path: Path
) -> None:
    """The child inherits the worker's end of the pipe and keeps it open."""
    (outcome,) = outcomes(local, itemwork.fork_and_die, str(tmp_path / "forked"))
    assert outcome.lost
    assert "ended with exit code 9" in str(outcome.error)
    forked = int((tmp_path / "forked").read_text())
    assert wait_until(lambda: not is_running(forked))  # it is ended with the worker


def test_a_program_that_a_dead_worker_started_does_not_hold_its_pipe_open(
    local: LocalWorkers,
) -> None:
    (program,) = outcomes(local, itemwork.start_program, 60.0)
    (asked,) = outcomes(local, itemwork.process_id, 1)
    os.kill(value(asked), signal.SIGKILL)
    try:
        assert wait_until(local.workers[0].pipe.poll)
        assert is_running(value(program))
    finally:
        os.kill(value(program), signal.SIGKILL)


def test_how_a_worker_died_is_told(local: LocalWorkers) -> None:
    (killed,) = outcomes(local, itemwork.die_of, int(signal.SIGKILL))
    assert killed.lost
    assert "was killed by SIGKILL (memory may have run out" in str(killed.error)
    (crashed,) = outcomes(local, itemwork.die_of, int(signal.SIGSEGV))
    assert "was killed by SIGSEGV (the environment or the policy" in str(crashed.error)


def test_errors_come_home_with_the_place_where_they_arose(local: LocalWorkers) -> None:
    error = only_error(local, itemwork.refuse, 7)
    assert isinstance(error, ValueError)
    assert "itemwork.py" in "".join(error.__notes__)
    assert isinstance(only_error(local, itemwork.leave, 3), SystemExit)


def test_errors_and_values_that_cannot_be_sent_are_told(
    local: LocalWorkers, tmp_path: Path
) -> None:
    error = only_error(local, itemwork.fail_peculiarly, 1)
    assert isinstance(error, ExecutionError)
    assert str(error) == "Peculiar: fault 1 in the cellar"
    told = str(only_error(local, itemwork.open_file, str(tmp_path / "open")))
    assert told.startswith("the answer cannot be sent back (TypeError: cannot pickle ")


def test_a_worker_that_refuses_to_end_is_killed(
    local: LocalWorkers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "GRACE", 0.2)
    marker = tmp_path / "marker"
    (asked,) = outcomes(local, itemwork.process_id, 1)
    ask_to_stay(local.workers[0], marker)
    assert wait_until(marker.exists)
    local.dismiss()
    assert not is_running(value(asked))


def test_workers_that_refuse_to_end_are_waited_for_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "GRACE", 1.0)
    with local_workers(3) as local:
        asked = outcomes(local, itemwork.process_id, 1, 2, 3)
        for number, worker in enumerate(local.workers):
            marker = tmp_path / str(number)
            ask_to_stay(worker, marker)
            assert wait_until(marker.exists)
        started = time.monotonic()
        local.dismiss()
        assert 1 <= time.monotonic() - started < 2.5
    assert not any(is_running(value(each)) for each in asked)


def test_who_does_not_wait_at_exit_has_the_workers_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(local: LocalWorkers) -> None:
        raise KeyboardInterrupt

    with local_workers(2) as local:
        (asked,) = outcomes(local, itemwork.process_id, 1)
        with monkeypatch.context() as patch:
            patch.setattr(LocalWorkers, "dismiss", interrupted)
            processes._dismiss_all()
        assert wait_until(lambda: not is_running(value(asked)))


def test_a_worker_that_cannot_be_started_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(process: SpawnProcess) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(SpawnProcess, "start", refuse)
    with (
        pytest.raises(ExecutionError, match=r"another worker .*Too many .*try fewer --workers"),
        local_workers(2) as local,
    ):
        outcomes(local, itemwork.process_id, 1)


def test_a_copy_of_this_process_leaves_the_workers_to_it(local: LocalWorkers) -> None:
    (asked,) = outcomes(local, itemwork.process_id, 1)
    copy = os.fork()
    if not copy:
        processes._dismiss_all()
        os._exit(len(local.workers))
    assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 1
    assert is_running(value(asked))


def test_a_request_to_end_that_is_swallowed_is_heeded_after_the_item(local: LocalWorkers) -> None:
    """As in an environment with a bare `except`."""
    (asked,) = outcomes(local, itemwork.swallow_request, 1)
    assert value(asked) == 1
    assert wait_until(lambda: local.workers[0].speaks())


def test_two_that_are_opened_at_once_have_workers_of_their_own() -> None:
    local = LocalProcesses()
    with local.open(2) as one, local.open(2) as other:
        (first,) = one.execute(Items(itemwork.process_id, 1))
        (second,) = other.execute(Items(itemwork.process_id, 1))
        assert value(first) != value(second)
        assert is_running(value(first))
    assert not is_running(value(first))
    assert not is_running(value(second))


def test_workers_stay_from_one_stage_of_a_run_to_the_next() -> None:
    with LocalProcesses().open(2) as engine:
        found: list[int] = []
        for stage in ("suite", "test"):
            item = WorkItem(stage, itemwork.process_id, 1)
            run_items(engine, [item], lambda item, answer: found.append(answer))
    assert found[0] == found[1]
    assert not is_running(found[0])


def test_a_stage_that_breaks_off_ends_its_workers() -> None:
    def handle(item: WorkItem, answer: int) -> None:
        raise RuntimeError(str(answer))

    with pytest.raises(RuntimeError) as caught, LocalProcesses().open(2) as engine:
        run_items(engine, [WorkItem("1", itemwork.process_id, 1)], handle)
    assert not is_running(int(str(caught.value)))


def ask_to_stay(worker: processes.Worker, marker: Path) -> None:
    item = WorkItem("stay", itemwork.stay, str(marker))
    worker.give(item, packed(item))


PARENT = """
import itemwork
from rpd_core.execute.processes import LocalWorkers
from rpd_core.plugin.protocols import WorkItem

class Queue:
    def __init__(self, function, argument):
        self.items = [WorkItem(name, function, argument) for name in "ab"]
    def take(self):
        return self.items.pop() if self.items else None

if __name__ == "__main__":
    print("starting", flush=True)
    local = LocalWorkers(2)
    try:
        for outcome in local.execute(Queue(itemwork.process_id, 1)):
            print(outcome.value, flush=True)
        print("busy", flush=True)
        list(local.execute(Queue(itemwork.sleep, 600.0)))
    finally:
        local.dismiss()
"""


def with_path() -> dict[str, str]:
    """Return an environment in which processes find the work, and the project as here."""
    found = [str(Path(itemwork.__file__).parent), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, found))}


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    started = start_parent(tmp_path)
    yield started
    with suppress(ProcessLookupError):
        os.killpg(started.pid, signal.SIGKILL)
    started.communicate(timeout=60)


def start_parent(folder: Path) -> subprocess.Popen[str]:
    script = folder / "parent.py"
    script.write_text(PARENT)
    return subprocess.Popen(
        [sys.executable, str(script)],
        env=with_path(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_signals,
    )


def test_workers_end_when_their_parent_is_killed(parent: subprocess.Popen[str]) -> None:
    assert parent.stdout is not None
    told = [parent.stdout.readline().strip() for _ in range(4)]
    assert (told[0], told[3]) == ("starting", "busy")
    workers = {int(line) for line in told[1:3]}
    parent.kill()
    parent.wait()
    assert wait_until(lambda: not any(is_running(worker) for worker in workers))


@pytest.mark.parametrize(
    "ctrl_c",
    [
        lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT),
        _thread.interrupt_main,  # as when another thread receives it
    ],
    ids=["to this thread", "to another thread"],
)
@pytest.mark.parametrize("early", [True, False])
def test_a_worker_whose_start_is_interrupted_ends(
    monkeypatch: pytest.MonkeyPatch, ctrl_c: Callable[[], None], early: bool
) -> None:
    start = SpawnProcess.start
    started = []

    def start_and_interrupt(process: SpawnProcess) -> None:
        if early:
            ctrl_c()
        start(process)
        started.append(process)
        if not early:
            ctrl_c()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(SpawnProcess, "start", start_and_interrupt)
    try:
        with pytest.raises(KeyboardInterrupt), local_workers(2) as local:
            outcomes(local, itemwork.sleep, 600.0, 600.0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not local.workers
    assert all(process.exitcode is not None for process in started)


def test_workers_that_nobody_could_end_are_ended_at_exit(tmp_path: Path) -> None:
    """A second Ctrl-C can interrupt the answer to the first."""
    script = tmp_path / "impatient.py"
    script.write_text(IMPATIENT)
    ended = subprocess.run(
        [sys.executable, str(script)], env=with_path(), capture_output=True, timeout=60
    )
    assert b"KeyboardInterrupt: impatient" in ended.stderr
    assert not is_running(int(ended.stdout))


IMPATIENT = """
import itemwork
from rpd_core.execute.processes import LocalWorkers
from rpd_core.plugin.protocols import WorkItem

class Queue:
    items = [WorkItem("a", itemwork.process_id, 1)]
    def take(self):
        return self.items.pop() if self.items else None

dismiss = LocalWorkers.dismiss

def dismiss_later(self):
    LocalWorkers.dismiss = dismiss
    raise KeyboardInterrupt("impatient")

if __name__ == "__main__":
    LocalWorkers.dismiss = dismiss_later
    local = LocalWorkers(2)
    try:
        for outcome in local.execute(Queue()):
            print(outcome.value, flush=True)
        raise KeyboardInterrupt
    finally:
        local.dismiss()
"""


@pytest.mark.parametrize("delay", [0.02, 0.06, 0.1, 0.2])
def test_ctrl_c_while_workers_start_reaches_only_the_parent(
    parent: subprocess.Popen[str], delay: float
) -> None:
    assert parent.stdout is not None
    assert parent.stdout.readline() == "starting\n"
    time.sleep(delay)
    os.killpg(parent.pid, signal.SIGINT)
    _, errors = parent.communicate(timeout=60)
    assert parent.returncode != 0
    assert errors.count("KeyboardInterrupt") <= 1, errors
