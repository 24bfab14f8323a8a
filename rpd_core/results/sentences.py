"""What a run found in sentences: for the terminal, the page and notebooks alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rpd_core.errors import counted
from rpd_core.results.words import alike, few, part_of, percent

if TYPE_CHECKING:
    from rpd_core.analysis.records import Stability
    from rpd_core.results.records import (
        Baseline,
        Coverage,
        Decision,
        FrontPoint,
        Growth,
        ListFacts,
        Policy,
        SuiteFacts,
        Summary,
    )

_SHOWN_TRIES = 3
"""Pruned policies that are named of those that were tried in vain."""
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
_OFTEN = 0.8
"""Share of passing episodes below which the whole policy itself fails often."""
_NOISE = 0.05
"""Difference of pass rates below which mutation does nothing that the condition sees."""
_ELSEWHERE = {
    False: "where it acts by default; more --episodes or --unvisited policy may help.",
    True: "where the policy decides as before: judge by the share of steps, not of states; more "
    "--episodes help.",
}
_ALIKE = 0.5
"""Share of different episodes below which many are the same again."""
_CLOSE = 0.01
"""Difference of shares of steps that is not worth a word."""
_DIFFERS = "where the default differs most often"
_PREFERS = "where the policy prefers its action most"
_RULES = ("rules",)
"""Abstractions whose states are rules."""
_AFRESH = ", begun afresh, as the same draws again added noise"


def is_proven(summary: Summary) -> bool:
    """Return whether fresh episodes confirmed a pruned policy for the first target."""
    return summary.policy is not None and summary.policy.met


def noun_for(summary: Summary) -> str:
    """Return what a reader calls a state: a rule where the abstraction makes rules."""
    return noun_of(summary.configuration["suite"]["settings"]["abstraction"])


def noun_of(abstraction: Sequence[str]) -> str:
    """Return the same for an abstraction."""
    names = [str(one).partition(":")[0] for one in abstraction]
    return "rule" if any(one.endswith(_RULES) for one in names) else "state"


def headline(summary: Summary) -> str:
    """Return what the analysis found in three sentences: one policy, all figures its own."""
    fraction, policy = next(iter(summary.policies.items()))
    told = policy_sentences(summary, float(fraction), policy)
    quick = summary.configuration["analysis"].get("quick")  # somebody asked for a first look
    return f"A quick look: {told[0].lower()}{told[1:]}" if quick else told


def policy_sentences(summary: Summary, fraction: float, policy: Policy | None) -> str:
    """Return what was found for one target."""
    if policy is None or not policy.met:
        return _not_proven(summary, fraction, policy)
    passes = (
        f"{percent(policy.pass_rate)} of its episodes pass {few_digits(summary.condition)} (whole "
        f"policy {percent(policy.pass_rate_whole)}); the worst tenth return "
        f"{few(policy.worst_tenth)}."
    )
    if policy.kept == 0 and not _policy_decides_elsewhere(summary):
        kept = f"{percent(policy.share)} of the return ({_at_least(policy, policy.share_bound)})"
        return (
            f"The default action alone keeps {kept}: no decision of the policy is needed. {passes}"
        )
    return f"{_enough(summary, fraction, policy)} {_work(policy)} {passes}"


def _enough(summary: Summary, fraction: float, policy: Policy) -> str:
    """Return how few states are enough, and for what."""
    noun, fixed = noun_for(summary), "with one fixed action"
    also = " and all that the suite never saw" * _policy_decides_elsewhere(summary)
    few_states = (
        f"{policy.kept} of {counted(summary.suite.states, noun)} ({part_of(policy.states)})"
    )
    kept, alone = f"({_at_least(policy, policy.share_bound)}", policy.rules_alone
    bound = policy.rules_alone_bound
    if alone is not None and bound is not None and bound >= _to_meet(fraction, policy):
        told = f"are enough, even without the network: {fixed} each they keep"
        if policy.kept == 1:
            told = f"is enough, even without the network: {fixed} it keeps"
        return (
            f"{few_states} {told} {percent(alone)} of the return "
            f"({_at_least(policy, bound)}), with the policy deciding "
            f"there{' and elsewhere' * bool(also)} {percent(policy.share)} {kept})."
        )
    enough = f"{few_states}{also} {'is' if policy.kept == 1 and not also else 'are'} enough"
    if alone is not None:
        told = "as rules alone" if noun == "rule" else f"{fixed} each"
        kept += f"; {told}, without the network, {percent(alone)}"
    share = f"{percent(policy.share)} of the return"
    return f"{enough}: deciding only there, the policy keeps {share} {kept})."


def _to_meet(fraction: float, policy: Policy) -> float:
    """Return the bound that rules alone must have: the target, or that of the confirmed policy."""
    return fraction if policy.share_bound is None else min(fraction, policy.share_bound)


def _work(policy: Policy) -> str:
    """Return how often the policy decides, and how often that changes anything."""
    if policy.steps > _ALL:
        return (
            "That spares nothing: it decides at all steps and overrides the default action at "
            f"{percent(policy.overrides)} (whole policy {percent(policy.overrides_whole)})."
        )
    return (
        f"It decides {percent(policy.steps)} of the steps and overrides the default action at "
        f"{percent(policy.overrides)} (whole policy {percent(policy.overrides_whole)})."
    )


def _at_least(policy: Policy, bound: float | None) -> str:
    sure = f"{percent(policy.confidence)} sure"
    return "no lower bound" if bound is None else f"at least {percent(bound)}, {sure}"


def _not_proven(summary: Summary, fraction: float, policy: Policy | None) -> str:
    wanted = f"{percent(fraction)} of the return"
    if policy is None:
        return (
            f"Nothing proven yet: in the sweep, no pruned policy kept {wanted}, not even one that "
            "decides in every state that the suite saw."
        )
    tried = "the one pruned policy" if policy.tries == 1 else f"none of {policy.tries}"
    was = "was not confirmed" if policy.tries == 1 else "pruned policies was confirmed"
    of_all = f"{policy.kept} of {counted(summary.suite.states, noun_for(summary))}"
    nearest = (
        f"The nearest decides in {of_all}, {percent(policy.steps)} of the steps, and kept "
        f"{percent(policy.share)} ({_at_least(policy, policy.share_bound)})."
    )
    return f"Nothing proven yet: {tried} {was} to keep {wanted} on fresh episodes. {nearest}"


def front_sentences(summary: Summary, point: FrontPoint) -> str:
    """Return what a policy did that minimising went through, and what fresh episodes said of it."""
    of_all = f"{point.decisions} of {counted(summary.suite.states, noun_for(summary))}"
    return (
        f"Deciding in {of_all} ({part_of(point.states)}), the policy kept {percent(point.share)} "
        f"of the return in {counted(point.episodes, 'episode')}. It decided {percent(point.steps)} "
        f"of the steps and overrode the default action at {percent(point.overrides)}. "
        f"{_judged(summary.policy, point)}"
    )


def _judged(policy: Policy | None, point: FrontPoint) -> str:
    """Return what fresh episodes said of a policy of this size, if they were asked."""
    if policy is None:
        return "This is an estimate."
    answer = (policy.kept, policy.outcome, policy.share, policy.episodes)
    tried = [(one.kept, one.outcome, one.share, one.episodes) for one in policy.failed]
    for kept, outcome, share, episodes in (answer, *tried):
        if kept == point.decisions:
            found = f"kept {percent(share)} in {counted(episodes, 'fresh episode')}"
            if outcome == "met":
                return f"It is the confirmed answer: it {found}."
            return f"It is not confirmed ({outcome}): it {found}."
    own = f"the policy that they confirmed has {counted(policy.kept, 'decision')}"
    return f"This is an estimate without fresh episodes{f'; {own}' * policy.met}."


def what_would_help(summary: Summary) -> str:
    """Return what to try where nothing is proven."""
    settings = summary.configuration["suite"]["settings"]
    ways = [
        f"more --episodes (now {summary.suite.episodes})",
        f"a coarser --abstraction (now {' + '.join(settings['abstraction'])})",
        f"another --default-action (now {settings['default_action']})",
    ]
    if not _policy_decides_elsewhere(summary):
        ways.append("--unvisited policy")
    return f"What would help: {', '.join(ways[:-1])} or {ways[-1]}."


def tried_in_vain(policy: Policy | None, full: bool = False) -> str:
    """Return which pruned policies fresh episodes did not confirm; empty: none."""
    if policy is None or not policy.failed:
        return ""
    most = len(policy.failed) if full else _SHOWN_TRIES
    shown = []
    for one in policy.failed[:most]:
        by, played = f" by {one.measure}", f" in {counted(one.episodes, 'episode')}: {one.outcome}"
        kept = f"(kept {percent(one.share)} of the return{played * full})"
        shown.append(f"{counted(one.kept, 'decision')}{by * full} {kept}")
    more = len(policy.failed) - len(shown)
    told = "; ".join([*shown, *([f"{more} more"] if more else [])])
    return f"{'Tried' if policy.met else 'Also tried'} without success: {told}."


def baseline_words(summary: Summary, full: bool = True) -> str:
    """Return what else would do for the same target, and whether that is simpler."""
    policy = summary.policy
    if policy is None or not policy.met:
        return ""
    found, nouns = policy.baselines, f"{noun_for(summary)}s"
    ways = [(f"random {nouns}", found.random), (f"{nouns} {_DIFFERS}", found.differ)]
    if found.default_gap is not None:
        ways.append((f"{nouns} {_PREFERS}", found.default_gap))
    told: list[str] = []
    for what, one in ways:
        first, fewer = full or not told, one is not None and _fewer_steps(one, policy)
        words = _baseline(one, what if first else what.removeprefix(f"{nouns} "), full, first)
        told.append(words + " (unconfirmed)" * (fewer and not full))
    tree = found.imitation
    if tree is not None:
        leaves = counted(tree.decisions, "leaf", "leaves")
        words = f"a decision tree of {leaves} that plays alone (keeps {percent(tree.share)})"
        words = words if full else f"one {tree.decisions}-leaf tree alone"
        simpler = ", the simpler explanation" if full else " (simpler)"
        told.append(f"{words}{simpler * (tree.decisions < policy.kept)}")
    rest = fewer_steps_words(policy) if full else ""
    return f"Also enough: {'; '.join(told)}. {rest}".rstrip()


def fewer_steps_words(policy: Policy) -> str:
    """Return which rankings alone came to fewer steps than the answer; empty: none did."""
    found = policy.baselines
    fewer = [
        f"{words} ({percent(one.steps)})"
        for words, one in ((_DIFFERS, found.differ), (_PREFERS, found.default_gap))
        if one is not None and _fewer_steps(one, policy)
    ]
    if not fewer:
        return ""
    return (
        f"Deciding {' or '.join(fewer)} takes fewer steps than the answer ({percent(policy.steps)}"
        "), by estimates of the sweep that no fresh episodes confirmed."
    )


def _fewer_steps(one: Baseline, policy: Policy) -> bool:
    return one.steps is not None and one.steps < policy.steps - _CLOSE


def _baseline(one: Baseline | None, what: str, full: bool, first: bool) -> str:
    if one is None:
        return f"no number of {what}"
    what = re.sub(r"(state|rule)s\b", r"\1", what) if one.decisions == 1 else what
    steps = "" if one.steps is None else f", {percent(one.steps)}{' of the steps' * first}"
    overrides = "" if one.overrides is None else f" (overrides {percent(one.overrides)})"
    return f"{one.decisions} {what}{steps}{overrides * full}"


def other_targets(summary: Summary) -> str:
    """Return what was found for each further target."""
    noun, told = noun_for(summary), []
    for fraction, policy in list(summary.policies.items())[1:]:
        found = "nothing is proven"
        if policy is not None and policy.met:
            steps = f"{percent(policy.steps)} of the steps"
            found = f"{counted(policy.kept, noun)}, {steps}, keep {percent(policy.share)}"
            if policy.kept and policy.minimising is not None and not policy.minimising.settled:
                found += "; fewer may do"
        told.append(f"For {percent(float(fraction))} of the return: {found}.")
    return " ".join(told)


def suite_words(summary: Summary, full: bool = True) -> str:
    """Return what the mutant episodes and the paper's portfolio gave: its two minima."""
    suite, noun = summary.suite, noun_for(summary)
    played = counted(suite.episodes, "mutant episode")
    if full:
        rate, passed = f"{suite.mutation_rate:g}", percent(summary.pass_rates.suite)
        played += f" at rate {rate}, {passed} passed {few_digits(summary.condition)}"
    found = next(iter(summary.thresholds.values()))["portfolio"]
    if found is None:
        return f"By ranking alone, as in the paper ({played}), no pruned policy keeps as much."
    states, steps = found.fewest_states, found.fewest_steps
    one, other = percent(states.steps), percent(steps.steps)
    if not full:
        told = f"Ranking alone, as in the paper: {counted(states.kept, noun)}, {one} of the steps"
        return f"{told}{f', or {steps.kept}, {other}' * (states != steps)} ({played})."
    fewest = f"{counted(states.kept, noun)} ({part_of(states.states)}, {one} of the steps)"
    told = f"By ranking alone, as in the paper ({played}), the sweep takes"
    if states == steps:
        return f"{told} {fewest}."
    other = f"{other} of the steps ({counted(steps.kept, noun)})"
    return f"{told} {fewest} for the fewest {noun}s, {other} for the fewest steps."


def sureness_words(summary: Summary, full: bool = True) -> str:
    """Return how sure the answer is: fresh episodes, tries, twins, and what was not ruled out."""
    policy, decisions = summary.policy, summary.decisions
    if policy is None or not policy.met:
        return ""
    tries = f", after {policy.tries} tries" if policy.tries > 1 else ", at the first try" * full
    told = [f"Confirmed on {counted(policy.episodes, 'fresh episode')}{tries}."]
    if policy.distinct < _ALIKE * policy.episodes:
        told.append(
            "All of them are the same: it holds for this one beginning."
            if policy.distinct == 1
            else f"Only {policy.distinct} of them differ: it holds for these beginnings."
        )
    if decisions:
        needed = sum(one.needed for one in decisions)
        pairs = policy.minimising is None or policy.minimising.paired
        twins = sum(one.twins for one in decisions)
        sure = summary.configuration["analysis"].get("confidence", policy.confidence)
        falsely = f" (at most {percent(1 - sure)} of these falsely)"
        by = f", by {counted(twins, 'twin')} on episodes that chose nothing"
        told.append(
            f"{needed} of {counted(len(decisions), 'decision')} {'is' if needed == 1 else 'are'} "
            f"shown to be needed{f'{falsely}{by}' * full}{'' if pairs or not full else _AFRESH}."
        )
    if policy.minimising is not None and decisions:
        told.append(
            "Without any one of them it is estimated to miss the target."
            if policy.minimising.settled
            else "A smaller policy may do."
        )
    return " ".join(told)


def recurrence_words(policy: Policy | None) -> str:
    """Return how much of the first decisions by loss two halves of the episodes share."""
    if policy is None or policy.minimising is None or policy.minimising.recurring is None:
        return ""
    halves = percent(policy.minimising.recurring)
    return f"Two halves of the episodes have {halves} of the first ten decisions in common."


def growth_words(growth: Growth | None) -> str:
    """Return on how many episodes decisions were weighed, and whether that was enough."""
    if growth is None:
        return ""
    sizes = ", ".join(map(str, growth.looks))
    looks = f"{len(growth.looks)} looks" if len(growth.looks) > 1 else "one look"
    taken = f"after {looks} (at {sizes} episodes)"
    if growth.stable:
        return f"Settled {taken}: each of the first {growth.top} decisions is needed or harmless."
    many = len(growth.open_ranks) > 1
    ranks = f"{'ranks' if many else 'rank'} {', '.join(map(str, growth.open_ranks))}"
    return (
        f"Not settled {taken}: {ranks} of the first {growth.top} decisions "
        f"{'are' if many else 'is'} open; raise --max-episodes."
    )


def mutated_words(mutation_rate: float) -> str:
    """Return what the list of `rpd rank` is about: not the policy as it is."""
    return (
        f"Effects in a policy that acts by default in {percent(mutation_rate)} of its states, at "
        "random: how often it fails if a state is one of them (mutated), and if it is not (kept)."
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
    if facts.listed and verdicts.get("undecided") == facts.listed:
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
    """Return whether a list is stable, and what would help where it is not."""
    if stability is None:
        return (
            f"Is the list stable? That cannot be told of {facts.measure}: its scores are not made "
            "from single episodes."
        )
    shares = f"the first ten have {percent(stability.top10)}"
    if facts.listed > 50:
        shares += f", the first fifty {percent(stability.top50)}"
    text = f"Is the list stable? In random halves of the suite {shares} in common."
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
    whole = whole_pass_rate(summary)
    return [*found, *on_condition(summary.condition, whole, summary.pass_rates.suite)]


def whole_pass_rate(summary: Summary) -> float:
    """Return how many episodes of the whole policy pass: of the fresh ones, where there are any."""
    policy = summary.policy
    return summary.pass_rates.original if policy is None else policy.pass_rate_whole


def on_condition(condition: str, whole: float, mutated: float) -> list[str]:
    """Return advice on a condition, given how many of either kind of episodes pass it."""
    passes = f"the whole policy passes {few_digits(condition)} in {percent(whole)} of its"
    rest = "pass rates and rpd rank tell little, returns and losses are not touched; try another "
    if abs(whole - mutated) < _NOISE:
        return [f"{passes} episodes, its mutants in {percent(mutated)}: {rest}--condition."]
    if whole < _OFTEN:
        return [f"{passes} episodes only: {rest}--condition."]
    return []


def _policy_decides_elsewhere(summary: Summary) -> bool:
    """Return whether the policy decides in states that the suite never saw; rules cover all."""
    elsewhere = summary.configuration["analysis"].get("unvisited") == "policy"
    return bool(elsewhere and noun_for(summary) != "rule")


def advice(suite: SuiteFacts, coverage: Coverage, elsewhere: bool) -> list[str]:
    """Return what would help; `elsewhere`: the policy decides where the suite never was."""
    if suite.states == 1:
        return fineness(suite)
    found = []
    if coverage.original < LOW_COVERAGE:
        remedy = " or more --episodes" if elsewhere else ", more --episodes or --unvisited policy"
        found.append(
            f"{percent(coverage.original)} of the policy's steps fall in ranked states, so that "
            "pruning also tests what happens in states without a rank; try a coarser --abstraction"
            f"{remedy}."
        )
    low = coverage.pruned is not None and coverage.pruned < LOW_COVERAGE
    if low and coverage.pruned is not None and (elsewhere or not found):
        found.append(
            f"the pruned policy spends {percent(1 - coverage.pruned)} of its steps in states that "
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


def with_and_without(decision: Decision) -> tuple[str, str]:
    """Return the mean returns with a decision and without it, in as many digits as each other."""
    before, after = alike(decision.return_without + decision.loss, decision.return_without)
    return before, f"{after}{' or less' * decision.at_least}"


def without_words(decision: Decision) -> str:
    """Return the mean return without a decision, with its 95 % interval."""
    low, high = few(decision.return_without_low), few(decision.return_without_high)
    return f"{few(decision.return_without)} ({low} to {high})"
