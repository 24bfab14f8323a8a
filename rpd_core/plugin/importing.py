"""What is imported by name: things of the user's own, and packages that components need."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from rpd_core.errors import ComponentError, SpecError, one_line
from rpd_core.plugin.descriptions import source_file

_IMPORTING = ("importlib", "_frozen_importlib", "_frozen_importlib_external")
_PATIENCE = 120  # seconds that an import may take


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


def import_wanted(package: str) -> Any:
    """Import a package that rpd does not depend on, for those who have it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise ComponentError(
            f"this needs {package}, which is not installed: pip install {package}"
        ) from error


def source_of(target: str | object) -> tuple[Path, ...]:
    """Return the file that `module:attribute` is written in, if there is one; imports parents."""
    if not isinstance(target, str):
        return ()
    with working_directory_searched():
        path = source_file(target.partition(":")[0])
    return (path,) if path is not None and path.is_file() else ()


def is_installed(module: str) -> bool:
    """Return whether there is a module, without importing it or anything heavy."""
    # Folders without code, as an interrupted uninstallation leaves them, are no packages, but may
    # hold one, as `google` holds `google.protobuf`.
    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        try:
            spec = importlib.util.find_spec(".".join(parts[:length]))
        except ImportError:
            return False
        except ValueError:  # something without a record of where it is from stands in for it
            return True
        if spec is None or spec.origin is not None:
            return spec is not None
    return False


def failed_import(error: BaseException) -> str:
    """Return the package of others whose import raised an error; empty if none did."""
    # An import leaves its mark in the traceback: a line of importlib, or one of a module itself.
    if isinstance(error, ModuleNotFoundError) and error.name:
        return _not_ours(error.name)
    for frame in _below_ours(error):
        module = str(frame.f_globals.get("__name__", ""))
        asked = frame.f_locals.get("name") if _root(module) in _IMPORTING else None
        if isinstance(asked, str):
            return _not_ours(asked)
        if frame.f_code.co_name == "<module>":
            return _not_ours(module)
    if isinstance(error, SyntaxError):  # Python leaves no line of importlib for one
        return _not_ours(_package_of(Path(error.filename or "")))
    return _not_ours(error.name or "") if isinstance(error, ImportError) else ""


def _package_of(path: Path) -> str:
    """Return the package that a file is imported as; empty if it is nowhere on the path."""
    for folder in filter(None, sys.path):
        if path.is_relative_to(folder):
            return path.relative_to(folder).with_suffix("").parts[0]
    return ""


def import_faults(modules: Sequence[str]) -> dict[str, str]:
    """Import modules, each in a process of its own, and return why some cannot be."""
    return {module: fault for module in modules if (fault := _import_fault(module))}


def _import_fault(module: str) -> str:
    import subprocess  # takes a while to import, and is hardly ever wanted

    command = [sys.executable, "-P", "-c", f"import {module}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        return f"its import takes more than {_PATIENCE} seconds"
    said = done.stderr.strip().splitlines() or [f"its import ends Python with {done.returncode}"]
    return said[-1] if done.returncode else ""


def _below_ours(error: BaseException) -> Iterator[FrameType]:
    """Yield what ran between the last line of rpd and the error, outermost first."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    names = [str(frame.f_globals.get("__name__", "")) for frame in frames]
    ours = [place for place, name in enumerate(names) if not _not_ours(name)]
    yield from frames[ours[-1] + 1 :] if ours else ()


def _not_ours(module: str) -> str:
    """Return the package of a module; nothing for one of rpd's."""
    root = _root(module)
    return "" if root == "rpd" or root.startswith("rpd_") else root


def _root(module: str) -> str:
    return module.partition(".")[0]
