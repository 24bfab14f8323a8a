"""The other end of the pipe: what a worker process does, and how it ends.

What its environments have started and not closed is found by a mark in its environment variables,
which programs inherit even where they move to a session of their own.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import MutableSequence
from contextlib import suppress
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path

from rpd_core.errors import ExecutionError, one_line
from rpd_core.execute.items import perform
from rpd_core.play.heartbeat import one_thread, share
from rpd_core.plugin.protocols import Outcome, WorkItem

UNREAD = ""  # identity of the outcome of an item that could not be read
GRACE = 5.0  # seconds that a worker gets to close its environments before it is killed


class _Dismissed(BaseException):
    """Raised in a worker that is asked to end in the middle of its work."""


def serve(pipe: Connection, pulse: MutableSequence[int], mark: str) -> None:
    """Do what comes through the pipe, in the worker process, and leave signs of life."""
    os.setpgid(0, 0)  # what its environments start belongs to it, and ends with it
    os.environ[_MARK] = mark  # so does what leaves that group
    share(pulse)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    os.environ.pop("PYTHONSAFEPATH", None)  # set for this process alone, not for its programs
    os.set_inheritable(pipe.fileno(), False)  # a program of an environment would keep it open
    os.register_at_fork(after_in_child=pipe.close)  # and so would a copy of this process
    os.dup2(2, 1)  # standard output is for the answer; an environment may print
    one_thread()  # before any numerical library is imported for an item
    threading.Thread(target=_end_with_parent, args=(mark,), daemon=True).start()
    with suppress(_Dismissed):  # it may be asked twice: by its parent, and because that has gone
        with suppress(EOFError, OSError, _Dismissed):
            signal.signal(signal.SIGTERM, _dismissed)
            if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
                signal.signal(signal.SIGHUP, _dismissed)
            while not _leaving.is_set():
                pipe.send_bytes(_do(pipe.recv_bytes()))
        _leaving.set()
    chunks = sys.modules.get("rpd_core.play.chunks")
    if chunks is not None:  # its environments may have started programs of their own
        with suppress(Exception):
            chunks.close_players()
    _leave_nothing(mark)


_leaving = threading.Event()


def _dismissed(number: int, frame: object) -> None:
    if not _leaving.is_set():  # once is enough
        _leaving.set()  # what comes next may be swallowed
        raise _Dismissed


def _end_with_parent(mark: str) -> None:
    """End this process when its parent has gone: nobody would take the answer."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE)
        _leave_nothing(mark)


def _leave_nothing(mark: str) -> None:
    """End what environments have started and not closed; a parent that lives does the rest."""
    end_marked(mark)
    parent = parent_process()
    if parent is not None and not parent.is_alive():
        os.killpg(0, signal.SIGKILL)  # also this process


def _do(packed: bytes) -> bytes:
    try:
        item: WorkItem = pickle.loads(packed)
    except Exception as error:  # a module that only its maker has, or other versions
        told = ExecutionError(
            f"the worker on {socket.gethostname()} cannot read its work ({one_line(error)}): "
            "install there what is installed here"
        )
        return pickle.dumps(Outcome(UNREAD, error=told))
    outcome = perform(item)
    try:
        return pickle.dumps(outcome)
    except Exception as error:  # a stranger's environment may put anything into its answer
        told = ExecutionError(f"the answer cannot be sent back ({one_line(error)})")
        return pickle.dumps(Outcome(item.identity, error=told))


_MARK = "RPD_WORKER"


def end_group(number: int) -> None:
    """End what is left of a worker's process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(number, signal.SIGKILL)


def end_marked(mark: str) -> None:
    """End all other processes that bear a mark; where there is no /proc, none is found."""
    entry = f"{_MARK}={mark}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it is somebody else's, or has ended
            number = int(path.parent.name)
            if entry in path.read_bytes().split(b"\0") and number != os.getpid():
                os.kill(number, signal.SIGKILL)
