"""Before a run that takes long or much room: say so, and ask where somebody can answer."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rpd_core.cli import shared
from rpd_core.cli.stopping import Interrupted
from rpd_core.errors import ExecutionError, RpdError

if TYPE_CHECKING:
    from rpd_core.cli.cost import Cost, Work
    from rpd_core.cli.progress import Display
    from rpd_core.store.session import Session

DECLINED = 130
"""Exit code where somebody would rather not: as after Ctrl-C."""


def consider(session: Session, work: Work, workers: int, display: Display) -> None:
    """Play a few episodes to see what a run will cost; warn where that is much, and ask.

    Whatever is wrong with the episodes is found, and said, by the run itself.
    """
    from rpd_core.cli.cost import foresee, reasons

    if not work.suite and not work.pruned:
        return
    try:
        with display.busy("estimating"):
            cost = foresee(session, work, workers)
    except ExecutionError:  # workers that die or hang would do so again
        raise
    except RpdError:
        return
    display.pace.expected = cost.seconds / (work.suite + work.pruned)
    much = reasons(cost, free_megabytes(session.directory.path))
    if much:
        _ask(_warning(cost, much), display)


def free_megabytes(path: Path) -> float:
    """Return the room on the disk that a directory is to lie on."""
    there = next((one for one in (path, *path.absolute().parents) if one.exists()), None)
    return float("inf") if there is None else shutil.disk_usage(there).free / 2**20


def _warning(cost: Cost, much: list[str]) -> str:
    return (
        f"this will take about {' and '.join(much)}, for {cost.suite_episodes} mutant and "
        f"{cost.pruning_episodes} pruned episodes, judged from {cost.probe_episodes}"
    )


def _ask(warning: str, display: Display) -> None:
    shared.show_note(warning)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    with display.paused():
        sys.stderr.write("rpd: go on? [y/N] (--yes does not ask) ")
        sys.stderr.flush()
        answer = sys.stdin.readline().strip().lower()
    if answer not in ("y", "yes"):
        raise Interrupted("stopped before the long work; nothing was lost", DECLINED)
