"""Who may write to a run, also where the file system refuses locks or the system has none."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from stores import ready

from rpd_core.errors import StoreError
from rpd_core.store.files import locked


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def refuse_locks(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Answer as a file system that locks nothing."""

    def flock(file: object, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(StoreError, match="another rpd is writing to"):
        locked(tmp_path).__enter__()
    with locked(tmp_path):
        assert names(tmp_path) == [".lock"]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_where_locks_are_refused_a_file_keeps_others_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    number: int,
) -> None:
    refuse_locks(monkeypatch, number)
    with caplog.at_level(logging.WARNING, "rpd"), locked(tmp_path):
        assert caplog.messages == [
            f"the file system of {str(tmp_path)!r} refuses locks ({os.strerror(number)}): the file "
            ".owner keeps other writers out; if rpd is killed, delete it"
        ]
        with pytest.raises(StoreError) as caught:
            locked(tmp_path).__enter__()
        me = f"process {os.getpid()} on {socket.gethostname()}"
        assert str(caught.value) == (
            f"{me} is writing to {str(tmp_path)!r}: wait for it; if it has ended, delete "
            f"{str(tmp_path / '.owner')!r}"
        )
    assert names(tmp_path) == [".lock"], "it goes with whoever made it"
    with locked(tmp_path):
        assert names(tmp_path) == [".lock", ".owner"]


def test_who_can_lock_heeds_who_cannot(tmp_path: Path) -> None:
    """Two machines may have mounted the same directory in different ways."""
    (tmp_path / ".owner").write_text("process 7 on elsewhere")
    with pytest.raises(StoreError, match=r"^process 7 on elsewhere is writing to .* delete '"):
        locked(tmp_path).__enter__()


def test_the_file_goes_when_the_work_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_locks(monkeypatch, errno.ENOLCK)
    with pytest.raises(RuntimeError), locked(tmp_path):
        raise RuntimeError
    assert names(tmp_path) == [".lock"]


def test_another_error_of_a_lock_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_locks(monkeypatch, errno.EIO)
    with pytest.raises(StoreError, match=r"^cannot lock .*: Input/output error$"):
        locked(tmp_path).__enter__()


# ----------------------------------------------------------------------------- no Unix

ELSEWHERE = """
import asyncio, concurrent.futures, ctypes, logging, multiprocessing.connection, os, random
import multiprocessing.popen_spawn_posix, multiprocessing.resource_tracker, select, shutil, signal
import subprocess, sys, tempfile, threading, uuid
import gymnasium, pyarrow.parquet, rich.console, typer.main, cloudpickle  # they know their platform

for name in ("fcntl", "resource", "termios", "tty", "pwd", "grp", "pty"):
    sys.modules[name] = None
for name in (
    "setpgid", "killpg", "register_at_fork", "fork", "sched_getaffinity", "sysconf", "setsid",
    "getuid", "geteuid", "getpgid", "O_NOFOLLOW", "O_NONBLOCK", "statvfs", "mkfifo",
):
    delattr(os, name)
for name in ("SIGHUP", "SIGKILL", "pthread_sigmask", "setitimer", "SIGALRM", "SIGUSR1"):
    delattr(signal, name)
del select.poll
nameless = ctypes.CDLL

def library(name, *more):
    if name is None:
        raise TypeError("argument of type 'NoneType' is not iterable")
    return nameless(name, *more)

ctypes.CDLL = library
sys.argv = ["rpd", *sys.argv[1:]]
from rpd_core.cli.main import main
main()
"""
"""What is missing on Windows, taken away from our code alone."""


def without_unix(*words: object) -> subprocess.CompletedProcess[str]:
    """Call `rpd` on a system that has nothing of Unix."""
    called = [sys.executable, "-c", ELSEWHERE, *map(str, words)]
    return subprocess.run(called, capture_output=True, text=True, check=False)


def test_rpd_starts_and_reads_without_unix_and_says_what_it_cannot(tmp_path: Path) -> None:
    run = ready(tmp_path / "run").path
    for words, part in (
        (("--help",), "list-plugins"),
        (("list-plugins", "--json"), "cartpole"),
        (("show", run), "15 states"),
    ):
        result = without_unix(*words)
        assert (result.returncode, result.stderr) == (0, ""), (words, result.stderr)
        assert part in result.stdout
    refused = without_unix("suite", "--env", "cartpole", "--out", tmp_path / "new", "--yes")
    assert refused.returncode == 2
    assert refused.stderr == (
        f"rpd: cannot write to '{tmp_path / 'new'}': this system has no file locks (fcntl), so "
        "that rpd reads runs here and writes none; use Linux, macOS or WSL to write\n"
    )
    assert not (tmp_path / "new").exists()
