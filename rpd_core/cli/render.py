"""Answers as tables a person can read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from rpd_core.report.cost import Cost


LOW_COVERAGE = 0.9
LOW_IDENTIFIED = 0.02


def say(console: Console, text: str, style: str | None = None, copied: bool = False) -> None:
    """Print a sentence; one that is to be copied gets no line breaks."""
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=copied)


def print_answer(console: Console, summary: dict[str, Any], path: Path) -> None:
    """Print what a run found."""
    config = summary["configuration"]["suite"]
    say(console, f"\n{config['policy']} on {config['env']}", style="bold")
    _print_returns(console, summary)
    _print_suite(console, summary)
    top = summary["top"]
    print_decisions(console, top["measure"], summary["condition"], top["decisions"])
    few = sum(row["identified"] for row in top["decisions"]) < len(top["decisions"]) / 2
    if few and top["identified"]:
        title = "The first of them with at least 20 mutated and 20 kept episodes"
        _print_decision_table(console, title, top["identified"])
    for fraction, entries in summary["thresholds"].items():
        _print_thresholds(console, fraction, entries, summary)
    _print_reading(console, summary)
    say(console, f"\nEverything is in {path}\nSee it again: rpd show {path}", copied=True)


def _print_returns(console: Console, summary: dict[str, Any]) -> None:
    original = summary["original"]
    say(
        console,
        f"return {original['return_mean']:.4g} (mean of {original['episodes']} episodes); "
        f"default action everywhere {original['default_everywhere']:.4g}; "
        f"reference {original['reference']:.4g} ({original['reference_source']})",
    )


def _print_suite(console: Console, summary: dict[str, Any]) -> None:
    suite, rates = summary["suite"], summary["pass_rates"]
    say(
        console,
        f"{suite['episodes']} mutant episodes, {suite['states']} states, {suite['steps']} steps; "
        f"{rates['suite']:.0%} passed {summary['condition']} (original {rates['original']:.0%}, "
        f"default everywhere {rates['default_everywhere']:.0%})",
    )
    coverage = summary["coverage"]
    pruned = "" if coverage["pruned"] is None else f", {coverage['pruned']:.1%} of the pruned one's"
    say(
        console,
        f"{coverage['original']:.1%} of the original policy's steps{pruned} fall in ranked states; "
        f"{suite['identified']} states have at least 20 mutated and 20 kept episodes",
    )
    for advice in _advice(suite, coverage, _policy_decides_elsewhere(summary)):
        say(console, f"Advice: {advice}")


def print_suite(console: Console, suite: dict[str, Any]) -> None:
    """Print what a suite holds, and whether its states can be judged."""
    say(
        console,
        f"{suite['episodes']} episodes, {suite['states']} states ({suite['identified']} with at "
        f"least 20 mutated and 20 kept episodes), {suite['steps']} steps, mean return "
        f"{suite['return_mean']:.4g} in {suite['out']}",
    )
    for advice in _fineness(suite):
        say(console, f"Advice: {advice}")


def _policy_decides_elsewhere(summary: dict[str, Any]) -> bool:
    """Tell whether the policy decides in states that the suite never saw."""
    return bool(summary["configuration"]["analysis"]["unvisited"] == "policy")


def _advice(suite: dict[str, Any], coverage: dict[str, Any], elsewhere: bool) -> list[str]:
    if suite["states"] == 1:
        return _fineness(suite)
    found = []
    if coverage["original"] < LOW_COVERAGE:
        remedy = " or more --episodes" if elsewhere else ", more --episodes or --unvisited policy"
        found.append(
            f"below {LOW_COVERAGE:.0%} coverage, pruning also tests what happens in states "
            f"without a rank; try a coarser --abstraction{remedy}."
        )
    low = coverage["pruned"] is not None and coverage["pruned"] < LOW_COVERAGE
    if low and (elsewhere or not found):
        found.append(
            f"the pruned policy spends {1 - coverage['pruned']:.0%} of its steps in states that "
            f"the suite never saw, {_ELSEWHERE[elsewhere]}"
        )
    return found + _fineness(suite)


_ELSEWHERE = {
    False: "where it acts by default; more --episodes or --unvisited policy may help.",
    True: "where the policy decides as before: judge by the share of steps, not of states; more "
    "--episodes help.",
}


def _fineness(suite: dict[str, Any]) -> list[str]:
    """Tell whether the abstraction is too coarse or too fine for this many episodes."""
    if suite["states"] == 1:
        return ["everything is one state, so there is nothing to rank: try a finer --abstraction."]
    if suite["identified"] >= LOW_IDENTIFIED * suite["states"]:
        return []
    few = f"only {suite['identified']}" if suite["identified"] else "none"
    return [
        f"{few} of {suite['states']} states were seen often enough to be "
        "judged one by one (a state is visited "
        f"{suite['steps'] / suite['states']:.1f} times on average); a coarser --abstraction "
        "or more --episodes would help."
    ]


def print_decisions(
    console: Console, measure: str, condition: str, rows: list[dict[str, Any]], ties: Any = None
) -> None:
    """Print the first decisions of a ranking."""
    title = f"Decisions that matter most, by {measure} under {condition}"
    _print_decision_table(console, title, rows)
    if ties is not None and len(ties):
        say(
            console,
            f"{len(ties)} groups of states have equal scores (largest: {max(ties)}); "
            "within a group the order is that of the state keys",
        )


def _print_decision_table(console: Console, title: str, rows: list[dict[str, Any]]) -> None:
    table = Table(title=escape(title), title_justify="left", title_style="bold", box=None)
    for heading, justify in _DECISION_COLUMNS:
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(
            str(row["rank"]),
            escape(row["state"]),
            f"{row['score']:.4g}",
            f"{row['mutated']:.0f} + {row['kept']:.0f}",
            str(row["visits"]),
            f"{row['differed']:.0%}",
        )
    console.print()
    console.print(table)


_DECISION_COLUMNS = (
    ("rank", "right"),
    ("state", "left"),
    ("score", "right"),
    ("mutated + kept", "right"),
    ("visits", "right"),
    ("differs", "right"),
)


def _print_thresholds(
    console: Console, fraction: str, entries: dict[str, Any], summary: dict[str, Any]
) -> None:
    target = summary["targets"][fraction]
    title = f"Least of the policy that keeps {float(fraction):.0%} of the return ({target:.4g})"
    table = Table(title=title, title_justify="left", title_style="bold", box=None)
    for heading in ("ranking", "states", "number", "steps", "confirmed on fresh episodes"):
        table.add_column(heading, justify="left" if heading == "ranking" else "right")
    for name, entry in entries.items():
        style = "bold" if name == "portfolio" else None
        table.add_row(escape(_NAMES.get(name, name)), *_threshold_cells(entry), style=style)
    console.print()
    console.print(table)


_NAMES = {"random": "random (mean)", "random_best": "random (best of 4)"}


def _threshold_cells(entry: dict[str, Any] | None) -> tuple[str, ...]:
    if entry is None:
        return "never", "", "never", ""
    found = entry.get("confirmation")
    told = ""
    if found is not None and entry["confirmed"]:
        told = f"{found['states']:.1%} of states, {found['steps']:.1%} of steps"
    elif found is not None:
        told = "no"
    return f"{entry['states']:.1%}", str(entry["kept"]), f"{entry['steps']:.1%}", told


def _print_reading(console: Console, summary: dict[str, Any]) -> None:
    """Say in one sentence what the tables mean, or what stands in the way."""
    fraction, entries = next(iter(summary["thresholds"].items()))
    best, chance = entries["portfolio"], entries["random"]
    console.print()
    if summary["original"]["default_everywhere"] >= summary["targets"][fraction]:
        say(
            console,
            f"The default action alone already earns {float(fraction):.0%} of the return: "
            "that is the finding, and no ranking can improve on it.",
        )
    elif best is None:
        say(
            console,
            f"No pruned policy keeps {float(fraction):.0%} of the return: too many of its steps "
            "fall in states that the suite never saw. Try a coarser --abstraction, more "
            "--episodes or --unvisited policy.",
        )
    else:
        elsewhere = _policy_decides_elsewhere(summary)
        than = f"{chance['states']:.0%} and {chance['steps']:.0%}" if chance else "never"
        say(
            console,
            f"The policy's decisions in {best['states']:.0%} of the states ({best['kept']})"
            f"{' and in all that the suite never saw' if elsewhere else ''} are enough for "
            f"{float(fraction):.0%} of its return; counted in steps, the least was "
            f"{best['steps']:.0%} (random ranking: {than}). {_confirmed_sentence(best)}",
        )


def _confirmed_sentence(entry: dict[str, Any]) -> str:
    found = entry.get("confirmation")
    if found is None or not entry["confirmed"]:
        return "On fresh episodes no pruned policy met the target."
    return (
        f"On fresh episodes that choice took {found['states']:.0%} of the states "
        f"({found['kept']}), deciding in {found['steps']:.0%} of the steps."
    )


def print_progress(console: Console, path: Path, done: int, total: int) -> None:
    """Print how far an unfinished run is."""
    stage = "suite" if done < total else "pruning"
    say(
        console,
        f"Not finished: {done} of {total} mutant episodes are stored; the {stage} is not complete.",
    )
    command = f"rpd run --config {path / 'run.json'} --out {path}"
    say(console, f"Continue with: {command}", copied=True)


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
