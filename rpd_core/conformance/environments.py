"""Checks of environments, policies, abstractions and default actions: things that act."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from rpd_core.actions import action_check, random_actions
from rpd_core.components import (
    Abstraction,
    Choice,
    DefaultAction,
    Environment,
    Facts,
    Lanes,
    Moment,
    Opening,
    Policy,
    PolicyInput,
    PolicyLoader,
    needs_of,
    opened,
)
from rpd_core.errors import FitError
from rpd_core.hashing import Draws, canonical

if TYPE_CHECKING:
    from rpd_core.components import Array, Batch

LANES = 4
STEPS = 25
"""Short: the kit must answer in seconds, for slow environments, too."""

_SPACES = (
    (spaces.Box(-1.0, 1.0, (4,)), spaces.Discrete(2)),
    (spaces.Box(-1.0, 1.0, (3,)), spaces.Box(-2.0, 2.0, (2,))),
    (spaces.Box(0, 255, (7, 7, 3), np.uint8), spaces.Discrete(5)),
)


# ---------------------------------------------------------------- environments


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
    for part in _parts(lanes.observe()):
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
        seen += [np.array(part[lane]) for part in _parts(lanes.observe())]
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


def _parts(batch: Batch) -> list[Array]:
    return [batch[name] for name in sorted(batch)] if isinstance(batch, dict) else [batch]


def _same(left: list[Array], right: list[Array]) -> bool:
    return len(left) == len(right) and all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in zip(left, right, strict=True)
    )


# ------------------------------------------------------- policies and defaults


def facts_for(pair: tuple[spaces.Space[Any], spaces.Space[Any]]) -> Facts:
    """Give facts of an imagined environment with an observation and an action space."""
    return Facts(pair[0], pair[1], LANES, description="the kit's environment")


def _observations(space: spaces.Space[Any], seed: int) -> Array:
    space.seed(seed)
    return np.stack([np.asarray(space.sample()) for _ in range(LANES)])


def _draws(label: int) -> Draws:
    return Draws(np.arange(LANES, dtype=np.uint64) + np.uint64(label), np.zeros(LANES))


def check_policy(loader: PolicyLoader) -> Iterator[str]:
    """Check a policy in the first imagined environment that it fits."""
    for pair in _SPACES:
        facts = facts_for(pair)
        try:
            policy = loader.load(facts)
        except FitError:
            continue
        yield from _check_loaded(policy, facts)
        return


def _check_loaded(policy: Policy, facts: Facts) -> Iterator[str]:
    first = policy(_policy_input(facts, seed=1))
    wrong = action_check(facts)(np.asarray(first.actions), np.ones(LANES, dtype=bool))
    if wrong is not None:
        yield f"chose {wrong[1]}"
    again = policy(_policy_input(facts, seed=1))
    if not np.array_equal(first.actions, again.actions):
        yield "chose other actions for the same input and draws"
    yield from _check_offers(first)


def _check_offers(choice: Choice) -> Iterator[str]:
    for name in ("action_values", "probabilities"):
        offered = getattr(choice, name)
        if offered is not None and np.shape(offered)[0] != LANES:
            yield f"gave {name} of shape {np.shape(offered)} for {LANES} lanes"
    if choice.probabilities is not None:
        sums = np.asarray(choice.probabilities).sum(axis=1)
        if not np.allclose(sums, 1.0, atol=1e-4):
            yield "gave probabilities that do not add up to 1"


def _policy_input(facts: Facts, seed: int) -> PolicyInput:
    shape = (LANES, *(facts.action_space.shape or ()))
    return PolicyInput(
        observations=_observations(facts.observation_space, seed),
        views={},
        starts=np.ones(LANES, dtype=bool),
        memory=None,
        draws=_draws(3),
        previous=np.zeros(shape, dtype=facts.action_space.dtype),
        rewards=np.zeros(LANES),
    )


def check_default_action(action: DefaultAction) -> Iterator[str]:
    """Check that a default action stays in the action space and repeats itself."""
    for pair in _SPACES:
        facts = facts_for(pair)
        try:
            act = action.open(facts)
        except FitError:
            continue
        moment = _moment(facts)
        actions = np.asarray(act(moment))
        wrong = action_check(facts)(actions, np.ones(LANES, dtype=bool))
        if wrong is not None:
            yield f"gave {wrong[1]}"
        if not np.array_equal(actions, np.asarray(act(moment))):
            yield "gave other actions for the same moment"


def _moment(facts: Facts) -> Moment:
    return Moment(
        observations=_observations(facts.observation_space, 1),
        views={},
        previous=random_actions(facts.action_space, _draws(5)),
        rewards=np.zeros(LANES),
        starts=np.array([True, False] * (LANES // 2)),
        state_draws=_draws(6),
        step_draws=_draws(7),
    )


# ---------------------------------------------------------------- abstractions


def check_abstraction(abstraction: Abstraction) -> Iterator[str]:
    """Check an abstraction on every imagined observation that it fits."""
    if needs_of(abstraction) or hasattr(abstraction, "fit"):
        return  # nothing to show it: its views and what it learns from belong to an environment
    for pair in _SPACES:
        try:
            at_work = opened(abstraction, facts_for(pair))
            yield from _check_values(at_work, _observations(pair[0], 1))
        except FitError:
            continue


@dataclass(frozen=True)
class _Rows:
    """An abstraction called on some rows of a batch."""

    abstraction: Abstraction

    def __call__(self, batch: Array) -> Array:
        views: Mapping[str, Array] = {}
        return canonical(self.abstraction(batch, views))


def _check_values(abstraction: Abstraction, batch: Array) -> Iterator[str]:
    rows, before = _Rows(abstraction), batch.copy()
    values = rows(batch)
    if len(values) != LANES:
        yield f"gave {len(values)} values for {LANES} observations"
        return
    if not np.array_equal(batch, before):
        yield "changed the observations it was given"
    if not np.array_equal(values, rows(batch)):
        yield "gave other values when asked twice"
    if not np.array_equal(values[::-1], rows(batch[::-1].copy())):
        yield "lets one row of the batch depend on the others"
    show = getattr(abstraction, "show", None)
    if show is not None and not isinstance(show(values[0]), str):
        yield "has a show() that does not give text"
