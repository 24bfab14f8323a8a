"""The extras that plugins need: as if they were installed, and as if they were not."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from unittest.mock import patch

import pytest

from rpd_core.plugin.registry import installed

MODULES = {"dask": "distributed", "ray": "ray"}
"""What each of them makes importable; the executor that needs it has the name of the extra."""
_NAMES = {*MODULES.values(), "dask"}
"""What is looked for; `distributed` brings `dask` along."""
BOTH_WAYS = pytest.mark.parametrize("present", [True, False], ids=["with-extras", "without"])


@contextmanager
def extras(present: bool) -> Iterator[None]:
    """Meanwhile all of them seem to be installed, or none."""
    really = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        if name in _NAMES:
            return ModuleSpec(name, None, origin=name) if present else None
        return really(name, package)

    installed.cache_clear()
    try:
        with patch.object(importlib.util, "find_spec", find_spec):
            yield
    finally:
        installed.cache_clear()
