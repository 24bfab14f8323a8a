"""`rpd suite`, `rpd rank`, `rpd prune`: the parts of a run, each on its own."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import shared
from rpd_core.cli.run import request_from, workshop
from rpd_core.cli.streams import output_for_the_answer
from rpd_core.errors import ConfigError

if TYPE_CHECKING:
    from rpd_core.execute.workshop import Workshop


def stored_shop(
    run: Path, changes: dict[str, Any], workers: int | None, executor: str, progress: Any
) -> Workshop:
    """Open an existing run with some settings changed."""
    from rpd_core.store.directory import RunDirectory

    RunDirectory(run).config()  # says what is wrong if it is not a run
    return workshop(request_from(changes, run / "run.json"), run, workers, executor, progress)


@shared.reporting
def suite_command(
    run: Annotated[Path | None, typer.Argument(metavar="[RUN]", help="Run to continue.")] = None,
    env: shared.Env = None,
    policy: shared.Policy = None,
    abstraction: shared.Abstraction = None,
    default_action: shared.DefaultAction = None,
    mutation_rate: shared.MutationRate = None,
    episodes: shared.EpisodeCount = None,
    seed: shared.Seed = None,
    workers: shared.Workers = None,
    executor: shared.ExecutorName = "local",
    trust_policy: shared.TrustPolicy = False,
    out: shared.Out = None,
    as_json: shared.Json = False,
) -> None:
    """Play mutant episodes into a run directory: a new one, or RUN, which may grow."""
    from rpd_core import pipeline
    from rpd_core.cli.render import print_suite
    from rpd_core.report.results import suite_counts

    asked = {
        "env": env,
        "policy": policy,
        "abstraction": tuple(abstraction or ()),
        "default_action": default_action,
        "mutation_rate": mutation_rate,
        "episodes": episodes,
        "seed": seed,
        "trust_policy": trust_policy or None,
    }
    if run is not None and out is not None:
        raise ConfigError(f"{run} is continued where it is: leave --out {out} out")
    with shared.progress_bars() as progress:
        if run is not None:
            shop = stored_shop(run, asked, workers, executor, progress)
        else:
            shop = workshop(request_from(asked, None), out, workers, executor, progress)
        with shared.resumable(shop.directory.path), shop.working():
            pipeline.open_run(shop)
            suite = pipeline.build_suite(shop)
    counts = {"out": str(shop.directory.path), **suite_counts(suite)}
    if as_json:
        shared.print_json(counts)
    else:
        print_suite(shared.answers(), counts)


@shared.reporting
def rank_command(
    run: shared.RunPath,
    measure: shared.Measure = None,
    condition: shared.Condition = None,
    top: Annotated[int, typer.Option("--top", help="Decisions to show.")] = 10,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the whole ranking: .csv or .parquet.")
    ] = None,
    as_json: shared.Json = False,
) -> None:
    """Rank the decisions of a stored suite by a measure; plays nothing."""
    from rpd_core import pipeline
    from rpd_core.api import table_of
    from rpd_core.cli.render import print_decisions
    from rpd_core.report.results import decision_rows

    if top < 1:
        raise ConfigError(f"top must be at least 1, got {top}")
    changes = {"measures": tuple(measure or ()), "condition": condition}
    with output_for_the_answer():
        shop = stored_shop(run, changes, 1, "local", lambda stage, done, total: None)
        pipeline.restore_prepared(shop)
    names = [str(shop.registry.parse("measure", text)) for text in measure or ["tarantula"]]
    analysis = pipeline.analyse(shop, pipeline.load_suite(shop.directory))
    ranked = pipeline.Ranked(shop.setup, analysis)
    if export is not None:
        write_table(table_of(ranked, analysis.rankings[names[0]]), export)
    rows = {name: decision_rows(ranked, name, top) for name in names}
    if as_json:
        shared.print_json({"condition": analysis.condition, "rankings": rows})
        return
    for name in names:
        ties = analysis.rankings[name].tie_blocks()
        print_decisions(shared.answers(), name, analysis.condition, rows[name], ties)


def write_table(table: Any, path: Path) -> None:
    """Write a ranking in the format that the file name asks for."""
    writers = {".csv": table.to_csv, ".parquet": table.to_parquet}
    if path.suffix not in writers:
        raise ConfigError(f"cannot export to {str(path)!r}: the name must end in .csv or .parquet")
    try:
        writers[path.suffix](path)
    except OSError as error:
        raise ConfigError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


@shared.reporting
def prune_command(
    run: shared.RunPath,
    measure: shared.Measure = None,
    condition: shared.Condition = None,
    test_episodes: shared.TestEpisodes = None,
    unvisited: shared.Unvisited = None,
    reference: shared.Reference = None,
    workers: shared.Workers = None,
    executor: shared.ExecutorName = "local",
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the chosen pruned policy to this file.")
    ] = None,
    as_json: shared.Json = False,
) -> None:
    """Prune the policy by the rankings of a stored suite; plays no mutant episode."""
    from rpd_core import pipeline
    from rpd_core.api import execute
    from rpd_core.cli.render import print_answer
    from rpd_core.pruning.export import export_pruned

    changes = {
        "measures": tuple(measure or ()),
        "condition": condition,
        "test_episodes": test_episodes,
        "unvisited": unvisited,
        "reference": reference,
    }
    with shared.progress_bars() as progress:
        shop = stored_shop(run, changes, workers, executor, progress)
        stored = len(pipeline.load_suite(shop.directory).episodes)
        config = dataclasses.replace(shop.setup.config, episodes=stored)
        shop.setup = dataclasses.replace(shop.setup, config=config)
        with shared.resumable(shop.directory.path):
            finished = execute(shop)
    if export is not None:
        export_pruned(finished.results, export)
    if as_json:
        shared.print_json(finished.summary)
    else:
        print_answer(shared.answers(), finished.summary, finished.path)
        if export is not None:
            shared.answers().print(f"Use it: --policy pruned:{export}", markup=False)
