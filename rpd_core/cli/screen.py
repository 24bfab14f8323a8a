"""The answer on a screen: what was found, the decisions, what it stands on; in full on demand."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console

from rpd_core.cli.text import (
    can_draw,
    print_columns,
    print_question,
    say,
    short_action,
    widths_of,
)
from rpd_core.config.settings import PORTFOLIO
from rpd_core.errors import counted, shell_word
from rpd_core.results import sentences
from rpd_core.results.words import cut, few, part_of, percent, reached_words, shortened_states

if TYPE_CHECKING:
    from rpd_core.pruning.records import PrunedPoint
    from rpd_core.results import records
    from rpd_core.results.kept import FrontChoice
    from rpd_core.results.records import Decision, Summary

SHOWN = 7
"""Decisions on the screen."""
_FEWEST = 3
"""Decisions that give way to nothing."""
_RULE_LINES = 20
"""Lines that a rule may take: none of its conditions is left out."""
_STATE_LINES = 3
"""Lines that a state takes at most in the full answer."""
_LINES = 29
"""Lines of a screen, one of which the next prompt takes."""


def print_answer(
    console: Console,
    summary: Summary,
    path: Path,
    others: Sequence[str],
    full: bool = False,
    made: Sequence[Path] = (),
) -> None:
    """Print what an analysis found; `others` are the analyses beside it, `made` files show it.

    Where it would take more than one screen, there are fewer decisions.
    """

    def attempt(screen: Console, shown: int) -> None:
        say(screen, sentences.headline(summary), style="bold")
        screen.print()
        _print_setting(screen, summary)
        _print_decisions(screen, summary, shown, full)
        _print_standing(screen, summary, full)
        if full:
            print_rest(screen, summary)
        _print_where(screen, summary, path, others, full, made)

    shown = len(summary.decisions) if full else SHOWN
    while not full and shown > _FEWEST and _height(attempt, shown, console.width) > _LINES:
        shown -= 1
    attempt(console, shown)


def _height(attempt: Callable[[Console, int], None], shown: int, width: int) -> int:
    """Return the lines that an answer takes on a screen, those that it breaks counted."""
    trial = Console(file=io.StringIO(), width=width)
    with trial.capture() as captured:
        attempt(trial, shown)
    lines = captured.get().splitlines()
    return sum(max(1, -(-cell_len(line.rstrip()) // width)) for line in lines)


def _print_setting(console: Console, summary: Summary) -> None:
    original = summary.original
    print_question(
        console,
        summary.configuration["suite"],
        f"return {few(original.return_mean)}, by default alone {few(original.default_everywhere)}, "
        f"reference {few(original.reference)} ({original.reference_source})",
    )
    for advice in sentences.advice_on(summary):
        say(console, f"Advice: {advice}")
    console.print()


def _print_decisions(console: Console, summary: Summary, count: int, full: bool) -> None:
    rows = summary.decisions[:count]
    if not rows:
        return
    noun = sentences.noun_for(summary)
    lines = _RULE_LINES if noun == "rule" else _STATE_LINES if full else 1
    print_decisions(console, noun, rows, lines)
    if rest := summary.decisions[count:]:
        unsure = sum(not one.needed for one in rest)
        which = f"{unsure} of them not" if unsure < len(rest) else "none of them"
        say(console, f"{len(rest)} more{f', {which} shown to be needed' * bool(unsure)}")
    if summary.list.note:
        say(console, summary.list.note)
    if full:
        console.print()
        print_details(console, rows)
    console.print()


def _print_standing(console: Console, summary: Summary, full: bool) -> None:
    """Print what the answer stands on, a sentence or two each."""
    ranked = sentences.suite_words(summary, full)
    if sentences.is_proven(summary):
        others = "" if full else sentences.other_targets(summary)
        ranked = f"{ranked} {others}".strip()
        told = [sentences.baseline_words(summary, full), ranked]
        told += [sentences.sureness_words(summary, full)]
        told += [sentences.recurrence_words(summary.policy)] if full else []
    else:
        vain, ways = sentences.tried_in_vain(summary.policy), sentences.what_would_help(summary)
        told = [vain, ranked, ways]
    for words in (*told, sentences.growth_words(summary.growth)):
        if words:
            say(console, words)
    if len(summary.played) > 1:
        from rpd_core.store.parts import version_changes  # only for this

        changes = version_changes(summary.played[0].origin, summary.played[-1].origin)
        if changes:
            say(console, f"Note: parts of this run were played by other versions: {changes[0]}")


def _print_where(
    console: Console,
    summary: Summary,
    path: Path,
    others: Sequence[str],
    full: bool,
    made: Sequence[Path],
) -> None:
    beside = [name for name in others if name != summary.analysis]
    chosen = f" --analysis {summary.analysis}" if beside else ""
    page, typed = path / "report.html", shell_word(path)
    pages = [one for one in (*made, page) if one.suffix == ".html" and one.is_file()]
    looks = [str(pages[0])] if pages else []
    looks += [] if full else [f"rpd show {typed}{chosen} --full"]
    looks.append(f"rpd rank {typed}{chosen}")
    line = f"More: {', '.join(looks)}"
    fits = full or cell_len(line) <= console.width
    say(console, line if fits else "\n".join(["More:", *looks]), copied=True)
    if beside:
        say(console, _others(beside, 10**6 if full else console.width), copied=True)


def _others(names: Sequence[str], width: int) -> str:
    """Return which analyses there are beside this one, as many as fit a line, and at least one."""
    text = ""
    for count in range(len(names), 0, -1):
        more = len(names) - count
        rest = f" and {more} more (rpd show --full)" if more else ""
        text = f"Other analyses (--analysis NAME): {', '.join(names[:count])}{rest}"
        if len(text) <= width:
            break
    return text


# ----------------------------------------------------------------------------- decisions


_LEAST_BAR, _LONGEST_BAR = 10, 24
"""Characters of a drawn loss."""
_WITH_MARK = 16
"""Characters of one that has a mark beside it, at least."""
_LEAST_STATE = 20
"""Characters that a state gets, however narrow the screen is."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LOST = "loss without it"
_NOT_SHOWN = ("not shown to be needed", "not shown")
"""What stands beside a loss that may be none, the longer where there is room."""


def print_decisions(console: Console, noun: str, rows: Sequence[Decision], lines: int = 1) -> None:
    """Print decisions with their return with and without it, and the loss drawn."""
    whole = noun == "rule"
    columns = {
        "": [str(row.rank) for row in rows],
        noun: [row.state for row in rows],
        "policy": [short_action(row.policy_action, whole) for row in rows],
        "default": [short_action(row.default_action, whole) for row in rows],
        "return": [" -> ".join(sentences.with_and_without(row)) for row in rows],
    }
    widths = widths_of(columns)
    room = console.width - sum(widths.values()) + widths[noun] - len(columns)
    least = _LEAST_BAR if all(row.needed for row in rows) else _WITH_MARK
    bar = min(max(room - widths[noun], least), _LONGEST_BAR)
    widths[noun] = min(widths[noun], max(room - bar, _LEAST_STATE))
    columns[noun] = shortened_states(columns[noun], widths[noun], lines)
    plain, largest = not can_draw(console), max((row.loss for row in rows), default=0.0)
    heading = _LOST if bar >= len(_LOST) else "loss"
    marks = 0 if all(row.needed for row in rows) else len(_NOT_SHOWN[-1]) + 1
    columns[heading] = [_drawn(row, largest, (bar - marks, bar), plain) for row in rows]
    print_columns(console, columns, (noun, "policy", "default", heading), {**widths, heading: bar})


def print_details(console: Console, rows: Sequence[Decision]) -> None:
    """Print what else is known of decisions, by their ranks."""
    columns = {
        "": [str(row.rank) for row in rows],
        "loss (95%)": [
            f"{few(row.loss)} ({few(row.loss_low)} to {few(row.loss_high)})" for row in rows
        ],
        "return without (95%)": [sentences.without_words(row) for row in rows],
        "share": [percent(row.share) for row in rows],
        "overrides": [percent(row.overrides) for row in rows],
        "reached": [reached_words(row.reached) for row in rows],
        "by the whole": [reached_words(row.reached_whole) for row in rows],
        "twins": [str(row.twins) for row in rows],
    }
    print_columns(console, columns, widths=widths_of(columns))


def _drawn(row: Decision, largest: float, widths: tuple[int, int], plain: bool) -> str:
    """Return a loss drawn, and a mark where it may be none; widths of the bar and of both."""
    bar = loss_bar(row.loss, largest, widths[0], plain)
    if row.needed:
        return bar
    room = widths[1] - len(bar) - bool(bar)
    mark = next((one for one in _NOT_SHOWN if len(one) <= room), _NOT_SHOWN[-1])
    return f"{bar} {mark}".strip()


def loss_bar(loss: float, largest: float, width: int, plain: bool = False) -> str:
    """Return a bar as long as a loss, where the largest fills the width."""
    share = min(max(loss / largest, 0.0), 1.0) if largest > 0 else 0.0
    if plain:
        return "#" * round(share * width)
    eighths = round(share * width * 8)
    rest = _EIGHTHS[eighths % 8].strip()
    return _EIGHTHS[-1] * (eighths // 8) + rest


# -------------------------------------------------------------------------- the full answer


_ROW_NAMES = {"random": "random (mean)", "random_best": f"random (best of {len(PORTFOLIO)})"}


def print_rest(console: Console, summary: Summary) -> None:
    policy = summary.policy
    for fraction, other in list(summary.policies.items())[1:]:
        console.print()
        say(console, f"For {percent(float(fraction))} of the return:", style="bold")
        say(console, sentences.policy_sentences(summary, float(fraction), other))
    if policy is not None and policy.front:
        console.print()
        print_front(console, policy.front)
    for words in (
        "" if policy is None else sentences.tried_in_vain(policy, full=True),
        "" if policy is None or policy.minimising is None else _minimised(policy.minimising),
    ):
        if words:
            say(console, words)
    for fraction in summary.thresholds:
        console.print()
        _print_thresholds(console, fraction, summary)
    sweep = summary.sweep
    text = f"The sweep played {sweep.episodes} episodes; every point to the end: {sweep.whole}"
    say(console, f"{text} (--sweep full)." if sweep.episodes < sweep.whole else f"{text}.")
    console.print()
    for name, ties in summary.ties.items():
        if ties.groups:
            say(
                console,
                f"{name}: {counted(ties.groups, 'group')} of states with equal scores (largest: "
                f"{ties.largest}); within a group the order is that of the state keys",
            )
    console.print()


def print_front(console: Console, front: Sequence[records.FrontPoint]) -> None:
    say(console, "On the way to it (rpd show --keep N chooses one):", style="bold")
    columns = {
        "decisions": [str(one.decisions) for one in front],
        "of all states": [part_of(one.states) for one in front],
        "steps": [percent(one.steps) for one in front],
        "overrides": [percent(one.overrides) for one in front],
        "return": [few(one.return_mean) for one in front],
        "share": [percent(one.share) for one in front],
        "episodes": [str(one.episodes) for one in front],
    }
    print_columns(console, columns, ("ranking",))


def print_choice(console: Console, summary: Summary, chosen: FrontChoice) -> None:
    say(console, sentences.front_sentences(summary, chosen.point), style="bold")
    console.print()
    rows = chosen.states
    columns = {
        "loss without it": ["" if one.loss is None else few(one.loss) for one in rows],
        sentences.noun_for(summary): [cut(one.state, console.width - 17) for one in rows],
    }
    print_columns(console, columns, (sentences.noun_for(summary),))
    if any(one.loss is None for one in rows):
        say(console, "Those without a loss are not in the smallest policy: it can spare them.")


def _minimised(found: records.Minimising) -> str:
    starts = (f"the states {one}" if "as learned" in one else one for one in found.starts)
    pairs = "paired" if found.paired else "unpaired"
    related = "" if found.correlation is None else f", correlation {found.correlation:.2f}"
    broken = (
        f"; {counted(found.broken, 'twin')} differed though no action did" if found.broken else ""
    )
    return (
        f"Minimising began with {' and '.join(dict.fromkeys(starts))} and took {found.steps} of "
        f"{found.budget} steps: {counted(found.episodes, 'episode')} in "
        f"{counted(found.blocks, 'block')}, twins {pairs}{related}{broken}."
    )


def _print_thresholds(console: Console, fraction: str, summary: Summary) -> None:
    target = summary.targets[fraction]
    say(
        console,
        f"Smallest pruned policies in the sweep that keep {percent(float(fraction))} of the return "
        f"({few(target)}), of each ranking the one with the fewest states and the one with the "
        "fewest steps",
        style="bold",
    )
    entries = summary.thresholds[fraction]
    columns = {
        "ranking": [_ROW_NAMES.get(name, name) for name in entries],
        "fewest states": [_point(one.fewest_states if one else None) for one in entries.values()],
        "fewest steps": [_point(one.fewest_steps if one else None) for one in entries.values()],
    }
    print_columns(console, columns, ("ranking",))


def _point(point: PrunedPoint | None) -> str:
    if point is None:
        return "never"
    return f"{point.kept} ({part_of(point.states)}), steps {percent(point.steps)}"
