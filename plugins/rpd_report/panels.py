"""Panels of the page: plugins that are asked, drawn, and never trusted with markup."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rpd_core.errors import ComponentError, one_line
from rpd_core.plugin.protocols import Panel, PanelFacts, PanelView
from rpd_core.plugin.registry import Registration, Registry
from rpd_core.results.run import Run
from rpd_core.store.files import read_whole
from rpd_report.blocks import ROOM, Room, ShownPlane, checked_blocks, plain_name
from rpd_report.decisions import Listed


@dataclass(frozen=True)
class ShownPanel:
    """A panel as it stands in the page."""

    name: str
    """What it is called, and by whom it is offered."""
    title: str
    """Its heading."""
    blocks: tuple[Any, ...] = ()
    """Paragraphs, images and planes, checked."""
    fault: str = ""
    """Why there is nothing to see; empty if there is."""


def panel_facts(run: Run, pictures: bool, shape: tuple[int, ...] = ()) -> PanelFacts:
    """Return what panels may know of a run."""
    stored, names = run.directory.stored(), run.directory.names()
    return PanelFacts(
        environment=stored.env,
        task=names.environment,
        abstraction=tuple(map(str, stored.settings.abstraction)),
        entries=names.state_entries,
        shape=shape,
        pictures=pictures,
    )


def view_of(
    facts: PanelFacts, listed: Listed, pictures: Mapping[int, bytes], measure: str
) -> PanelView | None:
    """Return what panels draw from; None where the states are not at hand."""
    judged = listed.judged
    if judged is None:
        return None
    states = judged.counted.states
    order, ranks = judged.listed(), np.zeros(len(states), dtype=np.int64)
    ranks[order] = np.arange(1, len(order) + 1)
    return PanelView(
        about=replace(facts, shape=tuple(states.value.shape[1:])),
        measure=measure,
        keys=states.key,
        values=states.value,
        visits=states.visits,
        scores=judged.ranking.scores,
        effects=judged.effects.estimate,
        ranks=ranks,
        words={row.key: row.state for row in listed.rows[:1000]},
        pictures=pictures,
    )


@dataclass(frozen=True)
class Gathered:
    """The files that panels left with a run."""

    run: Run
    paths: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Name of a panel -> name of a file -> where it is."""

    def files(self, panel: str) -> dict[str, bytes]:
        """Read the files of a panel, those that are there."""
        found = {}
        for name, path in self.paths.get(panel, {}).items():
            content = read_whole(path, self.run.path, 2**24)
            if content is not None:
                found[name] = content
        return found


def draw_panels(
    registry: Registry, view: PanelView, gathered: Gathered, room: float = 1.0
) -> tuple[ShownPanel, ...]:
    """Ask every installed panel; one that fails becomes a line that says so.

    Those that are only a fallback are asked last, and only where nobody drew a plane.
    """
    shown: list[ShownPanel] = []
    left = Room(room * ROOM)
    usable = [one for one in registry.of_kind("panel") if one.ready or one.status == "broken"]
    made = [(one, _made(registry, one)) for one in usable]
    made.sort(key=lambda pair: _is_fallback(pair[1]))  # a stable sort keeps the order otherwise
    for registration, panel in made:
        planes = any(isinstance(block, ShownPlane) for one in shown for block in one.blocks)
        if planes and _is_fallback(panel):
            continue
        found = _shown(registration, panel, view, gathered, left)
        if found is not None:
            shown.append(found)
    return tuple(shown)


def _made(registry: Registry, registration: Registration) -> Panel | Exception:
    try:
        if not registration.ready:
            raise ComponentError(f"it is {registration.status}: {registration.reason}")
        panel = registry.make("panel", registration.component.name)
        if not isinstance(panel, Panel):
            raise ComponentError("it has no title, applies and draw")
        return panel
    except Exception as error:  # a stranger's panel may raise anything
        return error


def _is_fallback(panel: Panel | Exception) -> bool:
    return getattr(panel, "fallback", False) is True


def _shown(
    registration: Registration,
    panel: Panel | Exception,
    view: PanelView,
    gathered: Gathered,
    room: Room,
) -> ShownPanel | None:
    name = plain_name(registration.component.name, "name")
    source = f"{name} ({registration.distribution or 'no distribution'})"
    try:
        if isinstance(panel, Exception):
            raise panel
        files = gathered.files(name)
        about = replace(view.about, files=tuple(files))
        if not panel.applies(about):
            return None
        blocks = panel.draw(replace(view, about=about, files=files))
        checked = tuple(checked_blocks(blocks, room))
        title = plain_name(panel.title, "title")
        return ShownPanel(source, title, checked) if checked else None
    except (Exception, SystemExit) as error:  # the page goes on, whatever a panel does
        return ShownPanel(source, name, fault=one_line(error))
