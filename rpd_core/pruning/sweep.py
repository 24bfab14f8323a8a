"""Rankings -> pruned policies: the sweep over shares, and confirmation on fresh episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.ranking import Ranking, random_ranking
from rpd_core.analysis.suite import take_episodes
from rpd_core.config.configuration import THRESHOLDS
from rpd_core.config.settings import PORTFOLIO
from rpd_core.play.chance import Phase
from rpd_core.pruning.curves import Candidate, Curve, candidates, curve_from, cutoffs_for, portfolio
from rpd_core.pruning.evaluation import Evaluations, ask
from rpd_core.pruning.references import References

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import KeyArray

Goal = tuple[float, str]
"""A fraction of the return and the measure, or `portfolio`, that is to keep it."""


@dataclass(frozen=True)
class Confirmation:
    """What fresh episodes said about a chosen pruned policy."""

    candidate: Candidate
    """The last one tried."""
    mean_return: float
    step_share: float
    coverage: float
    """Share of its steps in states of the ranking."""
    confirmed: bool
    tries: int


@dataclass(frozen=True)
class Pruning:
    """Curves of all rankings and the confirmed choices."""

    curves: Mapping[str, Curve]
    random_curves: Sequence[Curve]
    original_coverage: float
    """Share of the original policy's steps in states of the ranking."""
    confirmations: Mapping[Goal, Confirmation]


def prune(
    evaluations: Evaluations, rankings: Mapping[str, Ranking], references: References
) -> Pruning:
    """Sweep over pruned policies of every ranking and confirm the chosen ones."""
    session = evaluations.session
    config = session.setup.config.settings
    keys = next(iter(rankings.values())).keys
    cutoffs = cutoffs_for(config.shares, len(keys))
    shares = [cutoff / len(keys) for cutoff in cutoffs]  # what is kept, not what was asked for
    randoms = [random_ranking(keys, seed) for seed in range(config.random_rankings)]
    asked = {
        ranking.name: ask(session, [ranking.ranked_keys], [(0, cutoff) for cutoff in cutoffs])
        for ranking in (*rankings.values(), *randoms)
    }
    played = evaluations.play("pruning", asked)
    curves = {
        name: curve_from(name, shares, cutoffs, episodes) for name, episodes in played.items()
    }
    measured = {name: curves[name] for name in rankings}
    return Pruning(
        measured,
        [curves[ranking.name] for ranking in randoms],
        _coverage_of_original(evaluations, keys),
        _confirm(evaluations, rankings, measured, references),
    )


def _coverage_of_original(evaluations: Evaluations, keys: KeyArray) -> float:
    """Play the original policy and count the steps in states that the suite has seen."""
    asked = ask(evaluations.session, [keys], [(0, len(keys))], unranked_kept=True)
    episodes = evaluations.play("coverage", {"coverage": asked})["coverage"]
    return float(curve_from("coverage", [1.0], [len(keys)], episodes).coverage[0])


def _confirm(
    evaluations: Evaluations,
    rankings: Mapping[str, Ranking],
    curves: Mapping[str, Curve],
    references: References,
) -> dict[Goal, Confirmation]:
    """Try each choice on fresh episodes; where it misses, the next larger share on others."""
    groups = {name: [curve] for name, curve in curves.items()}
    groups["portfolio"] = portfolio(curves, PORTFOLIO)
    waiting = {
        (fraction, name): candidates(group, references.target(fraction))
        for fraction in THRESHOLDS
        for name, group in groups.items()
    }
    found: dict[Goal, Confirmation] = {}
    attempt = 0
    while trying := {goal: queue[attempt] for goal, queue in waiting.items() if queue[attempt:]}:
        played = _play_candidates(evaluations, rankings, list(trying.values()), attempt)
        for goal, candidate in trying.items():
            curve = played[candidate]
            mean = float(curve.mean_return[0])
            met = mean >= references.target(goal[0])
            shares = float(curve.step_shares[0]), float(curve.coverage[0])
            found[goal] = Confirmation(candidate, mean, *shares, met, attempt + 1)
            if met:
                waiting[goal] = []
        attempt += 1
    return found


def _play_candidates(
    evaluations: Evaluations,
    rankings: Mapping[str, Ranking],
    tried: Sequence[Candidate],
    attempt: int,
) -> dict[Candidate, Curve]:
    """Play candidates, all in one batch, on episodes that no earlier attempt used."""
    unique = list(dict.fromkeys(tried))
    names = list(dict.fromkeys(one.name for one in unique))
    asked = ask(
        evaluations.session,
        [rankings[name].ranked_keys for name in names],
        [(names.index(one.name), one.kept) for one in unique],
        phase=Phase.CONFIRM,
        part=attempt,
    )
    name = f"confirm-{attempt}"
    episodes = evaluations.play("confirmation", {name: asked})[name]
    rows = np.arange(len(episodes)).reshape(len(unique), -1)
    return {
        one: curve_from(one.name, [one.share], [one.kept], take_episodes(episodes, row))
        for one, row in zip(unique, rows, strict=True)
    }
