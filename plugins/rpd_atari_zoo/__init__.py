"""Policies of the Atari Zoo: frozen TensorFlow-1 graphs, read without TensorFlow."""

from functools import partial

from rpd_core import Component, hookimpl

Safe = partial(Component, runs_code=False)
"""A component whose input cannot make it run code, unless its recipe says otherwise."""


@hookimpl
def rpd_policy_loaders() -> list[Component]:
    return [
        Safe(
            "atari-zoo",
            "rpd_atari_zoo.loader:AtariZooFile",
            "Frozen TensorFlow-1 graph (.pb) of the Atari Zoo",
            requires=("torch", "google.protobuf"),
            install="torch protobuf",
            looks_like=r".+\.pb",
            recognises="rpd_atari_zoo.recognise:is_frozen_graph",
        )
    ]
