"""MiniGrid tasks: fast exact lanes, their abstraction, and a trained policy."""

from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.protocols import Component


@hookimpl
def rpd_environments() -> list[Component]:
    return [
        Component(
            "minigrid",
            "rpd_minigrid.environment:MiniGrid",
            "Any MiniGrid or BabyAI task; SimpleCrossingS9N1 as in the paper if none is named",
            requires=("minigrid",),
            install="minigrid",
        )
    ]


@hookimpl
def rpd_abstractions() -> list[Component]:
    return [
        Component(
            "minigrid",
            "rpd_minigrid.abstraction:MiniGridView",
            "What the agent sees and its direction, unchanged",
        )
    ]


@hookimpl
def rpd_policy_loaders() -> list[Component]:
    return [
        Component(
            "minigrid",
            "rpd_minigrid.policy:MiniGridPolicy",
            "The MiniGrid policy that ships with rpd: simple-crossing",
            requires=("torch",),
            install="torch",
        )
    ]
