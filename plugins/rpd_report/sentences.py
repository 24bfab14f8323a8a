"""What the page says in words: what was analysed, how far to trust it, how to repeat it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rpd_core.errors import counted
from rpd_core.plugin.registry import Registry
from rpd_core.results.records import Baseline, Decision, Policy, Summary
from rpd_core.results.sentences import (
    few_digits,
    growth_words,
    is_proven,
    list_notes,
    mutated_words,
    noun_for,
    suite_words,
    sureness_words,
    tried_in_vain,
    what_would_help,
)
from rpd_core.results.words import few, percent, reached_words

if TYPE_CHECKING:
    from rpd_report.decisions import Listed


def title_of(summary: Summary) -> str:
    """Return what the page is called."""
    return f"{_without_folders(summary.policy_spec)} on {summary.env}"


def _without_folders(spec: str) -> str:
    """Return a spec without the folders of a file in it, which mean nothing to other people."""
    name, colon, value = spec.partition(":")
    return f"{name}:{value.replace(chr(92), '/').rpartition('/')[2]}" if colon else spec


def meaning(policy: Policy, noun: str, default_action: str) -> str:
    """Return what a smallest policy is, for readers who have never met one."""
    return (
        f"In {counted(policy.kept, noun)} it does what the policy does, in all others the "
        f"default action ({default_action}) acts instead."
    )


def in_words(registry: Registry, kind: str, spec: str) -> str:
    """Return a spec with what its plugin says about it, where that is installed."""
    name = spec.partition(":")[0].partition(",")[0]
    named = [one for one in registry.of_kind(kind) if one.component.name == name]
    if not named or not named[0].component.summary:
        return spec
    return f"{spec} – {_begun_small(named[0].component.summary)}"


def _begun_small(text: str) -> str:
    """Return a sentence as it stands inside another; names in capitals keep theirs."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def about(summary: Summary, registry: Registry) -> Iterator[tuple[str, str]]:
    """Yield what was analysed, as names and values."""
    settings = summary.configuration.get("suite", {}).get("settings", {})
    original, suite = summary.original, summary.suite
    default_action = str(settings.get("default_action", "unknown"))
    abstractions = map(str, settings.get("abstraction", ()))
    yield "task", summary.env
    yield "policy", summary.policy_spec
    yield (
        "return of the policy",
        (
            f"{original.return_mean:.4g} (mean of {original.episodes} episodes, standard deviation "
            f"{original.return_std:.3g})"
        ),
    )
    yield "default action", in_words(registry, "default-action", default_action)
    yield "return of the default action", f"{original.default_everywhere:.4g}"
    reference = f"{original.reference:.4g} ({original.reference_source})"
    yield "shares of the return are measured from", reference
    told_apart = (in_words(registry, "abstraction", one) for one in abstractions)
    yield "states told apart by", " + ".join(told_apart)
    yield "an episode passes if", few_digits(summary.condition)
    yield "mutation rate", f"{suite.mutation_rate:g}"
    yield "mutant episodes", f"{suite.episodes} ({suite.steps} steps in {suite.states} states)"
    yield "seed", str(summary.seed)
    yield "list of decisions by", in_words(registry, "measure", summary.list.measure)
    yield "analysis", summary.analysis


def figures(summary: Summary, policy: Policy) -> Iterator[tuple[str, str]]:
    """Yield the figures of the smallest policy, each with what it is."""
    states = counted(summary.suite.states, noun_for(summary))
    yield str(policy.kept), f"of {states} decide ({policy.states:.1%})"
    yield percent(policy.steps), "of the steps are in them"
    yield (
        percent(policy.overrides),
        f"of the steps differ from the default action (whole policy: "
        f"{percent(policy.overrides_whole)})",
    )
    bound = percent(policy.share_bound)
    yield (
        percent(policy.share),
        f"of the return is kept: {few(policy.return_mean)}"
        + ("" if policy.share_bound is None else f"; at least {bound} with 95% confidence"),
    )
    yield (
        percent(policy.pass_rate),
        f"of its episodes pass (whole policy: {percent(policy.pass_rate_whole)})",
    )
    yield few(policy.worst_tenth), "mean return of the worst tenth of its episodes"


def sure(summary: Summary) -> Iterator[str]:
    """Yield how sure the answer is, and what else was tried."""
    yield from filter(
        None,
        (sureness_words(summary), tried_in_vain(summary.policy, full=True), suite_words(summary)),
    )


def baselines(policy: Policy, noun: str) -> Iterator[tuple[str, Baseline | None, str]]:
    """Yield what else would do for the same target: what it is, its figures, what is said else."""
    found = policy.baselines
    yield f"random {noun}s", found.random, "no size reached the target"
    yield f"{noun}s where the default differs most often", found.differ, "not measured, or not met"
    yield (
        f"{noun}s where the policy prefers its action most",
        found.default_gap,
        "not measured, or not met",
    )
    yield (
        "a decision tree that plays alone",
        found.imitation,
        found.imitation_note or "not measured",
    )


# ------------------------------------------------------------------------- one decision


def loss_words(decision: Decision) -> str:
    """Return what is lost without a decision."""
    return f"{'at least ' if decision.at_least else ''}{few(decision.loss)}"


def loss_sentence(decision: Decision) -> str:
    """Return what happens without a decision."""
    before = few(decision.return_without + decision.loss)
    ends = f"{few(decision.return_without_low)} to {few(decision.return_without_high)}"
    losses = f"{few(decision.loss_low)} to {few(decision.loss_high)}"
    needed = "It is needed" if decision.needed else "It is not shown to be needed"
    limit = " Some episodes ran into the limit of steps without it." if decision.at_least else ""
    return (
        f"Without it the return goes from {before} to {few(decision.return_without)} (95%: {ends}),"
        f" a loss of {loss_words(decision)} ({losses}), {percent(decision.share)} of all losses, "
        f"by {counted(decision.twins, 'twin')}. {needed}.{limit}"
    )


def reach_sentence(decision: Decision) -> str:
    """Return how often a decision is met, and by whom."""
    return (
        f"The smallest policy reaches it in {_of_episodes(decision.reached)}, the whole policy in "
        f"{_of_episodes(decision.reached_whole)}; at {decision.overrides:.1%} of all steps the "
        "policy does there what the default action would not."
    )


def _of_episodes(share: float) -> str:
    return "no episode" if share == 0 else f"{reached_words(share)} of its episodes"


# ---------------------------------------------------------------------------- the lists


def decisions_about(summary: Summary) -> str:
    """Return what the decisions are, or that none is proven."""
    rows = summary.decisions
    if not is_proven(summary):
        return (
            "Nothing is proven, so that no decision is listed as important. "
            f"{what_would_help(summary)}"
        )
    return (
        f"{counted(len(rows), 'decision')} of the smallest policy, by what is lost without each of "
        "them alone: a mean over all episodes."
    )


def effects_about(summary: Summary) -> str:
    """Return what the list of a mutated policy is."""
    facts, about = summary.list, mutated_words(summary.suite.mutation_rate)
    if not facts.listed:
        return (
            f"{about} No state has {facts.evidence} episodes in each arm and a default action that "
            "ever differed: more --episodes or a coarser --abstraction would give a list."
        )
    return f"{about} {' '.join(list_notes(facts))}"


def notes_on_effects(summary: Summary) -> Iterator[str]:
    """Yield what a reader of the list of a mutated policy must know."""
    facts, first = summary.list, min(summary.list.listed, 50)
    if facts.listed and facts.reached * 4 < first:
        yield (
            f"Of the first {first}, {facts.reached} are reached by more than 1% of "
            f"{facts.unmutated_episodes} unmutated episodes: the list is about recovery under "
            f"mutation at rate {summary.suite.mutation_rate:g}, not about everyday decisions."
        )
    grown = growth_words(summary.growth)
    if grown:
        yield grown


def table_notes(listed: Listed) -> Iterator[str]:
    """Yield what the table of effects leaves out, and where it is."""
    if listed.note:
        yield f"Only the first {len(listed.rows)} decisions can be shown here: {listed.note}"
    if listed.left_out:
        yield (
            f"{listed.left_out} further decisions are not in this table; all states are ranked in "
            f"RUN/{listed.file}."
        )


def health(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield how far the answer can be trusted, as names and values."""
    rates, suite, coverage = summary.pass_rates, summary.suite, summary.coverage
    yield (
        "mutant episodes that passed",
        (
            f"{rates.suite:.0%} (near half is best; unmutated {rates.original:.0%}, default "
            f"everywhere {rates.default_everywhere:.0%})"
        ),
    )
    yield (
        "states that can be judged one by one",
        (f"{suite.identified} of {suite.states} (at least {suite.enough} episodes in each arm)"),
    )
    pruned = "" if coverage.pruned is None else f"; {coverage.pruned:.1%} of the pruned policy's"
    yield (
        "steps in states that the suite has seen",
        (f"{coverage.original:.1%} of the policy's own{pruned}"),
    )
    stable = summary.stability
    if stable is None and summary.list.listed:
        yield (
            "is the list of effects stable in another half of the episodes?",
            f"not known: scores by {summary.list.measure} are not made from single episodes",
        )
    if stable is not None:
        fifty = f", the first fifty {stable.top50:.0%}" if summary.list.listed > 50 else ""
        yield (
            "is the list of effects stable in another half of the episodes?",
            (
                f"the first ten have {stable.top10:.0%} in common{fifty}; order alike to "
                f"{stable.rank_biased:.0%} (rank-biased overlap)"
            ),
        )
    tied = {name: ties for name, ties in summary.ties.items() if ties.groups}
    mine = tied.get(summary.list.measure)
    if mine is not None:
        yield (
            "states with equal scores in the list's ranking",
            (f"{mine.groups} groups, the largest of {mine.largest}"),
        )


def commands(analysis: str | None) -> list[str]:
    """Return what plays, shows and extends the run again."""
    chosen = f" --analysis {analysis}" if analysis else ""
    return [
        "rpd run --config RUN/run.json --out AGAIN",
        f"rpd show RUN --full{chosen}",
        f"rpd explain RUN 1{chosen}",
        f"rpd report RUN{chosen}",
    ]


def versions(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield who played the run, as names and values."""
    for played in summary.played:
        origin = played.origin
        kind = f"Python {origin.python} on {origin.machine}"
        names = ", ".join(f"{name} {version}" for name, version in origin.distributions.items())
        yield f"played by ({counted(played.parts, 'part')} of the run)", f"{kind}; {names}"
        strangers = {
            component: name
            for component, name in origin.components.items()
            if name != "ranking-policy-decisions"
        }
        if strangers:
            words = (f"{one} from {name or 'no distribution'}" for one, name in strangers.items())
            yield "components of others", ", ".join(words)
