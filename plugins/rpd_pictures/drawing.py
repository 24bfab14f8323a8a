"""Drawing a run: figures, films, paths, and the pictures that are stored with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from matplotlib.figure import Figure

from rpd_core.config.trust import check_trust
from rpd_core.results.run import Run
from rpd_core.store.files import write_whole
from rpd_pictures.figures.balance import balance_data, draw_balance
from rpd_pictures.figures.curves import curves_data, draw_curves
from rpd_pictures.figures.decisions import draw_decisions
from rpd_pictures.figures.scores import draw_scores
from rpd_pictures.figures.style import rendered
from rpd_pictures.page_drawings import page_drawing
from rpd_pictures.paint import painted
from rpd_pictures.subjects import DrawOptions, subject_of, target_file
from rpd_pictures.svg import svg_file

if TYPE_CHECKING:
    from rpd_pictures.film import Film
    from rpd_pictures.stored import Pictures


def _curves(run: Run, measure: str | Sequence[str] = ()) -> Figure:
    return draw_curves(curves_data(run, _several(measure)))


def _scores(run: Run, measure: str | Sequence[str] = ()) -> Figure:
    return draw_scores(run, _several(measure))


def _several(measure: str | Sequence[str]) -> Sequence[str]:
    return (measure,) if isinstance(measure, str) else measure


FIGURES: dict[str, Callable[..., Figure]] = {
    "curves": _curves,
    "scores": _scores,
    "decisions": draw_decisions,
    "balance": lambda run: draw_balance(balance_data(run)),
}

PAGE = ("map", "timeline", "barcode", "proof")
"""Pictures of the page."""


def draw(
    run: Run, name: str, out: str | os.PathLike[str] | None = None, **given: Unpack[DrawOptions]
) -> Figure | Film | Pictures:
    """Draw one of the subjects of a run: a figure, a film or path in a file, or pictures.

    A figure is written only where `out` names a file; pictures are stored with the run.
    """
    subject = subject_of(name, given)
    options: dict[str, Any] = {**given}
    path = None if out is None else target_file(name, Path(out), name)
    if name in FIGURES:
        figure = FIGURES[name](run, **options)
        if path is not None:
            write_whole(path, rendered(figure, path.suffix.lower().lstrip(".")))
        return figure
    if name in PAGE:
        drawing = page_drawing(run, name, **options)
        figure = painted(drawing)
        if path is not None:
            kind = path.suffix.lower().lstrip(".")
            write_whole(path, svg_file(drawing) if kind == "svg" else rendered(figure, kind))
        return figure
    if subject.suffixes:
        from rpd_pictures.film import draw_film  # it plays
        from rpd_pictures.pages import Wanted

        trust = check_trust(options.pop("trust_policy", False))
        return draw_film(run, Wanted(**{**options, "what": name}), path, trust)
    from rpd_pictures.pictures import take_again  # it plays

    return take_again(run, **options)
