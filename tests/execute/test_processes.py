"""Worker processes: their start, their faults and their end."""

from __future__ import annotations

import _thread
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import errands
import pytest
from watching import heed_signals, is_running, wait_until

from rpd_core.errors import ExecutionError
from rpd_core.execute import processes
from rpd_core.execute.local import LocalProcesses, run_items
from rpd_core.execute.processes import Crew, crew, dismiss_workers
from rpd_core.plugin.protocols import Outcome, WorkItem


@pytest.fixture
def gang() -> Iterator[Crew]:
    with crew(2) as lent:
        yield lent


class Items:
    """A queue of items for one function."""

    def __init__(self, function: Callable[[Any], Any], *arguments: Any) -> None:
        self.waiting = [WorkItem(function, argument) for argument in arguments]

    def take(self) -> WorkItem | None:
        return self.waiting.pop(0) if self.waiting else None


def outcomes(gang: Crew, function: Callable[[Any], Any], *arguments: Any) -> list[Outcome]:
    return list(gang.execute(Items(function, *arguments)))


def only_error(function: Callable[[Any], Any], argument: Any) -> BaseException:
    with crew(2) as gang:
        (outcome,) = outcomes(gang, function, argument)
    assert outcome.error is not None
    return outcome.error


def test_workers_that_end_in_the_middle_of_an_answer_hold_nobody_up() -> None:
    """Answers of 5 MB are on their way when the listener leaves, as with Ctrl-C."""
    for _ in range(3):
        answers = LocalProcesses().execute(Items(errands.much, *[5_000_000] * 6), 2)
        next(answers)
        started = time.monotonic()
        answers.close()  # type: ignore[attr-defined]
        assert time.monotonic() - started < 30
        with crew(2) as gang:
            assert not gang.workers


def test_only_as_many_workers_start_as_there_are_items_and_they_stay(gang: Crew) -> None:
    (first,) = outcomes(gang, errands.process_id, 1)
    assert len(gang.workers) == 1
    (second,) = outcomes(gang, errands.process_id, 1)
    assert first.value == second.value
    outcomes(gang, errands.double, *range(9))
    assert len(gang.workers) == 2


def test_a_worker_that_dies_takes_only_its_own_item_along(gang: Crew) -> None:
    queue = Items(errands.process_id, 1)
    queue.waiting.append(WorkItem(errands.sleep, 0.5))
    queue.waiting.append(WorkItem(errands.die, 1))
    found = list(gang.execute(queue))
    assert [(outcome.item.function, outcome.lost) for outcome in found if outcome.lost] == [
        (errands.die, True)
    ]
    assert {outcome.value for outcome in found if outcome.item.function is errands.sleep} == {0.5}
    assert len(gang.workers) == 1


def test_a_worker_that_died_while_idle_is_replaced(gang: Crew) -> None:
    (before,) = outcomes(gang, errands.process_id, 1)
    os.kill(before.value, signal.SIGKILL)
    assert wait_until(gang.workers[0].pipe.poll)  # its end of the pipe is closed
    (after,) = outcomes(gang, errands.process_id, 1)
    assert after.value not in (None, before.value)
    assert not after.lost


def test_a_dead_worker_is_noticed_though_a_process_it_forked_lives_on(
    gang: Crew, tmp_path: Path
) -> None:
    """The child inherits the worker's end of the pipe and keeps it open."""
    (outcome,) = outcomes(gang, errands.fork_and_die, str(tmp_path / "forked"))
    assert outcome.lost
    assert "ended with exit code 9" in str(outcome.error)
    forked = int((tmp_path / "forked").read_text())
    assert is_running(forked)
    os.kill(forked, signal.SIGKILL)


def test_a_program_that_a_dead_worker_started_does_not_hold_its_pipe_open(gang: Crew) -> None:
    (program,) = outcomes(gang, errands.start_program, 60.0)
    (asked,) = outcomes(gang, errands.process_id, 1)
    os.kill(asked.value, signal.SIGKILL)
    try:
        assert wait_until(gang.workers[0].pipe.poll)
        assert is_running(program.value)
    finally:
        os.kill(program.value, signal.SIGKILL)


def test_how_a_worker_died_is_told(gang: Crew) -> None:
    (killed,) = outcomes(gang, errands.die_of, int(signal.SIGKILL))
    assert killed.lost
    assert "was killed by SIGKILL (memory may have run out" in str(killed.error)
    (crashed,) = outcomes(gang, errands.die_of, int(signal.SIGSEGV))
    assert "was killed by SIGSEGV (the environment or the policy" in str(crashed.error)


def test_errors_come_home_with_the_place_where_they_arose() -> None:
    error = only_error(errands.refuse, 7)
    assert isinstance(error, ValueError)
    assert "errands.py" in "".join(error.__notes__)
    assert isinstance(only_error(errands.leave, 3), SystemExit)


def test_errors_and_values_that_cannot_be_sent_are_told(tmp_path: Path) -> None:
    error = only_error(errands.fail_peculiarly, 1)
    assert isinstance(error, ExecutionError)
    assert str(error) == "Peculiar: fault 1 in the cellar"
    assert "pickle" in str(only_error(errands.open_file, str(tmp_path / "open")))


def test_a_worker_that_refuses_to_end_is_killed(
    gang: Crew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "PATIENCE", 0.2)
    marker = tmp_path / "marker"
    (asked,) = outcomes(gang, errands.process_id, 1)
    gang.workers[0].give(WorkItem(errands.stay, None), _packed(errands.stay, str(marker)))
    assert wait_until(marker.exists)
    gang.dismiss()
    assert not is_running(asked.value)


def test_workers_that_refuse_to_end_are_waited_for_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "PATIENCE", 1.0)
    with crew(4) as gang:
        asked = outcomes(gang, errands.process_id, 1, 2, 3, 4)
        for number, worker in enumerate(gang.workers):
            marker = tmp_path / str(number)
            worker.give(WorkItem(errands.stay, None), _packed(errands.stay, str(marker)))
            assert wait_until(marker.exists)
        started = time.monotonic()
        gang.dismiss()
        assert 1 <= time.monotonic() - started < 3.5
    assert not any(is_running(each.value) for each in asked)


def test_who_does_not_wait_at_exit_has_the_workers_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(gang: Crew) -> None:
        raise KeyboardInterrupt

    with crew(2) as gang:
        (asked,) = outcomes(gang, errands.process_id, 1)
    with monkeypatch.context() as patch:
        patch.setattr(Crew, "dismiss", interrupted)
        processes._dismiss_all()
    assert wait_until(lambda: not is_running(asked.value))
    dismiss_workers()


def test_a_worker_that_cannot_be_started_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(process: SpawnProcess) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(SpawnProcess, "start", refuse)
    with (
        pytest.raises(ExecutionError, match=r"another worker .*Too many .*try fewer --workers"),
        crew(2) as gang,
    ):
        outcomes(gang, errands.process_id, 1)


def test_a_copy_of_this_process_leaves_the_workers_to_it(gang: Crew) -> None:
    (asked,) = outcomes(gang, errands.process_id, 1)
    copy = os.fork()
    if not copy:
        processes._dismiss_all()
        os._exit(len(gang.workers))
    assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 1
    assert is_running(asked.value)


def test_a_request_to_end_that_is_swallowed_is_heeded_after_the_item(gang: Crew) -> None:
    """As in an environment with a bare `except`."""
    (asked,) = outcomes(gang, errands.swallow_request, 1)
    assert asked.value == 1
    assert wait_until(lambda: gang.workers[0].speaks())


def test_two_stages_at_once_have_a_crew_each_and_the_next_finds_one_of_them() -> None:
    with crew(2) as one, crew(2) as other:
        assert one is not other
        (outcome,) = outcomes(other, errands.process_id, 1)
    with crew(2) as again:
        assert again is other
        assert is_running(outcome.value)
    dismiss_workers()
    assert not is_running(outcome.value)


def test_a_stage_that_breaks_off_ends_its_workers() -> None:
    def found(item: WorkItem, value: int) -> None:
        raise RuntimeError(str(value))

    with pytest.raises(RuntimeError) as caught:
        run_items(LocalProcesses(), 2, [WorkItem(errands.process_id, 1)], found)
    assert not is_running(int(str(caught.value)))


def _packed(function: Callable[[Any], Any], argument: Any) -> bytes:
    return pickle.dumps((function, argument))


PARENT = """
import errands
from rpd_core.execute.processes import crew
from rpd_core.plugin.protocols import WorkItem

class Queue:
    items = [WorkItem(errands.process_id, 1), WorkItem(errands.process_id, 1)]
    def take(self):
        return self.items.pop() if self.items else None

if __name__ == "__main__":
    print("starting", flush=True)
    with crew(2) as gang:
        for outcome in gang.execute(Queue()):
            print(outcome.value, flush=True)
        Queue.items = [WorkItem(errands.sleep, 600.0), WorkItem(errands.sleep, 600.0)]
        print("busy", flush=True)
        list(gang.execute(Queue()))
"""


def with_errands() -> dict[str, str]:
    """Return an environment in which processes find the errands, and the project as here."""
    found = [str(Path(errands.__file__).parent), os.environ.get("PYTHONPATH", "")]
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
        env=with_errands(),
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
        with pytest.raises(KeyboardInterrupt), crew(2) as gang:
            outcomes(gang, errands.sleep, 600.0, 600.0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not gang.workers
    assert all(process.exitcode is not None for process in started)


def test_workers_that_nobody_could_end_are_ended_at_exit(tmp_path: Path) -> None:
    """A second Ctrl-C can interrupt the answer to the first."""
    script = tmp_path / "impatient.py"
    script.write_text(IMPATIENT)
    ended = subprocess.run(
        [sys.executable, str(script)], env=with_errands(), capture_output=True, timeout=60
    )
    assert b"KeyboardInterrupt: impatient" in ended.stderr
    assert not is_running(int(ended.stdout))


IMPATIENT = """
import errands
from rpd_core.execute.processes import Crew, crew
from rpd_core.plugin.protocols import WorkItem

class Queue:
    items = [WorkItem(errands.process_id, 1)]
    def take(self):
        return self.items.pop() if self.items else None

dismiss = Crew.dismiss

def dismiss_later(self):
    Crew.dismiss = dismiss
    raise KeyboardInterrupt("impatient")

if __name__ == "__main__":
    Crew.dismiss = dismiss_later
    with crew(2) as gang:
        for outcome in gang.execute(Queue()):
            print(outcome.value, flush=True)
        raise KeyboardInterrupt
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
