"""What the page says in words: what was analysed, how far to trust it, how to repeat it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rpd_core.errors import counted
from rpd_core.plugin.protocols import Card
from rpd_core.plugin.registry import Registry
from rpd_core.results.records import Baseline, Decision, Policy, Summary
from rpd_core.results.sentences import (
    few_digits,
    growth_words,
    headline,
    is_proven,
    list_notes,
    mutated_words,
    noun_for,
    what_would_help,
    whole_pass_rate,
    with_and_without,
)
from rpd_core.results.words import few, part_of, percent, reached_words, without_folders

if TYPE_CHECKING:
    from rpd_pictures.timeline import Steps
    from rpd_report.decisions import Listed


def title_of(summary: Summary) -> str:
    """Return what the page is called."""
    return f"{without_folders(summary.policy_spec)} on {summary.env}"


def kicker(summary: Summary, registry: Registry) -> str:
    """Return task, policy and default action, in small print."""
    settings = summary.configuration.get("suite", {}).get("settings", {})
    default = str(settings.get("default_action", "unknown"))
    summary_of = summary_words(registry, "default-action", default)
    told = f"“{_begun_small(summary_of)}”" if summary_of else default
    return f"{summary.env} · {without_folders(summary.policy_spec)} · compared with {told}"


def title(summary: Summary, steps: Steps | None) -> str:
    """Return the sentence that the page begins with."""
    policy = summary.policy
    if policy is None or not policy.met:
        return "No smaller policy is proven yet."
    if policy.kept == 0 and not policy.overrides:
        return "The default action alone is enough."
    if steps is None:
        return f"{percent(policy.overrides)} of the steps decide."
    of_steps = f"{steps.deciding} of {steps.length} steps"
    if noun_for(summary) == "rule":
        rules = f"{small_number(policy.kept)} {'rule' if policy.kept == 1 else 'rules'}"
        decide = "decides" if policy.kept == 1 else "decide"
        return f"{rules[0].upper()}{rules[1:]} {decide} a typical episode, at {of_steps}."
    return f"{of_steps} decide a typical episode."


_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def small_number(count: int) -> str:
    """Return a number as a word where it is small."""
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def lead(summary: Summary, cards: Sequence[Card]) -> Iterator[str]:
    """Yield what follows it: how much is kept, how sure that is, and where most would be lost."""
    yield _KEPT.sub(r"**\g<0>**", headline(summary), count=1)
    if cards and summary.decisions:
        known = {row.key: row for row in summary.decisions}
        card = max(cards, key=lambda one: max(known[key].loss for key in one.keys))
        worst = max((known[key] for key in card.keys), key=lambda row: row.loss)
        title = card.title.partition("  [")[0]
        before, after = with_and_without(worst)
        yield (
            f"Most is lost here: {title}. If the default acts {_there(card)}, the return "
            f"falls from {before} to {after}."
        )


def _there(card: Card) -> str:
    return "there" if len(card.keys) == 1 else "in the one of these decisions that is worth most"


_KEPT = re.compile(r"\d+% of the return")
"""What is read first in the answer."""


def summary_words(registry: Registry, kind: str, spec: str) -> str:
    """Return what the plugin of a spec says about it, where that is installed."""
    name = spec.partition(":")[0].partition(",")[0]
    named = [one for one in registry.of_kind(kind) if one.component.name == name]
    return named[0].component.summary if named else ""


def in_words(registry: Registry, kind: str, spec: str) -> str:
    """Return a spec with what its plugin says about it, where that is installed."""
    told = summary_words(registry, kind, spec)
    return f"{spec} – {_begun_small(told)}" if told else spec


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
    yield "policy", without_folders(summary.policy_spec)
    yield (
        "return of the policy",
        (
            f"{few(original.return_mean)} (mean of {original.episodes} episodes, standard "
            f"deviation {few(original.return_std)})"
        ),
    )
    yield "default action", in_words(registry, "default-action", default_action)
    yield "return of the default action", few(original.default_everywhere)
    reference = f"{few(original.reference)} ({original.reference_source})"
    yield "shares of the return are measured from", reference
    told_apart = (in_words(registry, "abstraction", one) for one in abstractions)
    yield "states told apart by", " + ".join(told_apart)
    yield "an episode passes if", few_digits(summary.condition)
    yield "mutation rate", f"{suite.mutation_rate:g}"
    yield "mutant episodes", f"{suite.episodes} ({suite.steps} steps in {suite.states} states)"
    yield "seed", str(summary.seed)
    yield "list of decisions by", in_words(registry, "measure", summary.list.measure)


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


def scale(summary: Summary) -> str:
    """Return what shares of the return are measured between."""
    original = summary.original
    return (
        f"Of the return, 0% is {few(original.reference)} ({original.reference_source}) and 100% is "
        f"{few(original.return_mean)}, the whole policy's."
    )


# ------------------------------------------------------------------------- one decision


def loss_words(decision: Decision) -> str:
    """Return what is lost without a decision."""
    return f"{'at least ' if decision.at_least else ''}{few(decision.loss)}"


def loss_sentence(decision: Decision) -> str:
    """Return what happens without a decision."""
    before, after = with_and_without(decision)
    ends = f"{few(decision.return_without_low)} to {few(decision.return_without_high)}"
    losses = f"{few(decision.loss_low)} to {few(decision.loss_high)}"
    needed = "It is needed" if decision.needed else "It is not shown to be needed"
    limit = " Some episodes ran into the limit of steps without it." if decision.at_least else ""
    return (
        f"Without it the return goes from {before} to {after} (95%: {ends}),"
        f" a loss of {loss_words(decision)} ({losses}), {percent(decision.share)} of all losses, "
        f"by {counted(decision.twins, 'twin')}. {needed}.{limit}"
    )


def reach_sentence(decision: Decision) -> str:
    """Return how often a decision is met, and by whom."""
    return (
        f"The smallest policy reaches it in {_of_episodes(decision.reached)}, the whole policy in "
        f"{_of_episodes(decision.reached_whole)}; at {part_of(decision.overrides)} of all steps "
        "the policy does there what the default action would not."
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
            f"{percent(rates.suite)} (near half is best; unmutated "
            f"{percent(whole_pass_rate(summary))}, default everywhere "
            f"{percent(rates.default_everywhere)})"
        ),
    )
    yield (
        "states that can be judged one by one",
        (f"{suite.identified} of {suite.states} (at least {suite.enough} episodes in each arm)"),
    )
    pruned = (
        "" if coverage.pruned is None else f"; {percent(coverage.pruned)} of the pruned policy's"
    )
    yield (
        "steps in states that the suite has seen",
        (f"{percent(coverage.original)} of the policy's own{pruned}"),
    )
    stable = summary.stability
    if stable is None and summary.list.listed:
        yield (
            "Is the list stable?",
            f"not known: scores by {summary.list.measure} are not made from single episodes",
        )
    if stable is not None:
        fifty = f", the first fifty {percent(stable.top50)}" if summary.list.listed > 50 else ""
        yield (
            "Is the list stable?",
            (
                f"in random halves of the suite the first ten have {percent(stable.top10)} in "
                f"common{fifty}; order alike to {percent(stable.rank_biased)} (rank-biased overlap)"
            ),
        )
    tied = {name: ties for name, ties in summary.ties.items() if ties.groups}
    mine = tied.get(summary.list.measure)
    if mine is not None:
        yield (
            "states with equal scores in the list's ranking",
            (f"{mine.groups} groups, the largest of {mine.largest}"),
        )


def commands() -> list[str]:
    """Return what plays, shows and extends the run again."""
    return [
        "rpd run --config RUN/run.json --out AGAIN",
        "rpd show RUN --full",
        "rpd explain RUN 1",
        "rpd report RUN",
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
