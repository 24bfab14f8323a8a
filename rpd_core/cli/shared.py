"""What the commands share: options, errors as one line, exit codes, progress.

Heavy imports stay inside functions all over this package, so that `rpd --help` answers at once.
"""

from __future__ import annotations

import errno
import functools
import logging
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import typer

from rpd_core.cli.console import answers, errors, progress_bars
from rpd_core.cli.streams import Interrupted, clear_status, exit_code, flush_answer, reader_has_left
from rpd_core.errors import ConfigError, RpdError, shell_word

if TYPE_CHECKING:
    from rpd_core.results.run import Run

__all__ = ["answers", "errors", "progress_bars"]  # from where they are made
P = ParamSpec("P")
R = TypeVar("R")

BAD_INPUT = 2
OUTSIDE = (
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENAMETOOLONG, errno.ELOOP,
    errno.EACCES, errno.EPERM, errno.EROFS,
)  # fmt: skip
"""What goes wrong where a disk is full or a path cannot be used: no fault of the program."""


def reporting(command: Callable[P, R]) -> Callable[P, R]:
    """Show what its reader can mend as one line with exit code 2."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (Exception, SystemExit) as error:  # of a policy or an environment: ours is Exit
            if isinstance(error, OSError | SystemExit) and reader_has_left(error):
                flush_answer()
                raise typer.Exit(0) from error
            told = _as_line(error)
            if not told:
                raise
            errors().print(f"rpd: {tidied(told)}", style="red", markup=False)
            raise typer.Exit(BAD_INPUT) from error
        except KeyboardInterrupt as error:  # the bars, if there were any, have ended by now
            advice = error.advice if isinstance(error, Interrupted) else "interrupted"
            errors().print(f"rpd: {advice}", markup=False)
            raise typer.Exit(exit_code(error)) from error
        finally:
            clear_status()

    return wrapped


def _as_line(error: BaseException) -> str:
    """Return what its reader can mend, in a line; nothing for a defect, which has a traceback."""
    if isinstance(error, RpdError):
        return str(error)
    if isinstance(error, OSError) and error.errno in OUTSIDE:
        return of_the_outside(error)
    if isinstance(error, MemoryError):
        return "memory ran out: use fewer --workers, or a machine or a limit with more"
    if isinstance(error, SystemExit):
        from rpd_core.execute.items import as_rpd_error

        return str(as_rpd_error(error))
    from rpd_core.plugin.blame import unmet

    needs = unmet(error)
    return f"this {needs}" if needs else ""


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
    """When interrupted, have it shown what was kept and how to go on; some only the same command
    can."""
    try:
        yield
    except Interrupted:  # whoever raised it has said what is to be said
        raise
    except KeyboardInterrupt as stop:
        told = "interrupted before anything was stored. Run the same command again to start."
        if out.exists():  # an empty run is not left behind
            config, where = shell_word(out / "run.json"), shell_word(out)
            other = f", or rpd run --config {config} --out {where}," * (not same_command)
            told = (
                f"interrupted; finished chunks are kept in {out}. Run the same command again"
                f"{other} to continue."
            )
        raise Interrupted(told, exit_code(stop)) from None


def chosen_run(run: Path | None) -> Path:
    """Return the run that was named, or the latest."""
    from rpd_core.results.runs import latest_run

    if run is None:
        run = latest_run()
        show_note(f"the latest run is {run}")
    return run


def opened_run(run: Path, analysis: str | None = None) -> Run:
    """Open a run for reading; show if its latest analysis is not the one that was finished last."""
    from rpd_core.results.run import open_run

    opened = open_run(run, analysis)
    lost = opened.directory.lost() if analysis is None else None
    if lost is not None:
        instead = f"this is {opened.name!r}; " if opened.name is not None else ""
        show_note(
            f"the latest analysis, {lost!r}, has no summary.json any more: {instead}"
            f"rpd prune {shell_word(run)} makes it again"
        )
    return opened


def run_and(run: Path | None, rest: str | None, what: str, example: str) -> tuple[Path, str]:
    """Return a run and what was asked of it; where one word was typed, it is the latter.

    The example is a command with `RUN` in the place of the run.
    """
    if run is None:
        raise ConfigError(f"{what} is missing. Try --help.")
    if rest is None and (run / "run.json").is_file():
        typed = example.replace("RUN", shell_word(run))
        raise ConfigError(f"{what} is missing after {str(run)!r}: for example {typed}")
    return (chosen_run(None), str(run)) if rest is None else (run, rest)


def check_export(path: Path, formats: Collection[str], endings: str) -> None:
    """Refuse a file name whose format is not known, or whose folder is not there."""
    if path.suffix not in formats:
        raise ConfigError(f"cannot export to {str(path)!r}: the name must end {endings}")
    if not path.parent.is_dir():
        raise ConfigError(f"cannot export to {str(path)!r}: there is no folder {path.parent}")


def show_note(text: str) -> None:
    """Show what the user should know."""
    errors().print(f"rpd: note: {tidied(text)}", markup=False)


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        show_note(record.getMessage())


def show_warnings() -> None:
    log = logging.getLogger("rpd")
    if not any(isinstance(handler, _Notes) for handler in log.handlers):
        log.addHandler(_Notes())


def print_json(value: Any) -> None:
    """Print a record, or values that hold some, as JSON on standard output and nothing else."""
    clear_status()
    from rpd_core.store.codec import to_bytes

    sys.stdout.write(to_bytes(value).decode())
