"""What is known about one decision, for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.cli.text import say
from rpd_core.results.words import shortened_states

if TYPE_CHECKING:
    from rpd_core.results.records import Decision
    from rpd_report.explanation import Explanation

_VERDICTS = {
    "matters": "It matters: acting by default does harm.",
    "default-better": "The default action does better here than the policy.",
    "harmless": "It is harmless: the effect is too small to mind.",
    "undecided": "It is undecided: the effect cannot be told from chance yet.",
}

_OTHERS = 50
"""Characters of a row of neighbours besides the state."""


def print_explanation(console: Console, found: Explanation) -> None:
    """Print everything known about one decision."""
    decision = found.decision
    place = f"Decision {decision.rank} of {found.listed} by {found.measure}"
    if not decision.rank:
        place = f"Not in the list by {found.measure} ({found.set_aside})"
    if decision.rank_low is not None:
        ranks = f"{decision.rank_low} to {decision.rank_high} in 90% of resampled suites"
        place = f"{place} ({ranks})"
    say(console, f"{place}: {decision.state}", style="bold")
    say(console, f"key {decision.key:016x}; passed means {found.condition}")
    _print_effect(console, found)
    for sentence in (_done(found), _inside(found), _reached(found), _first_seen(found)):
        say(console, sentence)
    for fraction, kept in found.kept.items():
        who = "the policy decides" if kept else "the default action is left to decide"
        say(console, f"In the pruned policy for {float(fraction):.0%} of the return {who} here.")
    _print_measures(console, found)
    _print_examples(console, found)
    _print_neighbours(console, found)


def _table(title: str, left: Sequence[str], right: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False,
                  padding=(0, 2, 0, 0))  # fmt: skip
    for heading in left:
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    for heading in right:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _print_effect(console: Console, found: Explanation) -> None:
    decision, cells = found.decision, found.cells
    console.print()
    table = _table("", ("episodes in which it was",), ("failed", "passed", "risk"))
    rows = (
        ("mutated", cells.mutated_failed, cells.mutated_passed, decision.risk_mutated),
        ("kept", cells.kept_failed, cells.kept_passed, decision.risk_kept),
    )
    for arm, failed, passed, risk in rows:
        shown = "" if risk is None else f"{risk:.1%}"
        table.add_row(arm, f"{failed:.6g}", f"{passed:.6g}", shown)
    console.print(table)
    effect = f"{decision.effect:+.2f} (95%: {decision.low:+.2f} to {decision.high:+.2f})"
    verdict = _VERDICTS.get(decision.verdict, f"No verdict: {decision.verdict}.")
    if not decision.rank:
        verdict = f"No verdict: {found.set_aside}."
    say(console, f"Effect {effect}. {verdict}{_settled(found)}")
    console.print()


def _settled(found: Explanation) -> str:
    if found.decision.settled_at is None:
        return ""
    return (
        f" A suite of about {found.decision.settled_at} episodes (now {found.episodes}) would "
        "settle it, if the estimate stays."
    )


def _done(found: Explanation) -> str:
    decision = found.decision
    policy = _shares(found.policy_shares) or decision.policy_action
    default = _shares(found.default_shares) or decision.default_action
    return (
        f"Policy: {policy}. Default action: {default}. They differ at {decision.differed:.0%} of "
        f"{decision.visits} visits."
    )


def _shares(shares: Mapping[str, float]) -> str:
    if len(shares) == 1:
        return next(iter(shares))
    return ", ".join(f"{name} {share:.1%}" for name, share in shares.items())


def _inside(found: Explanation) -> str:
    known = []
    if found.value_gap is not None:
        known.append(f"gap between best and worst action value {found.value_gap:.4g}")
    if found.entropy is not None:
        known.append(f"entropy of its choice {found.entropy:.4g} nats")
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
        ends = None not in (one.low, one.high)
        interval = f"{one.low:.3g} to {one.high:.3g}" if ends else ""
        table.add_row(escape(one.measure), f"{one.score:.4g}", interval, str(one.rank))
    console.print(table)
    for name, reason in found.not_measured.items():
        say(console, f"Not ranked by {name} here: {reason}")


def _print_examples(console: Console, found: Explanation) -> None:
    headings = ("seed", "first visit at step", "visits", "differed", "return")
    table = _table("", ("example", "it was", "outcome"), headings)
    for one in found.examples:
        numbers = (one.seed, one.step, one.visits, one.differed)
        outcome = {0.0: "failed", 1.0: "passed"}.get(one.passed, f"passed {one.passed:.0%}")
        cells = (f"suite:{one.episode}", one.arm, outcome, *map(str, numbers))
        table.add_row(*cells, f"{one.total_return:g}")
    console.print()
    console.print(table)
    say(console, f"Play one again: {found.replay}", copied=True)


def _print_neighbours(console: Console, found: Explanation) -> None:
    around = (*found.above, found.decision, *found.below)
    if not found.decision.rank or len(around) == 1:
        return
    table = _table("", ("rank", "state"), ("effect", "95%"))
    table.add_column("verdict")
    states = shortened_states([one.state for one in around], max(console.width - _OTHERS, 20))
    for one, state in zip(around, states, strict=True):
        table.add_row(
            *_neighbour(one, state), style="bold" if one.rank == found.decision.rank else None
        )
    console.print()
    console.print(table)


def _neighbour(one: Decision, state: str) -> tuple[str, ...]:
    ends = f"{one.low:+.2f} to {one.high:+.2f}"
    return str(one.rank), escape(state), f"{one.effect:+.2f}", ends, one.verdict
