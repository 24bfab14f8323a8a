"""Screens of Atari beside their abstraction."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from rpd_atari.panels import AtariScreens, enlarged
from rpd_core.plugin.protocols import Image, PanelFacts, PanelView, Paragraph, SceneStep

ABOUT = PanelFacts("atari:Pong", abstraction=("atari",), shape=(3, 2))
KEYS = (5, 9)


def scene() -> Any:
    """Two states that were first seen in one episode, which is played once."""
    played: list[str] = []

    def replay(episode: str) -> list[SceneStep]:
        played.append(episode)
        return [
            SceneStep(n, n, np.zeros((3, 2)), None, False, np.full((4, 6, 3), n, dtype=np.uint8))
            for n in range(8)
        ]

    seen = {5: ("suite:3", 2), 9: ("suite:3", 7)}
    return SimpleNamespace(
        about=ABOUT, first=KEYS, seen=seen.__getitem__, replay=replay, played=played
    )


def view(files: Any) -> PanelView:
    numbers = np.arange(2.0)
    return PanelView(
        about=ABOUT, measure="effect", keys=np.array(KEYS, dtype=np.uint64),
        values=np.arange(12).reshape(2, 3, 2), visits=numbers, scores=numbers, effects=numbers,
        ranks=np.array([2, 1]), files=files,
    )  # fmt: skip


def test_an_episode_is_played_once_and_each_state_keeps_its_screen() -> None:
    from io import BytesIO

    from PIL import Image as Pillow

    at_hand = scene()
    files = AtariScreens().gather(at_hand)
    assert at_hand.played == ["suite:3"]
    levels = {name: Pillow.open(BytesIO(data)).getpixel((0, 0)) for name, data in files.items()}
    assert levels == {f"{5:016x}.webp": (2, 2, 2), f"{9:016x}.webp": (7, 7, 7)}


def test_screens_stand_by_rank_beside_their_states() -> None:
    blocks = AtariScreens().draw(view(AtariScreens().gather(scene())))
    assert isinstance(blocks[0], Paragraph)
    images = [block for block in blocks if isinstance(block, Image)]
    assert [one.caption for one in images] == ["1.", "2."]
    assert AtariScreens().draw(view({})) == []


def test_a_state_is_drawn_from_black_to_white() -> None:
    picture = enlarged(np.array([[2, 4], [3, 2]]))
    assert picture.shape == (20, 20, 3)
    assert picture[0, 0].tolist() == [0, 0, 0]
    assert picture[0, 10].tolist() == [255, 255, 255]
    assert picture[10, 0].tolist() == [127, 127, 127]


def test_it_applies_to_atari_with_states_that_are_pictures() -> None:
    assert AtariScreens().applies(ABOUT)
    assert not AtariScreens().applies(PanelFacts("atari:Pong", shape=(6,)))
    assert not AtariScreens().applies(PanelFacts("gym:Pong", shape=(3, 2)))
