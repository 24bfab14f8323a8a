"""`rpd list-plugins` and `rpd check-plugin`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.console import without_controls
from rpd_core.errors import ComponentError, nearest

CHECK_FAILED = 3


@shared.reporting
def list_plugins_command(
    kind: Annotated[str | None, typer.Option("--kind", help="Only this kind.")] = None,
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
    print_columns([_HEADINGS, *(_cells(row) for row in rows)])


_HEADINGS = ("kind", "name", "status", "summary", "plugin", "distribution", "version")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    status = row["status"] if not row["reason"] else f"{row['status']}: {row['reason']}"
    return tuple(str({**row, "status": status}[heading]) for heading in _HEADINGS)


def print_columns(rows: list[tuple[str, ...]]) -> None:
    """Print rows as aligned columns; rich's tables take as long as all the rest of the command."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    shared.answers().file.write("".join(f"{without_controls(line)}\n" for line in lines))


@shared.reporting
def check_plugin_command(
    plugin: Annotated[str, typer.Argument(help="Plugin or distribution name.")],
    env: Annotated[
        str | None, typer.Option("--env", help="Check in this environment, not in imagined ones.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Run the conformance kit over a plugin; exit code 3 if it finds a fault."""
    from rpd_core.plugin.registry import installed
    from rpd_core.testing import check_registration

    registry = installed()
    mine = [r for r in registry.registrations if plugin in (r.plugin, r.distribution)]
    if not mine:
        known = {name for r in registry.registrations for name in (r.plugin, r.distribution)}
        raise ComponentError(f"no plugin is called {plugin!r}.{nearest(plugin, known)}")
    reports = []
    for one in mine:
        report = check_registration(registry, one, environment=env)
        about = {"kind": one.kind, "name": one.component.name}
        reports.append({**about, "faults": report.faults, "notes": report.notes})
    if as_json:
        shared.print_json(reports)
    else:
        _print_reports(reports)
    if any(report["faults"] for report in reports):
        raise typer.Exit(CHECK_FAILED)


def _print_reports(reports: list[dict[str, Any]]) -> None:
    console = shared.answers()
    for report in reports:
        verdict = "FAULT" if report["faults"] else "note" if report["notes"] else "ok"
        console.print(f"{verdict:5} {report['kind']} {report['name']}", markup=False)
        for line in (*report["faults"], *report["notes"]):
            console.print(f"      {line}", markup=False)
