"""Fill the tables of stored columns and records from where these are declared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from program_reference import cell

from rpd_core.plugin.importing import describe_target
from rpd_core.plugin.protocols import suite
from rpd_core.plugin.protocols.suite import Column, columns_of
from rpd_core.results import records

MARK = re.compile(r"<!-- (columns|fields|record) of ([\w.:]+) -->")
PAGES = ("reference/run-directory", "reference/hooks")


def filled_columns(text: str) -> str:
    """Return a page with a table in place of each mark.

    `columns of` a record are those of its files, `fields of` it are the arrays in memory, and
    `record of` is what a summary holds, or with a module, `record of rpd_core.pilot:Pilot`, what
    another file does.
    """
    return MARK.sub(lambda mark: "\n".join(_lines(mark[1], mark[2])), text)


def _lines(what: str, record: str) -> Iterator[str]:
    if what == "record":
        yield from _record_lines(record)
        return
    kind = getattr(suite, record)
    described = describe_target(f"{suite.__name__}:{record}").parameters
    meanings = {one.name: " ".join(one.help.split()) for one in described}
    columns = columns_of(kind)
    if what == "columns":
        yield from ("| column | type | meaning |", "|---|---|---|")
        for name, column in columns.items():
            yield f"| `{name}` | {_stored(column)} | {_sentence(meanings[name])} |"
        return
    yield from ("| field | shape, dtype | meaning |", "|---|---|---|")
    for name, meaning in meanings.items():
        yield f"| `{name}` | {_held(record.lower(), columns.get(name))} | {_sentence(meaning)} |"


def _record_lines(record: str) -> Iterator[str]:
    yield from ("| field | type | content |", "|---|---|---|")
    target = record if ":" in record else f"{records.__name__}:{record}"
    for one in describe_target(target).parameters:
        meaning = _sentence(" ".join(one.help.split()))
        yield f"| `{one.name}` | `{cell(one.annotation)}` | {meaning} |"


def _sentence(meaning: str) -> str:
    """Return a meaning as the cells of other tables have it."""
    acronym = meaning[:2].isupper()
    return (meaning if acronym else meaning[:1].lower() + meaning[1:]).rstrip(".")


def _stored(column: Column) -> str:
    if column.words:
        return "one of " + ", ".join(f"`{word}`" for word in column.words)
    if column.each:
        kind = "numbers" if column.type == "number" else column.type
        added = ", left out if there are none" if column.type != "number" else ""
        return f"list of {kind}{added}"
    return column.type


def _held(rows: str, column: Column | None) -> str:
    if column is None:
        return f"name to `({rows},)` float64"
    if column.words:
        places = ", ".join(f"{place} `{word}`" for place, word in enumerate(column.words))
        return f"`({rows},)` int64: {places}"
    dtype = {"int32": "int64", "number": "dtype of the abstraction"}.get(column.type, column.type)
    shape = f"({rows}, {column.each})" if column.each else f"({rows},)"
    return f"`{shape}` {dtype}"


def _fill(sphinx: Any, page: str, source: list[str]) -> None:
    if page in PAGES:
        source[0] = filled_columns(source[0])


def setup(sphinx: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    sphinx.connect("source-read", _fill)
    return {"parallel_read_safe": True}
