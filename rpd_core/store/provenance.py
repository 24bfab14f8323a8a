"""Versions of everything that results depend on."""

from __future__ import annotations

import importlib.metadata
import platform

DISTRIBUTIONS = (
    "ranking-policy-decisions",
    "numpy",
    "gymnasium",
    "torch",
    "stable-baselines3",
    "minigrid",
    "ale-py",
    "pyarrow",
)


def versions() -> dict[str, str]:
    """Give the versions of Python, the machine and the packages, for the record."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in DISTRIBUTIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
