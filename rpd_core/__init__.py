"""rpd: which decisions of a trained policy matter.

The names below are the public Python interface: for notebooks and for plugin authors. Those that
take long to import are imported when first used, so that `import rpd_core` stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rpd_core.errors import (
    ComponentError,
    EvidenceError,
    FitError,
    LaneError,
    RpdError,
    SpecError,
    WrongAnswerError,
)
from rpd_core.plugin import protocols
from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.protocols import *  # noqa: F403

if TYPE_CHECKING:
    from rpd_core.api import build_suite, merge_runs, run
    from rpd_core.chance import Draws
    from rpd_core.execute.items import contents, deliver, perform
    from rpd_core.play.actions import first_action, in_every_lane, random_actions
    from rpd_core.plugin.importing import import_attribute
    from rpd_core.results.run import Run, open_run
    from rpd_core.results.tables import RankingTable

_LAZY = {
    "Draws": "rpd_core.chance",
    "RankingTable": "rpd_core.results.tables",
    "Run": "rpd_core.results.run",
    "build_suite": "rpd_core.api",
    "contents": "rpd_core.execute.items",
    "deliver": "rpd_core.execute.items",
    "perform": "rpd_core.execute.items",
    "first_action": "rpd_core.play.actions",
    "import_attribute": "rpd_core.plugin.importing",
    "in_every_lane": "rpd_core.play.actions",
    "merge_runs": "rpd_core.api",
    "open_run": "rpd_core.results.run",
    "random_actions": "rpd_core.play.actions",
    "run": "rpd_core.api",
}

__all__ = [
    "ComponentError",
    "Draws",
    "EvidenceError",
    "FitError",
    "LaneError",
    "RankingTable",
    "RpdError",
    "Run",
    "SpecError",
    "WrongAnswerError",
    "build_suite",
    "contents",
    "deliver",
    "first_action",
    "hookimpl",
    "import_attribute",
    "in_every_lane",
    "merge_runs",
    "open_run",
    "perform",
    "random_actions",
    "run",
]
__all__ += protocols.__all__


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    if name == "__version__":
        from importlib.metadata import version  # reading metadata takes a while

        return version("ranking-policy-decisions")
    raise AttributeError(f"module 'rpd_core' has no attribute {name!r}")
