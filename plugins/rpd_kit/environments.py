"""Checks of environments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.chance import Draws
from rpd_core.play.actions import random_actions
from rpd_core.plugin.blame import gave_instead
from rpd_core.plugin.protocols import Environment, Lanes, Opening
from rpd_kit.scenes import LANES, STEPS, parts_of

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array


def check_environment(environment: Environment) -> Iterator[str]:
    """Check that an episode is a function of its seed and its actions, in any lane."""
    task = environment.task()
    if not 0 < task.mutation_rate < 1 or min(task.episodes, task.max_steps, task.lanes) < 1:
        yield f"recommends settings that cannot work: {task}"
    lanes = environment.open(Opening(LANES))
    wrong = gave_instead("open()", lanes, Lanes)
    if wrong:
        yield wrong
        return
    try:
        yield from _check_lanes(lanes)
    finally:
        lanes.close()


def _check_lanes(lanes: Lanes) -> Iterator[str]:
    if lanes.facts.lanes != LANES:
        yield f"opened {lanes.facts.lanes} lanes where {LANES} were asked for"
        return
    for check in (_check_start, _check_step, _check_episodes):
        faults = list(check(lanes))
        yield from faults
        if faults:
            return  # what follows would fail for the same reason


def _check_start(lanes: Lanes) -> Iterator[str]:
    yield from _check_shown(lanes, "before the first reset")
    lanes.reset(np.arange(LANES), np.arange(LANES))
    yield from _check_shown(lanes, "after a reset")


def _check_shown(lanes: Lanes, when: str) -> Iterator[str]:
    """Check that observations and views have a row for every lane, of the kind the space says."""
    shown = {"observations": lanes.observe()}
    shown |= {f"view {name!r}": lanes.view(name) for name in lanes.facts.views}
    for what, batch in shown.items():
        for part in parts_of(batch):
            if np.shape(part)[:1] != (LANES,):
                yield f"gives {what} of shape {np.shape(part)} {when}, for {LANES} lanes"
    space, batch = lanes.facts.observation_space, shown["observations"]
    if space.shape is None or isinstance(batch, dict):
        return
    expected, found = (LANES, *space.shape), np.shape(batch)
    if (expected, space.dtype) != (found, np.asarray(batch).dtype):
        dtype = np.asarray(batch).dtype
        yield f"observes {dtype} {found} {when}, where the space asks for {space.dtype} {expected}"


def _check_step(lanes: Lanes) -> Iterator[str]:
    """Check the shapes of what a step gives, and that idle lanes stay as they are."""
    before = [np.array(part) for part in parts_of(lanes.observe())]
    active = np.arange(LANES) == 0
    result = lanes.step(random_actions(lanes.facts.action_space, _draws(0)), active)
    for name, kinds in (("rewards", "f"), ("terminated", "b"), ("truncated", "b")):
        given = np.asarray(getattr(result, name))
        if given.shape != (LANES,) or given.dtype.kind not in kinds:
            wanted = "floats" if kinds == "f" else "truth values"
            yield f"gave {name} of {given.dtype} {given.shape} for {LANES} lanes, not {wanted}"
    yield from _check_shown(lanes, "after a step")
    after = [np.array(part) for part in parts_of(lanes.observe())]
    if not _same([part[~active] for part in before], [part[~active] for part in after]):
        yield "changed lanes that were not active"


def _check_episodes(lanes: Lanes) -> Iterator[str]:
    first = _play(lanes, lane=0, seed=7)
    if not _same(first, _play(lanes, lane=LANES - 1, seed=7)):
        yield "the same seed and actions gave another episode in another lane"
    _play(lanes, lane=0, seed=8)
    if not _same(first, _play(lanes, lane=0, seed=7)):
        yield "the same seed and actions gave another episode after a different one"
    if not _same(first, _play(lanes, lane=1, seed=7, beside=True)):
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
        result = lanes.step(random_actions(lanes.facts.action_space, _draws(step)), active)
        seen.append(np.array(result.rewards[lane]))
        over = result.terminated | result.truncated
        seen.append(np.array(over[lane]))
        active = active & ~over
        if not active[lane]:
            break
    return seen


def _draws(step: int) -> Draws:
    return Draws(np.full(LANES, 11, dtype=np.uint64), np.full(LANES, step))


def _same(left: list[Array], right: list[Array]) -> bool:
    return len(left) == len(right) and all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in zip(left, right, strict=True)
    )
