"""`rpd plot`: a figure of a run as PNG, SVG or PDF; plays and locks nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rpd_core.cli import options, shared
from rpd_core.errors import ConfigError
from rpd_pictures.figures.names import PLOTS


@shared.reporting
def plot_command(
    run: options.RunPath = None,
    plot: Annotated[
        str | None, typer.Argument(metavar="PLOT", help=f"One of: {', '.join(PLOTS)}.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="File: .png, .svg or .pdf; default: PLOT.png here."),
    ] = None,
    analysis: options.AnalysisName = None,
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", help="Of curves, scores: only this one; repeatable."),
    ] = None,
    count: Annotated[int, typer.Option("--count", help="Of decisions: how many.")] = 15,
    pair: Annotated[
        str | None, typer.Option("--pair", help="Of map: two entries of a state, X,Y.")
    ] = None,
) -> None:
    """Draw a figure of a run as PNG, SVG or PDF; plays nothing."""
    entries = None if pair is None else tuple(pair.split(","))
    if entries is not None and len(entries) != 2:
        raise ConfigError(f"--pair takes two entries with a comma between, got {pair!r}")
    from rpd_core.results.run import opened_run
    from rpd_pictures.figures.asking import PlotOptions
    from rpd_pictures.figures.catalogue import draw, kind_of, save_figure

    where, wanted = shared.run_and(run, plot, "PLOT", "rpd plot RUN curves")
    path = out or Path(f"{wanted}.png")
    if wanted in PLOTS:
        kind_of(path)  # before the work
    two = None if entries is None else (entries[0], entries[1])
    figure = draw(
        opened_run(where, analysis), wanted, PlotOptions(tuple(measure or ()), count, two)
    )
    save_figure(figure, path)
    shared.answers().print(str(path), markup=False, soft_wrap=True)
