"""A pruned policy of a file that plays anywhere: `predict` as in stable-baselines3, and a wrapper.

Neither needs the environment that the policy was pruned in: the file knows its spaces.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_core.chance import Domain, Draws, domain_keys, episode_keys
from rpd_core.config.settings import check_value
from rpd_core.config.trust import check_trust
from rpd_core.errors import ConfigError, FitError, RpdError, brief, counted, one_line
from rpd_core.play.actions import action_difference, first_action, in_every_lane
from rpd_core.plugin.protocols import Facts, PolicyInput
from rpd_core.plugin.registry import installed
from rpd_core.store.files import path_of

if TYPE_CHECKING:
    from rpd_basics.pruned import Decided, Pruned, PrunedFile

Array = NDArray[Any]
Batch = Array | dict[str, Array]
Views = Mapping[str, Array]
_OPTION = re.compile(r"(trust=true (in the spec )?or )?--trust-policy")


@contextmanager
def trusted_by(argument: str) -> Iterator[None]:
    """Let refusals name the argument of a function instead of the option of the command line."""
    try:
        yield
    except RpdError as error:
        error.args = tuple(_OPTION.sub(argument, str(one)) for one in error.args)
        raise


@dataclass(frozen=True)
class State:
    """What episodes go on from, one row per lane."""

    memory: Any
    """What the policy remembers."""
    previous: Array
    """Actions executed at the step before, which the default action may repeat."""
    step: NDArray[np.int64]
    """Steps taken in each episode."""
    episode: NDArray[np.int64]
    """Distinguishes episodes, for policies and defaults that draw."""


class PrunedPredictor:
    """A pruned policy with a `predict` like that of stable-baselines3."""

    def __init__(self, path: str | os.PathLike[str], trust: bool = False, seed: int = 0) -> None:
        file = path_of(path, "path", "that of an exported policy").absolute()
        loader: type[PrunedFile] = installed().resolve("policy", "pruned")
        self.file = loader(file, check_trust(trust, "trust"))
        self.seed: int = check_value("seed", _plain(seed))
        self._episodes = 0
        self._loaded: dict[int, Pruned] = {}
        with trusted_by("trust=True"):
            self.facts: Facts = self.file.facts()
        self._policy(1)  # what is wrong with the file is best known now

    @property
    def observation_space(self) -> Any:
        """The space of one observation."""
        return self.facts.observation_space

    @property
    def action_space(self) -> Any:
        """The space of one action."""
        return self.facts.action_space

    def __call__(self, observation: Any, **options: Any) -> Array:
        """Return the action for an observation or a batch of them."""
        return self.predict(observation, **options)[0]

    def predict(
        self,
        observation: Any,
        state: State | None = None,
        episode_start: Any = None,
        deterministic: bool = True,
        views: Views | None = None,
    ) -> tuple[Array, State]:
        """Return (actions, state) for one observation or a batch; hand the state back.

        Lanes where `episode_start` is true, and all if there is no state, begin an episode. Whether
        the policy samples was fixed when it was exported, whatever `deterministic` says. `views`
        are what the states need beyond observations, one row per lane.
        """
        decided, following, single = self.decide(observation, state, episode_start, views)
        actions = np.asarray(decided.choice.actions)
        return (actions[0] if single else actions), following

    def decide(
        self,
        observation: Any,
        state: State | None = None,
        episode_start: Any = None,
        views: Views | None = None,
    ) -> tuple[Decided, State, bool]:
        """Return what is done and who decides, the state, and whether it was one observation."""
        batch, single = self._batch(observation)
        lanes = len(next(iter(batch.values())) if isinstance(batch, dict) else batch)
        _check_state(state, lanes)
        starts = np.full(lanes, state is None) | _starts(episode_start, lanes)
        policy, facts = self._policy(lanes), dataclasses.replace(self.facts, lanes=lanes)
        state = self._begun(self._blank(facts) if state is None else state, starts)
        identity = episode_keys(self.seed, 0, state.episode)
        draws = Draws(domain_keys(identity, Domain.POLICY), state.step)
        seen = PolicyInput(
            batch, self._views(policy, views), starts, state.memory, draws, state.previous,
            np.zeros(lanes),
        )  # fmt: skip
        decided = policy.decide(seen)
        actions = np.asarray(decided.choice.actions)
        following = State(decided.choice.memory, actions, state.step + 1, state.episode)
        return decided, following, single

    def _blank(self, facts: Facts) -> State:
        none = np.zeros(facts.lanes, dtype=np.int64)
        return State(None, in_every_lane(first_action(facts), facts), none, none)

    def _begun(self, state: State, starts: NDArray[np.bool_]) -> State:
        """Return the state with new episodes where one starts."""
        fresh = self._episodes + np.cumsum(starts)
        self._episodes += int(starts.sum())
        episode = np.where(starts, fresh, state.episode)
        return dataclasses.replace(state, step=np.where(starts, 0, state.step), episode=episode)

    def _views(self, policy: Pruned, views: Views | None) -> Views:
        given = {} if views is None else views
        if not isinstance(given, Mapping):
            raise ConfigError(f"views must be rows of numbers by name, got {brief(views)}")
        for name in policy.needs:
            if name not in given:
                raise FitError(
                    f"the states of {self.file.path.name!r} need the view {name!r}, which only its "
                    f"environment ({self.facts.description}) has: hand it over, "
                    f"views={{{name!r}: ...}}"
                )
        return given

    def _batch(self, observation: Any) -> tuple[Batch, bool]:
        """Return observations as a batch, and whether it was one."""
        space = self.facts.observation_space
        try:
            parts = dict(_parts(space, observation, ()))
            rows = {name: _numbers(leaf, part) for name, (leaf, part) in parts.items()}
        except (
            TypeError,
            ValueError,
            LookupError,
            ArithmeticError,
        ) as error:  # as many kinds as there are values
            raise FitError(
                f"{brief(observation)} is no observation for {self.file.path.name!r}, whose "
                f"observations are {space} ({one_line(error)})"
            ) from error
        for name, (leaf, _) in parts.items():
            if not _fits(leaf, rows[name]):
                raise FitError(
                    f"an observation of shape {rows[name].shape} does not fit "
                    f"{self.file.path.name!r}, whose observations are {leaf}"
                )
        name, (leaf, _) = next(iter(parts.items()))
        single = rows[name].ndim == len(leaf.shape or ())
        self._check_lanes(parts, rows)
        if single:
            rows = {name: row[None] for name, row in rows.items()}
        return rows.get("", rows), single

    def _check_lanes(self, parts: Mapping[str, tuple[Any, Any]], rows: Views) -> None:
        """Refuse an empty batch, and parts of a batch that are not equally long."""
        ranks = {name: len(leaf.shape or ()) for name, (leaf, _) in parts.items()}
        lanes = {len(row) if row.ndim > ranks[name] else None for name, row in rows.items()}
        if len(lanes) > 1 or 0 in lanes:
            shapes = ", ".join(f"{name} {row.shape}".strip() for name, row in rows.items())
            what = "parts that are not equally long" if len(lanes) > 1 else "no observation"
            raise FitError(
                f"a batch for {self.file.path.name!r} holds {what}, its shape is {shapes}: hand "
                "over one observation, or one row for each lane"
            )

    def _policy(self, lanes: int) -> Pruned:
        if lanes not in self._loaded:
            with trusted_by("trust=True"):
                self._loaded[lanes] = self.file.load(dataclasses.replace(self.facts, lanes=lanes))
        return self._loaded[lanes]


def _plain(number: object) -> object:
    """Return a number of NumPy as Python's."""
    return number.item() if isinstance(number, np.generic) else number


def _check_state(state: object, lanes: int) -> None:
    """Refuse a state that does not go on with these lanes."""
    if state is None:
        return
    if not isinstance(state, State):
        raise ConfigError(f"state must be what predict returned, or None, got {brief(state)}")
    if len(state.step) != lanes:
        raise ConfigError(
            f"state is of {counted(len(state.step), 'lane')}, and there are "
            f"{counted(lanes, 'observation')}: leave it out to begin new episodes"
        )


def _starts(given: Any, lanes: int) -> NDArray[np.bool_]:
    """Return in which lanes an episode is said to begin."""
    try:
        starts = np.asarray(False if given is None else given)
    except ValueError:  # rows of different lengths
        starts = np.empty(0)
    known = starts.dtype.kind in "biuf" and starts.shape in ((), (lanes,))
    if not known or not np.isin(starts, (0, 1)).all():
        raise ConfigError(
            f"episode_start must be true or false for each of {counted(lanes, 'observation')}, "
            f"got {brief(given)}"
        )
    return np.broadcast_to(starts, lanes).astype(bool)


def _numbers(space: Any, part: Any) -> Array:
    """Return a part of an observation as an array; episodes of a run hold no NaN, either."""
    given = np.asarray(part)
    if given.dtype.kind == "f" and np.isnan(given).any():
        raise FitError(
            f"an observation must not hold NaN, got {brief(part)}: mend what it comes from"
        )
    return np.asarray(part, space.dtype)


def _fits(space: Any, rows: Array) -> bool:
    """Return whether an array can be one observation of a space, or a batch of them."""
    wanted = tuple(space.shape or ())
    further = rows.ndim - len(wanted)
    return further in (0, 1) and rows.shape[further:] == wanted


def _parts(space: Any, value: Any, path: tuple[str, ...]) -> list[tuple[str, tuple[Any, Any]]]:
    """Return the parts of an observation that hold numbers, by the names that lanes give them."""
    if isinstance(space, spaces.Text):
        return []
    if not isinstance(space, spaces.Dict | spaces.Tuple):
        return [(".".join(path), (space, value))]
    inner = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
    return [
        found
        for key, part in inner
        if not isinstance(part, spaces.Text)
        for found in _parts(part, value[key], (*path, str(key)))
    ]


def _actions(space: Any) -> tuple[Any, Any]:
    return space.shape, getattr(space, "n", None)


class PrunedWrapper(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Acts by default outside the smallest policy, and tells in `info["rpd"]` who decided.

    `step(action)` executes the action in the states that a pruned policy keeps, and the default
    action in all others; `step(None)` executes the pruned policy's own choice. `info["rpd"]` holds
    `decided` (`policy` or `default`), `state` (in words, where the policy decides), `loss` (the
    return that is lost without this decision, in the mean over all episodes, where known) and
    `override` (whether the policy's action differed from the default's).
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        policy: PrunedPredictor | str | os.PathLike[str],
        views: Callable[[gymnasium.Env[Any, Any]], Views] | None = None,
    ) -> None:
        super().__init__(env)
        self.policy = policy if isinstance(policy, PrunedPredictor) else PrunedPredictor(policy)
        self._views = views
        mine, theirs = env.action_space, self.policy.action_space
        if _actions(mine) != _actions(theirs):
            raise FitError(
                f"{env} acts in {mine}, but {self.policy.file.path.name!r} was pruned where "
                f"actions are {theirs}: wrap an environment like that"
            )
        self._differ = action_difference(dataclasses.replace(self.policy.facts, lanes=1))
        self._known = {one["key"]: one for one in self.policy.file.about().get("decisions", ())}
        self._state: State | None = None
        self._seen: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Begin an episode."""
        self._seen, info = self.env.reset(seed=seed, options=options)
        self._state = None
        return self._seen, info

    def step(self, action: Any = None) -> Any:
        """Execute an action, or the pruned policy's own, where the policy is to decide."""
        views = None if self._views is None else self._views(self.env)
        decided, state, _ = self.policy.decide(self._seen, self._state, views=views)
        wanted = decided.policy if action is None else np.asarray([action])
        chosen = np.asarray(wanted if decided.kept[0] else decided.default)
        self._state = dataclasses.replace(state, previous=chosen)
        whole = isinstance(self.policy.action_space, spaces.Discrete)
        done = int(chosen[0]) if whole else chosen[0]
        self._seen, reward, over, cut, info = self.env.step(done)
        return self._seen, reward, over, cut, {**info, "rpd": self._told(decided, wanted)}

    def _told(self, decided: Decided, wanted: Array) -> dict[str, Any]:
        kept = bool(decided.kept[0])
        known = self._known.get(int(decided.keys[0]), {}) if kept else {}
        return {
            "decided": "policy" if kept else "default",
            "state": known.get("state"),
            "loss": known.get("loss"),
            "override": kept and bool(self._differ(wanted, decided.default)[0]),
        }


def load(path: str | os.PathLike[str], trust: bool = False, seed: int = 0) -> PrunedPredictor:
    """Return a pruned policy that `rpd prune --export` wrote, ready to play.

    The environment that it was pruned in need not be there. `trust` lets the file name components
    that run code, and `seed` is for policies and default actions that draw.
    """
    return PrunedPredictor(path, trust, seed)
