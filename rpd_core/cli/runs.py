"""`rpd runs`: the runs that are there, what differs between them, and how far each is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.errors import StoreError
from rpd_core.results.runs import RUNS, RunRow, age_in_words, list_runs


def runs_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that holds them.")] = RUNS,
    as_json: options.Json = False,
) -> None:
    """List runs: what differs between them, how far each is, its age and its size."""
    from rpd_core.store.codec import to_plain

    if not folder.is_dir():
        raise StoreError(f"there is no folder {str(folder)!r}: name the one that holds your runs")
    rows = list_runs(folder)
    if as_json:
        shared.print_json([to_plain(row) for row in rows])
    elif not rows:
        shared.answers().print(f"There is no run in {folder}.", markup=False)
    else:
        _print(rows)


def _print(rows: list[RunRow]) -> None:
    from rich.table import Table

    from rpd_core.results.runs import size_in_words

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("run", "state", "age", "size", "differs in"):
        right = heading in ("age", "size")
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    for row in rows:
        cells = (row.path, row.state, age_in_words(row.changed), size_in_words(row.bytes))
        table.add_row(*map(_plain, (*cells, row.problem or _differences(row))))
    shared.answers().print(table)


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text(text)


def _differences(row: RunRow) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in row.differs.items())


def _value(value: Any) -> str:
    several = isinstance(value, tuple | list)
    return "+".join(map(str, value)) if several else str(value)
