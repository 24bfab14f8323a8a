"""Fill the page of commands from the program, so that no option is kept by hand.

The page keeps what only a person can say. While Sphinx reads it, usage and options are put into the
section of each command, in the groups of `rpd --help`; a command without a section gets one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from rpd_core.cli.app import all_commands
from rpd_core.config.settings import Group
from rpd_core.plugin.registry import installed

COMMANDS: dict[str, Any] = dict(all_commands())
MANY = 14
PLACEHOLDERS: dict[object, str] = {int: "N", float: "X", Path: "PATH"}


def flags_of(command: Any) -> list[str]:
    """Return the long options of a command."""
    return [flag for p in command.params for flag in p.opts if flag.startswith("--")]


def filled_commands(text: str) -> str:
    """Return the page of commands with usage and options in the section of each."""
    head, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    described = {name: s for s in sections for name in [_command_of(s)] if name}
    other = [s for s in sections if not _command_of(s)]
    pages = [command_section(name, described.get(name, f"## `rpd {name}`\n")) for name in COMMANDS]
    head = head.replace("<!-- groups -->", groups())
    return "\n\n".join(part.strip() for part in (head, *pages, *other)) + "\n"


def groups() -> str:
    """Return the table of commands under the headings of `rpd --help`, in its order."""
    group_of = {one.component.name: one.component.group for one in installed().of_kind("command")}
    rows = [
        (title, ", ".join(f"[`{n}`](#rpd-{n})" for n in COMMANDS if group_of[n] == title))
        for title in dict.fromkeys(group_of[name] for name in COMMANDS)
    ]
    lines = [f"| {title} | {names} |" for title, names in rows]
    return "\n".join(["| group | commands |", "|---|---|", *lines])


def _command_of(section: str) -> str | None:
    """Return the command that a section is about, if there is such a command."""
    found = re.match(r"## `rpd ([\w-]+)", section)
    return found[1] if found and found[1] in COMMANDS else None


def command_section(name: str, written: str) -> str:
    """Return the section of a command: usage and help, what a person wrote, options."""
    command = COMMANDS[name]
    remarks = written.partition("\n")[2].strip()
    parts = [f"## `rpd {name}`", _help(command), f"```text\n{usage(name)}\n```", remarks]
    return "\n\n".join(part for part in [*parts, *tables(command)] if part)


def _help(command: Any) -> str:
    """Return a command's help in lines of text; angle brackets are no HTML."""
    return str(command.help or "").replace("<", "\\<").strip()


def usage(name: str) -> str:
    """Return the line that shows how a command is called."""
    arguments = [_argument(p) for p in COMMANDS[name].params if p.param_type_name == "argument"]
    return " ".join(["rpd", name, *arguments, "[OPTIONS]"])


def _argument(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name.upper()).strip("[]")
    shown = f"{name}..." if parameter.nargs != 1 else name
    return shown if parameter.required else f"[{shown}]"


def tables(command: Any) -> Iterator[str]:
    """Yield the tables of arguments and options, by topic where there are many."""
    arguments = [p for p in command.params if p.param_type_name == "argument" and p.help]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    options = [p for p in options if p.name != "help"]
    if arguments:
        yield table("argument", [(f"`{_argument(p)}`", p.help) for p in arguments])
    if len(options) <= MANY:
        yield table("option", [option_row(p) for p in options])
        return
    headings = {p: getattr(p, "rich_help_panel", None) for p in options}
    own = [title for title in headings.values() if title not in (*get_args(Group), None)]
    for title in (*get_args(Group), *dict.fromkeys(own), None):
        chosen = [p for p in options if headings[p] == title]
        if chosen:
            yield f"**{title or 'What is printed'}**"
            yield table("option", [option_row(p) for p in chosen])


def table(first: str, rows: list[tuple[str, str]]) -> str:
    """Return a table of two columns; nothing for no rows."""
    if not rows:
        return ""
    lines = [f"| {left} | {cell(right)} |" for left, right in rows]
    return "\n".join([f"| {first} | meaning |", "|---|---|", *lines])


def cell(text: str) -> str:
    """Return a sentence that a table of Markdown holds as it is."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")


def option_row(option: Any) -> tuple[str, str]:
    """Return an option with its placeholder, and its help with a default it does not name."""
    words = "" if option.is_flag else f" {placeholder(option)}"
    names = ", ".join(f"`{name}{words}`" for name in (*option.opts, *option.secondary_opts))
    default = option.default
    says = "default" in (option.help or "")
    shown = default not in (None, False, "", ()) and not callable(default) and not says
    return names, f"{option.help or ''}{f' Default: {default}.' if shown else ''}"


def placeholder(option: Any) -> str:
    """Return what stands for the value of an option."""
    if option.metavar:
        return str(option.metavar)
    return PLACEHOLDERS.get(option.type_descriptor.annotation, "TEXT")


def _fill(sphinx: Any, page: str, source: list[str]) -> None:
    if page == "reference/cli":
        source[0] = filled_commands(source[0])


def setup(sphinx: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    sphinx.connect("source-read", _fill)
    return {"parallel_read_safe": True}
