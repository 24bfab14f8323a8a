"""What the commands share: options, errors as one line, exit codes, progress.

Heavy imports stay inside functions all over this package, so that `rpd --help` answers at once.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

import typer
from rich.console import Console

from rpd_core.cli.stopping import exit_code
from rpd_core.cli.streams import output_for_the_answer
from rpd_core.errors import RpdError

if TYPE_CHECKING:
    from rpd_core.execute.workshop import Progress
    from rpd_core.plugin.protocols import Task

P = ParamSpec("P")
R = TypeVar("R")

BAD_INPUT = 2

Env = Annotated[str | None, typer.Option("--env", help="Environment spec, for example cartpole.")]
Policy = Annotated[
    str | None, typer.Option("--policy", help="Policy spec; default: the one the task ships.")
]
Abstraction = Annotated[
    list[str] | None, typer.Option("--abstraction", help="Abstraction spec; repeat to chain.")
]
DefaultAction = Annotated[
    str | None, typer.Option("--default-action", help="Default-action spec, for example repeat.")
]
Condition = Annotated[
    str | None, typer.Option("--condition", help="When an episode passed: return>=200, auto, ...")
]
Measure = Annotated[
    list[str] | None,
    typer.Option("--measure", help="Measure spec, in addition to the standard ones; repeatable."),
]
MutationRate = Annotated[
    float | None, typer.Option("--mutation-rate", help="Chance that a state is mutated, in (0, 1).")
]
EpisodeCount = Annotated[
    int | None, typer.Option("--episodes", help="Mutant episodes in the suite.")
]
TestEpisodes = Annotated[
    int | None, typer.Option("--test-episodes", help="Episodes per pruned policy.")
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of everything; default 0.")]
Workers = Annotated[
    int | None, typer.Option("--workers", help="Worker processes; default: all cores.")
]
ExecutorName = Annotated[str, typer.Option("--executor", help="Executor spec.")]
Unvisited = Annotated[
    str | None,
    typer.Option(
        "--unvisited", help="In states the suite never saw: 'default' action (default) or 'policy'."
    ),
]
Reference = Annotated[
    float | None,
    typer.Option("--reference", help="Return that shares are measured from; default: the task's."),
]
TrustPolicy = Annotated[
    bool, typer.Option("--trust-policy", help="Let the policy file run code of its author's.")
]
Out = Annotated[
    Path | None, typer.Option("--out", help="Run directory; default: runs/<readable name>.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="Run directory.")]


def errors() -> Console:
    """Give the console for everything that is not the answer."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def answers() -> Console:
    """Give the console for the answer; wide enough for a table when it is not a terminal."""
    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=160)


def reporting(command: Callable[P, R]) -> Callable[P, R]:
    """Show an error of ours as one line with exit code 2; say how to resume after Ctrl-C."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except RpdError as error:
            errors().print(f"rpd: {error}", style="red", markup=False)
            raise typer.Exit(BAD_INPUT) from error
        except SystemExit as error:  # of a policy or an environment: ours is typer.Exit
            if isinstance(error.__context__, BrokenPipeError):  # of rich: the reader has left
                raise
            from rpd_core.execute.local import as_rpd_error

            errors().print(f"rpd: {as_rpd_error(error)}", style="red", markup=False)
            raise typer.Exit(BAD_INPUT) from error
        except KeyboardInterrupt as error:
            errors().print("rpd: interrupted", markup=False)
            raise typer.Exit(exit_code(error)) from error

    return wrapped


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """Say, when interrupted, what was kept and how to go on."""
    try:
        yield
    except KeyboardInterrupt as stop:
        errors().print(
            f"rpd: interrupted; finished chunks are kept in {out}. Run the same command again, or "
            f"rpd run --config {out / 'run.json'} --out {out}, to continue.",
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


def show_notes(task: Task) -> None:
    """Show what a task wants its user to know."""
    for note in task.notes:
        errors().print(f"rpd: note: {note}", markup=False)


def print_json(value: Any) -> None:
    """Print JSON on standard output and nothing else."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def check_workers(workers: int | None) -> int:
    """Give the number of worker processes."""
    from rpd_core.errors import ConfigError
    from rpd_core.execute.local import usable_cores

    if workers is None:
        return usable_cores()
    if workers < 1:
        raise ConfigError(f"workers must be at least 1, got {workers}")
    return workers
