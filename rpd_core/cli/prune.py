"""`rpd prune`: prove rankings of a stored suite, and export the pruned policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.run import call_for, carry_out, show
from rpd_core.cli.suite import stored_config
from rpd_core.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from rpd_core.report.opened import Run


@shared.reporting
@options.with_settings("analysis")
def prune_command(
    run: options.RunPath,
    workers: options.Workers = None,
    executor: options.ExecutorName = "local",
    stall_timeout: options.StallTimeout = None,
    trust_policy: options.TrustPolicy = False,
    analysis: Annotated[
        str | None, typer.Option("--analysis", help="Name of the new analysis; default: readable.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the chosen pruned policy to this file.")
    ] = None,
    fraction: Annotated[
        float, typer.Option("--fraction", help="Fraction of the return that it is to keep.")
    ] = 0.9,
    as_json: options.Json = False,
    **settings: Any,
) -> None:
    """Prune the policy by the rankings of a stored suite; plays no mutant episode."""
    from rpd_core.config.configuration import THRESHOLDS
    from rpd_core.pruning.export import export_pruned
    from rpd_core.store.directory import RunDirectory

    stored_config(run)
    directory = RunDirectory(run)
    held, asked = directory.suite().count(), directory.stored().settings.episodes
    if held < asked:
        raise StoreError(
            f"{str(run)!r} holds {held} of {asked} episodes, and pruning plays no mutant episode: "
            f"finish the suite first with rpd suite {run}"
        )
    if export is not None and not export.parent.is_dir():
        raise ConfigError(f"cannot export to {str(export)!r}: there is no folder {export.parent}")
    if export is not None and fraction not in THRESHOLDS:
        known = ", ".join(f"{one:g}" for one in THRESHOLDS)
        raise ConfigError(f"no policy is pruned for a fraction of {fraction:g}: there are {known}")
    how = {"executor": executor, "stall": stall_timeout, "workers": workers, "analysis": analysis}
    finished = asked_again(run, options.given(settings), trust_policy, how)
    if export is not None:
        certificate = export_pruned(finished, export, fraction)
    show(finished, as_json)
    if export is not None:
        shared.errors().print(f"rpd: {export}: {certificate}", markup=False)
        shared.errors().print(
            f"rpd: wrote {export}; use it: --policy pruned:{export}", markup=False
        )


def asked_again(run: Path, typed: dict[str, Any], trust: bool, how: dict[str, Any]) -> Run:
    """Ask something of a stored suite, which does not grow by it."""
    with shared.progress_bars() as progress:
        wanted = {**how, "out": run, "progress": progress}
        return carry_out(call_for(typed, stored_config(run), trust, wanted), grow=False)
