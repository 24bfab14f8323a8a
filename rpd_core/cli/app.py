"""The program behind `rpd`: one module per command, put together here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from rpd_core.cli import (
    bench,
    compare,
    complaints,
    describe,
    describe_policy,
    explain,
    grid,
    merge,
    new_plugin,
    pictures,
    plot,
    plugin_commands,
    prune,
    rank,
    refine,
    render,
    replay,
    report,
    reproduce,
    run,
    runs,
    shared,
    show,
    suite,
    validate,
    verify,
)
from rpd_core.cli.bash_words import whole_words
from rpd_core.cli.streams import reader_has_left

app = typer.Typer(
    name="rpd",
    help="Which decisions of a trained reinforcement-learning policy matter?",
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_show_locals=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, Callable[..., None]] = {
    "run": run.run_command,
    "suite": suite.suite_command,
    "merge": merge.merge_command,
    "rank": rank.rank_command,
    "prune": prune.prune_command,
    "refine": refine.refine_command,
    "validate": validate.validate_command,
    "bench": bench.bench_command,
    "grid": grid.grid_command,
    "reproduce": reproduce.reproduce_command,
    "compare": compare.compare_command,
    "runs": runs.runs_command,
    "show": show.show_command,
    "report": report.report_command,
    "explain": explain.explain_command,
    "plot": plot.plot_command,
    "replay": replay.replay_command,
    "pictures": pictures.pictures_command,
    "render": render.render_command,
    "verify": verify.verify_command,
    "list-plugins": plugin_commands.list_plugins_command,
    "describe": describe.describe_command,
    "describe-policy": describe_policy.describe_policy_command,
    "check-plugin": plugin_commands.check_plugin_command,
    "new-plugin": new_plugin.new_plugin_command,
}
for name, command in COMMANDS.items():
    summary = (command.__doc__ or "").partition("\n")[0]
    app.command(name, short_help=summary)(command)  # Typer would cut it


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True)
    ] = False,
) -> None:
    if version:
        from importlib.metadata import version as version_of  # only for this

        sys.stdout.write(f"rpd {version_of('ranking-policy-decisions')}\n")
        raise typer.Exit


def start() -> int:
    """Do what the command line says and return the exit code."""
    shared.show_warnings()
    if len(sys.argv) == 1:
        sys.argv.append("--help")
    try:
        with whole_words():
            code = typer.main.get_command(app).main(prog_name="rpd", standalone_mode=False)
    except SystemExit as end:  # of typer, which prints help by itself
        if not reader_has_left(end):
            raise
        return 0
    except OSError as error:
        if error.errno not in shared.OUTSIDE:
            raise
        told = shared.of_the_outside(error)
        shared.errors().print(f"rpd: {told}", style="red", markup=False)
        return shared.BAD_INPUT
    except Exception as error:
        if not hasattr(error, "format_message"):  # which a wrong option or argument has
            raise
        shared.errors().print(f"rpd: {shared.tidied(complaints.sentence(error))}", markup=False)
        return shared.BAD_INPUT
    return code if isinstance(code, int) else 0
