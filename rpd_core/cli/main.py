"""The command `rpd`: one module per command, put together here."""

from __future__ import annotations

import sys

import typer

from rpd_core.cli import describe, describe_policy, inspect_run, parts, plugin_commands, run, shared
from rpd_core.cli.streams import open_closed_streams
from rpd_core.worker import one_thread

app = typer.Typer(
    name="rpd",
    help="Which decisions of a trained reinforcement-learning policy matter?",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    rich_markup_mode=None,
)
app.command("run")(run.run_command)
app.command("suite")(parts.suite_command)
app.command("rank")(parts.rank_command)
app.command("prune")(parts.prune_command)
app.command("show")(inspect_run.show_command)
app.command("list-plugins")(plugin_commands.list_plugins_command)
app.command("describe")(describe.describe_command)
app.command("describe-policy")(describe_policy.describe_policy_command)
app.command("check-plugin")(plugin_commands.check_plugin_command)


def main() -> None:
    """Start the command line."""
    open_closed_streams()
    one_thread()  # before anything numerical is imported
    if len(sys.argv) == 1:
        sys.argv.append("--help")
    try:
        code = typer.main.get_command(app).main(prog_name="rpd", standalone_mode=False)
    except Exception as error:
        told = getattr(error, "format_message", None)  # of a wrong option or argument
        if told is None:
            raise
        shared.errors().print(f"rpd: {' '.join(told().split())} Try --help.", markup=False)
        sys.exit(shared.BAD_INPUT)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
