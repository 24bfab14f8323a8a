"""One writer at a time: the lock of a run directory."""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rpd_core.errors import StoreError

_LEFTOVER = re.compile(r"\..+\.(json|parquet|html|webp)\.\d+\.tmp")
"""What a process that was killed leaves behind of a file of ours."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes from writing to the same run."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        number = os.open(path / ".lock", flags, 0o666)
    except OSError as error:
        raise StoreError(
            f"cannot write to {str(path)!r}: {error.strerror}; choose another --out"
        ) from error
    with os.fdopen(number, "r+b", buffering=0) as stream:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise StoreError(f"{str(path / '.lock')!r} is not an ordinary file: delete it")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(
                f"another rpd is writing to {str(path)!r}: wait for it or stop it"
            ) from None
        _tidy(path)
        yield


def _tidy(path: Path) -> None:
    for folder, _, names in os.walk(path):  # links to folders are not followed
        for name in names:
            if _LEFTOVER.fullmatch(name):
                (Path(folder) / name).unlink(missing_ok=True)
