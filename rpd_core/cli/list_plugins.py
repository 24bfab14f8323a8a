"""`rpd list-plugins`: every component, and whether it can be used."""

from __future__ import annotations

import textwrap
from typing import Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.completion import complete_kind
from rpd_core.cli.console import asked_width, without_controls
from rpd_core.plugin.discovery import BUNDLED


def list_plugins_command(
    kind: Annotated[
        str | None,
        typer.Option("--kind", help="Only this kind.", autocompletion=complete_kind),
    ] = None,
    imports: Annotated[
        bool,
        typer.Option("--imports", help="Import what components need, too, which takes a while."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """List every component of every installed plugin, with its state."""
    from rpd_core.plugin.registry import check_kind, installed

    found = installed().registrations
    if kind is not None:
        found = [one for one in found if one.kind == check_kind(kind)]
    if imports:
        from rpd_core.plugin.importing import import_faults

        asked = {module for one in found if one.ready for module in one.component.requires}
        faults = import_faults(sorted(asked))
        found = [one.without(faults) for one in found]
    rows = [one.as_row() for one in found]
    if as_json:
        shared.print_json(rows)
        return
    table = [_HEADINGS, *(_cells(row) for row in rows)]
    width = asked_width()
    if width is None or max(map(len, _columns_of(table))) <= width:
        _print_lines(_columns_of(table))
    else:
        _print_lines(blocks_of(rows, width))
    if width is not None and not imports:
        _print_lines(["", *textwrap.wrap(_NOT_TRIED, width)])


_NOT_TRIED = "ready: all it needs is installed; whether that can be imported, --imports tries"
_HEADINGS = ("kind", "name", "status", "summary", "plugin", "distribution", "version")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    status = row["status"] if not row["reason"] else f"{row['status']}: {row['reason']}"
    return tuple(str({**row, "status": status}[heading]) for heading in _HEADINGS)


def _columns_of(rows: list[tuple[str, ...]]) -> list[str]:
    """Return rows as aligned columns; rich's tables take as long as all the rest of the command."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def blocks_of(rows: list[dict[str, str]], width: int) -> list[str]:
    """Return the same for a narrow screen: a block per kind, a name, what it is, what is wrong."""
    lines: list[str] = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        mine = [row for row in rows if row["kind"] == kind]
        indent = min(max(len(row["name"]) for row in mine) + 4, width // 3)
        lines += ["", kind] if lines else [kind]
        for row in mine:
            lines += _block(row, indent, width)
    return lines


def _block(row: dict[str, str], indent: int, width: int) -> list[str]:
    """Return the lines of one component: its name, and beside or below it what it is."""
    name, room = f"  {row['name']}", " " * indent
    beside = len(name) < indent
    first = name.ljust(indent) if beside else room
    about = textwrap.wrap(_about(row), width, initial_indent=first, subsequent_indent=room)
    return about if beside else [name, *about]


def _about(row: dict[str, str]) -> str:
    """Return what a component is, with whose it is and what is wrong where that is not usual."""
    usual = row["status"] in ("ready", "note")  # the summary of a note is its reason
    wrong = "" if usual else f" [{row['status']}: {row['reason']}]"
    bundled = row["distribution"] == BUNDLED
    whose = "" if bundled else f" ({row['distribution'] or row['plugin']} {row['version']})"
    return f"{row['summary']}{whose}{wrong}"


def _print_lines(lines: list[str]) -> None:
    shared.answers().file.write("".join(f"{without_controls(line)}\n" for line in lines))
