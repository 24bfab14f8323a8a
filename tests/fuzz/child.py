"""The process in which files are attempted: many of them one after the other, within limits."""

from __future__ import annotations

import faulthandler
import json
import resource
import sys
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

from rpd_core.errors import RpdError
from tests.fuzz.formats import Format, load_format

MEMORY = 4 * 1024**3
"""Bytes of address space that attempts may add to what the imports have taken."""


def limit_memory() -> None:
    """Allow so much more memory than there is now; leave no core files behind."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def attempt(chosen: Format, path: Path) -> dict[str, str]:
    """Return how an attempt went: its outcome and, where there is one, the error."""
    try:
        chosen.attempt(path)
    except RpdError as error:
        return {"outcome": "refused", "detail": str(error)}
    except MemoryError:
        return {"outcome": "memory", "detail": traceback.format_exc()}
    except BaseException:  # whatever ends a program must not end this one unnoticed
        return {"outcome": "traceback", "detail": traceback.format_exc()}
    return {"outcome": "accepted", "detail": ""}


def serve(pipe: Connection, module: Path) -> None:
    """Attempt the files whose paths arrive until the pipe ends."""
    chosen = load_format(module)
    chosen.warm()
    limit_memory()
    pipe.send_bytes(b"ready")
    while True:
        try:
            path = Path(pipe.recv_bytes().decode())
        except EOFError:
            return
        pipe.send_bytes(json.dumps(attempt(chosen, path)).encode())


if __name__ == "__main__":
    faulthandler.enable()
    serve(Connection(int(sys.argv[1])), Path(sys.argv[2]))
