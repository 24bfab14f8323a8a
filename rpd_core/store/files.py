"""Files of a run: written whole or not at all, never outside its directory, by one writer."""

from __future__ import annotations

import errno
import importlib
import logging
import os
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

from rpd_core.errors import ConfigError, StoreError, brief
from rpd_core.untrusted.boundary import printable
from rpd_core.untrusted.files import NotAFile, open_regular


def path_of(given: object, name: str, what: str) -> Path:
    """Return the path that somebody gave, or refuse what no file system can hold."""
    text = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(text, str):
        raise ConfigError(f"{name} must be {what}, got {brief(given)}")
    reason = ""
    try:
        os.lstat(text)
    except ValueError as error:  # a null byte
        reason = str(error)
    except OSError as error:  # whether it is there is the caller's question
        reason = os.strerror(error.errno) if error.errno == errno.ENAMETOOLONG else ""
    if reason:
        raise ConfigError(f"{name} must be {what}, got {brief(text)} ({reason})")
    return Path(text)


def write_whole(path: Path, content: bytes | memoryview, root: Path | None = None) -> None:
    """Write a file so that it is there whole or not at all, even if the machine stops."""
    # With `root`, a folder on the way that leads out of it, through a link, is refused.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        if root is not None:
            refuse_outside(path.parent, root)
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(temporary, flags, 0o666), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with suppress(OSError):  # it may never have been there
            temporary.unlink()
        raise StoreError(f"cannot write {str(path)!r}: {error.strerror}") from error


def read_whole(path: Path, root: Path, largest: int | None = None) -> bytes | None:
    """Read an ordinary file inside a run; None if it is not there."""
    # Links that lead out of the run, pipes and devices are refused, and so is a file that is larger
    # than it can be.
    try:
        refuse_outside(path, root)
        with open_regular(path, "delete it") as stream:
            size = os.fstat(stream.fileno()).st_size
            if largest is not None and size > largest:
                raise StoreError(f"{str(path)!r} has {size} bytes, which is too large")
            return stream.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except NotAFile:
        raise StoreError(f"{str(path)!r} is not an ordinary file: delete it") from None
    except OSError as error:
        raise StoreError(f"cannot read {str(path)!r}: {error.strerror}") from error


def refuse_outside(path: Path, root: Path) -> None:
    """Refuse a path that leads out of a folder, through a link or otherwise."""
    inside = os.path.realpath(root)
    if os.path.commonpath([os.path.realpath(path), inside]) != inside:
        raise StoreError(f"{str(path)!r} is a link out of the run directory: delete it")


def file_stem(name: str) -> str:
    """Return a file name for a spec string, of a length that every file system takes."""
    for sign, word in ((">=", "-ge-"), ("<=", "-le-"), (">", "-gt-"), ("<", "-lt-")):
        name = name.replace(sign, word)
    stem = "".join(c if (c.isascii() and c.isalnum()) or c in "-._" else "-" for c in name)
    return stem.strip("-.")[:80] or "unnamed"


OWNER = ".owner"  # says who writes where the file system refuses locks
_LONGEST_OWNER = 300  # bytes of it
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
    try:
        fcntl = importlib.import_module("fcntl")
    except ImportError:  # as on Windows
        raise StoreError(
            f"cannot write to {str(path)!r}: this system has no file locks (fcntl), so that rpd "
            "reads runs here and writes none; use Linux, macOS or WSL to write"
        ) from None
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
