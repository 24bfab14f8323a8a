"""One writer at a time: the lock of a run directory, and what stands in where it is refused."""

from __future__ import annotations

import errno
import importlib
import logging
import os
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from rpd_core.errors import StoreError
from rpd_core.store.files import read_whole
from rpd_core.untrusted.boundary import printable

OWNER = ".owner"
"""Says who writes where the file system refuses locks."""
_LONGEST_OWNER = 300
"""Bytes of it."""
_LEFTOVER = re.compile(r"\..+\.(json|parquet|html|webp)\.\d+\.tmp")
"""What a process that was killed leaves behind of a file of ours."""
_REFUSED = {
    *(errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL),
    *(getattr(errno, "ENOTSUP", errno.EOPNOTSUPP),),
}
"""How file systems say that they lock nothing: NFS without its lock service, Lustre without the
mount option `flock`, some of user space."""

log = logging.getLogger("rpd")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes from writing to the same run."""
    fcntl = _locks_of_the_system(path)
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        path.mkdir(parents=True, exist_ok=True)
        number = os.open(path / ".lock", flags, 0o666)
    except OSError as error:
        raise StoreError(
            f"cannot write to {str(path)!r}: {error.strerror}; choose another folder"
        ) from error
    with os.fdopen(number, "r+b", buffering=0) as stream:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise StoreError(f"{str(path / '.lock')!r} is not an ordinary file: delete it")
        if _take(fcntl, stream.fileno(), path):
            _refuse_owned(path)
            _tidy(path)
            yield
        else:
            with _owning(path):
                _tidy(path)
                yield


def _locks_of_the_system(path: Path) -> ModuleType:
    """Return the module that locks files; refuse to write where there is none, as on Windows."""
    try:
        return importlib.import_module("fcntl")
    except ImportError:
        raise StoreError(
            f"cannot write to {str(path)!r}: this system has no file locks (fcntl), so that rpd "
            "reads runs here and writes none; use Linux, macOS or WSL to write"
        ) from None


def _take(fcntl: ModuleType, number: int, path: Path) -> bool:
    """Lock an open file; False where the file system refuses to lock anything."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreError(
            f"another rpd is writing to {str(path)!r}: wait for it or stop it"
        ) from None
    except OSError as error:
        if error.errno not in _REFUSED:
            raise StoreError(f"cannot lock {str(path)!r}: {error.strerror}") from error
        log.warning(
            "the file system of %r refuses locks (%s): the file %s keeps other writers out; if rpd "
            "is killed, delete it",
            *(str(path), error.strerror, OWNER),
        )
        return False
    return True


@contextmanager
def _owning(path: Path) -> Iterator[None]:
    """Keep others out by a file that only one can make, also on network file systems."""
    file = path / OWNER
    try:
        number = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        _refuse_owned(path)
        raise StoreError(f"another rpd is writing to {str(path)!r}: wait for it") from None
    try:
        with os.fdopen(number, "w", encoding="utf-8") as stream:
            stream.write(f"process {os.getpid()} on {socket.gethostname()}")
        yield
    finally:
        file.unlink(missing_ok=True)


def _refuse_owned(path: Path) -> None:
    """Refuse a run that somebody writes to from where it cannot be locked."""
    said = read_whole(path / OWNER, path, _LONGEST_OWNER)
    if said is not None:
        owner = printable(said.decode("utf-8", "replace")) or "another rpd"
        raise StoreError(
            f"{owner} is writing to {str(path)!r}: wait for it; if it has ended, delete "
            f"{str(path / OWNER)!r}"
        )


def _tidy(path: Path) -> None:
    for folder, _, names in os.walk(path):  # links to folders are not followed
        for name in names:
            if _LEFTOVER.fullmatch(name):
                (Path(folder) / name).unlink(missing_ok=True)
