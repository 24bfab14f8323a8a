"""A first call of a model in a process of its own, where it may crash, hang or ask for anything.

The checks of `model` see what a graph is made of, not how large its results become: a few bytes may
ask for hours of work. So a model is loaded and called here first, under limits of the operating
system; only one that answers is loaded in the process that plays.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache

from rpd_core.config.configuration import file_digest
from rpd_core.errors import FitError
from rpd_core.untrusted.boundary import file_name
from rpd_onnx.model import Model

SECONDS = 3
"""Processor time that loading and one call may take; a network of a policy takes milliseconds."""
_WALL = 60
"""Seconds by the clock, for a process that sleeps."""
_MEMORY = 4 * 2**30
"""Bytes of address space."""
_LIMITS = f"{SECONDS} s of processor time and {_MEMORY >> 30} GB of memory"
Feeds = Mapping[str, tuple[str, tuple[int, ...]]]
"""Type and shape of each input."""


class Beyond(FitError):
    """A model that is not played, however it is called."""


def try_out(model: Model, feeds: Feeds) -> None:
    """Load the model in a child process and call it once; raise where that fails."""
    asked = json.dumps({name: [kind, list(shape)] for name, (kind, shape) in feeds.items()})
    complaint = _tried(str(model.path), file_digest(model.path), asked)
    if complaint is None:
        name = file_name(model.path)
        raise Beyond(f"{name} does not answer within {_LIMITS}, or ends the process: refused")
    if complaint:
        raise FitError(
            f"{file_name(model.path)} does not answer when it is called: {complaint}. Export it "
            "again, for one row or with a free axis for rows"
        )


@lru_cache(maxsize=64)
def _tried(path: str, digest: str, asked: str) -> str | None:
    """Return what is wrong, if anything; None for a process that does not come back.

    A file is tried once for as long as it stays as it is.
    """
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-m", "rpd_onnx.child", path, str(SECONDS), str(_MEMORY)],
            input=asked.encode(),
            capture_output=True,
            timeout=_WALL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    try:
        return str(json.loads(child.stdout)["error"])
    except (ValueError, KeyError, TypeError):
        return None
