"""Policies saved by stable-baselines3 and sb3-contrib."""

from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.protocols import Component


@hookimpl
def rpd_policy_loaders() -> list[Component]:
    return [
        Component(
            "sb3",
            "rpd_sb3.loader:Sb3File",
            "A stable-baselines3 or sb3-contrib .zip file",
            requires=("stable_baselines3",),
            install="stable-baselines3",
        )
    ]
