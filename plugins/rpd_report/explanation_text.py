"""What is known about one decision, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.cli.text import say, widths_of
from rpd_core.results.sentences import few_digits
from rpd_core.results.words import few, percent, shortened_states, signed
from rpd_report.sentences import loss_sentence, loss_words, reach_sentence

if TYPE_CHECKING:
    from rpd_report.explanation import Explanation

_VERDICTS = {
    "matters": "It matters: mutants that act by default here fail more often.",
    "default-better": "Mutants that act by default here fail less often.",
    "harmless": "Harmless: the effect is too small to mind.",
    "undecided": "Undecided: the effect cannot be told from chance yet.",
}

_BETWEEN = 2
"""Characters between two columns."""
_RULE = 20
"""Lines of a state: no condition of a rule is left out."""


def print_explanation(console: Console, found: Explanation) -> None:
    """Print everything known about one decision: in the smallest policy, then among mutants."""
    say(console, _place(found), style="bold")
    say(console, f"key {found.key:016x}")
    for sentence in (*_worth(found), *_other_targets(found)):
        say(console, sentence)
    _print_neighbours(console, found)
    console.print()
    rate = f"{found.mutation_rate:g}"
    say(console, f"In a policy that is mutated at rate {rate}, by {found.episodes} mutants:",
        style="bold")  # fmt: skip
    say(console, _rank(found))
    _print_effect(console, found)
    for sentence in (_done(found), _inside(found), _reached(found), _first_seen(found)):
        say(console, sentence)
    _print_measures(console, found)
    _print_examples(console, found)


def _place(found: Explanation) -> str:
    policy = f"the smallest policy for {percent(found.target)} of the return"
    if found.decision is not None:
        return f"Decision {found.decision.rank} of {found.decisions} of {policy}: {found.state}"
    if found.decisions:
        return f"Not in {policy}, which acts by default here: {found.state}"
    return f"No smallest policy is confirmed, so that no loss is known: {found.state}"


def _worth(found: Explanation) -> Iterator[str]:
    """Yield what the decision is worth in the smallest policy."""
    if found.decision is not None:
        yield f"Policy: {found.decision.policy_action}. Default: {found.decision.default_action}."
        yield loss_sentence(found.decision)
        yield reach_sentence(found.decision)


def _other_targets(found: Explanation) -> Iterator[str]:
    for target, kept in list(found.kept.items())[1:]:
        who = "policy decides" if kept else "default acts"
        yield f"In the smallest policy for {percent(float(target))} of the return the {who} here."


def _rank(found: Explanation) -> str:
    effect = found.effect
    if not effect.rank:
        why = f"{found.measure} ({found.set_aside})"
        return f"Not in the list by {why}; passed: {few_digits(found.condition)}."
    ranks = ""
    if effect.rank_low is not None:
        ranks = f" ({effect.rank_low} to {effect.rank_high} in 90% of resampled suites)"
    return (
        f"Number {effect.rank}{ranks} of {found.listed} by {found.measure}; passed means "
        f"{few_digits(found.condition)}."
    )


def _table(title: str, left: Sequence[str], right: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False,
                  padding=(0, _BETWEEN, 0, 0))  # fmt: skip
    for heading in left:
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    for heading in right:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _print_effect(console: Console, found: Explanation) -> None:
    decision, cells = found.effect, found.cells
    table = _table("", ("episodes in which it was",), ("failed", "passed", "risk"))
    rows = (
        ("mutated", cells.mutated_failed, cells.mutated_passed, decision.risk_mutated),
        ("kept", cells.kept_failed, cells.kept_passed, decision.risk_kept),
    )
    for arm, failed, passed, risk in rows:
        shown = "" if risk is None else percent(risk)
        table.add_row(arm, f"{failed:.6g}", f"{passed:.6g}", shown)
    console.print(table)
    effect = f"{signed(decision.effect)} (95%: {signed(decision.low)} to {signed(decision.high)})"
    verdict = _VERDICTS.get(decision.verdict, f"No verdict: {decision.verdict}.")
    if not decision.rank:
        verdict = f"No verdict: {found.set_aside}."
    say(console, f"Effect {effect}. {verdict}{_settled(found)}")


def _settled(found: Explanation) -> str:
    if found.effect.settled_at is None:
        return ""
    return (
        f" A suite of about {found.effect.settled_at} episodes (now {found.episodes}) would "
        "settle it, if the estimate stays."
    )


def _done(found: Explanation) -> str:
    decision = found.effect
    policy = _shares(found.policy_shares) or decision.policy_action
    default = _shares(found.default_shares) or decision.default_action
    return (
        f"Policy: {policy}. Default action: {default}. They differ at {percent(decision.differed)} "
        f"of {decision.visits} visits."
    )


def _shares(shares: Mapping[str, float]) -> str:
    if len(shares) == 1:
        return next(iter(shares))
    return ", ".join(f"{name} ({percent(share)})" for name, share in shares.items())


def _inside(found: Explanation) -> str:
    known = []
    if found.value_gap is not None:
        known.append(f"gap between best and worst action value {few(found.value_gap)}")
    if found.default_gap is not None:
        known.append(f"its action preferred to the default's by {few(found.default_gap)}")
    if found.entropy is not None:
        known.append(f"entropy of its choice {few(found.entropy)} nats")
    if not known:
        return "The policy offers no values and no probabilities."
    return f"Inside the policy, averaged over visits: {'; '.join(known)}."


def _reached(found: Explanation) -> str:
    reached = found.reached
    return (
        f"The unmutated policy reaches it in {reached.episodes} of {reached.total_episodes} "
        f"episodes, at {reached.steps} of {reached.total_steps} steps."
    )


def _first_seen(found: Explanation) -> str:
    first = found.first_seen
    return f"First seen in suite:{first.episode} at step {first.step} (seed {first.seed})."


def _print_measures(console: Console, found: Explanation) -> None:
    console.print()
    table = _table("", ("measure",), ("score", "interval", f"rank of {found.states}"))
    for one in found.measures:
        known = one.low is not None and one.high is not None
        interval = f"{few(one.low or 0.0)} to {few(one.high or 0.0)}" if known else ""
        table.add_row(escape(one.measure), few(one.score), interval, str(one.rank))
    console.print(table)
    for name, reason in found.not_measured.items():
        say(console, f"Not ranked by {name} here: {reason}")


def _print_examples(console: Console, found: Explanation) -> None:
    headings = ("seed", "first visit at step", "visits", "differed", "return")
    table = _table("", ("example", "it was", "outcome"), headings)
    for one in found.examples:
        numbers = (one.seed, one.step, one.visits, one.differed)
        outcome = {0.0: "failed", 1.0: "passed"}.get(one.passed, f"passed {percent(one.passed)}")
        cells = (f"suite:{one.episode}", one.arm, outcome, *map(str, numbers))
        table.add_row(*cells, f"{one.total_return:g}")
    console.print()
    console.print(table)
    say(console, f"Play one again: {found.replay}", copied=True)


def _print_neighbours(console: Console, found: Explanation) -> None:
    if found.decision is None:
        return
    around = (*found.above, found.decision, *found.below)
    columns = {
        "": [str(one.rank) for one in around],
        "state": [one.state for one in around],
        "loss": [loss_words(one) for one in around],
        "95%": [f"{few(one.loss_low)} to {few(one.loss_high)}" for one in around],
        "return without it": [few(one.return_without) for one in around],
    }
    widths = widths_of(columns)
    others = sum(widths.values()) - widths["state"] + _BETWEEN * (len(widths) - 1)
    columns["state"] = shortened_states(columns["state"], max(console.width - others, 20), _RULE)
    table = _table("", tuple(columns)[:2], tuple(columns)[2:])
    for one, row in zip(around, zip(*columns.values(), strict=True), strict=True):
        table.add_row(*map(escape, row), style="bold" if one is found.decision else None)
    console.print()
    console.print(table)
