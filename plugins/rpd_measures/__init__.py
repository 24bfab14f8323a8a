"""The measures of the paper and its two baselines."""

from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.protocols import Component


@hookimpl
def rpd_measures() -> list[Component]:
    return [
        Component("tarantula", "rpd_measures.sbfl:Tarantula", "Risk if mutated against if kept"),
        Component("ochiai", "rpd_measures.sbfl:Ochiai", "Similarity of mutation and failure"),
        Component("zoltar", "rpd_measures.sbfl:Zoltar", "Like Jaccard, hard on exceptions"),
        Component("wong2", "rpd_measures.sbfl:Wong2", "Failures when mutated minus when kept"),
        Component("freqvis", "rpd_measures.baselines:FreqVis", "Baseline: how often visited"),
        Component("random", "rpd_measures.baselines:Random", "Baseline: a random order"),
    ]
