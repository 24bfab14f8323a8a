"""What the full answer has beyond the screen: tables of the sweep, the front, tries, minimising."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from rpd_core.cli.text import print_columns, say
from rpd_core.config.settings import PORTFOLIO
from rpd_core.errors import counted
from rpd_core.results.sentences import front_sentences, noun_for, policy_sentences, tried_in_vain
from rpd_core.results.words import cut, few, part_of, percent

if TYPE_CHECKING:
    from rpd_core.pruning.records import PrunedPoint
    from rpd_core.results.front import FrontChoice
    from rpd_core.results.records import FrontPoint, Minimising, Summary, SweepFacts, Threshold

_ROW_NAMES = {"random": "random (mean)", "random_best": f"random (best of {len(PORTFOLIO)})"}


def print_rest(console: Console, summary: Summary) -> None:
    """Print further targets, the way to the smallest policy, and the sweep."""
    policy = summary.policy
    for fraction, other in list(summary.policies.items())[1:]:
        console.print()
        say(console, f"For {percent(float(fraction))} of the return:", style="bold")
        say(console, policy_sentences(summary, float(fraction), other))
    if policy is not None and policy.front:
        console.print()
        print_front(console, policy.front)
    for words in (
        "" if policy is None else tried_in_vain(policy, full=True),
        "" if policy is None or policy.minimising is None else _minimised(policy.minimising),
    ):
        if words:
            say(console, words)
    for fraction in summary.thresholds:
        console.print()
        _print_thresholds(console, fraction, summary)
    _print_sweep(console, summary.sweep)
    _print_ties(console, summary)
    console.print()


def print_front(console: Console, front: Sequence[FrontPoint]) -> None:
    """Print the pruned policies that minimising went through."""
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
    """Print a policy of the front: its figures, then its states."""
    say(console, front_sentences(summary, chosen.point), style="bold")
    console.print()
    rows = chosen.states
    columns = {
        "loss without it": ["" if one.loss is None else few(one.loss) for one in rows],
        noun_for(summary): [cut(one.state, console.width - 17) for one in rows],
    }
    print_columns(console, columns, (noun_for(summary),))
    if any(one.loss is None for one in rows):
        say(console, "Those without a loss are not in the smallest policy: it can spare them.")


def _minimised(found: Minimising) -> str:
    pairs = "paired" if found.paired else "unpaired"
    related = "" if found.correlation is None else f", correlation {found.correlation:.2f}"
    broken = (
        f"; {counted(found.broken, 'twin')} differed though no action did" if found.broken else ""
    )
    return (
        f"Minimising began with {'; '.join(found.starts)} and took {found.steps} of "
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
    cells = [_threshold_cells(one) for one in entries.values()]
    fewest_states, fewest_steps = zip(*cells, strict=True)
    columns = {
        "ranking": [_ROW_NAMES.get(name, name) for name in entries],
        "fewest states": list(fewest_states),
        "fewest steps": list(fewest_steps),
    }
    print_columns(console, columns, ("ranking",))


def _threshold_cells(entry: Threshold | None) -> tuple[str, str]:
    if entry is None:
        return "never", "never"
    return _point(entry.fewest_states), _point(entry.fewest_steps)


def _point(point: PrunedPoint) -> str:
    return f"{point.kept} ({part_of(point.states)}), steps {percent(point.steps)}"


def _print_sweep(console: Console, sweep: SweepFacts) -> None:
    text = f"The sweep played {sweep.episodes} episodes; every point to the end: {sweep.whole}"
    say(console, f"{text} (--sweep full)." if sweep.episodes < sweep.whole else f"{text}.")


def _print_ties(console: Console, summary: Summary) -> None:
    console.print()
    for name, ties in summary.ties.items():
        if ties.groups:
            say(
                console,
                f"{name}: {ties.groups} groups of states have equal scores (largest: "
                f"{ties.largest}); within a group the order is that of the state keys",
            )
