"""`rpd describe`: what a component is for and which parameters it takes."""

from __future__ import annotations

from typing import Annotated

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.completion import complete_kind, complete_name


def _names_of_the_kind(ctx: typer.Context) -> list[tuple[str, str]]:
    return complete_name(str(ctx.params.get("kind") or ""))


@shared.reporting
def describe_command(
    kind: Annotated[
        str,
        typer.Argument(
            help="Kind of component, for example measure.", autocompletion=complete_kind
        ),
    ],
    name: Annotated[
        str,
        typer.Argument(help="Its name, for example tarantula.", autocompletion=_names_of_the_kind),
    ],
    as_json: options.Json = False,
) -> None:
    """Show a component's documentation and parameters."""
    from rich.table import Table  # `rpd list-plugins` does not need it

    from rpd_core.plugin.registry import check_kind, installed

    registry = installed()
    found = registry.find(check_kind(kind), name)
    description = registry.describe(kind, name)
    if as_json:
        parameters = [vars(parameter) for parameter in description.parameters]
        shared.print_json({**found.as_row(), "doc": description.doc, "parameters": parameters})
        return
    console = shared.answers()
    console.print(f"{kind} {name}", style="bold", markup=False)
    console.print(f"from {found.plugin} ({found.distribution} {found.version})", markup=False)
    console.print(f"\n{description.doc}\n", markup=False)
    if kind == "command":
        console.print(f"Its arguments and options: rpd {name} --help", markup=False)
        return
    if not description.parameters:
        console.print("It takes no parameters.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("parameter", "type", "default", "meaning"):
        table.add_column(heading, overflow="fold")
    for parameter in description.parameters:
        default = "(required)" if parameter.default is None else parameter.default
        table.add_row(parameter.name, parameter.annotation, default, parameter.help)
    console.print(table, markup=False)
