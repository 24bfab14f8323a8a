"""`rpd check-plugin`: the conformance kit over an installed plugin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.errors import ComponentError, SpecError, nearest

if TYPE_CHECKING:
    from rpd_core.plugin.registry import Registration

_CHECK_FAILED = 3


def complete_plugin(incomplete: str) -> list[str]:
    """Offer the installed plugins and their distributions."""
    from rpd_core.plugin.registry import installed

    found = installed().registrations
    return sorted({name for one in found for name in (one.plugin, one.distribution) if name})


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
        hint = nearest(plugin, known)
        if not hint:
            names = sorted({one.plugin for one in registry.registrations})
            hint = (
                f" Installed are {', '.join(names)}; one of your own is found after pip install -e"
            )
        raise ComponentError(f"no plugin is called {plugin!r}.{hint}")
    reports = _checked(mine, _by_name(mine, spec or []), env)
    if as_json:
        shared.print_json(reports)
    else:
        _print_reports(reports)
    if any(report["faults"] for report in reports):
        raise typer.Exit(_CHECK_FAILED)


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
    from rpd_kit import check_component, check_registration

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
