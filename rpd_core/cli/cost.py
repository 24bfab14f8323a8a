"""What a run would cost, judged from a few episodes."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rpd_core.cli import shared
from rpd_core.cli.streams import Interrupted
from rpd_core.config.resolve import Setup
from rpd_core.config.settings import Settings
from rpd_core.config.typed import PartRange
from rpd_core.errors import ExecutionError, RpdError
from rpd_core.execute.items import run_items
from rpd_core.execute.progress import in_words
from rpd_core.play import prepare
from rpd_core.play.chunks import Probed, SuiteChunk, close_players, perform_probe
from rpd_core.play.recipe import Recipe, recipe_of
from rpd_core.plugin.protocols import WorkItem
from rpd_core.pruning.growing import most_episodes
from rpd_core.pruning.smallest import FOR_LOSSES, LOOKS, budgets_of
from rpd_core.pruning.sweep_rule import episode_looks
from rpd_core.results.runs import size_in_words
from rpd_core.store import tables
from rpd_core.store.directory import RunDirectory
from rpd_core.store.session import Session

if TYPE_CHECKING:
    from rpd_core.cli.console import Display

PROBE_EPISODES = 16
"""Episodes played for the estimate, at least; more where more fit side by side."""
GLANCE = 8
"""Episodes played before a run, unless they let it look long."""
LONG = 3600.0
"""Seconds from which on a run is long."""
LARGE = 10_000.0
"""Megabytes from which on a run is large."""
ADAPTIVE = 0.4
"""Part of a full sweep that an adaptive one plays, or a little less."""
_OF_THE_SUITE = ("suite", "unmutated", "references")
"""Stages that play no pruned policy, or few episodes."""
DECLINED = 130
"""Exit code where somebody would rather not: as after Ctrl-C."""


@dataclass(frozen=True)
class Cost:
    """An estimate of time and disk, from a few episodes and so only roughly right."""

    probe_episodes: int
    suite_episodes: int
    pruning_episodes: int
    seconds: float
    megabytes: float
    memory_megabytes: float = 0.0
    """Of the tables that are read at once."""
    minimising_episodes: int = 0
    """Those of the pruned ones that minimise, and tell the losses."""


@dataclass(frozen=True)
class Remaining:
    """Episodes that are to be played."""

    suite: int
    pruned: int
    minimising: int = 0
    """Those of the pruned ones that minimise, as long as its steps are not given."""


def _whole_work(settings: Settings) -> Remaining:
    stages = [one for one in stages_of(settings) if one[0] not in _OF_THE_SUITE]
    minimising = sum(count for name, count in stages if name in ("minimising", "losses"))
    return Remaining(settings.episodes, sum(count for _, count in stages), minimising)


def stages_of(settings: Settings) -> list[tuple[str, int]]:
    """Return the stages of a run in their order, each with the episodes that are expected."""
    swept = sweep_work(settings, len(settings.measures))
    stages = [
        ("references", 3 * settings.test_episodes),
        ("suite", swept.suite),
        ("unmutated", settings.unmutated_episodes),
        ("pruning", swept.pruned),
    ]
    looks = LOOKS * settings.confirm_episodes
    for budget in budgets_of(max(swept.suite + swept.pruned, looks), looks, len(settings.target)):
        stages += [
            ("minimising", budget),
            ("confirmation", 2 * settings.confirm_episodes),
            ("losses", round(FOR_LOSSES * budget)),
        ]
    return stages


def sweep_work(settings: Settings, rankings: int) -> Remaining:
    """Return the episodes of a run that ends with the curves of some rankings."""
    several = rankings + settings.random_rankings
    points = len(settings.shares) * settings.test_episodes
    adaptive = settings.sweep == "adaptive" and len(episode_looks(settings.test_episodes)) > 1
    played = round(several * points * (ADAPTIVE if adaptive else 1.0))
    return Remaining(settings.episodes, played)


def work_left(
    settings: Settings, directory: RunDirectory, parts: PartRange | None = None
) -> Remaining:
    """Return the episodes of a run that its directory does not hold.

    Of the pruned ones nothing is known before the rankings are. Of a range of parts, only these
    count.
    """
    wanted = range(settings.episodes) if parts is None else parts.episodes(settings)
    left = len(wanted)
    if directory.read_json("run.json") is not None:
        gaps = directory.suite().each_gap(wanted.stop, wanted.stop, wanted.start)
        left = sum(last - first + 1 for first, last in gaps)
    return dataclasses.replace(_whole_work(settings), suite=left)


def with_growing(work: Remaining, setup: Setup) -> Remaining:
    """Add the episodes that growing may take, where an abstraction learns by playing."""
    if not prepare.needs_growth(recipe_of(setup)):
        return work
    grown = round(most_episodes(setup.config.settings))
    return dataclasses.replace(work, pruned=work.pruned + grown)


def estimate(setup: Setup, workers: int, work: Remaining | None = None) -> Cost:
    """Play a few mutant episodes in this process, store nothing, and scale up."""
    return scaled(setup, probe_here(setup), work or _whole_work(setup.config.settings), workers)


def probe_here(setup: Setup) -> Probed:
    """Play a few mutant episodes in this process and store nothing."""
    recipe = recipe_of(setup)
    if prepare.needs_fit(recipe):
        recipe = prepare.fit(recipe, setup.config)
    try:
        count = max(PROBE_EPISODES, recipe.lanes)
        return perform_probe(_first_episodes(recipe, setup.config.settings, count))
    finally:
        close_players()


def _foresee(session: Session, work: Remaining, workers: int) -> Cost:
    """Have a few mutant episodes played by those who will do the work, and scale up.

    Few episodes side by side are slower than many, so that more are tried before a run counts as
    long.
    """
    recipe, config = session.recipe, session.setup.config
    cost = None
    for count in (GLANCE, recipe.lanes):
        narrow = dataclasses.replace(recipe, lanes=min(count, recipe.lanes))
        chunk = _first_episodes(narrow, config.settings, count)
        answers: list[Probed] = []

        def keep(item: WorkItem, answer: Probed, kept: list[Probed] = answers) -> None:
            kept.append(answer)

        item = WorkItem(
            f"{config.digest()}/probe/{chunk.last}", perform_probe, chunk,
            "a few episodes to see what they cost", session.files(narrow),
        )  # fmt: skip
        run_items(session.engine, [item], keep)
        cost = scaled(session.setup, answers[0], work, workers)
        if not reasons_to_ask(cost):
            break
    assert cost is not None, "there is a first count"
    return cost


def _first_episodes(recipe: Recipe, settings: Settings, count: int) -> SuiteChunk:
    last = min(count, settings.episodes) - 1
    return SuiteChunk(recipe, settings.seed, settings.mutation_rate, 0, last)


def scaled(setup: Setup, probed: Probed, work: Remaining, workers: int) -> Cost:
    """Return what some work would cost, from what a few episodes did."""
    settings, suite = setup.config.settings, probed.chunk.suite
    count = len(suite.episodes)
    stored = tables.suite_tables(suite, [""] * len(suite.states))
    sizes = {name: len(tables.packed_table(table)) for name, table in stored.items()}
    chunks = max(-(-work.suite // settings.chunk), 1)
    minimising, asked = work.minimising, settings.minimise_steps
    if minimising and asked is not None:
        length = max(float(suite.episodes.length.mean()), 1.0)
        budgets = budgets_of(
            asked, LOOKS * settings.confirm_episodes * length, len(settings.target)
        )
        minimising = round((1 + FOR_LOSSES) * sum(budgets) / length)
    pruned = work.pruned - work.minimising + minimising
    in_a_row = work.suite / min(workers, chunks) + pruned / workers
    whole = any(getattr(one, "needs", ()) for one in setup.measures.values())
    held = sum(table.nbytes for name, table in stored.items() if whole or name == "episodes")
    return Cost(
        count,
        work.suite,
        pruned,
        probed.seconds / count * in_a_row,
        (sum(sizes.values()) * work.suite + sizes["episodes"] * pruned) / count / 2**20,
        held / count * settings.episodes / 2**20,
        minimising,
    )


def reasons_to_ask(cost: Cost, free_megabytes: float = float("inf")) -> list[str]:
    """Return why somebody should think twice before a run, as parts of a sentence."""
    found = []
    if cost.seconds > LONG:
        found.append(in_words(cost.seconds))
    if cost.megabytes > min(LARGE, free_megabytes):
        free = f" ({size_in_words(free_megabytes * 1e6)} are free)"
        short = free_megabytes < cost.megabytes
        found.append(f"{size_in_words(cost.megabytes * 1e6)} of disk{free * short}")
    memory = float("inf")
    with suppress(AttributeError, OSError, ValueError):  # not every system tells
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20
    if cost.memory_megabytes > min(LARGE, memory):
        found.append(f"{size_in_words(cost.memory_megabytes * 1e6)} of memory")
    return found


def consider(session: Session, work: Remaining, workers: int, display: Display) -> None:
    """Play a few episodes to see what a run will cost; warn where that is much, and ask.

    Whatever is wrong with the episodes is found, and said, by the run itself.
    """
    if not work.suite and not work.pruned:
        return
    try:
        with display.busy("estimating"):
            cost = _foresee(session, work, workers)
    except ExecutionError:  # workers that die or hang would do so again
        raise
    except RpdError:
        return
    display.pace.expected = cost.seconds / (cost.suite_episodes + cost.pruning_episodes)
    path = session.directory.path.absolute()
    there = next((one for one in (path, *path.parents) if one.exists()), None)
    free = float("inf") if there is None else shutil.disk_usage(there).free / 2**20
    if much := reasons_to_ask(cost, free):
        shared.show_note(
            f"this will take about {' and '.join(much)}, for {cost.suite_episodes} mutant and "
            f"{cost.pruning_episodes} pruned episodes, judged from {cost.probe_episodes}"
        )
        if sys.stdin.isatty() and sys.stderr.isatty():
            _ask(display)


def _ask(display: Display) -> None:
    with display.paused():
        sys.stderr.write("rpd: go on? [y/N] (--yes does not ask) ")
        sys.stderr.flush()
        answer = sys.stdin.readline().strip().lower()
    if answer not in ("y", "yes"):
        raise Interrupted("stopped before the long work; nothing was lost", DECLINED)
