"""Things of the user's own, named `module:attribute`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from rpd_core.errors import SpecError, one_line


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
