"""Answers as tables a person can read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.config.settings import PORTFOLIO

if TYPE_CHECKING:
    from rpd_core.pruning.curves import PrunedPoint
    from rpd_core.report.cost import Cost
    from rpd_core.report.results import (
        Coverage,
        Decision,
        Played,
        Policy,
        SuiteFacts,
        Summary,
        Threshold,
        Ties,
    )

LOW_COVERAGE = 0.9
LOW_IDENTIFIED = 0.02


def say(console: Console, text: str, style: str | None = None, copied: bool = False) -> None:
    """Print a sentence; one that is to be copied gets no line breaks."""
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=copied)


def print_answer(console: Console, summary: Summary, path: Path, others: Sequence[str]) -> None:
    """Print what an analysis found; `others` are the analyses beside it."""
    say(console, f"\n{summary.policy_spec} on {summary.env}", style="bold")
    _print_returns(console, summary)
    _print_suite(console, summary)
    top, enough = summary.top, summary.suite.enough
    print_decisions(console, top.measure, summary.condition, top.decisions)
    few = sum(row.identified for row in top.decisions) < len(top.decisions) / 2
    if few and top.identified:
        title = f"The first of them with at least {enough} mutated and {enough} kept episodes"
        _print_decision_table(console, title, top.identified)
    for fraction, entries in summary.thresholds.items():
        _print_thresholds(console, fraction, entries, summary)
    _print_reading(console, summary)
    _print_versions(console, summary.played)
    beside = [name for name in others if name != summary.analysis]
    chosen = f" --analysis {summary.analysis}" if beside else ""
    say(
        console,
        f"\nEverything is in {path}, this analysis under the name {summary.analysis}\n"
        f"See it again: rpd show {path}{chosen}",
        copied=True,
    )
    if beside:
        say(console, f"Other analyses (--analysis NAME): {', '.join(beside)}", copied=True)


def _print_returns(console: Console, summary: Summary) -> None:
    original = summary.original
    say(
        console,
        f"return {original.return_mean:.4g} (mean of {original.episodes} episodes); "
        f"default action everywhere {original.default_everywhere:.4g}; "
        f"reference {original.reference:.4g} ({original.reference_source})",
    )


def _print_suite(console: Console, summary: Summary) -> None:
    suite, rates = summary.suite, summary.pass_rates
    say(
        console,
        f"{suite.episodes} mutant episodes, {suite.states} states, {suite.steps} steps; "
        f"{rates.suite:.0%} passed {summary.condition} (original {rates.original:.0%}, "
        f"default everywhere {rates.default_everywhere:.0%})",
    )
    coverage = summary.coverage
    pruned = "" if coverage.pruned is None else f", {coverage.pruned:.1%} of the pruned one's"
    say(
        console,
        f"{coverage.original:.1%} of the original policy's steps{pruned} fall in ranked states; "
        f"{suite.identified} states have at least {suite.enough} mutated and {suite.enough} kept "
        "episodes",
    )
    for advice in _advice(suite, coverage, _policy_decides_elsewhere(summary)):
        say(console, f"Advice: {advice}")


def print_suite(console: Console, suite: SuiteFacts, return_mean: float, path: Path) -> None:
    """Print what a suite holds, and whether its states can be judged."""
    say(
        console,
        f"{suite.episodes} episodes, {suite.states} states ({suite.identified} with at least "
        f"{suite.enough} mutated and {suite.enough} kept episodes), {suite.steps} steps, mean "
        f"return {return_mean:.4g} in {path}",
    )
    for advice in _fineness(suite):
        say(console, f"Advice: {advice}")


def _policy_decides_elsewhere(summary: Summary) -> bool:
    """Return whether the policy decides in states that the suite never saw."""
    return bool(summary.configuration["analysis"].get("unvisited") == "policy")


def _advice(suite: SuiteFacts, coverage: Coverage, elsewhere: bool) -> list[str]:
    if suite.states == 1:
        return _fineness(suite)
    found = []
    if coverage.original < LOW_COVERAGE:
        remedy = " or more --episodes" if elsewhere else ", more --episodes or --unvisited policy"
        found.append(
            f"below {LOW_COVERAGE:.0%} coverage, pruning also tests what happens in states "
            f"without a rank; try a coarser --abstraction{remedy}."
        )
    low = coverage.pruned is not None and coverage.pruned < LOW_COVERAGE
    if low and coverage.pruned is not None and (elsewhere or not found):
        found.append(
            f"the pruned policy spends {1 - coverage.pruned:.0%} of its steps in states that "
            f"the suite never saw, {_ELSEWHERE[elsewhere]}"
        )
    return found + _fineness(suite)


_ELSEWHERE = {
    False: "where it acts by default; more --episodes or --unvisited policy may help.",
    True: "where the policy decides as before: judge by the share of steps, not of states; more "
    "--episodes help.",
}


def _fineness(suite: SuiteFacts) -> list[str]:
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


def print_decisions(
    console: Console,
    measure: str,
    condition: str,
    rows: Sequence[Decision],
    ties: Ties | None = None,
) -> None:
    """Print the first decisions of a ranking."""
    title = f"Decisions that matter most, by {measure} under {condition}"
    _print_decision_table(console, title, rows)
    if ties is not None and ties.groups:
        say(
            console,
            f"{ties.groups} groups of states have equal scores (largest: {ties.largest}); "
            "within a group the order is that of the state keys",
        )


def _print_decision_table(console: Console, title: str, rows: Sequence[Decision]) -> None:
    intervals = any(row.low is not None for row in rows)
    table = Table(title=escape(title), title_justify="left", title_style="bold", box=None)
    for heading, justify in _DECISION_COLUMNS:
        if heading != "interval" or intervals:
            table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        cells = [str(row.rank), escape(row.state), f"{row.score:.4g}"]
        if intervals:
            known = row.low is not None and row.high is not None
            cells.append(f"{row.low:.3g} to {row.high:.3g}" if known else "")
        arms = f"{row.mutated:.0f} + {row.kept:.0f}"
        table.add_row(*cells, arms, str(row.visits), f"{row.differed:.0%}")
    console.print()
    console.print(table)


_DECISION_COLUMNS = (
    ("rank", "right"),
    ("state", "left"),
    ("score", "right"),
    ("interval", "right"),
    ("mutated + kept", "right"),
    ("visits", "right"),
    ("differs", "right"),
)


def _print_thresholds(console: Console, fraction: str, entries: Any, summary: Summary) -> None:
    target = summary.targets[fraction]
    title = (
        f"Pruned policies that keep {float(fraction):.0%} of the return ({target:.4g}), each with "
        "its share of states and of steps"
    )
    table = Table(title=title, title_justify="left", title_style="bold", box=None)
    for heading in ("ranking", "number", "fewest states", "fewest steps"):
        table.add_column(heading, justify="left" if heading == "ranking" else "right")
    for name, entry in entries.items():
        style = "bold" if name == "portfolio" else None
        table.add_row(escape(_ROW_NAMES.get(name, name)), *_threshold_cells(entry), style=style)
    console.print()
    console.print(table)


_ROW_NAMES = {"random": "random (mean)", "random_best": f"random (best of {len(PORTFOLIO)})"}


def _threshold_cells(entry: Threshold | None) -> tuple[str, ...]:
    if entry is None:
        return "", "never", "never"
    fewest = entry.fewest_states
    return str(fewest.kept), _shares(fewest), _shares(entry.fewest_steps)


def _shares(point: PrunedPoint) -> str:
    return f"{point.states:.1%} / {point.steps:.1%}"


def _print_reading(console: Console, summary: Summary) -> None:
    """Print in one sentence what the tables mean, or what stands in the way."""
    fraction = next(iter(summary.policies))
    chance = summary.thresholds[fraction]["random"]
    console.print()
    if summary.original.default_everywhere >= summary.targets[fraction]:
        say(
            console,
            f"The default action alone already earns {float(fraction):.0%} of the return: "
            "that is the finding, and no ranking can improve on it.",
        )
    elif summary.policy is None:
        say(
            console,
            f"No pruned policy keeps {float(fraction):.0%} of the return: too many of its steps "
            "fall in states that the suite never saw. Try a coarser --abstraction, more "
            "--episodes or --unvisited policy.",
        )
    else:
        headline = _headline(summary, summary.policy, float(fraction))
        say(console, f"{headline} {_compared(chance)}", style="bold")


def _headline(summary: Summary, policy: Policy, fraction: float) -> str:
    elsewhere = " and in all that the suite never saw" * _policy_decides_elsewhere(summary)
    tried = "".join(
        f"{one.kept} states by {one.measure}: {one.outcome} ({one.share:.0%} of the return). "
        for one in policy.failed
    )
    bounds = f", {policy.share_low:.0%} to {policy.share_high:.0%}" * (
        policy.share_low is not None and policy.share_high is not None
    )
    if not policy.met:
        return (
            f"{tried}No pruned policy was confirmed to keep {fraction:.0%} of the return; nearest "
            f"to it is the one with {policy.kept} states ({policy.states:.1%}): {policy.outcome}, "
            f"{policy.share:.0%}{bounds} on {policy.episodes} fresh episodes."
        )
    return (
        f"{tried}The policy decides in {policy.kept} states ({policy.states:.1%}){elsewhere}, "
        f"{policy.steps:.0%} of the steps, and keeps {policy.share:.0%} of the return "
        f"({policy.return_mean:.4g}{bounds}, {policy.episodes} fresh episodes; by "
        f"{policy.measure})."
    )


def _compared(chance: Threshold | None) -> str:
    if chance is None:
        return "Random rankings never reach it."
    return f"A random ranking needs {chance.fewest_states.states:.0%} of the states."


def _print_versions(console: Console, played: Sequence[Played]) -> None:
    if len(played) > 1:
        from rpd_core.store.session import version_changes  # imports what plays

        changes = version_changes(played[0].origin, played[-1].origin)
        if changes:
            say(console, f"Note: parts of this run were played by other versions: {changes[0]}")


def print_progress(console: Console, path: Path, done: int, total: int) -> None:
    """Print how far a run without a finished analysis is."""
    stage = "suite" if done < total else "pruning"
    say(
        console,
        f"Not finished: {done} of {total} mutant episodes are stored; the {stage} is not complete.",
    )
    say(console, f"Continue with: rpd run --config {path / 'run.json'} --out {path}", copied=True)


def print_estimate(console: Console, plain: dict[str, Any], cost: Cost) -> None:
    """Print a configuration and what it would cost."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for name, value in _flat(plain):
        table.add_row(escape(name), escape(value))
    console.print(table)
    say(
        console,
        f"\nAbout {_duration(cost.seconds)} and {cost.megabytes:.1f} MB for "
        f"{cost.suite_episodes} mutant and {cost.pruning_episodes} pruned episodes, judged from "
        f"{cost.probe_episodes} episodes. Nothing was written.",
    )


def _flat(plain: dict[str, Any], at: str = "") -> list[tuple[str, str]]:
    rows = []
    for name, value in plain.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{at}{name}.")
        elif isinstance(value, list) and not any(isinstance(item, dict) for item in value):
            rows.append((f"{at}{name}", ", ".join(map(str, value))))
        elif not isinstance(value, list):
            rows.append((f"{at}{name}", str(value)))
    return rows


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
