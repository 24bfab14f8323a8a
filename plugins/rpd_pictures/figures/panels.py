"""Figures that only one environment can draw: its panel draws them."""

from __future__ import annotations

from dataclasses import replace

from matplotlib.figure import Figure

from rpd_core.errors import one_line
from rpd_core.plugin.protocols import Panel, PanelView, Plotter
from rpd_core.plugin.registry import Registration, Registry, installed
from rpd_core.results.pictures import read_pictures
from rpd_core.results.run import Run
from rpd_pictures.figures.asking import PlotError
from rpd_pictures.figures.style import house_style, new_figure
from rpd_report.decisions import read_list
from rpd_report.panels import Gathered, panel_facts, view_of


@house_style()
def draw_by_panel(run: Run, registry: Registry | None = None) -> Figure | None:
    """Return the figure of the first panel that has one for this run; None where none has."""
    registry = registry or installed()
    drawing = [one for one in registry.of_kind("panel") if one.ready]
    plotters = [(one, _made(registry, one)) for one in drawing]
    if not any(plotter is not None for _, plotter in plotters):
        return None
    view, gathered = _view(run)
    for registration, plotter in plotters:
        if plotter is None or view is None:
            continue
        name = registration.component.name
        try:
            figure = _drawn(plotter, view, gathered.files(name))
        except (Exception, SystemExit) as error:  # a stranger's panel may raise anything
            raise PlotError(
                f"the panel {name!r} could not draw a map: {one_line(error)}"
            ) from error
        if figure is not None:
            return figure
    return None


def _made(registry: Registry, registration: Registration) -> Plotter | None:
    """Return a panel that draws figures, made; the page says what is wrong with a broken one."""
    try:
        panel = registry.make("panel", registration.component.name)
    except Exception:  # a stranger's panel may raise anything
        return None
    return panel if isinstance(panel, Plotter) and isinstance(panel, Panel) else None


def _view(run: Run) -> tuple[PanelView | None, Gathered]:
    pictures = read_pictures(run.path, str(run.name))
    listed, measure = read_list(run, ()), run.summary.list.measure
    view = view_of(panel_facts(run, pictures is not None), listed, {}, measure)
    return view, Gathered(run, pictures.panels if pictures is not None else {})


def _drawn(plotter: Plotter, view: PanelView, files: dict[str, bytes]) -> Figure | None:
    about = replace(view.about, files=tuple(files))
    if not isinstance(plotter, Panel) or not plotter.applies(about):
        return None
    figure = new_figure(7.2, 3.6)
    return figure if plotter.plot(replace(view, about=about, files=files), figure) else None
