"""Things of the user's own, named `module:attribute`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from rpd_core.errors import SpecError, one_line
from rpd_core.plugin.descriptions import source_file


def search_here() -> None:
    """Let imports look in the working directory, too, after everything else."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)


def import_attribute(target: str) -> Any:
    """Import `module:attribute`, looking in the working directory, too."""
    module, colon, attribute = target.partition(":")
    if not colon or not module or not attribute:
        raise SpecError(f"{target!r} must be written module:attribute")
    search_here()
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise SpecError(f"cannot import {target!r}: {one_line(error)}") from error


def source_of(target: str | object) -> tuple[Path, ...]:
    """Give the file that `module:attribute` is written in, if there is one: its content counts."""
    if not isinstance(target, str):
        return ()
    search_here()
    found = source_file(target.partition(":")[0])
    return (found,) if found is not None and found.is_file() else ()
