"""MiniGrid lanes: the package makes the maps and has the rules, NumPy does the common work.

Each lane has an environment of the package, which holds the map's objects. Beside them stand
arrays over all lanes: the maps as cell codes, places, directions, what is carried. Views of all
lanes are built from the arrays at once. Where a task uses the package's own `step`, so are the
moves that change no object; everything else is done by the environment itself, and the arrays
catch up at the moment the environment asks for its view.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from minigrid.core.actions import Actions
from minigrid.core.world_object import Wall
from minigrid.minigrid_env import MiniGridEnv
from numpy.typing import NDArray

from rpd_core.errors import ComponentError, FitError, LaneError, one_line
from rpd_core.plugin.protocols import Facts, StepResult
from rpd_minigrid.cells import (
    CODE,
    EMPTY,
    ENTERABLE,
    FREE,
    GOAL,
    LAVA,
    PICKABLE,
    STILL,
    STOCK,
    TOGGLES,
    cell_code,
)
from rpd_minigrid.coverage import map_covered, moves_covered, unwrap_order, views_covered
from rpd_minigrid.views import AHEAD_X, AHEAD_Y, Views

Array = NDArray[Any]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
Factory = Callable[[], "gymnasium.Env[Any, Any]"]

MISSION = 256
"""Characters of a mission in the view `mission`; what is longer is cut."""
_OUTSIDE = cell_code(Wall())  # beyond the map the package shows walls
_TURN = np.array([3, 1, 0, 0, 0, 0, 0])
_FORWARD, _DROP = int(Actions.forward), int(Actions.drop)
_OBJECT_WORK = np.zeros(len(Actions), dtype=CODE)
_OBJECT_WORK[Actions.pickup] = PICKABLE
_OBJECT_WORK[Actions.toggle] = TOGGLES


class _DeferredObservation(dict[str, Any]):
    """Stands for an observation; becomes the package's own if anyone looks into it."""

    def __init__(self, env: MiniGridEnv) -> None:
        super().__init__()
        self.env = env

    def __missing__(self, key: str) -> Any:
        self.update(_original_observation(self.env))
        return dict.__getitem__(self, key)


def _original_observation(env: Any) -> dict[str, Any]:
    """Build the observation as the package does."""
    observation: dict[str, Any] = MiniGridEnv.gen_obs(env)  # type: ignore[no-untyped-call]
    return observation


class MiniGridLanes:
    """One environment per lane, and arrays over all lanes for views and moves."""

    def __init__(self, factory: Factory, lanes: int, description: str) -> None:
        self.envs = [unwrap_order(factory()) for _ in range(lanes)]
        self.bases: list[Any] = [env.unwrapped for env in self.envs]
        base = self.bases[0]
        self.quick_views = views_covered(self.envs[0])
        self.quick_moves = moves_covered(self.envs[0])
        size = base.agent_view_size
        self._make_arrays(lanes, base, size)
        self.views = Views(size, self.stride, base.see_through_walls)
        if self.quick_views:
            for lane, env in enumerate(self.bases):
                env.gen_obs = partial(self._capture, lane, env)
        self.infos: list[Mapping[str, Any]] = [{} for _ in range(lanes)]
        self.own_observations: dict[int, tuple[Array, int]] = {}
        """Observations that came from the environment itself."""
        self.facts = _make_facts(base, lanes, description)
        self._seen: dict[str, Array] | None = None

    def _make_arrays(self, lanes: int, base: Any, size: int) -> None:
        self.margin = size - 1
        self.width, self.height = base.width, base.height
        self.stride = self.width + 2 * self.margin
        y, x = np.indices((self.height, self.width)).reshape(2, -1) + self.margin
        self.spots = y * self.stride + x
        """Where each cell of the package's list lies in a row of `maps`."""
        area = self.stride * (self.height + 2 * self.margin)
        self.maps = np.zeros((lanes, area), dtype=CODE)
        self.ahead = AHEAD_Y * self.stride + AHEAD_X
        self.rows = np.arange(lanes)
        self.places = np.full(lanes, self.spots[0])
        self.directions = np.zeros(lanes, dtype=np.int64)
        self.carried = np.zeros(lanes, dtype=CODE)
        self.counts = np.zeros(lanes, dtype=np.int64)
        self.limits = np.zeros(lanes, dtype=np.int64)
        self.unusual = np.zeros(lanes, dtype=bool)
        """Lanes with a map or an object of somebody else's class: the environment steps there."""
        self.things: list[list[Any] | None] = [None] * lanes
        self.changing: list[list[int]] = [[] for _ in range(lanes)]
        """Cells whose object may change its looks, as positions in the package's list."""

    # ------------------------------------------------------------------ resets

    def reset(self, lanes: IntArray, seeds: IntArray) -> None:
        """Have the package make a new map in each of the lanes."""
        self._seen = None
        with _silenced(self.bases[0]):
            for lane, seed in zip(lanes.tolist(), seeds.tolist(), strict=True):
                self.things[lane] = None
                try:
                    observation, self.infos[lane] = self.envs[lane].reset(seed=seed)
                except gymnasium.error.DependencyNotInstalled as error:
                    text = f"{self.facts.description} lacks a package: {one_line(error)}"
                    raise ComponentError(text) from error
                except Exception as error:  # an environment may raise anything
                    raise LaneError(lane, error) from error
                self._keep_observation(lane, observation)
                self.counts[lane] = 0
                self.limits[lane] = self.bases[lane].max_steps

    def _capture(self, lane: int, env: MiniGridEnv) -> dict[str, Any]:
        """Bring the arrays up to date; called by the environment instead of building its view."""
        see_through = env.see_through_walls == self.views.see_through_walls
        if not (see_through and map_covered(env, (self.width, self.height))):
            self.unusual[lane] = True
            return _original_observation(env)
        x, y = env.agent_pos
        self.places[lane] = (y + self.margin) * self.stride + x + self.margin
        self.directions[lane] = env.agent_dir
        self.carried[lane] = cell_code(env.carrying)
        before, now = self.things[lane], env.grid.grid
        if before is None:
            self._copy_map(lane, now)
        else:
            self._update_map(lane, before, now)
        return _DeferredObservation(env)

    def _copy_map(self, lane: int, things: list[Any]) -> None:
        row = self.maps[lane]
        row[:] = _OUTSIDE
        row[self.spots] = [EMPTY if thing is None else cell_code(thing) for thing in things]
        self._note_objects(lane, things)

    def _note_objects(self, lane: int, things: list[Any]) -> None:
        kinds = {type(thing) for thing in things}
        kinds.discard(type(None))
        self.unusual[lane] = not kinds <= STOCK
        changing = kinds - STILL
        self.things[lane] = things.copy()
        self.changing[lane] = (
            [at for at, thing in enumerate(things) if type(thing) in changing] if changing else []
        )

    def _update_map(self, lane: int, before: list[Any], now: list[Any]) -> None:
        """Look again at cells with another object than before and at those that may change."""
        row = self.maps[lane]
        if before != now:  # objects compare by identity
            pairs = enumerate(zip(before, now, strict=True))
            for at in [at for at, (old, new) in pairs if old is not new]:
                row[self.spots[at]] = cell_code(now[at])
            self._note_objects(lane, now)
        for at in self.changing[lane]:
            row[self.spots[at]] = cell_code(now[at])

    def _keep_observation(self, lane: int, observation: Any) -> None:
        """Keep an observation that the environment made itself; drop the one before."""
        self.own_observations.pop(lane, None)
        if type(observation) is not _DeferredObservation or observation:
            self.own_observations[lane] = (
                np.array(observation["image"]),
                int(observation["direction"]),
            )

    # ------------------------------------------------------------ observations

    def observe(self) -> dict[str, Array]:
        """Return images and directions."""
        if self._seen is None:
            image = self.views(self.maps, self.places, self.directions, self.carried)
            direction = self.directions.astype(np.uint8)
            for lane, (own_image, own_direction) in self.own_observations.items():
                image[lane], direction[lane] = own_image, own_direction
            self._seen = {"image": image, "direction": direction}
        return self._seen

    def view(self, name: str) -> Array:
        """Return `cell` (x, y and direction of the agent) or `mission` (its characters)."""
        if name == "cell":
            return self._cells()
        if name == "mission":
            return np.stack([_mission_codes(env.mission) for env in self.bases])
        raise FitError(f"{self.facts.description} has no view {name!r}; it has cell, mission")

    def _cells(self) -> Array:
        if not self.quick_views:
            return np.array([_agent_cell(env) for env in self.bases], dtype=np.int64)
        x = self.places % self.stride - self.margin
        y = self.places // self.stride - self.margin
        cells = np.stack([x, y, self.directions], axis=1)
        for lane in np.flatnonzero(self.unusual).tolist():
            cells[lane] = _agent_cell(self.bases[lane])
        return cells

    # ------------------------------------------------------------------- steps

    def step(self, actions: Array, active: BoolArray) -> StepResult:
        """Make the moves that change no object at once; environments make the others."""
        self._seen = None
        lanes = len(self.envs)
        result = StepResult(np.zeros(lanes), np.zeros(lanes, bool), np.zeros(lanes, bool))
        alone = self._move(actions, active, result) if self.quick_moves else active
        for lane in np.flatnonzero(alone).tolist():
            self._step_alone(lane, int(actions[lane]), result)
        return result

    def _move(self, actions: Array, active: BoolArray, result: StepResult) -> BoolArray:
        """Turn and walk; return the lanes whose step is left to do."""
        front = self.places + self.ahead[self.directions]
        cell = self.maps[self.rows, front]
        dropping = (actions == _DROP) & ((cell & FREE) != 0) & (self.carried != EMPTY)
        alone: BoolArray = active & (
            self.unusual | dropping | ((cell & _OBJECT_WORK[actions]) != 0)
        )
        moving = active & ~alone
        self.counts += moving
        self.directions = np.where(moving, (self.directions + _TURN[actions]) & 3, self.directions)
        forward = moving & (actions == _FORWARD)
        self.places = np.where(forward & ((cell & ENTERABLE) != 0), front, self.places)
        won = forward & ((cell & GOAL) != 0)
        result.terminated[:] = won | (forward & ((cell & LAVA) != 0))
        result.truncated[:] = moving & (self.counts >= self.limits)
        for lane in np.flatnonzero(won).tolist():
            self._update_environment(lane)
            result.rewards[lane] = self.bases[lane]._reward()
        return alone

    def _update_environment(self, lane: int) -> None:
        """Copy what only the arrays know into the environment."""
        if not self.quick_moves or self.unusual[lane]:
            return
        env, place = self.bases[lane], int(self.places[lane])
        env.agent_pos = place % self.stride - self.margin, place // self.stride - self.margin
        env.agent_dir = int(self.directions[lane])
        env.step_count = int(self.counts[lane])

    def _step_alone(self, lane: int, action: int, result: StepResult) -> None:
        self._update_environment(lane)
        try:
            observation, reward, over, cut, self.infos[lane] = self.envs[lane].step(action)
        except Exception as error:  # an environment may raise anything
            raise LaneError(lane, error) from error
        self._keep_observation(lane, observation)
        result.rewards[lane] = reward
        result.terminated[lane], result.truncated[lane] = over, cut
        self.counts[lane] = self.bases[lane].step_count

    # ------------------------------------------------------------------ others

    def info(self, lane: int) -> Mapping[str, Any]:
        """Return the last info."""
        return self.infos[lane]

    def render(self, lane: int) -> Array:
        """Draw a lane with the package's own picture."""
        self._update_environment(lane)
        return np.asarray(self.envs[lane].render())

    def place(self, lane: int) -> tuple[float, float]:
        """Return the middle of the agent's cell in the picture."""
        x, y, _ = self._cells()[lane].tolist()
        return (x + 0.5) / self.width, (y + 0.5) / self.height

    def close(self) -> None:
        """Close all environments."""
        for env in self.envs:
            env.close()


def _make_facts(base: Any, lanes: int, description: str) -> Facts:
    """Return spaces, views and names; the mission is a view, not part of the observation.

    `done` is not declared as the action that does nothing: some tasks end with it, and where it
    does nothing, an episode whose first state is mutated could never leave that state.
    """
    image = base.observation_space["image"]
    names = tuple(action.name for action in Actions)
    return Facts(
        observation_space=spaces.Dict({"image": image, "direction": spaces.Discrete(4)}),
        action_space=base.action_space,
        lanes=lanes,
        views=("cell", "mission"),
        action_names=names[: int(base.action_space.n)],
        description=description,
    )


def _agent_cell(base: Any) -> tuple[int, int, int]:
    """Return x, y and direction of the agent, zeros before the first reset."""
    if base.agent_pos is None:
        return 0, 0, 0
    x, y = base.agent_pos
    return int(x), int(y), int(base.agent_dir)


def _mission_codes(text: str) -> Array:
    """Return a mission as one number per character, zeros after its end."""
    raw = text.encode("latin-1", errors="replace")[:MISSION]
    return np.frombuffer(raw.ljust(MISSION, b"\0"), dtype=np.uint8)


def _silenced(base: Any) -> contextlib.AbstractContextManager[Any]:
    """Return a context in which what BabyAI prints while it looks for a map is dropped."""
    if type(base).__module__.startswith("minigrid.envs.babyai"):
        return contextlib.redirect_stdout(io.StringIO())
    return contextlib.nullcontext()
