"""`rpd bench`: measures against each other, on the same suites and the same episodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.work import Work, plays
from rpd_core.errors import ConfigError, counted

if TYPE_CHECKING:
    from rpd_studies.bench_results import Bench


@options.with_settings("suite", "size", "analysis", leave_out=("seed", "sweep"))
@plays
def bench_command(
    *,
    env: options.Env = None,
    policy: options.Policy = None,
    all_measures: Annotated[
        bool, typer.Option("--all-measures", help="Try every installed measure.")
    ] = False,
    seeds: Annotated[
        str, typer.Option("--seeds", help="Seeds, one suite each, for example 0,1,2,3,4.")
    ] = "0,1,2,3,4",
    choose_on: Annotated[
        str | None,
        typer.Option(
            "--choose-on",
            help="Seeds that choose the best measure; default: the first two in five; none: all.",
        ),
    ] = None,
    base: Annotated[
        str, typer.Option("--base", help="Measure that the others are compared with.")
    ] = "tarantula",
    criterion: Annotated[
        str,
        typer.Option(
            "--criterion",
            help="What decides: both (states + steps of one policy), states, steps, area_states, "
            "area_steps, top10, top50, holds or effect.",
        ),
    ] = "both",
    work: Work,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder of the run directories; default: runs/bench_..."),
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", help="Write the table to this file, too.")
    ] = None,
    as_json: options.Json = False,
    **settings: Any,
) -> None:
    """Compare measures on the same suites and test episodes, over several seeds."""  # fmt: skip
    if markdown is not None and not markdown.absolute().parent.is_dir():
        raise ConfigError(f"cannot write {str(markdown)!r}: there is no folder {markdown.parent}")
    numbers = _seeds_in("seeds", seeds)
    judges = None if choose_on is None else _seeds_in("choose-on", choose_on)
    typed = options.given({"env": env, "policy": policy, **settings})
    work.check(typed)
    if env is None:
        raise ConfigError("no environment given: name one, for example --env cartpole")
    with shared.progress_bars() as progress:
        from rpd_studies.bench import bench  # it takes a while

        found = bench(
            **typed, seeds=numbers, choose_on=judges, base=base,
            criterion=criterion,  # type: ignore[arg-type]  # it is checked
            all_measures=all_measures, out=out, **work.how(progress),
        )  # fmt: skip
    _show_bench(found, markdown, as_json)


def _seeds_in(name: str, text: str) -> tuple[int, ...]:
    """Read numbers with commas between them; `none` is none."""
    try:
        return () if text == "none" else tuple(int(one) for one in text.split(","))
    except ValueError:
        raise ConfigError(f"{name} must be numbers such as 0,1,2, got {text!r}") from None


def _show_bench(found: Bench, markdown: Path | None, as_json: bool) -> None:
    """Print the answer, and write it where that was asked for."""
    from rpd_core.store.files import write_whole
    from rpd_studies import bench_tables as bench_text

    if markdown is not None:
        write_whole(markdown.absolute(), bench_text.markdown(found).encode())
        rows = counted(len(found.rows), "measure")
        shared.errors().print(f"rpd: wrote the table of {rows} to {markdown}", markup=False)
    if as_json:
        shared.print_json(found)
    else:
        bench_text.print_bench(shared.answers(), found)
