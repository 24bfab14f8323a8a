"""MiniGrid in the page: an episode on its map, and what is ahead where it matters."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace
from typing import Any

import gymnasium
import minigrid  # noqa: F401
import numpy as np
import pytest

from rpd_core.plugin.protocols import PanelFacts, PanelView, Polygon
from rpd_kit import example_view
from rpd_minigrid.abstraction import MiniGridView
from rpd_minigrid.panels import MiniGridMap
from rpd_minigrid.paths import Path, walk

ABOUT = PanelFacts(
    "minigrid", abstraction=("minigrid",), shape=(148,), default_action="repeat",
    actions=("left", "right", "forward", "pickup", "drop", "toggle", "done"),
)  # fmt: skip
SEED = 11
ACTIONS = [2, 2, 1, 2, 2, 0, 2]


def played() -> tuple[list[tuple[int, ...]], list[Any]]:
    """Play in the real environment; return where the agent was, and what it saw."""
    env = gymnasium.make("MiniGrid-SimpleCrossingS9N1-v0")
    seen, _ = env.reset(seed=SEED)
    task: Any = env.unwrapped
    places, values = [], []
    for action in [*ACTIONS, None]:
        batch = {"image": seen["image"][None], "direction": np.array([seen["direction"]])}
        values.append(MiniGridView()(batch, {})[0])
        places.append((*map(int, task.agent_pos), int(task.agent_dir)))
        if action is not None:
            seen = env.step(action)[0]
    return places, values


@pytest.fixture(scope="module")
def view() -> PanelView:
    """A made-up view of real states, in which the real actions are taken."""
    _, values = played()
    found = example_view(np.unique(np.stack(values), axis=0), ABOUT)
    both = []
    for one in (found.traces.smallest, found.traces.whole):
        trace = one.trace
        some = np.flatnonzero(trace.step < len(ACTIONS))
        actions = np.tile(np.array(ACTIONS, dtype=float), 3)[:, None]
        cut = {field.name: getattr(trace, field.name)[some] for field in dataclasses.fields(trace)}
        taken = dataclasses.replace(trace, **{**cut, "policy": actions, "default": actions})
        episodes = dataclasses.replace(one.episodes, seed=np.full(3, SEED))
        both.append(dataclasses.replace(one, trace=taken, episodes=episodes))
    traces = dataclasses.replace(found.traces, smallest=both[0], whole=both[1])
    return dataclasses.replace(found, traces=traces)


def gathered(view: PanelView) -> dict[str, bytes]:
    return dict(MiniGridMap().gather(SimpleNamespace(about=ABOUT, traces=view.traces)))  # type: ignore[arg-type]


def test_actions_taken_again_lead_where_they_led() -> None:
    places, _ = played()
    path = walk("minigrid", SEED, ACTIONS)
    assert list(path.places) == places
    assert path.kinds[0] == ("wall",) * 9
    assert Path.from_plain(json.loads(json.dumps(path.plain()))) == path


def test_the_hero_is_the_same_episode_with_both_policies(view: PanelView) -> None:
    assert MiniGridMap().hero(view) == [], "nothing was gathered"
    drawn = MiniGridMap().hero(dataclasses.replace(view, files=gathered(view)))
    assert [one.name for one in drawn] == ["map", "map"], "side by side"
    assert [one.label.partition(":")[0] for one in drawn] == ["smallest policy", "whole policy"]
    places, _ = played()
    cells = [((x + 0.5) * 40, (y + 0.5) * 40) for x, y, _ in places[:-1]]
    for track, cell in zip(drawn[0].track, cells, strict=True):
        assert abs(track[0] - cell[0]) <= 12
        assert abs(track[1] - cell[1]) <= 12


def test_arrows_are_blue_where_the_default_acts_and_dark_by_loss(view: PanelView) -> None:
    drawn = MiniGridMap().hero(dataclasses.replace(view, files=gathered(view)))
    trace = view.traces.smallest.steps(view.traces.typical)
    arrows = [one for one in drawn[0].shapes if isinstance(one, Polygon)
              and one.fill.startswith(("loss", "default", "soft"))]  # fmt: skip
    assert len(arrows) == len(trace)
    assert sum(one.fill == "default" for one in arrows) == int((~trace.kept).sum())
    losses = view.losses(trace)
    assert sum(one.fill.startswith("loss") for one in arrows) == int((losses > 0).sum())


def test_the_map_of_another_episode_is_not_shown(view: PanelView) -> None:
    files = gathered(view)
    other = dataclasses.replace(view.traces, typical=2)
    assert MiniGridMap().hero(dataclasses.replace(view, traces=other, files=files)) == []


def test_situations_are_told_by_what_is_ahead() -> None:
    _, values = played()
    found = example_view(np.unique(np.stack(values), axis=0), ABOUT)
    decisions = tuple(
        dataclasses.replace(one, policy="left 60%, right 40%", default="forward", needed=True)
        for one in found.decisions
    )
    cards = MiniGridMap().cards(dataclasses.replace(found, decisions=decisions))
    assert sum(len(card.keys) for card in cards) == len(decisions)
    titles = {card.title: card.text for card in cards}
    assert {*titles} <= {"A wall right ahead: turn", "Free ahead: turn",
                         "The goal straight ahead: turn"}  # fmt: skip
    assert "Free ahead: turn" in titles
    assert titles["Free ahead: turn"] == (
        "The policy turns; repeating the last action would walk straight on. With free ahead, it "
        "decides in 3 of 4 states that are met."
    )
    other = dataclasses.replace(found, about=dataclasses.replace(ABOUT, abstraction=("situation",)))
    assert MiniGridMap().cards(other) == []
