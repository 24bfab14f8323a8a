"""`rpd describe-policy`: what a policy file holds, how it is fitted, what it earns."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.completion import specs_of
from rpd_core.cli.numbers import whole_option
from rpd_core.cli.streams import output_for_the_answer
from rpd_core.errors import ConfigError


@shared.reporting
def describe_policy_command(
    policy: Annotated[
        str,
        typer.Argument(
            help="Policy spec, for example sb3:path.zip.", autocompletion=specs_of("policy")
        ),
    ],
    env: options.Env = None,
    episodes: Annotated[int, whole_option("--episodes", "Episodes to play.")] = 10,
    seed: options.Seed = None,
    trust_policy: options.TrustPolicy = False,
    stall_timeout: options.StallTimeout = None,
    as_json: options.Json = False,
) -> None:
    """Show what a policy is, what is adapted to the environment, and its mean return."""
    from rich.table import Table  # `rpd list-plugins` does not need it

    from rpd_core.config.resolve import choose
    from rpd_core.config.trust import permitted
    from rpd_core.plugin.registry import installed

    if episodes < 1:
        raise ConfigError(f"episodes must be at least 1, got {episodes}")
    registry = installed()
    if seed is not None and seed < 0:
        raise ConfigError(f"seed must not be negative, got {seed}")
    loader = permitted(choose(registry, "policy", policy), trust_policy).recipe
    with output_for_the_answer(), shared.watched(policy, stall_timeout):
        if env is None:
            about = own_words(loader)
        else:
            about = play(registry.make("environment", env), loader, episodes, seed or 0)
    if as_json:
        shared.print_json(about)
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in about.items():
        table.add_row(name, f"{value:.4g}" if isinstance(value, float) else str(value))
    shared.answers().print(table, markup=False)


def own_words(loader: Any) -> dict[str, Any]:
    """Return what a loader knows without an environment."""
    tell = getattr(loader, "describe", None)
    if tell is None:
        raise ConfigError("this policy can only be described with an environment: give --env")
    about: dict[str, Any] = tell()
    return about


def play(environment: Any, loader: Any, episodes: int, seed: int) -> dict[str, Any]:
    """Load the policy for an environment and play it."""
    import numpy as np

    from rpd_core.chance import Phase, episode_keys
    from rpd_core.play.deciders import always
    from rpd_core.play.loop import Plan, Player
    from rpd_core.play.recipe import policy_alone

    task = environment.task()
    for note in task.notes:
        shared.show_note(note)
    lanes = min(episodes, task.lanes)
    player = Player(policy_alone(environment, loader, lanes))
    index = np.arange(episodes)
    plan = Plan(index, episode_keys(seed, Phase.PROBE, index))
    try:
        played = player.play(plan, always)
    finally:
        player.close()
    returns = played.total_return
    return {
        "environment": player.facts.description,
        "environment's observations": str(player.facts.observation_space),
        "environment's actions": str(player.facts.action_space),
        **getattr(player.policy, "describe", dict)(),
        "episodes": episodes,
        "return_mean": float(returns.mean()),
        "return_std": float(returns.std(ddof=1)) if episodes > 1 else 0.0,
        "length_mean": float(played.length.mean()),
    }
