"""How much a policy prefers its own action to the default's, by its own account."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from gymnasium.spaces import Discrete

from rpd_core.errors import FitError
from rpd_core.plugin.chain import needs_of
from rpd_core.plugin.protocols import POLICY_ACTION, POLICY_GAP, POLICY_VIEWS, Choice

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, FloatArray

VALUES, ODDS, DENSITY = "value", "log odds", "log density"
"""What a gap is measured in: a difference of values, of log probabilities, of log densities."""
_TINY = 1e-9
"""Smaller probabilities count as this: an action that is never taken is not infinitely worse."""
_MOST = 1000.0
"""A difference of log densities beyond this counts as this, for the same reason."""


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
    """Return by how much a policy prefers its actions to the default's, one row per lane.

    Below 0 where it drew an action that it likes less, 0 where the two are the same. None: the
    policy offers nothing of what a `Choice` can hold beside actions.
    """
    unit = gap_unit(choice, space)
    if not unit:
        return None
    offered = choice.action_values if unit == VALUES else choice.probabilities
    if offered is None or unit == DENSITY or not _fits(offered, space):
        likely: Callable[[Array], Array] = choice.log_probability  # type: ignore[assignment]
        return _log_difference(likely(choice.actions), likely(default))
    offered = np.asarray(offered)
    mine, other = (_of(actions, offered, space) for actions in (choice.actions, default))
    if unit == ODDS:
        return np.asarray(np.log(np.maximum(mine, _TINY) / np.maximum(other, _TINY)))
    if np.isfinite(mine).all() and np.isfinite(other).all():
        return np.asarray(mine - other)
    return _of_finite(offered, mine, other)


def _of(actions: Array, offered: Array, space: Any) -> FloatArray:
    """Return what is offered for the action of each lane; an idle one may hold any."""
    places = np.arange(len(offered)) * int(space.n) + (actions - int(space.start))
    return np.asarray(offered.take(places, mode="clip"), dtype=np.float64)


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
