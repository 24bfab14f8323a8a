"""Results -> the answer: what `summary.json` and `--json` hold, and what people read."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.analysis.spectrum import count_spectrum
from rpd_core.config.configuration import PORTFOLIO, THRESHOLDS
from rpd_core.pipeline import Analysis, Ranked, Results
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.protocols import Spectrum
from rpd_core.pruning.curves import Reach, best_reach, mean_curve, portfolio, reach
from rpd_core.pruning.sweep import Confirmation
from rpd_core.store.provenance import versions

if TYPE_CHECKING:
    from rpd_core.analysis.ranking import Ranking
    from rpd_core.plugin.protocols import BoolArray
    from rpd_core.plugin.records import Suite

ENOUGH = 20
"""Episodes in each arm from which on a state counts as identified."""
TOP = 10
"""Decisions shown."""


def summarise(results: Results) -> dict[str, Any]:
    """Give everything a script would want to know, as JSON values."""
    config = results.setup.config
    references, analysis = results.references, results.analysis
    original = references.original.total_return
    return {
        "original": {
            "return_mean": references.original_mean,
            "return_std": float(original.std(ddof=1)) if len(original) > 1 else 0.0,
            "episodes": len(original),
            "reference": references.reference,
            "reference_source": references.reference_source,
            "default_everywhere": float(references.default_everywhere.total_return.mean()),
        },
        "suite": {
            "episodes": len(analysis.suite.episodes),
            "passed": _whole(float(analysis.weights.sum())),
            "states": len(analysis.suite.states),
            "steps": int(analysis.suite.episodes.length.sum()),
            "mutation_rate": config.suite.mutation_rate,
            "identified": int(identified(analysis.spectrum).sum()),
        },
        "coverage": {
            "original": results.pruning.original_coverage,
            "pruned": _pruned_coverage(results),
        },
        "condition": analysis.condition,
        "condition_asked": config.analysis.condition,
        "pass_rates": results.pass_rates,
        "thresholds": {f"{q:g}": _thresholds(results, q) for q in THRESHOLDS},
        "targets": {f"{q:g}": references.target(q) for q in THRESHOLDS},
        "ties": {name: _ties(ranking) for name, ranking in analysis.rankings.items()},
        "top": top_decisions(results),
        "configuration": config.as_json(),
        "versions": versions(),
        "seed": config.suite.seed,
    }


def suite_counts(suite: Suite) -> dict[str, Any]:
    """Give what a suite holds before any condition is known, as JSON values."""
    arms = count_spectrum(suite, np.zeros(len(suite.episodes)))
    return {
        "episodes": len(suite.episodes),
        "states": len(suite.states),
        "steps": int(suite.episodes.length.sum()),
        "identified": int(identified(arms).sum()),
        "return_mean": float(suite.episodes.total_return.mean()),
    }


def _ties(ranking: Ranking) -> dict[str, int]:
    blocks = ranking.tie_blocks()
    return {"blocks": len(blocks), "largest": int(max(blocks, default=0))}


def _whole(number: float) -> float | int:
    """Give a whole number as such; soft conditions pass fractions of episodes."""
    return int(number) if number.is_integer() else number


def identified(spectrum: Spectrum) -> BoolArray:
    """Tell which states have enough episodes in each arm to be judged."""
    mutated = spectrum.mutated_failed + spectrum.mutated_passed
    kept = spectrum.kept_failed + spectrum.kept_passed
    return np.asarray((mutated >= ENOUGH) & (kept >= ENOUGH))


def _pruned_coverage(results: Results) -> float | None:
    """Give the share of the chosen pruned policy's steps that land in ranked states."""
    chosen = results.pruning.confirmations.get((THRESHOLDS[0], "portfolio"))
    return chosen.coverage if chosen else None


def _thresholds(results: Results, fraction: float) -> dict[str, Any]:
    target = results.references.target(fraction)
    pruning = results.pruning
    found: dict[str, Any] = {}
    for name, curve in pruning.curves.items():
        found[name] = _entry(reach(curve, target), pruning.confirmations.get((fraction, name)))
    best = best_reach(portfolio(pruning.curves, PORTFOLIO), target)
    found["portfolio"] = _entry(best, pruning.confirmations.get((fraction, "portfolio")))
    found["random"] = _entry(reach(mean_curve("random", pruning.random_curves), target), None)
    chosen = pruning.random_curves[: len(PORTFOLIO)]
    found["random_best"] = _entry(best_reach(chosen, target), None)
    return found


def _entry(hit: Reach | None, confirmation: Confirmation | None) -> dict[str, Any] | None:
    if hit is None:
        return None
    entry: dict[str, Any] = {"states": hit.states, "steps": hit.steps, "kept": hit.kept}
    entry["confirmed"] = None if confirmation is None else confirmation.confirmed
    if confirmation is not None:
        entry["confirmation"] = {
            "measure": confirmation.candidate.name,
            "states": confirmation.candidate.share,
            "kept": confirmation.candidate.kept,
            "steps": confirmation.step_share,
            "return_mean": confirmation.mean_return,
            "coverage": confirmation.coverage,
            "tries": confirmation.tries,
        }
    return entry


def leading_measure(results: Results) -> str:
    """Give the measure whose ranking is shown: the portfolio's choice at the first threshold."""
    confirmed = results.pruning.confirmations.get((THRESHOLDS[0], "portfolio"))
    return confirmed.candidate.name if confirmed else next(iter(results.analysis.rankings))


def top_decisions(results: Results) -> dict[str, Any]:
    """Give the first decisions of the leading ranking in words."""
    name = leading_measure(results)
    return {
        "measure": name,
        "decisions": decision_rows(results, name, TOP),
        "identified": decision_rows(results, name, TOP, only_identified=True),
    }


def decision_rows(
    results: Results | Ranked, name: str, count: int, only_identified: bool = False
) -> list[dict[str, Any]]:
    """Give the first rows of a ranking: the state in words, its score, how often visited."""
    analysis: Analysis = results.analysis
    ranking, states = analysis.rankings[name], analysis.suite.states
    differed = _differed_shares(analysis)
    show = shower(results.setup.recipe.abstraction)
    cells = {key: np.asarray(cell) for key, cell in dataclasses.asdict(analysis.spectrum).items()}
    known = identified(analysis.spectrum)
    places = np.flatnonzero(known[ranking.order] | (not only_identified))[:count]
    rows = []
    for place in places.tolist():
        row = int(ranking.order[place])
        rows.append(
            {
                "rank": place + 1,
                "key": int(states.key[row]),
                "state": show(states.value[row]),
                "score": float(ranking.scores[row]),
                "episodes": float(sum(cell[row] for cell in cells.values())),
                "mutated": float(cells["mutated_failed"][row] + cells["mutated_passed"][row]),
                "kept": float(cells["kept_failed"][row] + cells["kept_passed"][row]),
                "identified": bool(known[row]),
                "visits": int(states.visits[row]),
                "differed": float(differed[row]),
            }
        )
    return rows


def _differed_shares(analysis: Analysis) -> Any:
    """Give the share of visits to each state at which policy and default action differ."""
    state, visits = analysis.suite.state_of_visit(), analysis.suite.visits
    count = len(analysis.suite.states)
    differed = np.bincount(state, weights=visits.differed, minlength=count)
    return differed / np.bincount(state, weights=visits.count, minlength=count)


def shower(abstraction: Any) -> Any:
    """Give what turns a value into words: the last abstraction's own way, or plain numbers."""
    last = abstraction.links[-1] if isinstance(abstraction, Chain) else abstraction
    return getattr(last, "show", None) or plain_value


def plain_value(value: Any) -> str:
    """Give a value as numbers; long ones are cut."""
    flat = np.ravel(value).tolist()
    text = ", ".join(f"{number:g}" for number in flat[:12])
    return f"{text}, ... ({len(flat)} numbers)" if len(flat) > 12 else text
