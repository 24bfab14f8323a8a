"""Actions: what may be done in a space, what chance does, and which ones a policy prefers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

from rpd_core.chance import Draws
from rpd_core.errors import ComponentError, FitError
from rpd_core.plugin.chain import needs_of
from rpd_core.plugin.protocols import POLICY_ACTION, POLICY_GAP, POLICY_VIEWS, Choice, Facts
from rpd_core.plugin.protocols.arrays import Array, BoolArray, FloatArray

Complaint = tuple[int, str]  # a lane and what is wrong with its action
Differ = Callable[[Array, Array], BoolArray]
"""(the policy's actions, the default's) -> lanes in which the one would override the other."""
_TOLERANCE = 0.01
_NO_BOUND = 1e30  # a range as wide as this, which some write for no bounds at all, is none


def first_action(facts: Facts) -> Array:
    """Return the no-op if there is one, else the lowest action, for floats the nearest to zero."""
    space = facts.action_space
    if facts.no_op is not None:
        return np.asarray(facts.no_op, dtype=space.dtype)
    if isinstance(space, Discrete | MultiDiscrete):
        return np.asarray(space.start, dtype=space.dtype)
    zeros = np.zeros(space.shape, dtype=space.dtype)
    if isinstance(space, Box):
        return np.asarray(np.clip(zeros, space.low, space.high))
    return zeros


def in_every_lane(action: Array, facts: Facts) -> Array:
    return np.broadcast_to(action, (facts.lanes, *np.shape(action))).copy()


def is_bounded(space: object) -> bool:
    """Return whether actions can be drawn uniformly from a space."""
    if not isinstance(space, Box):
        return True
    return bool(np.isfinite(space.low).all() and np.isfinite(space.high).all())


def random_actions(space: Any, draws: Draws) -> Array:
    """Draw actions uniformly from a space: whole numbers of a range, floats between bounds."""
    if isinstance(space, Discrete):
        return np.asarray(space.start + np.floor(draws.uniform()[:, 0] * space.n), dtype=np.int64)
    shape = tuple(space.shape)
    unit = draws.uniform(int(np.prod(shape))).reshape(-1, *shape)
    if isinstance(space, MultiDiscrete):
        return np.asarray(space.start + np.floor(unit * space.nvec), dtype=np.int64)
    if isinstance(space, MultiBinary):
        return np.asarray(unit < 0.5, dtype=np.int8)
    if not is_bounded(space):
        raise ComponentError(
            f"cannot draw actions at random from the unbounded {space}: where random play is only "
            "the reference, give --reference"
        )
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    if np.issubdtype(space.dtype, np.integer):
        drawn = np.floor(low + unit * (high - low + 1))
    else:
        drawn = low + unit * (high - low)
    return np.asarray(np.clip(drawn.astype(space.dtype), space.low, space.high))


def noisy_actions(space: Any, actions: Array, epsilon: float, draws: Draws) -> Array:
    if not epsilon:
        return actions
    random = draws.split(_WHETHER).uniform()[:, 0] < epsilon
    other = random_actions(space, draws.split(_WHICH))
    return np.where(random.reshape(-1, *[1] * (actions.ndim - 1)), other, actions)


_WHETHER, _WHICH = 1, 2  # labels of its draws


def action_check(facts: Facts) -> Callable[[Array, BoolArray], Complaint | None]:
    """Return a check that a batch of actions lies in the action space in the active lanes."""
    space = facts.action_space
    shape = (facts.lanes, *(getattr(space, "shape", None) or ()))
    low, high = _bounds(space)
    whole = not isinstance(space, Box)

    def check(actions: Array, active: BoolArray) -> Complaint | None:
        if np.shape(actions) != shape:
            return 0, f"actions of shape {np.shape(actions)} where {shape} is needed"
        if whole and actions.dtype.kind not in "biu":
            return 0, f"actions of type {actions.dtype} where whole numbers are needed"
        # a bound of 0.7 in single precision is a little less than 0.7 in double
        compared = actions if whole else actions.astype(space.dtype, copy=False)
        inside = (compared >= low) & (compared <= high)
        if inside.all():
            return None
        rows = inside.reshape(len(inside), -1).all(axis=1) | ~active
        if rows.all():
            return None
        lane = int(np.flatnonzero(~rows)[0])
        return lane, f"{np.asarray(actions)[lane].tolist()!r}, which is not in {space}"

    return check


def action_difference(facts: Facts) -> Differ:
    """Return what compares the policy's actions with the default's, lane by lane."""
    # Whole numbers differ if they are not equal. Other numbers differ beyond 1 % of the range of
    # their entry; where an entry has no range, beyond 1 % of the larger of the two (of 1 if both
    # are smaller), since only their size tells what is little.
    space = facts.action_space
    if not isinstance(space, Box) or np.issubdtype(space.dtype, np.integer):
        return rows_differ
    width = (space.high.astype(np.float64) - space.low.astype(np.float64)).reshape(-1)
    bounded = width < _NO_BOUND
    tolerance = _TOLERANCE * np.where(bounded, width, 1.0)

    def differ(policy: Array, default: Array) -> BoolArray:
        left, right = (
            actions.reshape(len(actions), -1).astype(np.float64) for actions in (policy, default)
        )
        allowed = tolerance
        with np.errstate(invalid="ignore"):  # an idle lane may hold anything
            if not bounded.all():
                larger = _TOLERANCE * np.maximum(np.abs(left), np.abs(right))
                allowed = np.where(bounded, tolerance, np.maximum(larger, tolerance))
            return np.asarray((np.abs(left - right) > allowed).any(axis=1))

    return differ


def rows_differ(left: Array, right: Array) -> BoolArray:
    """Return the rows in which two batches of actions are not equal."""
    unequal = np.asarray(left != right)
    rows = unequal if unequal.ndim == 1 else unequal.reshape(len(unequal), -1).any(axis=1)
    return np.asarray(rows)


def _bounds(space: object) -> tuple[Any, Any]:
    if isinstance(space, Discrete):
        return int(space.start), int(space.start + space.n - 1)
    if isinstance(space, MultiDiscrete):
        return space.start, space.start + space.nvec - 1
    if isinstance(space, MultiBinary):
        return 0, 1
    if isinstance(space, Box):
        return space.low, space.high
    raise FitError(
        f"actions of {space} are not supported; Discrete, Box, MultiDiscrete and MultiBinary are"
    )


VALUES, ODDS, DENSITY = "value", "log odds", "log density"
"""What a gap is measured in: a difference of values, of log probabilities, of log densities."""
_TINY = 1e-9
"""Smaller probabilities count as this: an action that is never taken is not infinitely worse."""
_MOST = 1000.0  # a difference of log densities beyond this counts as this, for the same reason


def of_environment(needs: Iterable[str]) -> tuple[str, ...]:
    """Return the views that an environment is to offer, each once."""
    return tuple(name for name in dict.fromkeys(needs) if name not in POLICY_VIEWS)


def asks_policy(abstraction: object) -> bool:
    """Return whether states cannot be told before the policy was asked."""
    return not {*POLICY_VIEWS}.isdisjoint(needs_of(abstraction))


class NoPreferenceError(FitError):
    """Nobody knows how much the policy prefers its action to the default's."""


@dataclass
class PolicyViews:
    """What an abstraction needs to know of the policy, which is then asked before it."""

    abstraction: object
    space: Any
    """Of the actions."""
    unit: str = ""
    """What the gap is measured in, once the policy was asked."""

    def __bool__(self) -> bool:
        return asks_policy(self.abstraction)

    def __call__(self, choice: Choice, default: Array) -> dict[str, Array]:
        """Return the views; refuse a policy that keeps back what is needed."""
        needs = needs_of(self.abstraction)
        found = {POLICY_ACTION: choice.actions} if POLICY_ACTION in needs else {}
        if POLICY_GAP in needs:
            self.unit = gap_unit(choice, self.space)
            gap = default_gap(choice, default, self.space)
            if gap is None:
                raise NoPreferenceError(
                    "the abstraction needs how much the policy prefers its actions, and the policy "
                    "offers neither action values nor probabilities: choose another --abstraction"
                )
            found[POLICY_GAP] = gap
        return found


class _UnknownState:
    """Stands for draws keyed by the state where there is none yet."""

    def __getattr__(self, name: str) -> NoReturn:
        raise NoPreferenceError(
            "the default action draws by the state, and the abstraction makes states of how much "
            "the policy prefers its action to the default's, which is circular: choose another "
            "--default-action, such as repeat, or another --abstraction"
        )


UNKNOWN_STATE: Any = _UnknownState()


def gap_unit(choice: Choice, space: object) -> str:
    """Return what a policy's gap to the default action is measured in; empty: it offers none."""
    discrete = isinstance(space, Discrete)
    if discrete and _fits(choice.action_values, space):
        return VALUES
    if discrete and _fits(choice.probabilities, space):
        return ODDS
    if choice.log_probability is None:
        return ""
    return ODDS if discrete else DENSITY


def _fits(offered: Array | None, space: Any) -> bool:
    return offered is not None and np.shape(offered)[1:] == (int(space.n),)


def default_gap(choice: Choice, default: Array, space: Any) -> FloatArray | None:
    """Return by how much a policy prefers its actions to the default's, one row per lane."""
    # Below 0 where it drew an action that it likes less, 0 where the two are the same. None: the
    # policy offers nothing of what a `Choice` can hold beside actions.
    unit = gap_unit(choice, space)
    if not unit:
        return None
    offered = choice.action_values if unit == VALUES else choice.probabilities
    if offered is None or unit == DENSITY or not _fits(offered, space):
        likely: Callable[[Array], Array] = choice.log_probability  # type: ignore[assignment]
        return _log_difference(likely(choice.actions), likely(default))
    offered = np.asarray(offered)
    first = np.arange(len(offered)) * int(space.n) - int(space.start)
    mine, other = (  # an idle lane may hold any action
        np.asarray(offered.take(first + actions, mode="clip"), dtype=np.float64)
        for actions in (choice.actions, default)
    )
    if unit == ODDS:
        return np.asarray(np.log(np.maximum(mine, _TINY) / np.maximum(other, _TINY)))
    if np.isfinite(mine).all() and np.isfinite(other).all():
        return np.asarray(mine - other)
    return _of_finite(offered, mine, other)


def _of_finite(values: Array, mine: FloatArray, other: FloatArray) -> FloatArray:
    """Return differences of values, where one that is not finite counts as the worst that is."""
    worst = np.where(np.isfinite(values), values, np.inf).min(axis=1)
    usable = np.isfinite(mine) & np.isfinite(worst)
    below = np.where(np.isfinite(other), other, worst)
    return np.where(usable, np.where(usable, mine, 0.0) - np.where(usable, below, 0.0), 0.0)


def _log_difference(mine: Array, other: Array) -> FloatArray:
    with np.errstate(invalid="ignore"):  # two actions that are both impossible
        gap = np.asarray(mine) - np.asarray(other)
    if not np.abs(gap).max(initial=0.0) <= _MOST:  # also if one is not a number
        gap = np.clip(np.nan_to_num(gap, nan=0.0), -_MOST, _MOST)
    return np.asarray(gap, dtype=np.float64)
