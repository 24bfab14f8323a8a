"""Results of the line -> the typed summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rpd_core.analysis.analysis import Analysis, weigh
from rpd_core.analysis.recurrence import Recurrence
from rpd_core.analysis.spectrum import Tally, identified
from rpd_core.analysis.suite import Reach
from rpd_core.analysis.verdicts import Decisions
from rpd_core.config.configuration import Configuration
from rpd_core.config.settings import EVIDENCE, PORTFOLIO
from rpd_core.play.actions import asks_policy
from rpd_core.play.names import Names
from rpd_core.plugin.blame import Origin
from rpd_core.plugin.protocols import Episodes
from rpd_core.plugin.protocols.suite import RANKED_STEPS
from rpd_core.pruning.choice import Chosen, size
from rpd_core.pruning.confirm import CONFIDENCE, Share, kept_share, mean_bounds
from rpd_core.pruning.curves import (
    Curve,
    fewest_states,
    fewest_steps,
    mean_curve,
    portfolio,
    reaching,
)
from rpd_core.pruning.evaluation import Evaluations
from rpd_core.pruning.imitation import Imitation
from rpd_core.pruning.references import References, target_return
from rpd_core.pruning.smallest import Smallest
from rpd_core.pruning.sweep import Sweep
from rpd_core.pruning.trials import override_share, step_share
from rpd_core.results import records
from rpd_core.results.decisions import decision_rows, list_facts, ranked_rows
from rpd_core.results.records import Baseline, Baselines, Decision, Policy, SuiteFacts, Summary

LISTED = 100
"""Decisions of the list that the summary holds; the rest is in the table beside it."""


def summarise(
    name: str,
    config: Configuration,
    told: Told,
    smallest: Mapping[float, Smallest | None],
    judged: Decisions,
    recurrence: Recurrence,
    origins: Iterable[Origin],
) -> Summary:
    """Put together everything a reader or a script would want to know."""
    settings, analysis, swept = config.settings, told.analysis, told.swept
    references, returns = told.references, told.references.original.total_return
    targets = {f"{q:g}": references.target(q) for q in settings.target}
    answer = smallest[settings.target[0]]
    losses = None if answer is None else answer.losses
    policies = {f"{q:g}": policy_of(found, told, found is answer) for q, found in smallest.items()}
    first = policies[f"{settings.target[0]:g}"]
    growth = None
    if losses is not None and losses.looks:
        top, looks = settings.top, losses.looks
        ranks = losses.open_ranks(top, references.worth(settings.margin))
        growth = records.Growth(looks, top, not ranks, ranks, settings.most_episodes)
    kept = None if losses is None else losses.keys
    rows = judged.listed()[:LISTED]
    listed = ranked_rows(judged, rows, analysis.stored, told.names, kept)
    ranks_of = recurrence.ranks(rows)
    if ranks_of is not None:
        ends = zip(listed, ranks_of.low.tolist(), ranks_of.high.tolist(), strict=True)
        listed = tuple(replace(row, rank_low=low, rank_high=high) for row, low, high in ends)
    return Summary(
        analysis=name,
        env=config.env,
        policy_spec=config.policy,
        condition=analysis.condition_text,
        condition_asked=settings.condition,
        original=records.Returns(
            references.original_mean,
            float(returns.std(ddof=1)) if len(returns) > 1 else 0.0,
            len(returns),
            references.reference,
            references.reference_source,
            float(references.default_everywhere.total_return.mean()),
        ),
        suite=suite_facts(
            analysis.episodes,
            analysis.counted,
            float(analysis.weights.sum()),
            settings.mutation_rate,
            settings.evidence,
        ),
        coverage=records.Coverage(
            float(told.reach.share_of_steps(analysis.counted.states.key).sum()),
            first.coverage if first else None,
        ),
        pass_rates=records.PassRates(
            told.pass_rate(references.original),
            told.pass_rate(references.default_everywhere),
            float(analysis.weights.mean()),
        ),
        sweep=records.SweepFacts(swept.episodes, swept.whole),
        targets=targets,
        thresholds={q: _thresholds(swept, target) for q, target in targets.items()},
        policy=first,
        policies=policies,
        ties={
            name: records.Ties(len(blocks), int(max(blocks, default=0)))
            for name, blocks in ((n, one.tie_blocks()) for n, one in analysis.rankings.items())
        },
        decisions=told.decisions(answer),
        list=list_facts(judged, settings.evidence, settings.margin, told.names.note),
        ranking=listed,
        stability=recurrence.stability(),
        growth=growth,
        configuration={"suite": config.suite_json(), "analysis": config.analysis_json()},
        played=tuple(records.Played(len(same), same[0]) for same in _alike(origins)),
        seed=settings.seed,
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


def policy_of(found: Smallest | None, told: Told, first: bool) -> Policy | None:
    """Return the figures of a smallest policy on its fresh episodes."""
    if found is None:
        return None
    chosen = found.chosen
    tried, confirmation = chosen.tried, chosen.tried.confirmation
    candidate, episodes, original = tried.candidate, tried.episodes, tried.original
    played, returns = confirmation.played, episodes.total_return
    shown = kept_share(played, (1 - CONFIDENCE) / 2)
    low, high = mean_bounds(returns, (1 - CONFIDENCE) / 2, played.reference)
    steps, alone = step_share(episodes), _rules_alone(found)
    return Policy(
        measure=candidate.measure,
        kept=len(candidate.kept),
        states=candidate.states,
        steps=steps,
        overrides=override_share(episodes),
        overrides_whole=override_share(original),
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
        pass_rate=told.pass_rate(episodes),
        pass_rate_whole=told.pass_rate(original),
        worst_tenth=float(np.sort(returns)[: max(len(returns) // 10, 1)].mean()),
        distinct=tried.distinct,
        rules_alone=None if alone is None else alone.estimate,
        rules_alone_bound=None if alone is None else _known(alone.low),
        coverage=float(episodes.info[RANKED_STEPS].sum() / episodes.length.sum()),
        tries=chosen.tries,
        calls_saved=told.calls_saved(steps),
        failed=tuple(
            records.FailedTry(
                one.candidate.measure,
                len(one.candidate.kept),
                one.confirmation.outcome,
                kept_share(one.confirmation.played, one.confirmation.level).estimate,
                len(one.episodes),
            )
            for one in chosen.failed
        ),
        baselines=told.baselines(chosen.fraction),
        front=_front(chosen, told),
        minimising=_minimising(found),
        decisions=() if first else told.decisions(found),
    )


def _rules_alone(found: Smallest) -> Share | None:
    """Return the share of the return that a policy keeps as rules alone, on the same episodes.

    Rules are those of the losses' episodes, so each confirming look is fresh to them, too: their
    bound is charged as that of the policy is, for every candidate and every look.
    """
    if found.alone is None:
        return None
    confirmation = found.chosen.tried.confirmation
    played = replace(confirmation.played, pruned=found.alone.episodes.total_return)
    return kept_share(played, confirmation.level)


@dataclass(frozen=True)
class Told:
    """What the figures of every smallest policy are told from."""

    analysis: Analysis
    references: References
    swept: Sweep
    evaluations: Evaluations
    reach: Reach
    names: Names
    imitations: Mapping[float, Imitation]
    """The smallest tree that plays alone, for each target."""

    @property
    def states(self) -> int:
        """Number of states of the suite."""
        return len(self.analysis.counted.states)

    def pass_rate(self, episodes: Episodes) -> float:
        """Return the share of episodes that pass the condition."""
        return float(weigh(self.analysis.condition, episodes).mean())

    def calls_saved(self, steps: float) -> float:
        """Return the share of steps at which the policy need not be asked, given where it decides.

        None where states are made of what it prefers.
        """
        return 0.0 if asks_policy(self.evaluations.session.recipe.abstraction) else 1 - steps

    def baselines(self, fraction: float) -> Baselines:
        """Return what else would do for a target."""
        target, curves = self.references.target(fraction), dict(self.swept.curves)
        curves["random"] = mean_curve("random", self.swept.random_curves)

        def of(name: str) -> Baseline | None:
            points = reaching([curves[name]], target) if name in curves else []
            if not points:
                return None
            best = min(points, key=lambda one: size(one, "both"))
            share = self.references.share(best.return_mean)
            return Baseline(
                best.kept, best.states, best.steps, best.overrides, share, best.episodes
            )

        tree = self.imitations[fraction]
        return Baselines(
            of("random"), of("differ"), of("default-gap"), self._tree(tree), tree.reason
        )

    def _tree(self, found: Imitation) -> Baseline | None:
        if found.leaves is None or found.return_mean is None:
            return None
        share = self.references.share(found.return_mean)
        return Baseline(found.leaves, None, None, None, share, found.episodes)

    def decisions(self, found: Smallest | None) -> tuple[Decision, ...]:
        """Return the decisions of a smallest policy, by loss; none where it is not confirmed."""
        if found is None or found.losses is None:
            return ()
        losses = found.losses
        states = self.evaluations.states(losses.block)
        words = self.analysis.stored.words(losses.keys)
        played = (self.analysis.episodes, self.references.default_everywhere)
        falls = any(bool((one.total_return < 0).any()) for one in played)
        return decision_rows(losses, states, words, self.reach, self.names, falls)


def _front(chosen: Chosen, told: Told) -> tuple[records.FrontPoint, ...]:
    """Return the pruned policies that minimising went through."""
    path = () if chosen.way is None else chosen.way.path
    return tuple(
        records.FrontPoint(
            len(one.kept), len(one.kept) / told.states, one.steps, one.overrides, one.return_mean,
            told.references.share(one.return_mean), round(one.known.episodes),
        )
        for one in path
    )  # fmt: skip


def _minimising(found: Smallest) -> records.Minimising | None:
    """Return how a smallest policy was found."""
    chosen, effort, losses = found.chosen, found.minimised, found.losses
    if chosen.way is None:
        return None
    return records.Minimising(
        starts=tuple(one.name for one in chosen.starts),
        blocks=effort.blocks,
        episodes=effort.episodes,
        steps=effort.steps,
        budget=effort.budget,
        settled=chosen.way.settled and chosen.tried.candidate.kept is chosen.way.last.kept,
        paired=effort.paired,
        broken=effort.broken,
        correlation=None if losses is None else losses.correlation,
        recurring=None if losses is None else losses.recurring,
    )


def _thresholds(swept: Sweep, target: float) -> dict[str, records.Threshold | None]:
    """Return what it took to meet a target, by ranking; the best of several is one, too."""
    curves: dict[str, Sequence[Curve]] = {name: [one] for name, one in swept.curves.items()}
    curves["portfolio"] = portfolio(swept.curves, PORTFOLIO)
    curves["random"] = [mean_curve("random", swept.random_curves)]
    curves["random_best"] = swept.random_curves[: len(PORTFOLIO)]
    found: dict[str, records.Threshold | None] = {}
    for name, some in curves.items():
        points = reaching(some, target)
        states, steps = fewest_states(points), fewest_steps(points)
        found[name] = None if states is None or steps is None else records.Threshold(states, steps)
    return found


def _known(end: float) -> float | None:
    """Return an end of an interval; None where there is no end to it."""
    return float(end) if np.isfinite(end) else None


def _alike(origins: Iterable[Origin]) -> Iterable[list[Origin]]:
    """Return origins, equal ones together, in the order in which they were met first."""
    found: dict[str, list[Origin]] = {}
    for one in origins:
        found.setdefault(repr(one), []).append(one)
    return found.values()
