"""Things of the user's own, named `module:attribute` on the command line or in a call."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rpd_core.errors import SpecError, one_line
from rpd_core.plugin.descriptions import source_file


@contextmanager
def working_directory_searched() -> Iterator[None]:
    """Meanwhile let imports look in the working directory, too, after everything else."""
    here = str(Path.cwd())
    if here in sys.path:
        yield
        return
    sys.path.append(here)
    try:
        yield
    finally:
        if here in sys.path:  # the module may have tidied up by itself
            sys.path.remove(here)


def import_attribute(target: str) -> Any:
    """Import `module:attribute`, looking in the working directory, too."""
    module, colon, attribute = target.partition(":")
    if not colon or not module or not attribute:
        raise SpecError(f"{target!r} must be written module:attribute")
    try:
        with working_directory_searched():
            return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise SpecError(f"cannot import {target!r}: {one_line(error)}") from error


def source_of(target: str | object) -> tuple[Path, ...]:
    """Return the file that `module:attribute` is written in, if there is one; imports parents."""
    if not isinstance(target, str):
        return ()
    with working_directory_searched():
        path = source_file(target.partition(":")[0])
    return (path,) if path is not None and path.is_file() else ()
