"""`rpd prune`: prove rankings of a stored suite, and export the pruned policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.run import call_for, play_call
from rpd_core.cli.show import show_answer
from rpd_core.cli.suite import stored_config
from rpd_core.cli.work import Work, plays
from rpd_core.errors import ConfigError, StoreError, counted, shell_word

if TYPE_CHECKING:
    from rpd_core.results.run import Run

_POLICY_FORMATS = (".zip", ".rpd")
"""What the name of a policy to load ends in; both are the same zip."""


@options.with_settings("analysis", "answer")
@options.with_finish
@plays
def prune_command(
    *,
    run: options.RunPath = None,
    work: Work,
    analysis: options.NewAnalysisName = None,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            help="Write the smallest policy: a .zip to load, or its rules alone as .json or .py.",
        ),
    ] = None,
    fraction: Annotated[
        float | None, options.number_option("--fraction", "Which of the targets is exported.")
    ] = None,
    as_json: options.Json = False,
    **settings: Any,
) -> None:
    """Prune the policy by the rankings of a stored suite; plays no mutant episode."""
    finish = options.taken_finish(settings)
    work.check(options.given(settings))
    from rpd_core.results.export import export_pruned
    from rpd_core.results.rule_export import RULE_FORMATS, export_rules
    from rpd_core.store.directory import RunDirectory

    run = shared.chosen_run(run)
    stored_config(run)
    directory = RunDirectory(run)
    held, asked = directory.suite().count(), directory.stored().settings.episodes
    if held < asked and directory.latest() is None:
        raise StoreError(
            f"{str(run)!r} holds {held} of {asked} episodes, and pruning plays no mutant episode: "
            f"finish the suite first with rpd suite {shell_word(run)}"
        )
    if export is not None:
        _check_export(export)
    wanted = {"analysis": analysis, "finish": finish}
    finished, made = asked_again(run, options.given(settings), work, wanted)
    alone = export is not None and export.suffix in RULE_FORMATS
    if export is not None:
        write = export_rules if alone else export_pruned
        promise = str(write(finished, export, fraction))
    show_answer(finished, as_json, made=tuple(made.values()))
    if export is not None and alone:
        shared.errors().print(f"rpd: wrote {export}: {promise}", markup=False)
    elif export is not None:
        chosen = finished.policy(fraction)
        kept = "" if chosen is None else f"the policy in {counted(chosen.kept, 'state')}, "
        shared.errors().print(f"rpd: wrote {export}: {kept}{promise}", markup=False)
        shared.errors().print(f"rpd: use it: --policy pruned:{export}", markup=False)


def _check_export(path: Path) -> None:
    """Refuse a file name whose format is not known, or whose folder is not there."""
    from rpd_core.results.rule_export import RULE_FORMATS

    if path.suffix not in (*_POLICY_FORMATS, *RULE_FORMATS):
        raise ConfigError(
            f"cannot export to {str(path)!r}: the name must end in {' or '.join(_POLICY_FORMATS)} "
            f"(a policy to load) or in {' or '.join(RULE_FORMATS)} (its rules alone)"
        )
    if not path.parent.is_dir():
        raise ConfigError(f"cannot export to {str(path)!r}: there is no folder {path.parent}")


def asked_again(
    run: Path, typed: dict[str, Any], work: Work, asked: dict[str, Any]
) -> tuple[Run, dict[str, Path]]:
    """Ask something of a stored suite, which does not grow by it."""
    with shared.progress_bars() as progress:
        typed = {**of_the_latest(run), **typed}
        call = call_for(typed, stored_config(run), work, progress, {**asked, "out": run})
        return play_call(call)


def of_the_latest(run: Path) -> dict[str, int]:
    """Return the size of the latest analysis where the suite is not as large as was asked for."""
    from rpd_core.store.directory import RunDirectory

    directory = RunDirectory(run)
    name = directory.latest()
    complete = directory.suite().count() >= directory.stored().settings.episodes
    if complete or name is None:
        return {}
    return {"episodes": directory.analysis(name).episodes}
