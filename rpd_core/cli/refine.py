"""`rpd refine`: make the confirmed pruned policy of a stored analysis smaller."""

from __future__ import annotations

from typing import Annotated

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.prune import asked_again
from rpd_core.cli.run import show
from rpd_core.cli.suite import stored_config
from rpd_core.errors import ConfigError


@shared.reporting
def refine_command(
    run: options.RunPath,
    rounds: Annotated[int, typer.Option("--rounds", help="Rounds at most.")] = 3,
    refine_episodes: Annotated[
        int | None,
        typer.Option("--refine-episodes", help="Mutants in each; default: half the suite's."),
    ] = None,
    workers: options.Workers = None,
    executor: options.ExecutorName = "local",
    stall_timeout: options.StallTimeout = None,
    trust_policy: options.TrustPolicy = False,
    analysis: Annotated[
        str | None, typer.Option("--analysis", help="Name of the new analysis; default: readable.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Refine the pruned policy: mutants around it tell which states it can do without."""
    from rpd_core.store.directory import RunDirectory

    if rounds < 1:
        raise ConfigError(f"rounds must be at least 1, got {rounds}")
    stored_config(run)
    if RunDirectory(run).latest() is None:
        raise ConfigError(f"{str(run)!r} has no finished analysis to refine: run rpd prune {run}")
    typed = options.given({"rounds": rounds, "refine_episodes": refine_episodes})
    how = {"executor": executor, "stall": stall_timeout, "workers": workers, "analysis": analysis}
    show(asked_again(run, typed, trust_policy, how), as_json)
