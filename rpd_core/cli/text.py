"""Answers as tables a person can read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.errors import counted, shell_word
from rpd_core.execute.progress import in_words
from rpd_core.results.runs import size_in_words
from rpd_core.results.words import ranges_in_words

if TYPE_CHECKING:
    from rpd_core.cli.cost import Cost
    from rpd_core.results.records import (
        Coverage,
        SuiteFacts,
        Summary,
    )

LOW_COVERAGE = 0.9
LOW_IDENTIFIED = 0.02


def say(console: Console, text: str, style: str | None = None, copied: bool = False) -> None:
    """Print a sentence; one that is to be copied gets no line breaks."""
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=copied)


def print_question(console: Console, suite: Mapping[str, Any], condition: str) -> None:
    """Print which policy was analysed on which task, and how; `suite` is what `run.json` holds."""
    asked = suite["settings"]
    say(console, f"{suite['policy']} on {suite['env']}", style="bold")
    say(
        console,
        f"states by {' + '.join(asked['abstraction'])}; default action {asked['default_action']}; "
        f"mutation rate {asked['mutation_rate']:g}; passed means {few_digits(condition)}; "
        f"seed {asked['seed']}",
    )


def few_digits(condition: str) -> str:
    """Return a condition with its numbers in as many digits as anybody reads."""
    return _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.5g}", condition)


_LONG_NUMBER = re.compile(r"\b\d+\.\d{5,}(?:e[+-]?\d+)?")


def print_suite(
    console: Console,
    suite: SuiteFacts,
    return_mean: float,
    path: Path,
    missing: Sequence[tuple[int, int]] = (),
) -> None:
    """Print what a suite holds, what it lacks, and whether its states can be judged."""
    say(
        console,
        f"{counted(suite.episodes, 'episode')}, {counted(suite.states, 'state')} "
        f"({suite.identified} with at least {suite.enough} mutated and {suite.enough} kept "
        f"episodes), {counted(suite.steps, 'step')}, mean return {return_mean:.4g} in {path}",
    )
    if missing:
        say(console, f"Not complete: {ranges_in_words(missing)} missing. {_HOW_TO_FILL}")
    for advice in _fineness(suite):
        say(console, f"Advice: {advice}")


_HOW_TO_FILL = "Build them with --parts and join the runs with rpd merge, or: rpd suite RUN"


_HARDLY = 0.2
"""Share of passing episodes below which a policy is hardly judged by its condition."""


def advice_on(summary: Summary) -> list[str]:
    """Return what would make the answer better."""
    found = advice(summary.suite, summary.coverage, policy_decides_elsewhere(summary))
    passed = summary.pass_rates.original
    if passed < _HARDLY:
        found.append(
            f"the unmutated policy passes in {passed:.0%} of its episodes, so that there is little "
            "to lose; try --condition auto."
        )
    return found


def policy_decides_elsewhere(summary: Summary) -> bool:
    """Return whether the policy decides in states that the suite never saw."""
    return bool(summary.configuration["analysis"].get("unvisited") == "policy")


def advice(suite: SuiteFacts, coverage: Coverage, elsewhere: bool) -> list[str]:
    """Return what would help; `elsewhere`: the policy decides where the suite never was."""
    if suite.states == 1:
        return _fineness(suite)
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


def print_progress(
    console: Console,
    path: Path,
    progress: tuple[int, int],
    missing: Sequence[tuple[int, int]],
) -> None:
    """Print how far a run without a finished analysis is."""
    done, total = progress
    stage = "suite" if missing else "pruning"
    say(
        console,
        f"Not finished: {done} of {total} mutant episodes are stored; the {stage} is not complete.",
    )
    if missing and missing[0][0] < done:  # there are gaps between those that are stored
        say(console, f"{ranges_in_words(missing).capitalize()} missing.")
    config, out = shell_word(path / "run.json"), shell_word(path)
    say(console, f"Continue with: rpd run --config {config} --out {out}", copied=True)


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
        f"\nAbout {in_words(cost.seconds)} of play and {size_in_words(cost.megabytes * 1e6)} for "
        f"{cost.suite_episodes} mutant and {cost.pruning_episodes} pruned episodes, judged from "
        f"{cost.probe_episodes} episodes; refining, pictures and the page come on top. Nothing was "
        "written.",
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
