"""rpd: which decisions of a trained policy matter.

The names below are the public Python interface; each is imported when first used, so that
`import rpd_core` stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rpd_core.errors import RpdError
from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.protocols import (
    Choice,
    Component,
    Evidence,
    Facts,
    FitSample,
    Moment,
    PolicyInput,
    Spectrum,
    StepResult,
    Task,
    learned,
)

if TYPE_CHECKING:
    from rpd_core.api import RankingTable, Run, open_run, run
    from rpd_core.pruning.export import PrunedPredictor

_LAZY = {
    "PrunedPredictor": "rpd_core.pruning.export",
    "RankingTable": "rpd_core.api",
    "Run": "rpd_core.api",
    "open_run": "rpd_core.api",
    "run": "rpd_core.api",
}

__all__ = [
    "Choice",
    "Component",
    "Evidence",
    "Facts",
    "FitSample",
    "Moment",
    "PolicyInput",
    "PrunedPredictor",
    "RankingTable",
    "RpdError",
    "Run",
    "Spectrum",
    "StepResult",
    "Task",
    "hookimpl",
    "learned",
    "open_run",
    "run",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'rpd_core' has no attribute {name!r}")
