"""CartPole with the paper's settings, and any other Gymnasium environment."""

from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.protocols import Component


@hookimpl
def rpd_environments() -> list[Component]:
    return [
        Component("cartpole", "rpd_gym.cartpole:CartPole", "CartPole as in the paper"),
        Component("gym", "rpd_gym.environments:GymEnvironment", "Any registered Gymnasium id"),
        Component("python", "rpd_gym.environments:PythonEnvironment", "A factory of your own"),
    ]


@hookimpl
def rpd_abstractions() -> list[Component]:
    return [
        Component("cartpole", "rpd_gym.cartpole:CartPoleGrid", "The paper's CartPole abstraction")
    ]


@hookimpl
def rpd_policy_loaders() -> list[Component]:
    return [
        Component(
            "cartpole",
            "rpd_gym.cartpole_policy:CartPolePolicy",
            "The CartPole policies that ship with rpd: good, weak",
            requires=("torch",),
            install="torch",
        )
    ]
