"""Abstractions, default actions, conditions and executors that fit any environment."""

from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.protocols import Component


@hookimpl
def rpd_abstractions() -> list[Component]:
    return [
        Component("identity", "rpd_basics.abstractions:Identity", "The observation itself"),
        Component("select", "rpd_basics.abstractions:Select", "Some entries of a vector"),
        Component("scale", "rpd_basics.abstractions:Scale", "Multiply entries by constants"),
        Component("round", "rpd_basics.abstractions:Round", "Round to some decimal places"),
        Component("abs", "rpd_basics.abstractions:Abs", "Absolute values"),
        Component("bins", "rpd_basics.bins:Bins", "Bins learned from the policy's episodes"),
        Component("clusters", "rpd_basics.clusters:Clusters", "Nearest of some learned centres"),
        Component("auto", "rpd_basics.auto:Auto", "A resolution chosen for this policy"),
        Component("view", "rpd_basics.abstractions:View", "An extra view: view:screen"),
        Component("grey", "rpd_basics.images:Grey", "Pictures without their colours"),
        Component("crop", "rpd_basics.images:Crop", "A part of pictures: crop:34+194+0+160"),
        Component("resize", "rpd_basics.images:Resize", "Smaller pictures: resize:18+14"),
        Component("levels", "rpd_basics.images:Levels", "Fewer levels of grey"),
    ]


@hookimpl
def rpd_default_actions() -> list[Component]:
    return [
        Component("repeat", "rpd_basics.default_actions:Repeat", "Repeat the last action"),
        Component("random", "rpd_basics.default_actions:Random", "Random, once per state"),
        Component("constant", "rpd_basics.default_actions:Constant", "Always the same action"),
        Component("no-op", "rpd_basics.default_actions:NoOp", "The action that does nothing"),
        Component("policy", "rpd_basics.default_actions:OtherPolicy", "What another policy does"),
    ]


@hookimpl
def rpd_policy_loaders() -> list[Component]:
    return [
        Component("python", "rpd_basics.policies:PythonPolicy", "A function, module:attribute"),
        Component("random", "rpd_core.play.prepare:RandomPlay", "Plays at random"),
        Component(
            "pruned", "rpd_core.pruning.loading:PrunedFile", "A policy that rpd pruned and exported"
        ),
    ]


@hookimpl
def rpd_conditions() -> list[Component]:
    return [
        Component("return", "rpd_basics.conditions:Return", "Return beyond a bound: return>=200"),
        Component("length", "rpd_basics.conditions:Length", "Length beyond a bound: length>=100"),
        Component("auto", "rpd_basics.conditions:Auto", "The cut that splits the suite best"),
        Component("ended", "rpd_basics.conditions:Ended", "How the episode ended"),
        Component("info", "rpd_basics.conditions:Info", "A key of the final info"),
    ]


@hookimpl
def rpd_executors() -> list[Component]:
    return [
        Component("local", "rpd_core.execute.local:LocalProcesses", "Processes on this machine")
    ]
