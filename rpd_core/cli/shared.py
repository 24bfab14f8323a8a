"""What the commands share: options, errors as one line, exit codes, progress.

Heavy imports stay inside functions all over this package, so that `rpd --help` answers at once.
"""

from __future__ import annotations

import errno
import functools
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import typer
from rich.console import Console

from rpd_core.cli.console import CleanConsole
from rpd_core.cli.stopping import exit_code
from rpd_core.cli.streams import flush_answer, output_for_the_answer
from rpd_core.errors import RpdError

if TYPE_CHECKING:
    from rpd_core.store.session import Progress

P = ParamSpec("P")
R = TypeVar("R")

BAD_INPUT = 2
OUTSIDE = (
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENAMETOOLONG, errno.ELOOP,
    errno.EACCES, errno.EPERM, errno.EROFS,
)  # fmt: skip
"""What goes wrong where a disk is full or a path cannot be used: no fault of the program."""


def errors() -> Console:
    """Return the console for everything that is not the answer."""
    return CleanConsole(stderr=True, highlight=False, soft_wrap=True)


def _columns() -> int:
    """Return the width asked for in the environment, or the one that answers are made for."""
    asked = os.environ.get("COLUMNS", "")
    return int(asked) if asked.isdecimal() and 20 <= int(asked) <= 1000 else 100


def answers() -> Console:
    """Return the console for the answer; as wide as it is made for when it is not a terminal."""
    width = None if sys.stdout.isatty() else _columns()
    return CleanConsole(highlight=False, width=width)


def reporting(command: Callable[P, R]) -> Callable[P, R]:
    """Show an error of ours as one line with exit code 2."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except RpdError as error:
            errors().print(f"rpd: {tidied(str(error))}", style="red", markup=False)
            raise typer.Exit(BAD_INPUT) from error
        except OSError as error:
            if error.errno not in OUTSIDE:
                raise
            errors().print(f"rpd: {of_the_outside(error)}", style="red", markup=False)
            raise typer.Exit(BAD_INPUT) from error
        except SystemExit as error:  # of a policy or an environment: ours is typer.Exit
            if isinstance(error.__context__, BrokenPipeError):  # of rich: the reader has left
                flush_answer()
                raise typer.Exit(0) from error
            from rpd_core.execute.running import as_rpd_error

            errors().print(f"rpd: {tidied(str(as_rpd_error(error)))}", style="red", markup=False)
            raise typer.Exit(BAD_INPUT) from error
        except KeyboardInterrupt as error:
            errors().print("rpd: interrupted", markup=False)
            raise typer.Exit(exit_code(error)) from error

    return wrapped


def of_the_outside(error: OSError) -> str:
    """Return an error of a disk or a path as one line."""
    what = f"cannot use {error.filename!r}" if error.filename else "cannot write"
    return tidied(f"{what}: {error.strerror}")


_LONGEST = 1500
"""Characters of an error that fit a screen."""


def tidied(text: str) -> str:
    """Return a message as one line that fits a screen, without control characters."""
    line = "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


@contextmanager
def resumable(out: Path, same_command: bool = False) -> Iterator[None]:
    """When interrupted, show what was kept and how to go on; some only the same command can."""
    try:
        yield
    except KeyboardInterrupt as stop:
        other = f", or rpd run --config {out / 'run.json'} --out {out}," * (not same_command)
        errors().print(
            f"rpd: interrupted; finished chunks are kept in {out}. Run the same command again"
            f"{other} to continue.",
            markup=False,
        )
        raise typer.Exit(exit_code(stop)) from None


@contextmanager
def progress_bars(hidden: bool = False) -> Iterator[Progress]:
    """Show a bar with an estimate for each stage, on standard error if it is a terminal."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = errors()
    bars = Progress(
        TextColumn("{task.description:>12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("episodes"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=hidden or not console.is_terminal,
    )
    tasks: dict[str, Any] = {}

    def tell(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=total)
        bars.update(tasks[stage], completed=done, total=total)

    with bars, output_for_the_answer():
        yield tell


def show_note(text: str) -> None:
    """Show what the user should know."""
    errors().print(f"rpd: note: {tidied(text)}", markup=False)


@contextmanager
def watched(label: str, stall_timeout: float | None) -> Iterator[None]:
    """End rpd when what it does itself, not a worker of its own, makes no progress."""
    from rpd_core.execute import stalls
    from rpd_core.play import heartbeat

    def give_up(report: str) -> None:
        errors().print(f"rpd: {tidied(report)}", style="red", markup=False)
        os._exit(BAD_INPUT)  # whoever hangs would not hear of an exception

    watch = stalls.Watch(heartbeat.numbers(), stall_timeout or stalls.STALL_TIMEOUT)
    with stalls.watched(watch, label, give_up):
        yield


class _Notes(logging.Handler):
    """Shows warnings of the core as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        show_note(record.getMessage())


def show_warnings() -> None:
    """Show warnings of the core, for example of work that makes no progress."""
    log = logging.getLogger("rpd")
    if not any(isinstance(handler, _Notes) for handler in log.handlers):
        log.addHandler(_Notes())


def print_json(value: Any) -> None:
    """Print JSON on standard output and nothing else."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def check_workers(workers: int | None) -> int:
    """Return the number of worker processes."""
    from rpd_core.errors import ConfigError
    from rpd_core.execute.local import usable_cores

    if workers is None:
        return usable_cores()
    if workers < 1:
        raise ConfigError(f"workers must be at least 1, got {workers}")
    return workers
