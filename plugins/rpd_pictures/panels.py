"""Panels of plugins and a run: what they may know of it, and what they gather of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from rpd_core.analysis.decisions import Decisions
from rpd_core.plugin.protocols import Gatherer, Panel, PanelFacts, PanelView
from rpd_core.plugin.registry import Registry
from rpd_core.results.records import RankedDecision
from rpd_core.results.run import Run
from rpd_core.store.files import read_whole

WORDED = 1000
"""States of the list that panels get in words, besides the decisions."""
_LARGEST_FILE = 2**24


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


def panel_view(
    run: Run, judged: Decisions, rows: Sequence[RankedDecision], pictures: Mapping[int, bytes]
) -> PanelView:
    """Return what panels draw from: the states as judged, decisions and some more in words."""
    states, decisions = judged.counted.states, run.decisions
    ranks = np.zeros(len(states), dtype=np.int64)
    for one in decisions:
        ranks[np.searchsorted(states.key, np.uint64(one.key))] = one.rank
    return PanelView(
        about=panel_facts(run, bool(pictures), tuple(states.value.shape[1:])),
        measure=run.summary.list.measure,
        keys=states.key,
        values=states.value,
        visits=states.visits,
        scores=judged.ranking.scores,
        effects=judged.effects.estimate,
        ranks=ranks,
        words={
            **{row.key: row.state for row in rows[:WORDED]},
            **{row.key: row.state for row in decisions},
        },
        pictures=pictures,
    )


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
    return {
        name: panel
        for name, panel in usable_panels(registry)
        if isinstance(panel, Gatherer) and _applies(panel, about)
    }


def usable_panels(registry: Registry) -> Iterator[tuple[str, Panel]]:
    """Yield the installed panels by name; the page says what is wrong with a broken one."""
    for registration in registry.of_kind("panel"):
        name = registration.component.name
        try:
            panel = registry.make("panel", name) if registration.ready else None
        except Exception:  # a stranger's panel may raise anything
            continue
        if isinstance(panel, Panel):
            yield name, panel


def _applies(panel: Panel, about: PanelFacts) -> bool:
    try:
        return panel.applies(about)
    except (Exception, SystemExit):  # the page shows it where the panel would stand
        return False
