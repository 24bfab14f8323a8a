"""Policies saved by stable-baselines3 and sb3-contrib."""

from functools import partial

from rpd_core import Component, hookimpl

Safe = partial(Component, runs_code=False)
"""A component whose input cannot make it run code, unless its recipe says otherwise."""


@hookimpl
def rpd_policy_loaders() -> list[Component]:
    return [
        Safe(
            "sb3",
            "rpd_sb3.loader:Sb3File",
            "A stable-baselines3 or sb3-contrib .zip file",
            requires=("stable_baselines3", "torch"),
            install="stable-baselines3",
            looks_like=r".+\.zip",
            recognises="rpd_sb3.recognise:is_sb3",
            takes=(
                "stable_baselines3.common.base_class.BaseAlgorithm",
                "stable_baselines3.common.policies.BasePolicy",
            ),
        )
    ]
