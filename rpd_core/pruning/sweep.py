"""Rankings -> pruned policies: the sweep over shares, and the choice among its points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rpd_core.analysis.ranking import Ranking, random_ranking
from rpd_core.pruning.choice import Chosen, choose_policies
from rpd_core.pruning.curves import Curve, curve_from, cutoffs_for
from rpd_core.pruning.deletion import Deletion, measure_deletion
from rpd_core.pruning.evaluation import Evaluations, ask
from rpd_core.pruning.references import References
from rpd_core.pruning.trials import Trials

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import KeyArray


@dataclass(frozen=True)
class Sweep:
    """Curves of all rankings, before anything is chosen."""

    curves: Mapping[str, Curve]
    random_curves: Sequence[Curve]


@dataclass(frozen=True)
class Pruning:
    """Curves of all rankings and the chosen pruned policies."""

    curves: Mapping[str, Curve]
    random_curves: Sequence[Curve]
    original_coverage: float
    """Share of the original policy's steps in states of the ranking."""
    chosen: Mapping[float, Chosen | None]
    """By fraction of the return; None: no point of the sweep reached it."""
    deletion: Mapping[str, Deletion] = field(default_factory=dict)
    """What is lost without the top states, by measure."""


def prune(
    evaluations: Evaluations, rankings: Mapping[str, Ranking], references: References
) -> Pruning:
    """Sweep over pruned policies of every ranking, choose among them and confirm the choice."""
    keys = next(iter(rankings.values())).keys
    swept = sweep(evaluations, rankings)
    list_by = evaluations.session.setup.config.settings.list_by
    chosen = choose_policies(Trials(evaluations, keys), rankings, swept.curves, references)
    return Pruning(
        swept.curves,
        swept.random_curves,
        _coverage_of_original(evaluations, keys),
        chosen,
        measure_deletion(
            evaluations, [rankings[list_by]] if list_by in rankings else [], references
        ),
    )


def sweep(evaluations: Evaluations, rankings: Mapping[str, Ranking]) -> Sweep:
    """Play pruned policies of every ranking, and of random ones, at the shares of the settings."""
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
    return Sweep(
        {name: curves[name] for name in rankings},
        [curves[ranking.name] for ranking in randoms],
    )


def _coverage_of_original(evaluations: Evaluations, keys: KeyArray) -> float:
    """Play the original policy and count the steps in states that the suite has seen."""
    asked = ask(evaluations.session, [keys], [(0, len(keys))], unranked_kept=True)
    episodes = evaluations.play("coverage", {"coverage": asked})["coverage"]
    return float(curve_from("coverage", [1.0], [len(keys)], episodes).coverage[0])
