"""The measures of the paper, its baselines, further measures of fault localisation, and effects."""

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
        Safe("differ", "rpd_measures.baselines:Differ", "Baseline: how often the default differs"),
        Safe(
            "default-gap",
            "rpd_measures.inside:DefaultGap",
            "Baseline: preference over the default",
        ),
        Safe("effect", "rpd_measures.effects:Effect", "Difference of risks, lower bound"),
        Safe("impact", "rpd_measures.effects:Impact", "Effect times chance of visit, lower bound"),
        Safe("effect-return", "rpd_measures.returns:EffectReturn", "Loss of return, lower bound"),
        Safe("value-gap", "rpd_measures.inside:ValueGap", "Best minus worst action value"),
        Safe("entropy", "rpd_measures.inside:Entropy", "How certain the policy is"),
        Safe(
            "regression",
            "rpd_measures.regression:Regression",
            "All states at once, by least squares",
        ),
        *_similarities(),
        *_agreements(),
        *_associations(),
        *_suspicions(),
    ]


def _similarities() -> list[Component]:
    home = "rpd_measures.similarity"
    return [
        Safe("jaccard", f"{home}:Jaccard", "Mutated failures among mutated or failed"),
        Safe("dice", f"{home}:Dice", "Sørensen-Dice; Jaccard's order"),
        Safe("anderberg", f"{home}:Anderberg", "Jaccard's order, exceptions count twice"),
        Safe("goodman", f"{home}:Goodman", "Jaccard's order, from -1 to 1"),
        Safe("kulczynski1", f"{home}:Kulczynski1", "Mutated failures per exception"),
        Safe("kulczynski2", f"{home}:Kulczynski2", "Mean of two shares of mutated failures"),
        Safe("overlap", f"{home}:Overlap", "Mutated failures per rarest cell"),
        Safe("russell-rao", f"{home}:RussellRao", "Mutated failures among all episodes"),
    ]


def _agreements() -> list[Component]:
    home = "rpd_measures.agreement"
    return [
        Safe("simple-matching", f"{home}:SimpleMatching", "Share in which fate and outcome match"),
        Safe("hamann", f"{home}:Hamann", "Simple matching's order, from -1 to 1"),
        Safe("sokal", f"{home}:Sokal", "Simple matching's order, matches count twice"),
        Safe("rogers-tanimoto", f"{home}:RogersTanimoto", "The same, exceptions count twice"),
        Safe("m1", f"{home}:M1", "Matches per exception"),
        Safe("m2", f"{home}:M2", "Mutated failures, exceptions count twice"),
        Safe("hamming", f"{home}:Hamming", "Number of matches"),
        Safe("euclid", f"{home}:Euclid", "Root of the number of matches"),
    ]


def _associations() -> list[Component]:
    home = "rpd_measures.association"
    return [
        Safe("ample", f"{home}:Ample", "Difference of risks, harm and help alike"),
        Safe("ample2", f"{home}:Ample2", "Difference of risks, however uncertain"),
        Safe("phi", f"{home}:Phi", "Correlation of mutation and failure"),
        Safe("ochiai2", f"{home}:Ochiai2", "Ochiai of failures times that of passes"),
        Safe("arithmetic-mean", f"{home}:ArithmeticMean", "Like phi, by an arithmetic mean"),
        Safe("harmonic-mean", f"{home}:HarmonicMean", "Like phi, by a harmonic mean"),
        Safe("cohen", f"{home}:Cohen", "Agreement beyond chance (kappa)"),
        Safe("scott", f"{home}:Scott", "Agreement beyond chance (pi)"),
        Safe("rogot1", f"{home}:Rogot1", "Mean agreement on failures and on passes"),
    ]


def _suspicions() -> list[Component]:
    home = "rpd_measures.suspicion"
    return [
        Safe("dstar", f"{home}:DStar", "Mutated failures squared per exception"),
        Safe("op", f"{home}:Op", "Passes of states without an exception"),
        Safe("op2", f"{home}:Op2", "Mutated failures, ties by passes"),
        Safe("barinel", f"{home}:Barinel", "Share of mutated failures, one fault"),
        Safe("wong1", f"{home}:Wong1", "Failures when mutated"),
        Safe("wong3", f"{home}:Wong3", "Wong-II with growing leniency"),
        Safe("gp02", f"{home}:Gp02", "Found by genetic programming"),
        Safe("gp03", f"{home}:Gp03", "Found by genetic programming"),
        Safe("gp13", f"{home}:Gp13", "Found by genetic programming; like Op2"),
        Safe("gp19", f"{home}:Gp19", "Found by genetic programming"),
    ]
