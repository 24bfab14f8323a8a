"""What a run found in sentences: for the terminal, the page and notebooks alike."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rpd_core.errors import counted

if TYPE_CHECKING:
    from rpd_core.analysis.records import Stability
    from rpd_core.results.records import (
        Coverage,
        Growth,
        ListFacts,
        Policy,
        SuiteFacts,
        Summary,
        Threshold,
    )

_FAILURES = 3
"""Failed confirmations that the headline names."""
_ALL = 0.995
"""Share of steps from which on a pruned policy is the whole one."""
_SHAKY = 0.3
"""Overlap of the first ten below which a list is not to be relied on."""
_VERDICT_WORDS = {
    "matters": ("matters", "matter"),
    "default-better": ("does better by default", "do better by default"),
    "harmless": ("is harmless", "are harmless"),
    "undecided": ("is undecided", "are undecided"),
}
LOW_COVERAGE = 0.9
LOW_IDENTIFIED = 0.02
_LONG_NUMBER = re.compile(r"\b\d+\.\d{5,}(?:e[+-]?\d+)?")
_HARDLY = 0.2
"""Share of passing episodes below which a policy is hardly judged by its condition."""
_ELSEWHERE = {
    False: "where it acts by default; more --episodes or --unvisited policy may help.",
    True: "where the policy decides as before: judge by the share of steps, not of states; more "
    "--episodes help.",
}


def growth_words(growth: Growth | None) -> str:
    """Return how far a suite grew, and whether that was enough."""
    if growth is None:
        return ""
    sizes = ", ".join(map(str, growth.looks))
    looks = f"{len(growth.looks)} looks" if len(growth.looks) > 1 else "one look"
    taken = f"after {looks} (at {sizes} episodes)"
    if growth.stable:
        return f"Stable {taken}: each of the first {growth.top} has a verdict."
    many = len(growth.open_ranks) > 1
    ranks = f"{'ranks' if many else 'rank'} {', '.join(map(str, growth.open_ranks))}"
    have = "have" if many else "has"
    reached = growth.looks[-1] >= growth.max_episodes
    remedy = "raise --max-episodes" if reached else "rpd run --until stable would go on"
    return f"Not stable {taken}: {ranks} of the first {growth.top} {have} no verdict; {remedy}."


def headline(summary: Summary, failures: bool = True) -> str:
    """Return what the analysis found in a sentence or two: one policy, all figures its own.

    With `failures`, those that were tried before and not confirmed come first.
    """
    fraction, policy = next(iter(summary.policies.items()))
    wanted = f"{float(fraction):.0%} of the return"
    chance = summary.thresholds[fraction]["random"]
    if policy is None:
        return (
            f"No pruned policy keeps {wanted}: too many of its steps fall in states that the suite "
            "never saw. Try a coarser --abstraction, more --episodes or --unvisited policy."
        )
    before = _failures(policy) if failures else ""
    found = f"{before}{_policy_sentence(summary, policy, wanted)}"
    alone = policy.kept == 0 and policy.met
    return found if alone or _is_whole(policy) else f"{found} {_compared(chance)}"


def _is_whole(policy: Policy) -> bool:
    """Return whether what was confirmed is the policy as it is."""
    return policy.met and policy.steps > _ALL


def _failures(policy: Policy) -> str:
    if not policy.failed:
        return ""
    shown = [f"{one.kept} by {one.measure} ({one.outcome})" for one in policy.failed[:_FAILURES]]
    more = len(policy.failed) - len(shown)
    tried = ", ".join(shown) + (f" and {more} more" if more else "")
    return f"Not confirmed on fresh episodes: {tried}. "


def _policy_sentence(summary: Summary, policy: Policy, wanted: str) -> str:
    elsewhere = " and in all that the suite never saw" * _policy_decides_elsewhere(summary)
    kept = f"{policy.share:.0%} of the return ({_range(policy)}{policy.episodes} fresh episodes)"
    states = "state" if policy.kept == 1 else "states"
    if policy.kept == 0 and policy.met:
        return f"The default action alone keeps {kept}: that is the finding."
    decides = (
        f"in {policy.kept} {states} ({policy.states:.1%}){elsewhere}, {policy.steps:.0%} of the "
        f"steps, {_found_by(summary, policy)}"
    )
    if _is_whole(policy):
        return (
            f"Nothing smaller than the policy as it is was confirmed to keep {wanted}; more "
            "--episodes or --test-episodes may help."
        )
    if policy.met:
        return f"The policy decides {decides}, and keeps {kept}."
    if policy.outcome == "undecided":
        return f"Whether {wanted} is kept is open: deciding {decides}, the policy kept {kept}."
    return f"No pruned policy was confirmed to keep {wanted}: deciding {decides}, it kept {kept}."


def _found_by(summary: Summary, policy: Policy) -> str:
    return f"by {policy.measure}"


def _range(policy: Policy) -> str:
    low, high = policy.share_low, policy.share_high
    return "" if low is None or high is None else f"{100 * low:.0f} to {100 * high:.0f}, "


def _compared(chance: Threshold | None) -> str:
    if chance is None:
        return "Random choice of states never reaches it."
    point = chance.fewest_states
    return (
        f"Random choice needs {point.states:.0%} of the states and {point.steps:.0%} of the steps."
    )


def list_notes(facts: ListFacts) -> list[str]:
    """Return what a reader of the list must know, a sentence each."""
    notes = []
    verdicts = facts.verdicts
    counts = [
        f"{verdicts[name]} {words[verdicts[name] > 1]}"
        for name, words in _VERDICT_WORDS.items()
        if verdicts.get(name)
    ]  # fmt: skip
    if facts.listed:
        notes.append(f"Of {counted(facts.listed, 'decision')} with evidence, {', '.join(counts)}.")
    if facts.listed and not verdicts.get("matters"):
        notes.append("No decision can be told from chance: none is known to matter.")
    aside = []
    if facts.too_few:
        aside.append(
            f"{facts.too_few} with fewer than {counted(facts.evidence, 'episode')} in an arm"
        )
    if facts.never_differed:
        aside.append(f"{facts.never_differed} where the default action never differed")
    if aside:
        notes.append(f"Set aside: {', '.join(aside)}.")
    if facts.listed and facts.note:
        notes.append(facts.note)
    return notes


def stability_words(stability: Stability | None, facts: ListFacts) -> str:
    """Return whether a list comes back, and what would help where it does not."""
    if stability is None:
        return (
            f"Does it come back? That cannot be told of {facts.measure}: its scores are not made "
            "from single episodes."
        )
    shares = f"the first ten have {stability.top10:.0%}"
    if facts.listed > 50:
        shares += f", the first fifty {stability.top50:.0%}"
    text = f"Does it come back? In random halves of the suite {shares} in common."
    if stability.top10 < _SHAKY:
        text += " Do not rely on single rows: more --episodes, a coarser --abstraction or another "
        text += "--mutation-rate would help."
    return text


def few_digits(condition: str) -> str:
    """Return a condition with its numbers in as many digits as anybody reads."""
    return _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.5g}", condition)


def advice_on(summary: Summary) -> list[str]:
    """Return what would make the answer better."""
    found = advice(summary.suite, summary.coverage, _policy_decides_elsewhere(summary))
    passed = summary.pass_rates.original
    if passed < _HARDLY:
        found.append(
            f"the unmutated policy passes in {passed:.0%} of its episodes, so that there is little "
            "to lose; try --condition auto."
        )
    return found


def _policy_decides_elsewhere(summary: Summary) -> bool:
    """Return whether the policy decides in states that the suite never saw."""
    return bool(summary.configuration["analysis"].get("unvisited") == "policy")


def advice(suite: SuiteFacts, coverage: Coverage, elsewhere: bool) -> list[str]:
    """Return what would help; `elsewhere`: the policy decides where the suite never was."""
    if suite.states == 1:
        return fineness(suite)
    found = []
    if coverage.original < LOW_COVERAGE:
        remedy = " or more --episodes" if elsewhere else ", more --episodes or --unvisited policy"
        found.append(
            f"{coverage.original:.0%} of the policy's steps fall in ranked states, so that pruning "
            "also tests what happens in states without a rank; try a coarser --abstraction"
            f"{remedy}."
        )
    low = coverage.pruned is not None and coverage.pruned < LOW_COVERAGE
    if low and coverage.pruned is not None and (elsewhere or not found):
        found.append(
            f"the pruned policy spends {1 - coverage.pruned:.0%} of its steps in states that "
            f"the suite never saw, {_ELSEWHERE[elsewhere]}"
        )
    return found + fineness(suite)


def fineness(suite: SuiteFacts) -> list[str]:
    """Return advice where the abstraction is too coarse or too fine for this many episodes."""
    if suite.states == 1:
        return ["everything is one state, so there is nothing to rank: try a finer --abstraction."]
    if suite.identified >= LOW_IDENTIFIED * suite.states:
        return []
    few = f"only {suite.identified}" if suite.identified else "none"
    return [
        f"{few} of {suite.states} states were seen often enough to be judged one by one (a state "
        f"is visited {suite.steps / suite.states:.1f} times on average); a coarser --abstraction "
        "or more --episodes would help."
    ]
