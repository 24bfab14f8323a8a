"""Panels that want more of a run than it stores, asked while policy and environment are there."""

from __future__ import annotations

from collections.abc import Mapping

from rpd_core.plugin.protocols import Gatherer, Panel, PanelFacts
from rpd_core.plugin.registry import Registry
from rpd_core.results.run import Run
from rpd_core.store.session import Session
from rpd_pictures.scene import Gather, Scene, gathered_by
from rpd_report.panels import panel_facts


def gather_for(session: Session, run: Run) -> Gather:
    """Return what collects for every panel that wants more of a run than it stores."""

    def gather(scene: Scene) -> Mapping[str, Mapping[str, bytes]]:
        shape = run.analysis.counted.states.value.shape[1:]
        scene.about = panel_facts(run, False, shape)
        return gathered_by(gatherers(session.registry, scene.about), scene, session.note)

    return gather


def gatherers(registry: Registry, about: PanelFacts) -> dict[str, Gatherer]:
    """Return the panels that gather for such a run, by name.

    One that cannot be made or asked is left out: the page says so where it would stand.
    """
    found: dict[str, Gatherer] = {}
    for registration in registry.of_kind("panel"):
        name = registration.component.name
        try:
            panel = registry.make("panel", name) if registration.ready else None
            if isinstance(panel, Gatherer) and isinstance(panel, Panel) and panel.applies(about):
                found[name] = panel
        except (Exception, SystemExit):  # a stranger's panel may raise anything
            continue
    return found
