"""The measures of the paper and its two baselines."""

from functools import partial

from rpd_core import Component, hookimpl

Safe = partial(Component, runs_code=False)
"""A component whose input cannot make it run code, unless its recipe says otherwise."""


@hookimpl
def rpd_measures() -> list[Component]:
    return [
        Safe("tarantula", "rpd_measures.sbfl:Tarantula", "Risk if mutated against if kept"),
        Safe("ochiai", "rpd_measures.sbfl:Ochiai", "Similarity of mutation and failure"),
        Safe("zoltar", "rpd_measures.sbfl:Zoltar", "Like Jaccard, hard on exceptions"),
        Safe("wong2", "rpd_measures.sbfl:Wong2", "Failures when mutated minus when kept"),
        Safe("freqvis", "rpd_measures.baselines:FreqVis", "Baseline: how often visited"),
        Safe("random", "rpd_measures.baselines:Random", "Baseline: a random order"),
    ]
