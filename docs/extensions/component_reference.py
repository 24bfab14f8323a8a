"""Fill the page of components from the catalogues of the installed plugins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from program_reference import table

from rpd_core.plugin.hookspecs import KINDS
from rpd_core.plugin.registry import Registry, installed

MARK = "<!-- components -->"
DISTRIBUTION = "ranking-policy-decisions"
"""The page shows what comes with rpd, whatever else is installed where it is built."""


def filled_components(text: str) -> str:
    """Return the page with a section per kind in place of the mark."""
    registry = installed()
    sections = [section for kind in KINDS for section in _kind(registry, kind)]
    return text.replace(MARK, "\n\n".join(sections))


def _kind(registry: Registry, kind: str) -> Iterator[str]:
    yield f"## {kind.replace('-', ' ').capitalize()}"
    for found in registry.of_kind(kind):
        if found.distribution == DISTRIBUTION:
            yield from _component(registry, kind, found.as_row())


def _component(registry: Registry, kind: str, row: dict[str, str]) -> Iterator[str]:
    description = registry.describe(kind, row["name"])
    yield f"### `{row['name']}` ({kind})"
    yield f"{row['summary']}."
    rows = [(f"`{p.name}`", _parameter(p)) for p in description.parameters]
    yield table("parameter", rows)


def _parameter(parameter: Any) -> str:
    """Return the help of a parameter with its default."""
    default = "required" if parameter.default is None else f"default `{parameter.default}`"
    return f"{parameter.help} ({default})"


def _fill(sphinx: Any, page: str, source: list[str]) -> None:
    if page == "reference/components":
        source[0] = filled_components(source[0])


def setup(sphinx: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    sphinx.connect("source-read", _fill)
    return {"parallel_read_safe": True}
