"""The program behind `rpd`: the commands of all plugins, each imported when it is called."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from rpd_core.cli import shared
from rpd_core.cli.catalogue import GROUPS, rpd_commands
from rpd_core.cli.completion import whole_words
from rpd_core.cli.streams import reader_has_left
from rpd_core.config.settings import Group
from rpd_core.errors import ComponentError, RpdError, one_line
from rpd_core.plugin.importing import import_attribute
from rpd_core.plugin.protocols import Component
from rpd_core.plugin.registry import Registration, installed

_HELP = {"help_option_names": ["-h", "--help"]}
_ARGUMENTS, _OPTIONS = "Arguments", "Options"
_TYPES = re.compile(r"<(?:list\[)?(\w+)\]?>")
"""How Typer writes the type of a value."""
_WORDS = {"path": "PATH", "int": "N", "float": "X"}
_OTHER = "Other"
"""Heading of commands whose plugin names none."""


class Commands(TyperGroup):
    """The commands that plugins offer; their names and summaries are known without them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return [one.component.name for one in _in_order(installed().of_kind("command"))]

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        """Import a command; None where there is none of that name.

        Those of the frame are found without looking at plugins, none of which can take their names.
        """
        for own in rpd_commands():
            if own.name == cmd_name:
                return as_typer_command(own, import_attribute(own.target))
        if cmd_name not in self.list_commands(ctx):
            return None
        try:
            return _imported(cmd_name)
        except RpdError:
            if not getattr(ctx, "resilient_parsing", False):
                raise
            return TyperCommand(cmd_name)  # completion goes on without what is broken

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        found = _in_order(installed().of_kind("command"))
        width = max(len(one.component.name) for one in found)
        for heading in dict.fromkeys(map(_heading, found)):
            with formatter.section(heading):
                formatter.write_dl([
                    (one.component.name.ljust(width), _summary(one))
                    for one in found
                    if _heading(one) == heading
                ])  # fmt: skip


def _imported(name: str) -> TyperCommand:
    """Import a command of a plugin, or raise with what is wrong with it."""
    registry = installed()
    function, found = registry.resolve("command", name), registry.find("command", name)
    try:
        return as_typer_command(found.component, function)
    except Exception as error:  # a stranger's function may have any parameters
        raise ComponentError(
            f"command {name!r} of plugin {found.plugin!r} ({found.distribution}) is broken: "
            f"{one_line(error)}"
        ) from error


class _GroupedOptions(TyperCommand):
    """A command whose options stand under the headings that they name as their panel."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options by heading, those without one last."""
        rows: dict[str, list[tuple[str, str]]] = {
            heading: [] for heading in (_ARGUMENTS, *get_args(Group))
        }
        plain: list[tuple[str, str]] = []
        for one in self.get_params(ctx):
            record = one.get_help_record(ctx)
            if record is None:
                continue
            own = getattr(one, "rich_help_panel", None)
            heading = _ARGUMENTS if one.param_type_name == "argument" else own
            (plain if heading is None else rows.setdefault(heading, [])).append(record)
        for heading, records in (*rows.items(), (_OPTIONS, plain)):
            if records:
                with formatter.section(heading):
                    formatter.write_dl([
                        (_TYPES.sub(lambda found: _WORDS.get(found[1], "TEXT"), flags), about)
                        for flags, about in records
                    ])  # fmt: skip


def as_typer_command(component: Component, function: Callable[..., Any]) -> TyperCommand:
    """Return a function as a command of Typer; whatever it raises is shown as we show it."""
    made = typer.Typer(add_completion=False, rich_markup_mode=None)
    made.command(
        component.name, cls=_GroupedOptions, short_help=component.summary, context_settings=_HELP
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


def all_commands() -> dict[str, TyperCommand]:
    """Import every command that can be used, by name, in the order of the help."""
    group = typer.main.get_command(app)
    assert isinstance(group, Commands)
    usable = {one.component.name for one in installed().of_kind("command") if one.ready}
    names = [name for name in group.list_commands(None) if name in usable]
    return {name: one for name in names if (one := group.get_command(None, name)) is not None}


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
        return _complain(sentence(error))
    return code if isinstance(code, int) else 0


def _complain(text: str) -> int:
    shared.errors().print(f"rpd: {shared.tidied(text)}", style="red", markup=False)
    return shared.BAD_INPUT


_EXTRA = re.compile(r"Got unexpected extra arguments? ?(?:\(s\) )?\((.*)\)")
_UNKNOWN = re.compile(r"No such command '(.*)'")
_CHOICES = {"--env": "environment", "--policy": "policy"}
"""Options whose value people type without them, and the kind of component that it selects."""


def sentence(error: Any) -> str:
    """Return what is wrong with the words on a command line, in one line."""
    message = str(error.format_message())
    extra = _EXTRA.search(message)
    context = getattr(error, "ctx", None)
    unknown = _UNKNOWN.match(message)
    if unknown is not None:
        try:
            installed().find("command", unknown[1])
        except RpdError as reason:
            return str(reason)
    if extra is None or context is None:
        return f"{message}{'' if message.endswith(('.', '?', '!')) else '.'} Try --help."
    word = extra[1].split(" ")[0]
    flags = {flag for option in context.command.params for flag in option.opts}
    name = context.command_path
    meant = [f"{flag} {spec}" for flag, spec in _meant(word) if flag in flags]
    advice = f"Did you mean {name} {meant[0]}?" if meant else "Try --help."
    return f"{name} does not take {word!r} by itself. {advice}"


def _meant(word: str) -> list[tuple[str, str]]:
    registry = installed()
    found = []
    for flag, kind in _CHOICES.items():
        try:
            registry.find(kind, registry.name_in(kind, word), word)
            found.append((flag, word))
        except RpdError as error:
            suggested = re.search(r"Did you mean '([^']+)'", str(error))
            found += [(flag, suggested[1])] if suggested else []
    exact = [one for one in found if one[1] == word]
    return exact or found
