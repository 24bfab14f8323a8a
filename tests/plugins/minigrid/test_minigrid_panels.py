"""Maps of MiniGrid: layouts, paths, and what the page shows of them."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

import gymnasium
import minigrid  # noqa: F401
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from rpd_core.chance import canonical, state_keys
from rpd_core.plugin.protocols import Image, PanelFacts, PanelView, Paragraph, SceneStep
from rpd_minigrid.abstraction import MiniGridView
from rpd_minigrid.layouts import Layout, find_path, read_layout
from rpd_minigrid.panels import MiniGridMap

ABOUT = PanelFacts("minigrid", abstraction=("minigrid",), shape=(148,))
SEED = 11
RIGHT, DOWN = 0, 1


def keys_of(observations: Any) -> Any:
    return state_keys(canonical(MiniGridView()(observations, {})))


def walk(actions: str) -> tuple[list[SceneStep], list[tuple[int, int, int]]]:
    """Play l, r and f in the real environment; return the steps and where they were."""
    env = gymnasium.make("MiniGrid-SimpleCrossingS9N1-v0")
    seen, _ = env.reset(seed=SEED)
    task: Any = env.unwrapped
    steps, places = [], []
    for number, action in enumerate(actions):
        batch = {"image": seen["image"][None], "direction": np.array([seen["direction"]])}
        (key,) = keys_of(batch).tolist()
        value = MiniGridView()(batch, {})[0]
        steps.append(SceneStep(number, key, value, {**seen}, mutated=False))
        places.append((*map(int, task.agent_pos), int(task.agent_dir)))
        seen = env.step("lrf".index(action))[0]
    return steps, places


@pytest.fixture(scope="module")
def layout() -> Layout:
    return read_layout("minigrid", SEED, keys_of)


def scene(steps: list[SceneStep]) -> Any:
    return SimpleNamespace(
        about=ABOUT, first=[steps[0].key], seen=lambda key: ("suite:4", 0),
        seed=lambda episode: SEED, replay=lambda episode: steps, keys=keys_of,
    )  # fmt: skip


def view(files: Any, keys: list[int], scores: list[float]) -> PanelView:
    order = np.argsort(np.array(keys, dtype=np.uint64))
    numbers = np.ones(len(keys))
    return PanelView(
        about=ABOUT, measure="effect", keys=np.array(keys, dtype=np.uint64)[order],
        values=numbers, visits=numbers, scores=np.array(scores)[order], effects=numbers,
        ranks=numbers, files=files,
    )  # fmt: skip


def test_a_layout_holds_the_state_of_every_place_in_reach(layout: Layout) -> None:
    walls = sum(kind == "wall" for row in layout.kinds for kind in row)
    assert len(layout.keys) == 4 * (81 - walls)
    steps, places = walk("ffrfflf")
    assert [layout.keys[place] for place in places] == [step.key for step in steps]
    assert Layout.from_plain(json.loads(json.dumps(layout.plain()))) == layout


def test_the_path_is_found_from_states_and_directions(layout: Layout) -> None:
    steps, places = walk("ffrfflfrrrlffff")
    seen = [(step.key, int(step.observation["direction"])) for step in steps]
    assert find_path(layout, seen) == places


def test_the_map_shows_the_path_and_all_that_can_be_reached(layout: Layout) -> None:
    steps, places = walk("ffr")
    files = MiniGridMap().gather(scene(steps))
    assert set(files) == {"map-0.json", "map-1.json"}
    known = list(dict.fromkeys(layout.keys.values()))
    scores = [float(key == steps[2].key) for key in known]
    about, path, everything, *rest = MiniGridMap().draw(view(files, known, scores))
    assert isinstance(about, Paragraph)
    assert isinstance(path, Image)
    assert isinstance(everything, Image)
    assert len(rest) == 2
    assert len(re.findall(b"<polygon", path.data)) == len(set(places))
    assert len(re.findall(b"<polygon", everything.data)) == len(layout.keys)
    x, y, _ = places[2]
    assert f"column {x}, row {y}, facing right" in path.alt
    assert path.data.count(b"#b2182b") == 1, "the most important is red"


def test_the_figure_for_papers_has_the_colours_of_the_page(layout: Layout) -> None:
    steps, places = walk("ffr")
    files = MiniGridMap().gather(scene(steps))
    known = list(dict.fromkeys(layout.keys.values()))
    seen = view(files, known, [float(key == steps[2].key) for key in known])
    figure = Figure()
    assert MiniGridMap().plot(seen, figure)
    assert len(figure.axes) == 4, "two layouts: the path, and all in reach"
    _, path, everything, *_ = MiniGridMap().draw(seen)
    for axes, image in zip(figure.axes, (path, everything), strict=False):
        assert isinstance(image, Image)
        triangles = axes.collections[1]
        colours = [to_hex(colour) for colour in triangles.get_facecolor()]
        assert colours == re.findall(r'<polygon [^>]*fill="(#\w+)"', image.data.decode())
    line = figure.axes[0].get_lines()[0]
    assert [*line.get_xdata()] == [40 * (x + 0.5) for x, _, _ in dict.fromkeys(places[:3])]
    assert not MiniGridMap().plot(view({}, [1, 2], [0.0, 1.0]), Figure())


def test_without_gathered_maps_there_is_nothing_to_show() -> None:
    assert MiniGridMap().draw(view({}, [1, 2], [0.0, 1.0])) == []


def test_it_applies_to_minigrid_with_its_own_states_only() -> None:
    panel = MiniGridMap()
    assert panel.applies(ABOUT)
    assert panel.applies(PanelFacts("minigrid:Empty-8x8", abstraction=("minigrid",)))
    assert not panel.applies(PanelFacts("minigrid", abstraction=("rules",)))
    assert not panel.applies(PanelFacts("cartpole", abstraction=("minigrid",)))
