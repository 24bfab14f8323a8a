"""MiniGrid tasks: fast exact lanes, their abstraction, and a trained policy."""

from functools import partial

from rpd_core import Component, hookimpl

Safe = partial(Component, runs_code=False)
"""A component whose input cannot make it run code, unless its recipe says otherwise."""


@hookimpl
def rpd_environments() -> list[Component]:
    return [
        Safe(
            "minigrid",
            "rpd_minigrid.environment:MiniGrid",
            "Any MiniGrid or BabyAI task; SimpleCrossingS9N1 as in the paper if none is named",
            requires=("minigrid",),
            install="minigrid",
            looks_like=r"(MiniGrid|BabyAI)-.+",
        )
    ]


@hookimpl
def rpd_abstractions() -> list[Component]:
    return [
        Safe(
            "minigrid",
            "rpd_minigrid.abstraction:MiniGridView",
            "What the agent sees and its direction, unchanged",
        ),
        Safe(
            "situation",
            "rpd_minigrid.situation:Situation",
            "What is ahead, and where goal and things are, in words",
        ),
    ]


@hookimpl
def rpd_policy_loaders() -> list[Component]:
    return [
        Safe(
            "minigrid",
            "rpd_minigrid.policy:MiniGridPolicy",
            "The MiniGrid policy that ships with rpd: simple-crossing",
            requires=("torch",),
            install="torch",
        )
    ]


@hookimpl
def rpd_panels() -> list[Component]:
    return [
        Safe("minigrid", "rpd_minigrid.panels:MiniGridMap", "Maps with the four directions"),
    ]
