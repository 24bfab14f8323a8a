"""What only MiniGrid can show: a map with the four directions in each cell."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rpd_core.plugin.protocols import Block, Image, PanelFacts, PanelView, Paragraph, Scene
from rpd_minigrid.layouts import Layout, Place, find_path, read_layout
from rpd_minigrid.maps import draw_map

_FILE = "map-{}.json"
_MAPS = 2
_COLOURS = "from blue, least important, to red, most important,"


@dataclass(frozen=True)
class MiniGridMap:
    """Maps of layouts in which every cell shows how important its four directions are."""

    title: ClassVar[str] = "Maps of MiniGrid"

    def applies(self, about: PanelFacts) -> bool:
        """Return whether states are what the agent sees, unchanged."""
        name = about.environment.partition(":")[0]
        return name == "minigrid" and about.abstraction == ("minigrid",)

    def gather(self, scene: Scene) -> Mapping[str, bytes]:
        """Keep the layouts of the policy's first episode and of the first decision's."""
        episodes = ["original:0", *(scene.seen(key)[0] for key in scene.first[:1])]
        found = {}
        for number, episode in enumerate(dict.fromkeys(episodes)):
            layout = read_layout(scene.about.environment, scene.seed(episode), scene.keys)
            steps = [(step.key, int(step.observation["direction"]))
                     for step in scene.replay(episode)]  # fmt: skip
            plain = {**layout.plain(), "episode": episode, "path": find_path(layout, steps)}
            found[_FILE.format(number)] = json.dumps(plain).encode()
        return found

    def draw(self, view: PanelView) -> Sequence[Block]:
        """Draw every gathered layout twice: the states on the path, and all that can be reached."""
        importance = _importance(view)
        drawn = [block for number in range(_MAPS) for block in _maps(view, number, importance)]
        if not drawn:
            return []
        about = (
            "Each cell is cut into four: the triangle on the right stands for the agent that faces "
            f"right, and so on. Colours give the place of the state by {view.measure} among all "
            "states of the suite: blue is least important, red most. Grey states were never seen."
        )
        return [Paragraph(about), *drawn]

    def plot(self, view: PanelView, figure: Any) -> bool:
        """Draw the same maps on a figure of matplotlib, one layout per row."""
        from rpd_minigrid.figures import paint_map  # needs matplotlib

        gathered = [found for number in range(_MAPS) if (found := _gathered(view, number))]
        if not gathered:
            return False
        importance = _importance(view)
        figure.set_size_inches(6.4, 3.3 * len(gathered))
        rows = figure.subplots(len(gathered), 2, squeeze=False)
        for row, (layout, path, episode) in zip(rows, gathered, strict=True):
            for axes, (what, shown) in zip(row, _shown(path), strict=True):
                paint_map(axes, layout, importance, shown, path)
                axes.set_title(f"{episode}: {what}", loc="left")
        figure.supxlabel(f"{_COLOURS} by {view.measure}; grey was never seen", fontsize=8)
        return True


def _importance(view: PanelView) -> dict[int, float]:
    """Return the place of each state among all, from 0 to 1 for the most important."""
    order = np.lexsort((view.keys, view.scores))
    places = np.empty(len(order))
    places[order] = np.linspace(0.0, 1.0, len(order))
    return dict(zip(view.keys.tolist(), places.tolist(), strict=True))


def _maps(view: PanelView, number: int, importance: Mapping[int, float]) -> Iterator[Image]:
    gathered = _gathered(view, number)
    if gathered is None:
        return
    layout, path, episode = gathered
    for what, shown in _shown(path):
        svg = draw_map(layout, importance, shown, path)
        hottest = _hottest(layout, importance, shown)
        alt = f"Map of the layout of episode {episode}, {what}; {hottest}"
        yield Image(svg.encode(), "image/svg+xml", alt, f"Episode {episode}: {what}")


def _gathered(view: PanelView, number: int) -> tuple[Layout, list[Place], str] | None:
    """Return a layout that is stored with the run, the path in it and the name of its episode."""
    content = view.files.get(_FILE.format(number))
    if content is None:
        return None
    plain: dict[str, Any] = json.loads(content)
    path = [tuple(one) for one in plain["path"]]
    return Layout.from_plain(plain), path, str(plain["episode"])


def _shown(path: Sequence[Place]) -> tuple[tuple[str, set[Place] | None], ...]:
    return ("states on its path", set(path)), ("all states in reach", None)


def _hottest(
    layout: Layout, importance: Mapping[int, float], shown: set[tuple[int, ...]] | None
) -> str:
    """Return in words where the most important state of a map is."""
    places = [place for place in layout.keys if shown is None or place in shown]
    known = [place for place in places if layout.keys[place] in importance]
    if not known:
        return "none of them was seen in the suite"
    x, y, direction = max(known, key=lambda place: (importance[layout.keys[place]], place))
    facing = ("right", "down", "left", "up")[direction]
    return f"the most important is in column {x}, row {y}, facing {facing}"
