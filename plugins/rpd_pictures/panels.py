"""Panels of plugins and a run: what they may know of it, what they gather, and what they show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rpd_core.config.trust import refuse_code
from rpd_core.errors import ComponentError, RpdError, one_line
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.protocols import (
    Bound,
    Card,
    CardPanel,
    Drawing,
    FramePanel,
    Gatherer,
    HeroPanel,
    Image,
    Panel,
    PanelDecision,
    PanelFacts,
    PanelView,
    Traces,
)
from rpd_core.plugin.protocols.optional import TellsBounds
from rpd_core.plugin.registry import Registration, Registry, installed
from rpd_core.results.records import Decision
from rpd_core.results.run import Run
from rpd_core.store.files import read_whole
from rpd_pictures.checks import checked_cards, checked_frames, checked_hero, plain_name
from rpd_pictures.stored import Pictures, read_picture
from rpd_pictures.traces import read_traces

_LARGEST_FILE = 2**24
_DRAWN = 300
"""Pictures of decisions that panels get."""


def panel_facts(run: Run) -> PanelFacts:
    """Return what panels may know of a run before they say whether they apply."""
    stored, names = run.directory.stored(), run.directory.names()
    traces = read_traces(run)
    shape = () if traces is None else tuple(traces.smallest.states.value.shape[1:])
    return PanelFacts(
        environment=stored.env,
        task=names.environment,
        abstraction=tuple(map(str, stored.settings.abstraction)),
        entries=names.state_entries,
        shape=shape,
        observed=names.observed,
        actions=names.actions,
        default_action=str(stored.settings.default_action),
    )


def panel_view(run: Run, traces: Traces, pictures: Pictures | None) -> PanelView:
    """Return what panels draw from."""
    bounds = _bounds(run)
    states: dict[int, bytes] = {}
    frames: dict[int, Image] = {}
    if pictures is not None:
        states = _read(run, {row.key: pictures.states.get(row.key) for row in run.decisions})
        if pictures.episode == traces.typical:
            found = _read(run, pictures.frames)
            frames = {
                step: Image(data, "image/webp", f"Step {step}") for step, data in found.items()
            }
    about = replace(panel_facts(run), pictures=bool(states), frames=bool(frames))
    values = _values(run)
    decisions = tuple(
        _decision(row, bounds.get(row.key, ()), values.get(row.key)) for row in run.decisions
    )
    return PanelView(about, decisions, traces, states, frames)


def _read(run: Run, paths: Mapping[int, Path | None]) -> dict[int, bytes]:
    found = {}
    for key, path in list(paths.items())[:_DRAWN]:
        content = None if path is None else read_picture(path, run.path)
        if content is not None:
            found[key] = content
    return found


def _decision(row: Decision, bounds: tuple[Bound, ...], value: Any) -> PanelDecision:
    return PanelDecision(
        row.key, row.state, row.policy_action, row.default_action, row.loss, row.return_without,
        row.needed, row.overrides, bounds, value,
    )  # fmt: skip


def _bounds(run: Run) -> dict[int, tuple[Bound, ...]]:
    """Return what the rules of a run ask; nothing where states are no rules, or not at hand."""
    stored, registry = run.directory.stored(), installed()
    try:
        links = [
            refuse_code("abstraction", str(text), registry, repr(str(run.path)))
            for text in stored.settings.abstraction
        ]
        if len(links) > 1 or not isinstance(links[0], TellsBounds):
            return {}
        last: Any = _learned(run, Chain(tuple(links))).links[-1]
    except RpdError:  # of a plugin that is not here, or may not run
        return {}
    states = run.analysis.counted.states
    keys = np.array([one.key for one in run.decisions], dtype=np.uint64)
    rows = np.searchsorted(states.key, keys).tolist()
    return {
        int(key): last.bounds(states.value[at]) or () for key, at in zip(keys, rows, strict=True)
    }


def _values(run: Run) -> dict[int, Any]:
    """Return the decisions as abstract states; nothing where the suite cannot be counted again."""
    try:
        states = run.analysis.counted.states
    except RpdError:  # its condition is not here, or may not run
        return {}
    keys = np.array([one.key for one in run.decisions], dtype=np.uint64)
    rows = np.minimum(np.searchsorted(states.key, keys), len(states) - 1).tolist()
    return {
        int(key): states.value[at]
        for key, at in zip(keys, rows, strict=True)
        if states.key[at] == key
    }


def _learned(run: Run, chain: Chain) -> Chain:
    """Return abstractions as a run has fitted them."""
    from rpd_core.store.prepared import prepared_chain  # it can fit them, too, which is heavy

    return prepared_chain(run.directory, chain) or chain


@dataclass(frozen=True)
class Gathered:
    """The files that panels left with a run."""

    run: Run
    paths: Mapping[str, Mapping[str, Path]] = field(default_factory=dict)
    """Name of a panel -> name of a file -> where it is."""

    def view_for(self, panel: str, view: PanelView) -> PanelView:
        """Return a view with the files of a panel, those that are there."""
        files = {}
        for name, path in self.paths.get(panel, {}).items():
            content = read_whole(path, self.run.path, _LARGEST_FILE)
            if content is not None:
                files[name] = content
        return replace(view, about=replace(view.about, files=tuple(files)), files=files)


def gatherers(registry: Registry, about: PanelFacts) -> dict[str, Gatherer]:
    """Return the panels that want more of such a run than it stores, by name."""
    found: dict[str, Gatherer] = {}
    for registration, panel in _made(registry):
        name = registration.component.name
        if isinstance(panel, Gatherer) and isinstance(panel, Panel) and _applies(panel, about):
            found[name] = panel
    return found


def _applies(panel: Panel, about: PanelFacts) -> bool:
    try:
        return panel.applies(about)
    except (Exception, SystemExit):  # the page shows it where the panel would stand
        return False


def _made(registry: Registry) -> Iterator[tuple[Registration, Panel | Exception]]:
    """Yield the installed panels, those that are only a fallback last."""
    usable = [one for one in registry.of_kind("panel") if one.ready or one.status == "broken"]
    made = [(one, _made_panel(registry, one)) for one in usable]
    yield from sorted(made, key=lambda pair: getattr(pair[1], "fallback", False) is True)


def _made_panel(registry: Registry, registration: Registration) -> Panel | Exception:
    try:
        if not registration.ready:
            raise ComponentError(f"it is {registration.status}: {registration.reason}")
        panel = registry.make("panel", registration.component.name)
        if not isinstance(panel, Panel):
            raise ComponentError("it has no applies()")
        if not isinstance(panel, HeroPanel | FramePanel | CardPanel):
            raise ComponentError("it has neither hero() nor frames() nor cards()")
        return panel
    except Exception as error:  # a stranger's panel may raise anything
        return error


@dataclass(frozen=True)
class ShownPanels:
    """What the panels of a run show, each place filled by the first that has something for it."""

    hero: tuple[Drawing, ...] = ()
    frames: Mapping[int, Image] = field(default_factory=dict)
    cards: tuple[Card, ...] = ()
    faults: tuple[str, ...] = ()
    """What panels did wrong, a sentence each."""


def show_panels(registry: Registry, view: PanelView, gathered: Gathered) -> ShownPanels:
    """Ask the installed panels; one that fails becomes a line that says so."""
    asked = _Asking(view, gathered)
    for registration, panel in _made(registry):
        asked.ask(registration, panel)
    return ShownPanels(asked.hero, asked.frames or view.frames, asked.cards, tuple(asked.faults))


@dataclass
class _Asking:
    """Panels that are asked one after the other."""

    view: PanelView
    gathered: Gathered
    hero: tuple[Drawing, ...] = ()
    frames: Mapping[int, Image] = field(default_factory=dict)
    cards: tuple[Card, ...] = ()
    faults: list[str] = field(default_factory=list)

    def ask(self, registration: Registration, panel: Panel | Exception) -> None:
        """Ask one for every place that is still empty."""
        name = plain_name(registration.component.name, "name")
        source = f"{name} ({registration.distribution or 'no distribution'})"
        try:
            if isinstance(panel, Exception):
                raise panel
            mine = self.gathered.view_for(name, self.view)
            if not panel.applies(mine.about):
                return
        except (Exception, SystemExit) as error:  # the page goes on, whatever a panel does
            self.faults.append(_fault(source, error))
            return
        for place, kind, check in _PLACES:
            if not getattr(self, place) and isinstance(panel, kind):
                try:
                    setattr(self, place, check(getattr(panel, place)(mine), mine))
                except (Exception, SystemExit) as error:
                    self.faults.append(_fault(source, error))


def _fault(source: str, error: BaseException) -> str:
    return f"The panel {source} could not be drawn: {one_line(error)}"


_PLACES: Sequence[tuple[str, type, Callable[[object, PanelView], Any]]] = (
    ("hero", HeroPanel, checked_hero),
    ("frames", FramePanel, checked_frames),
    ("cards", CardPanel, checked_cards),
)
