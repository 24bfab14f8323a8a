"""The formats that can be fuzzed: modules that offer `cases` and `attempt`.

A format is a module with

- `cases(seed: int) -> Iterator[tuple[str, bytes]]`: named files, the same for the same seed; the
  names differ from one another;
- `attempt(path: Path) -> None`: read one of them as a user would; an `RpdError` is an answer, any
  other exception a fault;
- optionally `SUFFIX: str`, how the name of a file must end, and `warm() -> None`, what to import
  before memory is limited.

A hostile case tries to create the file that the environment variable `RPD_FUZZ_CANARY` names.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

CANARY = "RPD_FUZZ_CANARY"
OFFERED = {"cases", "attempt"}


@dataclass(frozen=True)
class Format:
    """A module that offers cases and an attempt, loaded."""

    name: str
    cases: Callable[[int], Iterator[tuple[str, bytes]]]
    attempt: Callable[[Path], None]
    suffix: str
    warm: Callable[[], None]


def find_formats(folder: Path) -> dict[str, Path]:
    """Return the modules of a folder that define what a format offers, by name; import none."""
    return {path.stem: path for path in sorted(folder.glob("*.py")) if _functions(path) >= OFFERED}


def load_format(path: Path) -> Format:
    """Import a format from its file."""
    spec = importlib.util.spec_from_file_location(f"rpd_fuzz_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    warm = getattr(module, "warm", lambda: None)
    suffix = getattr(module, "SUFFIX", "")
    return Format(path.stem, module.cases, module.attempt, suffix, warm)


def _functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
