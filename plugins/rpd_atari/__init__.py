"""Atari games as in the paper, and abstractions of their screens and memory."""

from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.protocols import Component


@hookimpl
def rpd_environments() -> list[Component]:
    return [
        Component(
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
        Component("atari", "rpd_atari.grid:AtariGrid", "The paper's generic Atari abstraction"),
        Component("ram", "rpd_atari.memory:RamBytes", "Bytes of the console's memory: ram:49+54"),
        Component("breakout", "rpd_atari.memory:Breakout", "Ball and paddle of Breakout"),
        Component("pong", "rpd_atari.memory:Pong", "Ball and paddles of Pong"),
    ]
