"""The command `rpd`: one module per command, put together here."""

from __future__ import annotations

import typer

from rpd_core.cli import describe, describe_policy, inspect_run, parts, plugin_commands, run
from rpd_core.execution import one_thread

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
    one_thread()  # before anything numerical is imported
    app()


if __name__ == "__main__":
    main()
