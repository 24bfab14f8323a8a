"""What only MiniGrid can show: an episode on its map, and what is ahead where it matters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rpd_core.plugin.protocols import Card, Drawing, PanelFacts, PanelView, Scene, TracedEpisodes
from rpd_minigrid.maps import map_drawing
from rpd_minigrid.paths import Path, walk
from rpd_minigrid.situations import situation_cards

_FILE = "paths.json"
_CAPTION = (
    "The same episode twice. Arrows point where the agent faces; size and colour: what is lost "
    "when the default action acts there. Blue: the default acts."
)


@dataclass(frozen=True)
class MiniGridMap:
    """A typical episode on its map, and beside it the same episode of the whole policy."""

    def applies(self, about: PanelFacts) -> bool:
        """Return whether the run is about MiniGrid."""
        return about.environment.partition(":")[0] == "minigrid"

    def gather(self, scene: Scene) -> Mapping[str, bytes]:
        """Keep the layout of the typical episode, and where it went with both policies."""
        if scene.traces is None:
            return {}
        episode, environment = scene.traces.typical, scene.about.environment
        both = {"smallest": scene.traces.smallest, "whole": scene.traces.whole}
        paths = {
            name: walk(environment, int(one.episodes.seed[episode]), _actions(one, episode))
            for name, one in both.items()
        }
        plain = {"episode": episode, **{name: path.plain() for name, path in paths.items()}}
        return {_FILE: json.dumps(plain).encode()}

    def hero(self, view: PanelView) -> Sequence[Drawing]:
        """Draw both on the map."""
        stored = json.loads(view.files[_FILE]) if _FILE in view.files else {}
        episode = view.traces.typical
        if stored.get("episode") != episode:
            return []
        titles = {"smallest": "smallest policy", "whole": "whole policy"}
        drawn = []
        for name, title in titles.items():
            trace = getattr(view.traces, name).steps(episode)
            path, losses = Path.from_plain(stored[name]), view.losses(trace).tolist()
            kept = trace.kept.tolist()
            drawn.append(map_drawing(path, losses, kept, title, "map", view.largest))
        drawn[0] = replace(drawn[0], caption=_CAPTION)
        return drawn

    def cards(self, view: PanelView) -> Sequence[Card]:
        """Return situations by what is ahead, where states are what the agent sees."""
        return situation_cards(view) if view.about.abstraction == ("minigrid",) else []


def _actions(traced: TracedEpisodes, episode: int) -> list[int]:
    trace = traced.steps(episode)
    done = np.where(trace.kept, trace.policy[:, 0], trace.default[:, 0])
    return [int(action) for action in done]
