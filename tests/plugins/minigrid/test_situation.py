"""What surrounds a MiniGrid agent, as named numbers with words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.errors import FitError
from rpd_core.plugin.registry import installed
from rpd_minigrid.situation import Situation
from rpd_minigrid.words import DOORS, KINDS

SIGNS = {
    ".": "empty",
    "#": "wall",
    "G": "goal",
    "k": "key",
    "~": "lava",
    "o": "ball",
    "?": "unseen",
}
SIGNS |= {"D": "door", ",": "floor", "A": "empty"}


def seen(rows: str, direction: int = 0, door: str = "closed", carried: str = "empty") -> Any:
    """Return an observation drawn as rows, the farthest first, the agent in the last."""
    lines = rows.split("/")
    image = np.zeros((1, len(lines), len(lines), 3), dtype=np.uint8)
    for row, line in enumerate(lines):
        for column, sign in enumerate(line):
            image[0, column, row, 0] = KINDS.index(SIGNS[sign])
            image[0, column, row, 2] = DOORS.index(door) if sign == "D" else 0
    image[0, len(lines) // 2, -1, 0] = KINDS.index(carried)
    return {"image": image, "direction": np.array([direction])}


def told(observation: Any) -> dict[str, Any]:
    """Return what is said of an observation, by the names of the entries."""
    entries = Situation().name_entries(())
    row = Situation()(observation, {})[0]
    assert row.dtype == np.int8
    pairs = zip(entries, row.tolist(), strict=True)
    return {entry.name: entry.words[value] if entry.words else value for entry, value in pairs}


def test_what_is_ahead_and_beside_and_how_far_it_is_free() -> None:
    words = told(seen("..#../...../..,../...../#.A.k", direction=3))
    assert words["facing"] == "facing up"
    assert words["ahead"] == "free ahead"
    assert (words["on the left"], words["on the right"]) == (
        "free on the left",
        "free on the right",
    )
    assert words["free cells ahead"] == 3
    assert (words["free cells on the left"], words["free cells on the right"]) == (1, 1)
    assert words["key"] == "key to the right"
    assert words["goal"] == "no goal in sight"
    assert words["carried"] == "carrying nothing"


@pytest.mark.parametrize(
    ("rows", "ahead"),
    [
        (".G./.../.A.", "free ahead"), ("###/.#./.A.", "wall ahead"), ("???/.?./.A.", "wall ahead"),
        (".../.G./.A.", "goal ahead"), (".../.~./.A.", "lava ahead"), (".../.o./.A.", "ball ahead"),
    ],
)  # fmt: skip
def test_each_thing_in_front_has_a_word(rows: str, ahead: str) -> None:
    assert told(seen(rows))["ahead"] == ahead


def test_doors_are_open_closed_or_locked_and_things_are_carried() -> None:
    for door in DOORS:
        assert told(seen(".../.D./.A.", door=door))["ahead"] == f"{door} door ahead"
    assert told(seen(".../.../.A.", carried="key"))["carried"] == "carrying a key"


@pytest.mark.parametrize(
    ("rows", "goal"),
    [
        ("G../.../.A.", "goal to the left"), (".G./.../.A.", "goal straight ahead"),
        ("..G/.../.A.", "goal to the right"), (".../G../.AG", "goal to the right"),
        (".../G.G/.A.", "goal to the left"),
    ],
)  # fmt: skip
def test_the_nearest_goal_counts_the_left_one_of_two(rows: str, goal: str) -> None:
    assert told(seen(rows))["goal"] == goal


def test_rules_of_minigrid_stand_on_situations_unless_told_otherwise() -> None:
    def links(*chain: str) -> tuple[str, ...]:
        asked = Request("minigrid:Empty-5x5", "random", abstraction=chain)
        return resolve(asked, installed()).config.settings.abstraction

    assert links("rules") == ("situation", "rules")
    assert links("situation", "rules") == ("situation", "rules")
    assert links("identity", "rules") == ("identity", "rules")
    assert links("auto") == ("auto",)


def test_what_is_no_view_of_minigrid_is_refused() -> None:
    with pytest.raises(FitError, match="needs a dict of image and direction"):
        Situation()(np.zeros((2, 4)), {})
