"""One small finished run, and the policy exported from it, from which hostile ones are made."""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path

from rpd_basics.export import export_pruned
from rpd_core.api import Call, carry_out
from tests.fuzz.formats import CANARY

STRANGER = """
import os, pathlib
name = os.environ.get("RPD_FUZZ_CANARY")
if name:
    pathlib.Path(name).touch()
def make(*args, **options):
    raise RuntimeError("a stranger's code was run")
"""
"""A module that creates the canary when it is imported."""


@functools.cache
def files() -> tuple[dict[str, bytes], bytes]:
    """Return the files of a run by name, and the exported policy; played once per process."""
    before = os.environ.pop(CANARY, None)
    with tempfile.TemporaryDirectory(prefix="rpd-fuzz-run-") as folder:
        out, exported = Path(folder) / "run", Path(folder) / "a.rpd"
        asked = {"episodes": 120, "chunk": 60, "test_episodes": 3, "random_rankings": 2}
        asked |= {"unmutated_episodes": 20, "confirm_episodes": 60, "confirm_margin": 0.2}
        asked |= {"shares": (0.0, 0.5, 1.0), "abstraction": ("round:0",)}
        finished, _ = carry_out(Call("cartpole", out=out, finish=(), **asked))
        export_pruned(finished, exported)
        stored = {
            str(path.relative_to(out)): path.read_bytes()
            for path in sorted(out.rglob("*"))
            if path.is_file() and path.name != ".lock"
        }
        if before is not None:
            os.environ[CANARY] = before
        return stored, exported.read_bytes()
