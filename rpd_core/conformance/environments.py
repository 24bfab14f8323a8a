"""Checks of environments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.components import Environment, Lanes, Opening
from rpd_core.conformance.scenes import LANES, STEPS, parts_of
from rpd_core.hashing import Draws
from rpd_core.prepare import random_actions

if TYPE_CHECKING:
    from rpd_core.components import Array


def check_environment(environment: Environment) -> Iterator[str]:
    """Check that an episode is a function of its seed and its actions, in any lane."""
    task = environment.task()
    if not 0 < task.mutation_rate < 1 or min(task.episodes, task.max_steps, task.lanes) < 1:
        yield f"recommends settings that cannot work: {task}"
    lanes = environment.open(Opening(LANES))
    try:
        yield from _check_lanes(lanes)
    finally:
        lanes.close()


def _check_lanes(lanes: Lanes) -> Iterator[str]:
    if lanes.facts.lanes != LANES:
        yield f"opened {lanes.facts.lanes} lanes where {LANES} were asked for"
        return
    for part in parts_of(lanes.observe()):
        if len(part) != LANES:
            yield f"observes {len(part)} rows before the first reset where {LANES} are needed"
            return
    first = _play(lanes, lane=0, seed=7)
    if not _same(first, _play(lanes, lane=LANES - 1, seed=7)):
        yield "the same seed and actions gave another episode in another lane"
    _play(lanes, lane=0, seed=8)
    if not _same(first, _play(lanes, lane=0, seed=7)):
        yield "the same seed and actions gave another episode after a different one"
    beside = _play(lanes, lane=1, seed=7, beside=True)
    if not _same(first, beside):
        yield "an episode changed because of what ran in the lanes beside it"


def _play(lanes: Lanes, lane: int, seed: int, beside: bool = False) -> list[Array]:
    """Play one lane (or all of them) with fixed actions and give all that was seen in it."""
    active = np.zeros(LANES, dtype=bool)
    active[:] = beside
    active[lane] = True
    seeds = np.full(LANES, seed + 100)
    seeds[lane] = seed
    which = np.flatnonzero(active)
    lanes.reset(which, seeds[which])
    seen: list[Array] = []
    for step in range(STEPS):
        seen += [np.array(part[lane]) for part in parts_of(lanes.observe())]
        seen += [np.array(lanes.view(name)[lane]) for name in lanes.facts.views]
        draws = Draws(np.full(LANES, 11, dtype=np.uint64), np.full(LANES, step))
        result = lanes.step(random_actions(lanes.facts.action_space, draws), active)
        seen.append(np.array(result.rewards[lane]))
        over = result.terminated | result.truncated
        seen.append(np.array(over[lane]))
        active = active & ~over
        if not active[lane]:
            break
    return seen


def _same(left: list[Array], right: list[Array]) -> bool:
    return len(left) == len(right) and all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in zip(left, right, strict=True)
    )
