"""Panels of the page: plugins that are asked, drawn, and never trusted with markup."""

from __future__ import annotations

from dataclasses import dataclass

from rpd_core.errors import ComponentError, one_line
from rpd_core.plugin.protocols import Panel, PanelView
from rpd_core.plugin.registry import Registration, Registry
from rpd_pictures.panels import Gathered
from rpd_report.blocks import ROOM, Room, Shown, ShownPlane, checked_blocks, plain_name


@dataclass(frozen=True)
class ShownPanel:
    """A panel as it stands in the page."""

    name: str
    """What it is called, and by whom it is offered."""
    title: str
    """Its heading."""
    blocks: tuple[Shown, ...] = ()
    """Paragraphs, images and planes, checked."""
    fault: str = ""
    """Why there is nothing to see; empty if there is."""


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
        mine = gathered.view_for(name, view)
        if not panel.applies(mine.about):
            return None
        checked = tuple(checked_blocks(panel.draw(mine), room))
        title = plain_name(panel.title, "title")
        return ShownPanel(source, title, checked) if checked else None
    except (Exception, SystemExit) as error:  # the page goes on, whatever a panel does
        return ShownPanel(source, name, fault=one_line(error))
