"""Packages that are missing or broken, for a process that a test starts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_HOOK = """
import importlib.machinery, sys

class Raises:
    def create_module(self, spec):
        return None

    def exec_module(self, module):
        raise OSError(f"lib{{module.__name__}}.so: cannot open shared object file")

class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in {missing!r}:
            return None
        if name in {broken!r}:
            return importlib.machinery.ModuleSpec(name, Raises(), origin=name, is_package=True)
        return super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(importlib.machinery.PathFinder)] = Finder
"""
"""Run by Python as it starts, in workers, too: what Finder does not find is not installed."""


def without(
    folder: Path,
    command: Sequence[str],
    *,
    missing: Sequence[str] = (),
    broken: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """Run `python -m ...` in a folder as if some packages were missing, or their import failed."""
    hooks = folder / "hooks"
    hooks.mkdir(exist_ok=True)
    hook = _HOOK.format(missing=list(missing), broken=list(broken))
    (hooks / "sitecustomize.py").write_text(hook)
    environment = {**os.environ, "PYTHONPATH": str(hooks), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True
    )


def rpd_without(
    folder: Path, *words: str, missing: Sequence[str] = (), broken: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Run `rpd ...` in the same way."""
    command = ["-P", "-m", "rpd_core.cli.main", *words]
    return without(folder, command, missing=missing, broken=broken)
