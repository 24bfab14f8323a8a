"""Policies of the Atari Zoo: frozen TensorFlow-1 graphs, read without TensorFlow."""

from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.protocols import Component


@hookimpl
def rpd_policy_loaders() -> list[Component]:
    return [
        Component(
            "atari-zoo",
            "rpd_atari_zoo.loader:AtariZooFile",
            "Frozen TensorFlow-1 graph (.pb) of the Atari Zoo",
            requires=("torch", "google.protobuf"),
            install="torch protobuf",
        )
    ]
