"""Where components are checked: imagined environments, and real ones that were played."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from gymnasium import spaces

from rpd_core.chance import Draws
from rpd_core.play.actions import of_environment, random_actions
from rpd_core.plugin.protocols import POLICY_ACTION, POLICY_GAP, Environment, Facts, Opening

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, Batch, Lanes

LANES = 4
STEPS = 25
"""Short: the kit must answer in seconds, for slow environments, too."""
NEIGHBOURS = 8
"""Batches that a row is shown beside: what depends on them shows only now and then."""


@dataclass(frozen=True)
class Rows:
    """Observations and views, one row for each of some steps."""

    values: Batch
    views: dict[str, Array]

    def take(self, which: Array) -> Rows:
        """Return copies of some rows, in the order asked for."""
        return self._each(lambda part: part[which])

    def mixed(self, other: Rows, from_other: Array) -> Rows:
        """Return rows of this and, where told to, of another batch."""
        return Rows(
            _mixed(self.values, other.values, from_other),
            {name: _mixed(self.views[name], other.views[name], from_other) for name in self.views},
        )

    def equals(self, other: Rows) -> bool:
        """Return whether two batches hold the same bytes."""
        return self._bytes() == other._bytes()

    def _bytes(self) -> list[bytes]:
        return [part.tobytes() for part in (*parts_of(self.values), *parts_of(self.views))]

    def _each(self, change: Any) -> Rows:
        values = self.values
        changed = (
            {name: change(part) for name, part in values.items()}
            if isinstance(values, dict)
            else change(values)
        )
        return Rows(changed, {name: change(part) for name, part in self.views.items()})


def parts_of(batch: Batch) -> list[Array]:
    """Return the arrays of a batch; those of a dict in the order of their names."""
    return [batch[name] for name in sorted(batch)] if isinstance(batch, dict) else [batch]


def _mixed(mine: Any, other: Any, from_other: Array) -> Any:
    if isinstance(mine, dict):
        return {name: _mixed(mine[name], other[name], from_other) for name in mine}
    result = mine.copy()
    result[from_other] = other[from_other]
    return result


class Scene(Protocol):
    """Facts of an environment, and steps of it to show to a component."""

    @property
    def facts(self) -> Facts:
        """What the component may know."""

    def rows(self, count: int, seed: int, views: tuple[str, ...]) -> Rows:
        """Return observations and these views, no others, of some steps."""


@dataclass(frozen=True)
class WithPolicy:
    """A scene in which a policy was asked, for abstractions that need what it offers."""

    scene: Scene

    @property
    def facts(self) -> Facts:
        """Return what the environment states."""
        return self.scene.facts

    def rows(self, count: int, seed: int, views: tuple[str, ...]) -> Rows:
        """Return steps of the scene, and actions and preferences drawn for them."""
        own = self.scene.rows(count, seed, of_environment(views))
        draws = Draws(np.arange(count, dtype=np.uint64), np.full(count, seed))
        asked = {
            POLICY_ACTION: random_actions(self.facts.action_space, draws),
            POLICY_GAP: draws.split(1).normal()[:, 0],
        }
        return Rows(own.values, {**own.views, **{one: asked[one] for one in views if one in asked}})


# -------------------------------------------------------------------- imagined


@dataclass(frozen=True)
class Imagined:
    """An environment that exists only as its spaces; what it shows is drawn from them."""

    observation_space: Any
    """Gymnasium space of one observation; text in it is left out of batches."""
    action_space: Any
    """Gymnasium space of one action."""
    views: Mapping[str, Any] = field(default_factory=dict)
    """Names of extra views and the space of one row of each."""
    no_op: Any = None
    """The action that does nothing, if there is one."""
    action_names: tuple[str, ...] = ()
    """What the actions are called."""
    description: str = "an imagined environment"
    """How the environment is called, in faults and for those components that ask."""

    @property
    def facts(self) -> Facts:
        """Return what an environment with these spaces would state."""
        return Facts(
            observation_space=self.observation_space,
            action_space=self.action_space,
            lanes=LANES,
            views=tuple(self.views),
            no_op=self.no_op,
            action_names=self.action_names,
            description=self.description,
        )

    def rows(self, count: int, seed: int, views: tuple[str, ...]) -> Rows:
        """Draw from the spaces; the same for the same seed."""
        return Rows(
            _drawn(self.observation_space, count, seed),
            {name: _drawn(self.views[name], count, seed) for name in views},
        )


def _drawn(space: Any, count: int, seed: int) -> Any:
    """Draw a batch: an array, or a dict of arrays where the space has parts."""
    found = {}
    for name, part in _leaves(copy.deepcopy(space)):  # seeding the author's own would change it
        part.seed(seed)
        found[name] = np.stack([np.asarray(part.sample()) for _ in range(count)])
    return found.get("", found)


def _leaves(space: Any, name: str = "") -> list[tuple[str, Any]]:
    if not isinstance(space, spaces.Dict | spaces.Tuple):
        return [] if isinstance(space, spaces.Text) or space.shape is None else [(name, space)]
    inner = space.spaces
    items = inner.items() if isinstance(inner, dict) else enumerate(inner)
    return [leaf for key, part in items for leaf in _leaves(part, f"{name}.{key}".lstrip("."))]


def _bytes(*shape: int) -> spaces.Box[np.uint8]:
    return spaces.Box(0, 255, shape, np.uint8)


KIT_SCENES: tuple[Scene, ...] = (
    Imagined(
        spaces.Box(-1.0, 1.0, (4,)),
        spaces.Discrete(2),
        description="the kit's vectors of 4 with 2 actions",
    ),
    Imagined(
        spaces.Box(-1.0, 1.0, (3,)),
        spaces.Box(-2.0, 2.0, (2,)),
        description="the kit's vectors of 3 with continuous actions",
    ),
    Imagined(
        _bytes(7, 7, 3),
        spaces.Discrete(5),
        description="the kit's small pictures",
    ),
    Imagined(
        _bytes(24, 24),
        spaces.Discrete(3),
        description="the kit's grey pictures",
    ),
    Imagined(
        spaces.Dict(
            {
                "image": _bytes(7, 7, 3),
                "direction": spaces.Discrete(4),
                "mission": spaces.Text(32),
            }
        ),
        spaces.Discrete(7),
        views={
            "cell": spaces.MultiDiscrete([9, 9, 4]),
            "mission": _bytes(256),
        },
        description="the kit's dicts of image, direction and text",
    ),
    Imagined(
        _bytes(4, 84, 84),
        spaces.Discrete(6),
        views={
            "screen": _bytes(210, 160, 3),
            "grey": _bytes(210, 160),
            "ram": _bytes(128),
        },
        no_op=0,
        description="the kit's stacks of screens",
    ),
)
"""Spaces and views such as environments have; a component need not fit all of them."""


# ---------------------------------------------------------------------- played


@dataclass
class Played:
    """A real environment: what it shows are steps of episodes played at random."""

    environment: Environment

    @property
    def facts(self) -> Facts:
        """Return what the environment states."""
        return self._steps[0]

    def rows(self, count: int, seed: int, views: tuple[str, ...]) -> Rows:
        """Draw from the steps that were played, each at most once where they are enough."""
        played = self._steps[1]
        size = len(parts_of(played.values)[0])
        which = np.random.default_rng(seed).choice(size, count, replace=size < count)
        return Rows(played.values, {name: played.views[name] for name in views}).take(which)

    @cached_property
    def _steps(self) -> tuple[Facts, Rows]:
        lanes = self.environment.open(Opening(LANES))
        try:
            return lanes.facts, _play_at_random(lanes)
        finally:
            lanes.close()


def _play_at_random(lanes: Lanes) -> Rows:
    """Play some steps in every lane, starting again where an episode ends."""
    every = np.arange(LANES)
    lanes.reset(every, every)
    seen = []
    for step in range(STEPS):
        views = {name: lanes.view(name) for name in lanes.facts.views}
        seen.append(Rows(lanes.observe(), views).take(every))
        draws = Draws(every.astype(np.uint64), np.full(LANES, step))
        result = lanes.step(random_actions(lanes.facts.action_space, draws), every >= 0)
        over = np.flatnonzero(result.terminated | result.truncated)
        if len(over):
            lanes.reset(over, over + LANES * (step + 1))
    return _joined(seen)


def _joined(seen: list[Rows]) -> Rows:
    return Rows(
        _concatenated([rows.values for rows in seen]), _concatenated([rows.views for rows in seen])
    )


def _concatenated(batches: list[Any]) -> Any:
    if not isinstance(batches[0], dict):
        return np.concatenate(batches)
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
