"""Results of the line -> the typed summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from rpd_core.analysis.analysis import Analysis
from rpd_core.analysis.decisions import Decisions, look_sizes, open_ranks
from rpd_core.analysis.ranking import Ranking
from rpd_core.analysis.recurrence import Recurrence
from rpd_core.analysis.spectrum import Tally, identified
from rpd_core.analysis.stability import RankIntervals
from rpd_core.config.configuration import THRESHOLDS, Configuration
from rpd_core.config.settings import EVIDENCE, PORTFOLIO, Settings
from rpd_core.play.names import Names
from rpd_core.plugin.origins import Origin
from rpd_core.plugin.protocols import Episodes
from rpd_core.plugin.protocols.suite import RANKED_STEPS
from rpd_core.pruning.choice import Chosen, Tried
from rpd_core.pruning.confirm import CONFIDENCE, kept_share, mean_bounds
from rpd_core.pruning.curves import (
    Curve,
    fewest_states,
    fewest_steps,
    mean_curve,
    portfolio,
    reaching,
)
from rpd_core.pruning.references import References, target_return
from rpd_core.pruning.refine import Round
from rpd_core.pruning.sweep import Pruning
from rpd_core.pruning.trials import step_share
from rpd_core.results.decisions import decision_rows, list_facts
from rpd_core.results.records import (
    Coverage,
    Decision,
    FailedTry,
    Growth,
    PassRates,
    Played,
    Policy,
    Returns,
    RoundFacts,
    SuiteFacts,
    Summary,
    SweepFacts,
    Threshold,
    Ties,
)
from rpd_core.results.rules import rules_in_words

LISTED = 100
"""Decisions of the list that the summary holds; the rest is in the table beside it."""


def summarise(
    name: str,
    config: Configuration,
    references: References,
    analysis: Analysis,
    pruning: Pruning,
    rounds: Sequence[Round],
    rates: PassRates,
    judged: Decisions,
    recurrence: Recurrence,
    names: Names,
    origins: Iterable[Origin],
) -> Summary:
    """Put together everything a reader or a script would want to know."""
    settings = config.settings
    policies = {f"{q:g}": policy_of(chosen) for q, chosen in pruning.chosen.items()}
    first = next(iter(policies.values()), None)
    rows = judged.listed()[:LISTED]
    ranks = recurrence.ranks(rows)
    return Summary(
        analysis=name,
        env=config.env,
        policy_spec=config.policy,
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
        coverage=Coverage(pruning.original_coverage, first.coverage if first else None),
        pass_rates=rates,
        sweep=SweepFacts(pruning.sweep.episodes, pruning.sweep.whole),
        targets={f"{q:g}": references.target(q) for q in THRESHOLDS},
        thresholds={f"{q:g}": _thresholds(pruning, references.target(q)) for q in THRESHOLDS},
        policy=first,
        rounds=tuple(_round_facts(one) for one in rounds),
        policies=policies,
        deletion=pruning.deletion,
        ties={name: _ties_of(ranking) for name, ranking in analysis.rankings.items()},
        list=list_facts(judged, settings.evidence, settings.margin, names.note),
        decisions=_with_ranks(decision_rows(judged, rows, analysis.stored, names), ranks),
        rules=rules_in_words(judged, analysis.stored, names),
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


def _with_ranks(rows: tuple[Decision, ...], found: RankIntervals | None) -> tuple[Decision, ...]:
    """Return decisions with the intervals of their ranks, where there are any."""
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


def policy_of(chosen: Chosen | None) -> Policy | None:
    """Return the figures of a chosen pruned policy on its fresh episodes."""
    if chosen is None:
        return None
    candidate, confirmation, episodes, _ = vars(chosen.tried).values()
    played, returns = confirmation.played, episodes.total_return
    shown = kept_share(played, (1 - CONFIDENCE) / 2)
    low, high = mean_bounds(returns, (1 - CONFIDENCE) / 2, played.reference)
    steps = step_share(episodes)
    return Policy(
        measure=candidate.measure,
        kept=len(candidate.kept),
        states=candidate.states,
        steps=steps,
        return_mean=float(returns.mean()),
        return_low=low,
        return_high=high,
        target=target_return(chosen.fraction, float(played.original.mean()), played.reference),
        met=confirmation.outcome == "met",
        episodes=len(episodes),
        outcome=confirmation.outcome,
        share=shown.estimate,
        share_low=_known(shown.low),
        share_high=_known(shown.high),
        return_bound=mean_bounds(returns, confirmation.level, played.reference)[0],
        share_bound=_known(kept_share(played, confirmation.level).low),
        confidence=CONFIDENCE,
        coverage=float(episodes.info[RANKED_STEPS].sum() / episodes.length.sum()),
        tries=len(chosen.failed) + 1,
        untrimmed=candidate.untrimmed,
        calls_saved=1 - steps,
        failed=tuple(_failed(one) for one in chosen.failed),
        new_states=candidate.new,
    )


def _round_facts(done: Round) -> RoundFacts:
    """Return what a round of refining did."""
    tried = done.found.tried if done.found is not None else None
    return RoundFacts(
        number=done.number,
        centre=len(done.centre.kept),
        episodes=done.episodes,
        folder=done.folder,
        kept=None if tried is None else len(tried.candidate.kept),
        states=None if tried is None else tried.candidate.states,
        steps=None if tried is None else step_share(tried.episodes),
        outcome=None if tried is None else tried.confirmation.outcome,
        shrunk=done.shrunk,
    )


def _failed(tried: Tried) -> FailedTry:
    confirmation = tried.confirmation
    return FailedTry(
        tried.candidate.measure,
        len(tried.candidate.kept),
        confirmation.outcome,
        kept_share(confirmation.played, confirmation.level).estimate,
        len(tried.episodes),
    )


def _thresholds(pruning: Pruning, target: float) -> dict[str, Threshold | None]:
    found = {name: _threshold([curve], target) for name, curve in pruning.curves.items()}
    found["portfolio"] = _threshold(portfolio(pruning.curves, PORTFOLIO), target)
    found["random"] = _threshold([mean_curve("random", pruning.random_curves)], target)
    found["random_best"] = _threshold(pruning.random_curves[: len(PORTFOLIO)], target)
    return found


def _threshold(curves: Sequence[Curve], target: float) -> Threshold | None:
    points = reaching(curves, target)
    states, steps = fewest_states(points), fewest_steps(points)
    return None if states is None or steps is None else Threshold(states, steps)


def _ties_of(ranking: Ranking) -> Ties:
    """Return how many states share a score."""
    blocks = ranking.tie_blocks()
    return Ties(len(blocks), int(max(blocks, default=0)))


def _known(end: float) -> float | None:
    """Return an end of an interval; None where there is no end to it."""
    return float(end) if np.isfinite(end) else None


def _played(origins: Iterable[Origin]) -> tuple[Played, ...]:
    found = list(origins)
    texts = Counter(map(repr, found))
    first = {repr(origin): origin for origin in reversed(found)}
    return tuple(Played(count, first[text]) for text, count in texts.items())
