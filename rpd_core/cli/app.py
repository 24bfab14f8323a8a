"""The program behind `rpd`: the commands of all plugins, each imported when it is called."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from rpd_core.cli import complaints, shared
from rpd_core.cli.bash_words import whole_words
from rpd_core.cli.catalogue import GROUPS
from rpd_core.cli.streams import reader_has_left
from rpd_core.errors import ComponentError, RpdError, one_line
from rpd_core.plugin.protocols import Component
from rpd_core.plugin.registry import Registration, installed

_HELP = {"help_option_names": ["-h", "--help"]}
_OTHER = "Other"
"""Heading of commands whose plugin names none."""


class Commands(TyperGroup):
    """The commands that plugins offer; their names and summaries are known without them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return [one.component.name for one in _in_order(installed().of_kind("command"))]

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        """Import a command; None where there is none of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        registry = installed()
        function = registry.resolve("command", cmd_name)
        found = registry.find("command", cmd_name)
        try:
            return as_typer_command(found.component, function)
        except Exception as error:  # a stranger's function may have any parameters
            raise ComponentError(
                f"command {cmd_name!r} of plugin {found.plugin!r} ({found.distribution}) is "
                f"broken: {one_line(error)}"
            ) from error

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands under their headings."""
        found = _in_order(installed().of_kind("command"))
        width = max(len(one.component.name) for one in found)
        for heading in dict.fromkeys(map(_heading, found)):
            with formatter.section(heading):
                formatter.write_dl([
                    (one.component.name.ljust(width), _summary(one))
                    for one in found
                    if _heading(one) == heading
                ])  # fmt: skip


class GroupedOptions(TyperCommand):
    """A command whose options stand under the headings that they name as their panel."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, those without a heading first."""
        rows: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record is not None:
                heading = getattr(option, "rich_help_panel", None) or "Options"
                rows.setdefault(heading, []).append(record)
        for heading, records in rows.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def as_typer_command(component: Component, function: Callable[..., Any]) -> TyperCommand:
    """Return a function as a command of Typer; whatever it raises is shown as we show it."""
    made = typer.Typer(add_completion=False, rich_markup_mode=None)
    made.command(
        component.name, cls=GroupedOptions, short_help=component.summary, context_settings=_HELP
    )(shared.reporting(function))
    command = typer.main.get_command(made)
    assert isinstance(command, TyperCommand), "it has one command"
    return command


def _heading(one: Registration) -> str:
    return one.component.group or _OTHER


def _summary(one: Registration) -> str:
    return one.component.summary if one.ready else f"[{one.status}] {one.reason}"


def _in_order(found: Iterable[Registration]) -> list[Registration]:
    """Return commands by heading; of a name that is taken twice, only who can be called."""
    usable = [one for one in found if one.status != "clash"]
    known = {heading: place for place, heading in enumerate(GROUPS)}
    return sorted(usable, key=lambda one: known.get(_heading(one), len(known)))


app = typer.Typer(
    name="rpd",
    cls=Commands,
    help="Which decisions of a trained reinforcement-learning policy matter?",
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_show_locals=False,
    rich_markup_mode=None,
    context_settings=_HELP,
)


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
    except RpdError as error:  # of a command that cannot be imported
        return _complain(str(error))
    except OSError as error:
        if error.errno not in shared.OUTSIDE:
            raise
        return _complain(shared.of_the_outside(error))
    except Exception as error:
        if not hasattr(error, "format_message"):  # which a wrong option or argument has
            raise
        return _complain(complaints.sentence(error))
    return code if isinstance(code, int) else 0


def _complain(text: str) -> int:
    shared.errors().print(f"rpd: {shared.tidied(text)}", style="red", markup=False)
    return shared.BAD_INPUT
