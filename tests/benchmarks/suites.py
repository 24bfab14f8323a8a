"""The speed of a suite in this process, for the benchmarks beside this file."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from rpd_core.analysis.suite import merge
from rpd_core.chance import Phase, episode_keys
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.play.chunks import SuiteChunk, perform_suite, player_for
from rpd_core.play.deciders import Coin
from rpd_core.play.loop import Plan, Step
from rpd_core.play.recipe import recipe_of
from rpd_core.plugin.registry import installed


def suite_speed(env: str, episodes: int, **asked: Any) -> float:
    """Build the suite of an environment; return steps per second of processor time."""
    setup = resolve(Request(env=env, episodes=episodes, **asked), installed())
    settings, recipe = setup.config.settings, recipe_of(setup)
    player_for(recipe)
    start = time.process_time()
    parts = []
    for first in range(0, episodes, settings.chunk):
        last = min(first + settings.chunk, episodes) - 1
        job = SuiteChunk(recipe, settings.seed, settings.mutation_rate, first, last)
        parts.append(perform_suite(job).suite)
    steps = int(merge(parts).episodes.length.sum())
    return steps / (time.process_time() - start)


def suite_actions(env: str, episodes: int, **asked: Any) -> list[tuple[int, list[Any]]]:
    """Return seed and actions of each episode of a suite."""
    setup = resolve(Request(env=env, episodes=episodes, **asked), installed())
    settings, recipe = setup.config.settings, recipe_of(setup)
    index = np.arange(episodes)
    plan = Plan(index, episode_keys(settings.seed, Phase.SUITE, index))
    done: list[list[Any]] = [[] for _ in index]

    def note(step: Step) -> None:
        rows = step.kept.reshape(-1, *[1] * (step.default.ndim - 1))
        chosen, other = step.choice.actions[step.lanes], step.default[step.lanes]
        for position, action in zip(step.position, np.where(rows, chosen, other), strict=True):
            done[position].append(action)

    played = player_for(recipe).player.play(plan, Coin(plan, settings.mutation_rate), note)
    return list(zip(played.seed.tolist(), done, strict=True))
