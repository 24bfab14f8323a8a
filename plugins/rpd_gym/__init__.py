"""CartPole with the paper's settings, and any other Gymnasium environment."""

from functools import partial

from rpd_core import Component, hookimpl

Safe = partial(Component, runs_code=False)
"""A component whose input cannot make it run code, unless its recipe says otherwise."""


@hookimpl
def rpd_environments() -> list[Component]:
    return [
        Safe("cartpole", "rpd_gym.cartpole:CartPole", "CartPole as in the paper"),
        Safe(
            "gym",
            "rpd_gym.environments:GymEnvironment",
            "Any registered Gymnasium id",
            looks_like=r"(?!MiniGrid-|BabyAI-).+-v\d+",
            takes=(
                "gymnasium.core.Env",
                "gymnasium.vector.vector_env.VectorEnv",
                "stable_baselines3.common.vec_env.base_vec_env.VecEnv",
            ),
        ),
        Component("python", "rpd_gym.environments:PythonEnvironment", "A factory of your own"),
    ]


@hookimpl
def rpd_abstractions() -> list[Component]:
    return [Safe("cartpole", "rpd_gym.cartpole:CartPoleGrid", "The paper's CartPole abstraction")]


@hookimpl
def rpd_policy_loaders() -> list[Component]:
    return [
        Safe(
            "cartpole",
            "rpd_gym.cartpole_policy:CartPolePolicy",
            "The CartPole policies that ship with rpd: good, weak",
        )
    ]
