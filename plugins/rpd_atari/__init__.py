"""Atari games as in the paper, and abstractions of their screens and memory."""

from functools import partial

from rpd_core import Component, hookimpl

Safe = partial(Component, runs_code=False)
"""A component whose input cannot make it run code, unless its recipe says otherwise."""


@hookimpl
def rpd_environments() -> list[Component]:
    return [
        Safe(
            "atari",
            "rpd_atari.environment:Atari",
            "Any Atari game: atari:Pong",
            requires=("ale_py",),
            install="ale-py",
        )
    ]


@hookimpl
def rpd_abstractions() -> list[Component]:
    return [
        Safe("atari", "rpd_atari.grid:AtariGrid", "The paper's generic Atari abstraction"),
        Safe("ram", "rpd_atari.memory:RamBytes", "Bytes of the console's memory: ram:49+54"),
        Safe("breakout", "rpd_atari.memory:Breakout", "Ball and paddle of Breakout"),
        Safe("pong", "rpd_atari.memory:Pong", "Ball and paddles of Pong"),
    ]


@hookimpl
def rpd_panels() -> list[Component]:
    return [
        Safe("atari", "rpd_atari.panels:BallOnScreen", "Where the ball is, on the game's screen"),
    ]
