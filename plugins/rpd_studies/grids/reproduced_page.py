"""The paper's tables and figures, made again, as one page of HTML."""

from __future__ import annotations

from pathlib import Path

from rpd_core.store.codec import to_bytes
from rpd_core.store.files import write_whole
from rpd_pictures.figures.bands import draw_bands
from rpd_studies.grids.page import embedded, lines_of, rendered_page
from rpd_studies.grids.reproduced import Reproduction
from rpd_studies.grids.reproduced_text import markdown, sentences, tables_of

PAGE, MARKDOWN, JSON = "reproduced.html", "reproduced.md", "reproduced.json"


def write_reproduction(found: Reproduction, folder: Path) -> None:
    """Write the tables as a page, as Markdown and as JSON."""
    write_whole(folder / PAGE, page_of(found).encode(), folder)
    write_whole(folder / MARKDOWN, markdown(found).encode(), folder)
    write_whole(folder / JSON, to_bytes(found), folder)


def page_of(found: Reproduction) -> str:
    """Return the page; everything from outside is escaped."""
    figures = [
        (
            row,
            embedded(
                draw_bands(
                    lines_of(row.results), f"{row.task}, default action {row.default_action}"
                )
            ),
        )
        for row in found.rows
        if row.results
    ]
    return rendered_page(
        "reproduced.html.txt",
        found=found,
        tables=tables_of(found),
        sentences=sentences(found),
        figures=figures,
    )
