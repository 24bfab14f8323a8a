"""Answers as tables a person can read."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.errors import counted, shell_word
from rpd_core.execute.progress import in_words
from rpd_core.results.runs import size_in_words
from rpd_core.results.sentences import fineness
from rpd_core.results.words import cut, few, ranges_in_words, without_folders

if TYPE_CHECKING:
    from rpd_core.cli.cost import Cost
    from rpd_core.play.profile import Profile
    from rpd_core.results.records import (
        SuiteFacts,
    )


def say(console: Console, text: str, style: str | None = None, copied: bool = False) -> None:
    """Print a sentence; one that is to be copied gets no line breaks."""
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=copied)


_ACTION = 17
"""Characters of an action on a line."""


def short_action(words: str, whole: bool = False) -> str:
    """Return the first of several actions, with its share; all are in the full answer.

    One that is too long is cut to one line; a whole one is broken where there are spaces.
    """
    first = words.partition(", ")[0] if not words.startswith("(") else words
    name, space, share = first.rpartition(" ")
    if whole:
        return "\n".join(cut(one, _ACTION) for one in textwrap.wrap(first, _ACTION))
    if len(first) <= _ACTION or not share.endswith("%)"):
        return cut(first, _ACTION)
    return f"{cut(name, _ACTION - len(share) - 1)}{space}{share}"


def can_draw(console: Console) -> bool:
    """Return whether a console shows the characters that bars and intervals are drawn with."""
    try:
        "├─●─┤▏█".encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def widths_of(columns: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return how wide columns are, their headings included."""
    return {
        name: max(cell_len(line) for cell in (name, *cells) for line in cell.split("\n"))
        for name, cells in columns.items()
    }


def print_columns(
    console: Console,
    columns: Mapping[str, Sequence[str]],
    left: Sequence[str] = (),
    widths: Mapping[str, int] | None = None,
) -> None:
    """Print a table by its columns; numbers stand to the right, and what is too wide is cut."""
    table = Table(box=None, pad_edge=False, padding=(0, 1 if widths else 2, 0, 0))
    for name in columns:
        table.add_column(
            name, justify="left" if name in left else "right", width=(widths or {}).get(name),
            no_wrap=True, overflow="ellipsis",
        )  # fmt: skip
    for row in zip(*columns.values(), strict=True):
        table.add_row(*map(escape, row))
    console.print(table)


def print_question(console: Console, suite: Mapping[str, Any], more: str) -> None:
    """Print which policy was analysed on which task, and how; `suite` is what `run.json` holds."""
    asked = suite["settings"]
    say(
        console,
        f"{without_folders(suite['policy'])} on {suite['env']}: states by "
        f"{' + '.join(asked['abstraction'])}; default action {asked['default_action']}; seed "
        f"{asked['seed']}; {more}",
    )


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
        f"episodes), {counted(suite.steps, 'step')}, mean return {few(return_mean)} in {path}",
    )
    if missing:
        say(console, f"Not complete: {ranges_in_words(missing)} missing. {_HOW_TO_FILL}")
    for advice in fineness(suite):
        say(console, f"Advice: {advice}")


_HOW_TO_FILL = "Build them with --parts and join the runs with rpd merge, or: rpd suite RUN"


def print_progress(
    console: Console,
    path: Path,
    progress: tuple[int, int],
    missing: Sequence[tuple[int, int]],
) -> None:
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
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for name, value in _flat(plain):
        table.add_row(escape(name), escape(value))
    console.print(table)
    say(
        console,
        f"\nAbout {in_words(cost.seconds)} of play and {size_in_words(cost.megabytes * 1e6)} for "
        f"{cost.suite_episodes} mutant and {cost.pruning_episodes} pruned episodes "
        f"({cost.minimising_episodes} of them minimise), judged "
        f"from {cost.probe_episodes} episodes; pictures and the page come on top. Nothing was "
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


_SMALL = 0.005
"""Share below which nothing is named."""


def profile_lines(profile: Profile) -> Iterator[str]:
    """Yield the shares of the stages by the clock, and of what workers called by the processor."""
    own, theirs = (
        sum(spent.values()) for spent in (profile.stages_processor, profile.workers_processor)
    )
    yield f"{profile.seconds:.1f} s ({own:.1f} s of processor time): {_shares(profile.stages)}"
    if profile.items:
        inside = sum(profile.workers.values())
        yield (
            f"of which workers played {inside:.1f} s ({theirs:.1f} s of processor time), in "
            f"{counted(profile.items, 'item')} of work: {_shares(profile.workers_processor)}"
        )


def _shares(spent: Mapping[str, float]) -> str:
    total = sum(spent.values()) or 1.0
    shares = [(name, seconds / total) for name, seconds in spent.items()]
    return ", ".join(f"{name} {share:.0%}" for name, share in shares if share >= _SMALL)
