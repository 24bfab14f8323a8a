"""What the page says in words: what was analysed, how far to trust it, how to repeat it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rpd_core.errors import counted
from rpd_core.plugin.registry import Registry
from rpd_core.pruning.records import REFINED, Deletion
from rpd_core.results.records import Policy, Summary
from rpd_core.results.rules import rule_lines
from rpd_core.results.sentences import growth_words, list_notes
from rpd_report.decisions import Listed

_WIDE = 10_000
"""Columns of a line that is never broken."""
OUTCOMES = {"met": "confirmed", "missed": "not confirmed", "undecided": "left open"}
"""What became of a pruned policy on fresh episodes."""
_LONG_NUMBER = re.compile(r"\d+\.\d{7,}")
_DELETED = (0.01, 0.05, 0.2)
"""Shares of the states without which the policy is shown."""


def title_of(summary: Summary) -> str:
    """Return what the page is called."""
    return f"{_without_folders(summary.policy_spec)} on {summary.env}"


def _without_folders(spec: str) -> str:
    """Return a spec without the folders of a file in it, which mean nothing to other people."""
    name, colon, value = spec.partition(":")
    return f"{name}:{value.replace(chr(92), '/').rpartition('/')[2]}" if colon else spec


def meaning(policy: Policy, default_action: str) -> str:
    """Return what a pruned policy is, for readers who have never met one."""
    return (
        f"A pruned policy: in {counted(policy.kept, 'state')} it does what the policy does, in all "
        f"others the default action ({default_action}) acts instead."
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
    yield "an episode passes if", _without_digits(summary.condition)
    yield "mutation rate", f"{suite.mutation_rate:g}"
    yield "mutant episodes", f"{suite.episodes} ({suite.steps} steps in {suite.states} states)"
    yield "seed", str(summary.seed)
    yield "list of decisions by", in_words(registry, "measure", summary.list.measure)
    yield "analysis", summary.analysis


def _without_digits(condition: str) -> str:
    """Return a condition whose bounds have the digits that people read: 12.99...73 is 13."""
    return _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.6g}", condition)


def confirmed(policy: Policy) -> str:
    """Return on what the figures of the pruned policy stand."""
    found_by = "refining" if policy.measure == REFINED else policy.measure
    outcome = OUTCOMES.get(policy.outcome, policy.outcome)
    text = (
        f"{outcome[:1].upper()}{outcome[1:]} on {policy.episodes} fresh episodes that had "
        f"no part in choosing it; found by {found_by}."
    )
    if policy.untrimmed > policy.kept:
        dropped = policy.untrimmed - policy.kept
        text += f" {dropped} states that it never visits were dropped."
    if policy.failed:
        tried = (f"{one.kept} states by {one.measure}" for one in policy.failed)
        text += f" Tried before and not confirmed: {', '.join(tried)}."
    return text


def list_about(summary: Summary) -> str:
    """Return what the list is."""
    facts = summary.list
    if not facts.listed:
        return (
            f"No state has {facts.evidence} episodes in each arm and a default action that ever "
            "differed: more --episodes or a coarser --abstraction would give a list."
        )
    return (
        "In these states it matters most whether the policy or the default action decides. "
        f"{' '.join(list_notes(facts))}"
    )


def notes_on_list(summary: Summary) -> Iterator[str]:
    """Yield what a reader of the list must know."""
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


def rules(summary: Summary) -> list[str]:
    """Return what sums up the decisions that matter."""
    return [line.strip() for line in rule_lines(summary.rules, 20, _WIDE)]


def table_notes(listed: Listed, pictures: str) -> Iterator[str]:
    """Yield what the table leaves out, and where it is."""
    if listed.note:
        yield f"Only the first {len(listed.rows)} decisions can be shown here: {listed.note}"
    if listed.left_out:
        yield (
            f"{listed.left_out} further decisions are not in this table; all states are ranked in "
            f"RUN/{listed.file}."
        )
    if listed.rows and pictures:
        yield pictures


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
            "does the list come back in another half of the episodes?",
            f"not known: scores by {summary.list.measure} are not made from single episodes",
        )
    if stable is not None:
        fifty = f", the first fifty {stable.top50:.0%}" if summary.list.listed > 50 else ""
        yield (
            "does the list come back in another half of the episodes?",
            (
                f"the first ten have {stable.top10:.0%} in common{fifty}; order alike to "
                f"{stable.rank_biased:.0%} (rank-biased overlap)"
            ),
        )
    for name, found in summary.deletion.items():
        words = _without_the_first(found)
        if words:
            yield f"return if only the first states by {name} act by default", words
    tied = {name: ties for name, ties in summary.ties.items() if ties.groups}
    mine = tied.get(summary.list.measure)
    if mine is not None:
        yield (
            "states with equal scores in the list's ranking",
            (f"{mine.groups} groups, the largest of {mine.largest}"),
        )


def _without_the_first(found: Deletion) -> str:
    """Return what is earned without the first states, at a few of the points that were played."""
    points = list(zip(found.states, found.deleted, found.returns, strict=True))
    chosen = {min(points, key=lambda point: abs(point[0] - share)) for share in _DELETED if points}
    shown = sorted(point for point in chosen if point[1])
    return ", ".join(
        f"{total:.4g} without the first {deleted} ({share:.1%})" for share, deleted, total in shown
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
