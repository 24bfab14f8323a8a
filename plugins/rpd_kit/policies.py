"""Checks of policies and default actions: things that choose actions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.chance import Draws
from rpd_core.play.actions import action_check, first_action, in_every_lane, random_actions
from rpd_core.plugin.blame import a_kind, gave_instead
from rpd_core.plugin.protocols import (
    Choice,
    DefaultAction,
    Facts,
    Moment,
    Policy,
    PolicyInput,
    PolicyLoader,
)
from rpd_kit.faults import Faulty, at_work, attempt, check_in_scenes
from rpd_kit.scenes import LANES, NEIGHBOURS, Rows, Scene

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array

_EVERY = np.arange(LANES)
_TURNED = _EVERY[::-1]
_ODD = _EVERY % 2 == 1


def _draws(label: int, order: Array = _EVERY) -> Draws:
    return Draws(order.astype(np.uint64) + np.uint64(label), np.zeros(LANES))


def _wrong_action(facts: Facts, actions: Any) -> str | None:
    wrong = action_check(facts)(np.asarray(actions), np.ones(LANES, dtype=bool))
    return None if wrong is None else wrong[1]


# -------------------------------------------------------------------- policies


def check_policy(loader: PolicyLoader, scenes: Sequence[Scene]) -> Iterator[str]:
    """Check a policy in every scene that it can be loaded for."""
    return check_in_scenes(lambda scene: _check_loaded(loader, scene), scenes)


def _check_loaded(loader: PolicyLoader, scene: Scene) -> Iterator[str]:
    policy, needs = at_work(loader, loader.load, "load()", scene)
    wrong = gave_instead("load()", policy, Policy)
    if wrong:
        raise Faulty(wrong)
    decide = _Decide(policy, scene.facts)
    given, other = (scene.rows(LANES, seed, needs) for seed in (1, 2))
    first = decide(given)
    yield from _check_offers(first)
    if not _same(first.actions, decide(given).actions):
        yield "chose other actions for the same input and draws"
        return
    yield from _check_rows(decide, scene, needs)
    yield from _check_memory(decide, other, first)


@dataclass(frozen=True)
class _Decide:
    """A loaded policy, called as the loop calls it and checked for actions of the right kind."""

    policy: Any
    facts: Facts

    def __call__(
        self, rows: Rows, order: Array = _EVERY, memory: Any = None, starts: bool = True
    ) -> Choice:
        seen = PolicyInput(
            observations=rows.values,
            views=rows.views,
            starts=np.full(LANES, starts),
            memory=memory,
            draws=_draws(3, order),
            previous=in_every_lane(first_action(self.facts), self.facts),
            rewards=np.zeros(LANES),
        )
        with attempt("the call"):
            choice = self.policy(seen)
        if not isinstance(choice, Choice):
            raise Faulty(f"gave {a_kind(choice)} where a Choice is needed")
        wrong = _wrong_action(self.facts, choice.actions)
        if wrong is not None:
            raise Faulty(f"chose {wrong}")
        return replace(choice, actions=np.array(choice.actions))


def _check_offers(choice: Choice) -> Iterator[str]:
    for name in ("action_values", "probabilities"):
        offered = getattr(choice, name)
        if offered is not None and np.shape(offered)[0] != LANES:
            yield f"gave {name} of shape {np.shape(offered)} for {LANES} lanes"
    if choice.probabilities is not None:
        sums = np.asarray(choice.probabilities).sum(axis=1)
        if not np.allclose(sums, 1.0, atol=1e-4):
            yield "gave probabilities that do not add up to 1"
    if choice.log_probability is not None:
        with attempt("its log_probability()"):
            found = np.asarray(choice.log_probability(choice.actions))
        if found.shape != (LANES,) or found.dtype.kind != "f":
            shown = f"{found.dtype} {found.shape} for {LANES} lanes"
            yield f"has a log_probability() that gives {shown}"


def _check_rows(decide: _Decide, scene: Scene, needs: tuple[str, ...]) -> Iterator[str]:
    """Check that the action of a lane does not hang on what the other lanes show."""
    given = scene.rows(LANES, 1, needs)
    first = decide(given).actions
    same = [_same(decide(given.take(_TURNED), _TURNED).actions[_TURNED], first)]
    for seed in range(2, 2 + NEIGHBOURS):
        mixed = decide(given.mixed(scene.rows(LANES, seed, needs), _ODD)).actions
        same.append(_same(mixed[~_ODD], first[~_ODD]))
    if not all(same):
        yield "lets the action of one lane depend on the other lanes"


def _check_memory(decide: _Decide, other: Rows, first: Choice) -> Iterator[str]:
    """Check that a policy goes on with its memory, and forgets it where an episode starts."""
    fresh = decide(other).actions
    decide(other, memory=first.memory, starts=False)
    if not _same(decide(other, memory=first.memory).actions, fresh):
        yield "does not forget its memory where an episode starts"


def _same(left: Array, right: Array) -> bool:
    """Compare actions; of continuous ones the last bits may differ with the rows beside them."""
    if left.dtype.kind == "f":
        return np.allclose(left, right, rtol=1e-4, atol=1e-5)
    return np.array_equal(left, right)


# ------------------------------------------------------------- default actions


def check_default_action(action: DefaultAction, scenes: Sequence[Scene]) -> Iterator[str]:
    """Check that a default action stays in the action space and repeats itself."""
    return check_in_scenes(lambda scene: _check_default(action, scene), scenes)


def _check_default(action: DefaultAction, scene: Scene) -> Iterator[str]:
    act, needs = at_work(action, action.open, "its open()", scene)
    if not callable(act):
        raise Faulty(f"open() gave {a_kind(act)} where a function of a Moment is needed")
    moment = _moment(scene, needs)
    with attempt("the call"):
        actions = np.array(act(moment))
    wrong = _wrong_action(scene.facts, actions)
    if wrong is not None:
        raise Faulty(f"gave {wrong}")
    if not np.array_equal(actions, np.asarray(act(moment))):
        yield "gave other actions for the same moment"


def _moment(scene: Scene, needs: tuple[str, ...]) -> Moment:
    rows = scene.rows(LANES, 1, needs)
    return Moment(
        observations=rows.values,
        views=rows.views,
        previous=random_actions(scene.facts.action_space, _draws(5)),
        rewards=np.zeros(LANES),
        starts=np.array([True, False] * (LANES // 2)),
        state_draws=_draws(6),
        step_draws=_draws(7),
    )
