"""rpd: which decisions of a trained policy matter.

What people import: the core's interface and what the bundled applications add to it, each imported
when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import rpd_core

if TYPE_CHECKING:
    from rpd.face import Run as Run
    from rpd.face import build_suite as build_suite
    from rpd.face import merge_runs as merge_runs
    from rpd.face import open_run as open_run
    from rpd.face import report as report
    from rpd.face import run as run
    from rpd_compare.compare import compare as compare
    from rpd_compare.records import Comparison as Comparison
    from rpd_core import *  # type: ignore[assignment]  # noqa: F403
    from rpd_studies.bench import bench as bench
    from rpd_studies.grid import grid as grid
    from rpd_studies.paper import Reproduction as Reproduction
    from rpd_studies.reproduce import reproduce as reproduce
    from rpd_studies.results import Grid as Grid
    from rpd_studies.sensitivity import vary as vary
    from rpd_studies.validation import validate as validate

    __version__: str

_OWN = {
    "Comparison": "rpd_compare.records:Comparison",
    "Grid": "rpd_studies.results:Grid",
    "Reproduction": "rpd_studies.paper:Reproduction",
    "Run": "rpd.face:Run",
    "bench": "rpd_studies.bench:bench",
    "build_suite": "rpd.face:build_suite",
    "compare": "rpd_compare.compare:compare",
    "grid": "rpd_studies.grid:grid",
    "merge_runs": "rpd.face:merge_runs",
    "open_run": "rpd.face:open_run",
    "report": "rpd.face:report",
    "reproduce": "rpd_studies.reproduce:reproduce",
    "run": "rpd.face:run",
    "validate": "rpd_studies.validation:validate",
    "vary": "rpd_studies.sensitivity:vary",
}
"""Names that are not the core's, or more than the core's."""

__all__ = sorted({*rpd_core.__all__, *_OWN})


def __getattr__(name: str) -> Any:
    if name in _OWN:
        module, _, attribute = _OWN[name].partition(":")
        return getattr(importlib.import_module(module), attribute)
    try:
        return getattr(rpd_core, name)
    except AttributeError:
        raise AttributeError(f"module 'rpd' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
