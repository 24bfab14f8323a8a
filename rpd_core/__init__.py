"""rpd: which decisions of a trained policy matter.

The names below are the public Python interface: for notebooks and for plugin authors. Each is
imported when first used, so that `import rpd_core` stays cheap.
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
from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.protocols import (
    Abstraction,
    Answer,
    Choice,
    Component,
    Condition,
    DefaultAction,
    DefaultActor,
    Engine,
    Entry,
    Environment,
    Episodes,
    Evidence,
    Executor,
    Facts,
    FitSample,
    InputFile,
    Lanes,
    Measure,
    Moment,
    Opening,
    Outcome,
    Policy,
    PolicyInput,
    PolicyLoader,
    Scores,
    Spectrum,
    States,
    StepResult,
    Suite,
    Task,
    Visits,
    WorkItem,
    WorkQueue,
    learned,
    permission,
)

if TYPE_CHECKING:
    from rpd_core.api import bench, open_run, run, validate, vary
    from rpd_core.execute.files import contents, deliver
    from rpd_core.play.actions import first_action, in_every_lane, random_actions
    from rpd_core.play.chance import Draws
    from rpd_core.plugin.importing import import_attribute
    from rpd_core.pruning.predictor import PrunedPredictor
    from rpd_core.report.opened import Run
    from rpd_core.report.tables import RankingTable

_LAZY = {
    "Draws": "rpd_core.play.chance",
    "PrunedPredictor": "rpd_core.pruning.predictor",
    "RankingTable": "rpd_core.report.tables",
    "Run": "rpd_core.report.opened",
    "bench": "rpd_core.api",
    "contents": "rpd_core.execute.files",
    "deliver": "rpd_core.execute.files",
    "first_action": "rpd_core.play.actions",
    "import_attribute": "rpd_core.plugin.importing",
    "in_every_lane": "rpd_core.play.actions",
    "open_run": "rpd_core.api",
    "random_actions": "rpd_core.play.actions",
    "run": "rpd_core.api",
    "validate": "rpd_core.api",
    "vary": "rpd_core.api",
}

__all__ = [
    "Abstraction",
    "Answer",
    "Choice",
    "Component",
    "ComponentError",
    "Condition",
    "DefaultAction",
    "DefaultActor",
    "Draws",
    "Engine",
    "Entry",
    "Environment",
    "Episodes",
    "Evidence",
    "EvidenceError",
    "Executor",
    "Facts",
    "FitError",
    "FitSample",
    "InputFile",
    "LaneError",
    "Lanes",
    "Measure",
    "Moment",
    "Opening",
    "Outcome",
    "Policy",
    "PolicyInput",
    "PolicyLoader",
    "PrunedPredictor",
    "RankingTable",
    "RpdError",
    "Run",
    "Scores",
    "SpecError",
    "Spectrum",
    "States",
    "StepResult",
    "Suite",
    "Task",
    "Visits",
    "WorkItem",
    "WorkQueue",
    "WrongAnswerError",
    "bench",
    "contents",
    "deliver",
    "first_action",
    "hookimpl",
    "import_attribute",
    "in_every_lane",
    "learned",
    "open_run",
    "permission",
    "random_actions",
    "run",
    "validate",
    "vary",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    if name == "__version__":
        from importlib.metadata import version  # reading metadata takes a while

        return version("ranking-policy-decisions")
    raise AttributeError(f"module 'rpd_core' has no attribute {name!r}")
