"""Results of the line -> the typed summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rpd_core.analysis.analysis import Analysis
from rpd_core.analysis.decisions import Decisions
from rpd_core.analysis.looks import look_sizes, open_ranks
from rpd_core.analysis.ranking import Ranking
from rpd_core.analysis.recurrence import Recurrence
from rpd_core.analysis.spectrum import Tally, identified
from rpd_core.config.configuration import THRESHOLDS, Configuration
from rpd_core.config.settings import EVIDENCE, PORTFOLIO, Settings
from rpd_core.play.jobs import Names
from rpd_core.plugin.origins import Origin
from rpd_core.plugin.protocols import Episodes
from rpd_core.pruning.curves import (
    Curve,
    fewest_states,
    fewest_steps,
    mean_curve,
    portfolio,
    reaching,
)
from rpd_core.pruning.references import References
from rpd_core.pruning.sweep import Confirmation, Pruning
from rpd_core.report.decisions import decision_rows, list_facts
from rpd_core.report.results import (
    ConfirmedPolicy,
    Coverage,
    Decision,
    Growth,
    PassRates,
    Played,
    Returns,
    SuiteFacts,
    Summary,
    Threshold,
    Ties,
)

LISTED = 100
"""Decisions of the list that the summary holds; the rest is in the table beside it."""


def summarise(
    name: str,
    config: Configuration,
    references: References,
    analysis: Analysis,
    pruning: Pruning,
    rates: PassRates,
    judged: Decisions,
    recurrence: Recurrence,
    names: Names,
    origins: Iterable[Origin],
) -> Summary:
    """Put together everything a reader or a script would want to know."""
    settings = config.settings
    return Summary(
        analysis=name,
        env=config.env,
        policy=config.policy,
        condition=analysis.condition_text,
        condition_asked=settings.condition,
        original=_returns(references),
        suite=suite_facts(
            analysis.episodes,
            analysis.counted,
            float(analysis.weights.sum()),
            settings.mutation_rate,
            settings.evidence,
        ),
        coverage=Coverage(pruning.original_coverage, _pruned_coverage(pruning)),
        pass_rates=rates,
        targets={f"{q:g}": references.target(q) for q in THRESHOLDS},
        thresholds={f"{q:g}": _thresholds(pruning, q, references.target(q)) for q in THRESHOLDS},
        ties={name: ties_of(ranking) for name, ranking in analysis.rankings.items()},
        list=list_facts(judged, settings.evidence, settings.margin),
        decisions=_with_ranks(
            decision_rows(judged, judged.listed()[:LISTED], analysis.stored, names), recurrence
        ),
        stability=recurrence.stability(),
        growth=_growth(settings, judged),
        configuration={"suite": config.suite_json(), "analysis": config.analysis_json()},
        played=_played(origins),
        seed=settings.seed,
    )


def _growth(settings: Settings, judged: Decisions) -> Growth | None:
    """Return the looks that were taken, and what they left open."""
    if settings.first_episodes is None:
        return None
    sizes = look_sizes(settings.first_episodes, judged.counted.episodes)
    ranks = open_ranks(judged, settings.top)
    return Growth(sizes, settings.top, not ranks, ranks, settings.most_episodes)


def _with_ranks(rows: tuple[Decision, ...], recurrence: Recurrence) -> tuple[Decision, ...]:
    """Return decisions with the intervals of their ranks."""
    found = recurrence.ranks(len(rows))
    if found is None:
        return rows
    ends = zip(rows, found.low.tolist(), found.high.tolist(), strict=True)
    return tuple(replace(row, rank_low=low, rank_high=high) for row, low, high in ends)


def _returns(references: References) -> Returns:
    original = references.original.total_return
    return Returns(
        references.original_mean,
        float(original.std(ddof=1)) if len(original) > 1 else 0.0,
        len(original),
        references.reference,
        references.reference_source,
        float(references.default_everywhere.total_return.mean()),
    )


def suite_facts(
    episodes: Episodes,
    counted: Tally,
    passed: float,
    mutation_rate: float,
    evidence: int = EVIDENCE,
) -> SuiteFacts:
    """Return what a suite holds."""
    return SuiteFacts(
        len(episodes),
        passed,
        len(counted.states),
        int(episodes.length.sum()),
        mutation_rate,
        int(identified(counted.spectrum, evidence).sum()),
        evidence,
    )


def _pruned_coverage(pruning: Pruning) -> float | None:
    """Return the share of the chosen pruned policy's steps that land in ranked states."""
    chosen = pruning.confirmations.get((THRESHOLDS[0], "portfolio"))
    return chosen.coverage if chosen else None


def _thresholds(pruning: Pruning, fraction: float, target: float) -> dict[str, Threshold | None]:
    confirmations = pruning.confirmations
    found: dict[str, Threshold | None] = {}
    for name, curve in pruning.curves.items():
        found[name] = _threshold([curve], target, confirmations.get((fraction, name)))
    best = portfolio(pruning.curves, PORTFOLIO)
    found["portfolio"] = _threshold(best, target, confirmations.get((fraction, "portfolio")))
    found["random"] = _threshold([mean_curve("random", pruning.random_curves)], target)
    found["random_best"] = _threshold(pruning.random_curves[: len(PORTFOLIO)], target)
    return found


def _threshold(
    curves: Sequence[Curve], target: float, confirmation: Confirmation | None = None
) -> Threshold | None:
    points = reaching(curves, target)
    states, steps = fewest_states(points), fewest_steps(points)
    if states is None or steps is None:
        return None
    return Threshold(states, steps, None if confirmation is None else _confirmed(confirmation))


def _confirmed(confirmation: Confirmation) -> ConfirmedPolicy:
    candidate = confirmation.candidate
    return ConfirmedPolicy(
        candidate.name,
        candidate.kept,
        candidate.share,
        confirmation.step_share,
        confirmation.mean_return,
        confirmation.coverage,
        confirmation.confirmed,
        confirmation.tries,
    )


def ties_of(ranking: Ranking) -> Ties:
    """Return how many states share a score."""
    blocks = ranking.tie_blocks()
    return Ties(len(blocks), int(max(blocks, default=0)))


def _played(origins: Iterable[Origin]) -> tuple[Played, ...]:
    found = list(origins)
    texts = Counter(map(repr, found))
    first = {repr(origin): origin for origin in reversed(found)}
    return tuple(Played(count, first[text]) for text, count in texts.items())
