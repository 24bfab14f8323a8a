"""Abstractions, default actions, conditions and executors that fit any environment."""

from functools import partial

from rpd_core import Component, hookimpl

Safe = partial(Component, runs_code=False)
"""A component whose input cannot make it run code, unless its recipe says otherwise."""


@hookimpl
def rpd_abstractions() -> list[Component]:
    return [
        Safe("identity", "rpd_basics.abstractions:Identity", "The observation itself"),
        Safe("select", "rpd_basics.abstractions:Select", "Some entries of a vector"),
        Safe("scale", "rpd_basics.abstractions:Scale", "Multiply entries by constants"),
        Safe("round", "rpd_basics.abstractions:Round", "Round to some decimal places"),
        Safe("abs", "rpd_basics.abstractions:Abs", "Absolute values"),
        Safe("bins", "rpd_basics.bins:Bins", "Bins learned from the policy's episodes"),
        Safe("clusters", "rpd_basics.clusters:Clusters", "Nearest of some learned centres"),
        Safe("auto", "rpd_basics.auto:Auto", "A resolution chosen for this policy"),
        Safe(
            "rules",
            "rpd_basics.rules:Rules",
            "A tree of rules for when the policy has to decide",
            requires=("sklearn",),
            install="scikit-learn",
        ),
        Safe("preference", "rpd_basics.preference:Preference", "How much it prefers its action"),
        Safe("view", "rpd_basics.abstractions:View", "An extra view: view:screen"),
        Safe("grey", "rpd_basics.images:Grey", "Pictures without their colours"),
        Safe("crop", "rpd_basics.images:Crop", "A part of pictures: crop:34+194+0+160"),
        Safe("resize", "rpd_basics.images:Resize", "Smaller pictures: resize:18+14"),
        Safe("levels", "rpd_basics.images:Levels", "Fewer levels of grey"),
        Component("python", "rpd_basics.functions:PythonAbstraction", "A function of your own"),
    ]


@hookimpl
def rpd_default_actions() -> list[Component]:
    return [
        Safe("repeat", "rpd_basics.default_actions:Repeat", "Repeat the last action"),
        Safe("random", "rpd_basics.default_actions:Random", "Random, once per state"),
        Safe("constant", "rpd_basics.default_actions:Constant", "Always the same action"),
        Safe("no-op", "rpd_basics.default_actions:NoOp", "The action that does nothing"),
        Safe("zero", "rpd_basics.default_actions:Zero", "Zeros, for continuous actions"),
        Safe("mean", "rpd_basics.default_actions:Mean", "The policy's mean action, continuous"),
        Safe("hold", "rpd_basics.default_actions:Hold", "Repeat for some steps, then let go"),
        Safe("policy", "rpd_basics.default_actions:OtherPolicy", "What another policy does"),
        Component("python", "rpd_basics.functions:PythonDefaultAction", "A function of your own"),
    ]


@hookimpl
def rpd_policy_loaders() -> list[Component]:
    return [
        Component("python", "rpd_basics.policies:PythonPolicy", "A function, module:attribute"),
        Safe("random", "rpd_core.play.prepare:RandomPlay", "Plays at random"),
        Safe(
            "pruned",
            "rpd_basics.pruned:PrunedFile",
            "A policy that rpd pruned and exported",
            recognises="rpd_basics.recognise:is_pruned",
        ),
    ]


@hookimpl
def rpd_conditions() -> list[Component]:
    return [
        Safe("return", "rpd_basics.conditions:Return", "Return beyond a bound: return>=200"),
        Safe("soft-return", "rpd_basics.conditions:SoftReturn", "Passed in part, by the return"),
        Safe("length", "rpd_basics.conditions:Length", "Length beyond a bound: length>=100"),
        Safe("auto", "rpd_basics.conditions:Auto", "The cut that splits the suite best"),
        Safe("ended", "rpd_basics.conditions:Ended", "How the episode ended"),
        Safe("info", "rpd_basics.conditions:Info", "A key of the final info"),
        Component("python", "rpd_basics.functions:PythonCondition", "A function of your own"),
    ]


@hookimpl
def rpd_measures() -> list[Component]:
    return [Component("python", "rpd_basics.functions:PythonMeasure", "A function of your own")]


@hookimpl
def rpd_executors() -> list[Component]:
    return [Safe("local", "rpd_core.execute.local:LocalProcesses", "Processes on this machine")]


@hookimpl
def rpd_panels() -> list[Component]:
    return [
        Safe("vectors", "rpd_basics.panels:Vectors", "Losses over two variables"),
        Safe(
            "filmstrip",
            "rpd_basics.panels:Filmstrip",
            "The typical episode in pictures",
            requires=("PIL",),
            install="pillow",
        ),
    ]
