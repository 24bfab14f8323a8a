"""`rpd new-plugin`: a distribution to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rpd_core.cli import shared
from rpd_core.cli.completion import complete_kind


@shared.reporting
def new_plugin_command(
    kind: Annotated[
        str,
        typer.Argument(
            help="Kind of component, for example measure.", autocompletion=complete_kind
        ),
    ],
    name: Annotated[str, typer.Argument(help="What users will type, for example lift.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder to make; default: rpd-NAME.")
    ] = None,
) -> None:
    """Lay out a plugin distribution whose test passes, ready to be changed."""
    from rpd_kit.template import lay_out

    folder = lay_out(kind, name, out)
    shared.errors().print(
        f"rpd: wrote {folder}\nInstall it: pip install -e {folder}\nCheck it: rpd check-plugin "
        f"{folder.name}\nTest it: pytest {folder}",
        markup=False,
    )
