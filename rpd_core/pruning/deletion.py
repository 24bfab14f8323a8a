"""Deletion, the other way round: what is lost when the policy loses only its top states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rpd_core.analysis.ranking import Ranking
from rpd_core.pruning.curves import curve_from, cutoffs_for
from rpd_core.pruning.evaluation import Evaluations, ask
from rpd_core.pruning.records import Deletion
from rpd_core.pruning.references import References

FIDELITY_SHARES = (0.1, 0.2, 0.3, 0.4)
"""Shares of steps at which explainers that mask steps are compared."""


def measure_deletion(
    evaluations: Evaluations, rankings: Sequence[Ranking], references: References
) -> dict[str, Deletion]:
    """Play the policy without the top states of some rankings, at the shares of the sweep."""
    session = evaluations.session
    settings = session.setup.config.settings
    cutoffs = cutoffs_for(settings.shares, len(rankings[0]) if rankings else 0)
    asked = {}
    for ranking in rankings:
        lowest_first = ranking.ranked_keys[::-1]
        points = [(0, len(ranking) - cutoff) for cutoff in cutoffs]
        asked[f"without-{ranking.name}"] = ask(session, [lowest_first], points, unranked_kept=True)
    played = evaluations.play("deletion", asked) if asked else {}
    found = {}
    for ranking in rankings:
        shares = [cutoff / len(ranking) for cutoff in cutoffs]
        curve = curve_from(ranking.name, shares, cutoffs, played[f"without-{ranking.name}"])
        steps, returns = (1 - curve.step_shares).tolist(), curve.mean_return.tolist()
        found[ranking.name] = Deletion(
            ranking.name,
            cutoffs,
            tuple(shares),
            tuple(steps),
            tuple(returns),
            fidelity_scores(steps, returns, references.original_mean, references.reference),
        )
    return found


def fidelity_scores(
    steps: Sequence[float], returns: Sequence[float], original: float, reference: float
) -> dict[str, float | None]:
    """Return log(d / d_max) - log(l) at several shares of steps l; larger is better.

    d is the loss of return, read off the deletion curve between its points; d_max is the most that
    can be lost: down to the reference, or to the lowest point of the curve if that is lower.
    """
    share = np.maximum.accumulate(np.asarray(steps, dtype=np.float64))
    loss = original - np.asarray(returns, dtype=np.float64)
    most = max(original - reference, float(loss.max()))
    scores: dict[str, float | None] = {}
    for length in FIDELITY_SHARES:
        lost = float(np.interp(length, share, loss)) if share[-1] >= length else 0.0
        known = lost > 0 and most > 0
        scores[f"{length:g}"] = float(np.log(lost / most) - np.log(length)) if known else None
    return scores
