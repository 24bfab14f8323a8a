"""A comparison as one page of HTML that needs nothing else: no script, no request."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined

from rpd_compare.figures import draw_both_prunings
from rpd_compare.records import Need
from rpd_compare.text import (
    TITLES,
    agreement_sentence,
    both_words,
    loss_cell,
    needs_sentence,
    smallest_words,
)
from rpd_core.results.sentences import noun_of
from rpd_core.results.words import few, percent, signed, without_folders
from rpd_core.store.files import write_whole
from rpd_pictures.figures.style import rendered
from rpd_pictures.stored import data_uri, read_picture
from rpd_pictures.svg import svg_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rpd_compare.records import Comparison, Side
    from rpd_compare.timelines import Drawn
    from rpd_core.plugin.protocols import Drawing

_SHARES = (0.01, 0.05, 0.1, 0.2, 0.5, 1.0)
_TEMPLATE = "page.html.txt"
_OPEN = 6
"""Rows that are shown of what only the newer policy needs; the others are folded."""


def write_page(path: Path, found: Comparison, drawn: Drawn | None = None) -> None:
    """Write the page of a comparison; the same comparison always gives the same bytes."""
    write_whole(path, page_of(found, drawn).encode())


def page_of(found: Comparison, drawn: Drawn | None = None) -> str:
    """Return the page of a comparison; everything from outside is escaped."""
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters["percent"] = percent
    environment.filters["few"] = few
    environment.filters["signed"] = signed
    environment.filters["plain"] = without_folders
    environment.filters["loss"] = loss_cell
    environment.filters["smallest"] = partial(smallest_words, noun=noun_of(found.abstraction))
    environment.filters["name"] = lambda path: Path(path).name
    text = files(__package__).joinpath(_TEMPLATE).read_text("utf-8")
    return environment.from_string(text).render(
        found=found,
        needs=needs_sentence(found),
        agree=agreement_sentence(found),
        timelines=_images(drawn.timelines if drawn else None),
        heroes=_images(drawn.heroes if drawn else None),
        caption=drawn.heroes[0].caption if drawn and drawn.heroes else "",
        alike=_settings(found.a) == _settings(found.b),
        sides=(("A", found.a), ("B", found.b)),
        new=found.needed(Need.NEW),
        open=_OPEN,
        folded=[(TITLES[need], found.needed(need)) for need in (Need.GONE, Need.BOTH)],
        both=both_words(found),
        shares=_SHARES,
        agreements=[
            (curve.measure, [point for point in curve.points if point.share in _SHARES])
            for curve in found.agreement
        ],
        pruning=_embedded(draw_both_prunings(found)),
        pictures=_pictures(found),
    )


def _images(drawings: tuple[Drawing, Drawing] | None) -> list[tuple[str, str]]:
    """Return what each drawing shows, and an address that holds it."""
    return [(one.label, data_uri(svg_file(one), "image/svg+xml")) for one in drawings or ()]


def _settings(side: Side) -> tuple[float, str]:
    return side.mutation_rate, side.condition


def _embedded(figure: Figure) -> str:
    return data_uri(rendered(figure, "svg"), "image/svg+xml")


def _pictures(found: Comparison) -> dict[int, str]:
    """Return the pictures of the states that are shown, by key, inside the page."""
    rows = [(row.key, row.picture) for row in (*found.changes, *found.disagreeing)]
    rows += [(row.key, row.picture) for row in found.needs]
    paths = {key: Path(picture) for key, picture in rows if picture is not None}
    return {
        key: data_uri(content)
        for key, path in paths.items()
        if (content := read_picture(path, path.parent)) is not None
    }
