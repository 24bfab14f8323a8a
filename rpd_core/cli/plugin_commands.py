"""`rpd list-plugins` and `rpd check-plugin`."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.completion import complete_kind, complete_plugin
from rpd_core.cli.console import asked_width, without_controls
from rpd_core.errors import ComponentError, SpecError, nearest
from rpd_core.plugin.discovery import BUNDLED

if TYPE_CHECKING:
    from rpd_core.plugin.registry import Registration

CHECK_FAILED = 3


@shared.reporting
def list_plugins_command(
    kind: Annotated[
        str | None,
        typer.Option("--kind", help="Only this kind.", autocompletion=complete_kind),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List every component of every installed plugin, with its state."""
    from rpd_core.plugin.registry import check_kind, installed

    found = installed().registrations
    if kind is not None:
        found = [one for one in found if one.kind == check_kind(kind)]
    rows = [one.as_row() for one in found]
    if as_json:
        shared.print_json(rows)
        return
    table = [_HEADINGS, *(_cells(row) for row in rows)]
    width = asked_width()
    if width is None or max(map(len, columns_of(table))) <= width:
        print_lines(columns_of(table))
    else:
        print_lines(blocks_of(rows, width))


_HEADINGS = ("kind", "name", "status", "summary", "plugin", "distribution", "version")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    status = row["status"] if not row["reason"] else f"{row['status']}: {row['reason']}"
    return tuple(str({**row, "status": status}[heading]) for heading in _HEADINGS)


def columns_of(rows: list[tuple[str, ...]]) -> list[str]:
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


def print_lines(lines: list[str]) -> None:
    """Print lines without control characters."""
    shared.answers().file.write("".join(f"{without_controls(line)}\n" for line in lines))


@shared.reporting
def check_plugin_command(
    plugin: Annotated[
        str, typer.Argument(help="Plugin or distribution name.", autocompletion=complete_plugin)
    ],
    env: Annotated[
        str | None,
        options.spec_option(
            "--env", "environment", "Check in this environment, not in imagined ones."
        ),
    ] = None,
    spec: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPEC",
            help="Check a component with these parameters, as in --policy or --measure.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Run the conformance kit over a plugin; exit code 3 if it finds a fault."""
    from rpd_core.plugin.registry import installed

    registry = installed()
    mine = [r for r in registry.registrations if plugin in (r.plugin, r.distribution)]
    if not mine:
        known = {name for r in registry.registrations for name in (r.plugin, r.distribution)}
        raise ComponentError(f"no plugin is called {plugin!r}.{nearest(plugin, known)}")
    reports = _checked(mine, _by_name(mine, spec or []), env)
    if as_json:
        shared.print_json(reports)
    else:
        _print_reports(reports)
    if any(report["faults"] for report in reports):
        raise typer.Exit(CHECK_FAILED)


def _by_name(mine: Sequence[Registration], given: list[str]) -> dict[str, str]:
    """Return the specs by the names of the components that they make."""
    names = [one.component.name for one in mine]
    found = {}
    for text in given:
        name = text.partition(":")[0].strip()
        if name not in names:
            hint = nearest(name, names) or f" It offers {', '.join(names)}."
            raise SpecError(f"--spec {text!r}: the plugin offers no {name!r}.{hint}")
        found[name] = text
    return found


def _checked(
    mine: Sequence[Registration], given: dict[str, str], env: str | None
) -> list[dict[str, Any]]:
    """Return what the kit says about each component, made as its spec says if there is one."""
    from rpd_core.plugin.registry import installed
    from rpd_core.testing import check_component, check_registration

    reports = []
    for one in mine:
        text = given.get(one.component.name)
        if text is None or not one.ready:
            report = check_registration(installed(), one, environment=env)
            faults, notes = report.faults, report.notes
        else:
            faults, notes = check_component(one.kind, text, environment=env), []
        about = {"kind": one.kind, "name": one.component.name}
        reports.append({**about, "faults": faults, "notes": notes})
    return reports


def _print_reports(reports: list[dict[str, Any]]) -> None:
    console = shared.answers()
    for report in reports:
        verdict = "FAULT" if report["faults"] else "note" if report["notes"] else "ok"
        console.print(f"{verdict:5} {report['kind']} {report['name']}", markup=False)
        for line in (*report["faults"], *report["notes"]):
            console.print(f"      {line}", markup=False)
