"""rpd: which decisions of a trained policy matter.

What people import: the core's interface and what the bundled applications add to it, each imported
when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import rpd_core

if TYPE_CHECKING:
    from rpd.calls import build_suite as build_suite
    from rpd.calls import merge_runs as merge_runs
    from rpd.calls import run as run
    from rpd.face import Run as Run
    from rpd.face import open_run as open_run
    from rpd.face import report as report
    from rpd.parameters import as_environment as as_environment
    from rpd.parameters import as_policy as as_policy
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
    from rpd_work import sb3 as sb3
    from rpd_work.predictor import PrunedPredictor as PrunedPredictor
    from rpd_work.predictor import PrunedWrapper as PrunedWrapper
    from rpd_work.predictor import load as load

    __version__: str

_OWN = {
    "Comparison": "rpd_compare.records:Comparison",
    "Grid": "rpd_studies.results:Grid",
    "PrunedPredictor": "rpd_work.predictor:PrunedPredictor",
    "PrunedWrapper": "rpd_work.predictor:PrunedWrapper",
    "Reproduction": "rpd_studies.paper:Reproduction",
    "Run": "rpd.face:Run",
    "as_environment": "rpd.parameters:as_environment",
    "as_policy": "rpd.parameters:as_policy",
    "bench": "rpd_studies.bench:bench",
    "build_suite": "rpd.calls:build_suite",
    "compare": "rpd_compare.compare:compare",
    "grid": "rpd_studies.grid:grid",
    "load": "rpd_work.predictor:load",
    "merge_runs": "rpd.calls:merge_runs",
    "open_run": "rpd.face:open_run",
    "report": "rpd.face:report",
    "reproduce": "rpd_studies.reproduce:reproduce",
    "run": "rpd.calls:run",
    "sb3": "rpd_work.sb3:",
    "validate": "rpd_studies.validation:validate",
    "vary": "rpd_studies.sensitivity:vary",
}
"""Names that are not the core's, or more than the core's."""

__all__ = sorted({*rpd_core.__all__, *_OWN})


def __getattr__(name: str) -> Any:
    if name in _OWN:
        module, _, attribute = _OWN[name].partition(":")
        found = importlib.import_module(module)
        return getattr(found, attribute) if attribute else found
    try:
        return getattr(rpd_core, name)
    except AttributeError:
        raise AttributeError(f"module 'rpd' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
