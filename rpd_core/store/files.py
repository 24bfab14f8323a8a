"""Files of a run: written whole or not at all, and never outside the run directory."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from rpd_core.errors import ConfigError, StoreError, brief
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
