"""What can be done instead of the policy's action."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from rpd_core.errors import FitError, SpecError
from rpd_core.play.actions import (
    first_action,
    in_every_lane,
    is_bounded,
    random_actions,
    rows_differ,
)
from rpd_core.plugin.chain import needs_of
from rpd_core.plugin.protocols import (
    DefaultActor,
    Facts,
    FitSample,
    Moment,
    PolicyInput,
    PolicyLoader,
    learned,
)

Array = NDArray[Any]


def parse_action(text: str, facts: Facts, who: str) -> Array:
    """Read an action: a number or a name for discrete ones, numbers joined by + for others."""
    space = facts.action_space
    if text in facts.action_names and isinstance(space, Discrete):
        return np.asarray(facts.action_names.index(text) + int(space.start))
    try:
        numbers = [float(part) for part in text.split("+")]
    except ValueError:
        names = f" (or one of {', '.join(facts.action_names)})" if facts.action_names else ""
        raise FitError(f"{who} cannot read the action {text!r}: give a number{names}") from None
    action = _as_action(numbers, space)
    if action is None or not space.contains(action if space.shape else action.item()):
        raise FitError(f"{who}: {text} is not in {space}")
    return action


def _as_action(numbers: list[float], space: Any) -> Array | None:
    """Return numbers as an action of a space, one number for all entries; None if they misfit."""
    one = len(numbers) == 1
    if not (one or space.shape == (len(numbers),)) or not np.isfinite(numbers).all():
        return None
    values = np.array(numbers if space.shape else numbers[0])
    with np.errstate(invalid="ignore", over="ignore"):  # what is too large is found below
        action = values.astype(space.dtype)
    if np.issubdtype(space.dtype, np.integer) and not np.array_equal(action, values):
        return None  # 1.5 is not the action 1
    return np.resize(action, space.shape) if one else action


@dataclass(frozen=True)
class Repeat:
    """Repeats the last executed action, default or not."""

    first: str | None = None
    """Action at the first step; none: the no-op if there is one, else the first or zeros."""

    def open(self, facts: Facts) -> DefaultActor:
        """Fix the first action."""
        first = (
            first_action(facts) if self.first is None else parse_action(self.first, facts, "repeat")
        )
        rows = in_every_lane(first, facts)

        def act(moment: Moment) -> Array:
            starts = moment.starts.reshape(moment.starts.shape + (1,) * (rows.ndim - 1))
            return np.where(starts, rows, moment.previous)

        return act


@dataclass(frozen=True)
class Random:
    """A random action, drawn once per state and episode."""

    among: tuple[str, ...] = ()
    """Actions to draw from, by number or name, for example `left+right`; none: all."""
    redraw: bool = False
    """Whether to draw anew at every step instead of once per state and episode."""

    def open(self, facts: Facts) -> DefaultActor:
        """Fix what is drawn from."""
        space = facts.action_space
        if not self.among and not is_bounded(space):
            raise FitError(f"random cannot draw from the unbounded {space}: use constant or repeat")
        chosen = np.array([parse_action(one, facts, "random") for one in self.among])

        def act(moment: Moment) -> Array:
            draws = moment.step_draws if self.redraw else moment.state_draws
            if not self.among:
                return random_actions(space, draws)
            return chosen[random_actions(Discrete(len(chosen)), draws)]

        return act


@dataclass(frozen=True)
class Constant:
    """Always the same action, for example `constant:0`, `constant:left` or `constant:0.5+0`."""

    action: str
    """The action: a number, its name, or numbers joined by +."""

    def open(self, facts: Facts) -> DefaultActor:
        """Read the action."""
        rows = in_every_lane(parse_action(self.action, facts, "constant"), facts)
        return lambda moment: rows


@dataclass(frozen=True)
class NoOp:
    """The action that does nothing; zeros for continuous actions."""

    def open(self, facts: Facts) -> DefaultActor:
        """Find the action."""
        if facts.no_op is None and isinstance(facts.action_space, Discrete):
            raise FitError(
                f"{facts.description or 'the environment'} has no action that does nothing: use "
                "constant:<action> or repeat"
            )
        rows = in_every_lane(first_action(facts), facts)
        return lambda moment: rows


@dataclass(frozen=True)
class Zero:
    """Zeros, or what is nearest to them in the space: for continuous actions."""

    def open(self, facts: Facts) -> DefaultActor:
        """Fit the action space."""
        _require_numbers("zero", facts)
        return _always(np.zeros(facts.action_space.shape), facts)


@dataclass(frozen=True)
class Mean:
    """The mean of the actions that the policy takes: for continuous actions."""

    action: tuple[float, ...] = learned(())
    """The mean over the policy's own episodes, entry by entry."""

    def fit(self, sample: FitSample) -> Mean:
        """Take the mean of what the policy chose."""
        _require_numbers("mean", sample.facts)
        flat = sample.actions.reshape(len(sample.actions), -1).astype(np.float64)
        return Mean(tuple(flat.mean(axis=0).tolist()))

    def open(self, facts: Facts) -> DefaultActor:
        """Fit the action space; zeros stand in before anything was learned."""
        _require_numbers("mean", facts)
        shape = facts.action_space.shape
        return _always(np.reshape(self.action, shape) if self.action else np.zeros(shape), facts)


@dataclass(frozen=True)
class Hold:
    """Repeats the last executed action for some steps, then lets go: `hold:4`."""

    steps: int
    """Steps in a row for which one action is executed at most; then zeros, or the no-op."""
    first: str | None = None
    """Action at the first step and after letting go; none: as for `repeat`."""

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise SpecError(f"hold: steps must be at least 1, got {self.steps}")

    def open(self, facts: Facts) -> DefaultActor:
        """Fix the action after letting go."""
        given = self.first
        first = first_action(facts) if given is None else parse_action(given, facts, "hold")
        return _Holding(in_every_lane(first, facts), self.steps)


@dataclass
class _Holding:
    rows: Array
    """What is done after letting go."""
    steps: int
    last: Array | None = None
    """Actions executed before the last step."""
    held: Array | None = None
    """Steps in a row for which the last action was executed."""

    def __call__(self, moment: Moment) -> Array:
        previous, lanes = moment.previous, len(self.rows)
        if self.last is None or self.held is None:
            self.last, self.held = previous.copy(), np.zeros(lanes, dtype=np.int64)
        same = ~rows_differ(previous, self.last)
        self.held = np.where(moment.starts, 0, np.where(same, self.held + 1, 1))
        self.last = previous.copy()
        let_go = moment.starts | (self.held >= self.steps)
        return np.where(let_go.reshape(lanes, *(1,) * (self.rows.ndim - 1)), self.rows, previous)


def _require_numbers(who: str, facts: Facts) -> None:
    space = facts.action_space
    if not isinstance(space, Box) or np.issubdtype(space.dtype, np.integer):
        raise FitError(f"{who} is for continuous actions, not {space}: use constant or repeat")


def _always(action: Array, facts: Facts) -> DefaultActor:
    """Return what always takes an action, moved into the bounds of the space."""
    space = facts.action_space
    rows = in_every_lane(np.clip(action, space.low, space.high).astype(space.dtype), facts)
    return lambda moment: rows


@dataclass(frozen=True)
class OtherPolicy:
    """What another policy would do, for example `policy:sb3:old.zip`."""

    policy: PolicyLoader
    """Spec of the other policy; everything after the colon belongs to it."""

    @property
    def needs(self) -> tuple[str, ...]:
        return needs_of(self.policy)

    def open(self, facts: Facts) -> DefaultActor:
        """Load the other policy; it keeps hidden states of its own."""
        return _PolicyActor(self.policy.load(facts))


@dataclass
class _PolicyActor:
    policy: Any
    memory: Any = field(default=None)

    @property
    def needs(self) -> tuple[str, ...]:
        return needs_of(self.policy)

    def __call__(self, moment: Moment) -> Array:
        choice = self.policy(
            PolicyInput(
                moment.observations,
                moment.views,
                moment.starts,
                self.memory,
                moment.step_draws,
                moment.previous,
                moment.rewards,
            )
        )
        self.memory = choice.memory
        return np.asarray(choice.actions)
