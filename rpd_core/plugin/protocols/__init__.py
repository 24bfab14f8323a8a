"""What a plugin hands to rpd, and what the things behind it promise.

A plugin's hook returns `Component` records. The target of a record is a frozen dataclass, the
*recipe*: its fields are the parameters that a spec string sets, it is light and picklable, and a
worker process opens it into the live object that does the work. Nothing here imports NumPy, so
that listing plugins stays cheap.

Arrays that pass between lanes, policies, abstractions and default actions are valid until the next
step or reset: whoever wants one for longer copies it, and nobody writes to one that is not theirs.
What a policy returns as `memory` is its own: handed back unchanged, at every step, for all lanes.
Policy and default action are each called once per step with all lanes, whoever decides. Records may
get new fields, always with defaults.
"""

from __future__ import annotations

from rpd_core.plugin.protocols.abstraction import *
from rpd_core.plugin.protocols.arrays import *
from rpd_core.plugin.protocols.component import *
from rpd_core.plugin.protocols.environment import *
from rpd_core.plugin.protocols.executor import *
from rpd_core.plugin.protocols.measure import *
from rpd_core.plugin.protocols.optional import Gatherer
from rpd_core.plugin.protocols.panel import *
from rpd_core.plugin.protocols.policy import *
from rpd_core.plugin.protocols.suite import *

__all__ = [
    "POLICY_ACTION", "POLICY_GAP", "POLICY_VIEWS", "Abstraction", "Array", "Batch", "BoolArray",
    "Bound", "Card", "CardPanel", "Choice", "Circle", "Command", "Component", "Condition",
    "Contents", "DefaultAction", "DefaultActor", "Drawing", "Engine", "Entry", "Environment",
    "Episodes", "Evidence", "Executor", "Facts", "FitSample", "FloatArray", "FramePanel",
    "Gatherer", "Ground", "HeroPanel", "Image", "InputFile", "IntArray", "KeyArray", "Lanes",
    "Line", "Measure", "Minimised", "Moment", "Opening", "Outcome", "Panel", "PanelDecision",
    "PanelFacts", "PanelView", "Picture", "Policy", "PolicyInput", "PolicyLoader", "Polygon",
    "Returns", "Scene", "SceneStep", "Scores", "Spectrum", "States", "StepResult", "Suite",
    "Task", "Text", "Trace", "TracedEpisodes", "Traces", "Visits", "WorkItem", "WorkQueue",
    "further", "learned", "permission",
]  # fmt: skip
