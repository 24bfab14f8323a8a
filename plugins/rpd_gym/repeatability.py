"""Does an environment play the same episode again for the same seed, whatever else is played?"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from rpd_core.errors import FitError, RpdError, ends_rpd
from rpd_gym.chance import OwnChance
from rpd_gym.layout import Layout
from rpd_gym.lifecycle import closing, start

SEED, OTHERS = 12, (34, 56, 78)
STEPS, BETWEEN = 150, 25
"""Steps of the episode that is compared, and of those in between."""

Env = gymnasium.Env[Any, Any]
Factory = Callable[[], Env]
Seen = list[bytes]
"""What an episode shows, byte for byte."""


@dataclass(frozen=True)
class Safeguards:
    """What an environment needs so that its episodes depend on their seeds alone."""

    rebuild: bool = False
    """Make a new one for every episode."""
    own_chance: bool = False
    """Keep its state of the global generators apart: it seeds them and draws from them."""

    def apply(self, factory: Factory) -> Factory:
        """Return a factory of environments whose random state is kept apart if need be."""
        return (lambda: OwnChance(factory())) if self.own_chance else factory


def find_safeguards(factory: Factory, name: str) -> Safeguards:
    """Find out what an environment needs, by playing one short episode again and again.

    First in one environment: when fresh, after another episode, and beside another environment
    under way; then in that one. Where these differ, in two fresh environments: alone, and beside.
    One that fails here is left for the episodes, where the error names the episode.
    """
    try:
        for own_chance in (False, True):
            make = Safeguards(own_chance=own_chance).apply(factory)
            first, *later = _play_in_one(make)
            if all(seen == first for seen in later):
                return Safeguards(False, own_chance)
            if all(seen == first for seen in _play_in_fresh_ones(make)):
                return Safeguards(True, own_chance)
    except RpdError:
        raise
    except BaseException as error:  # an environment may raise anything
        if ends_rpd(error):
            raise
        return Safeguards()
    raise FitError(
        f"{name} plays different episodes for one seed, even when made afresh: draw all its "
        "random numbers from self.np_random after reset(seed=...), or write rebuild=false to play "
        "it as it is"
    )


def _play_in_one(factory: Factory) -> list[Seen]:
    """Play the episode in one environment when fresh, later and beside another."""
    with closing(factory()) as env:
        seen = [_play(env, SEED, STEPS)]
        _play(env, OTHERS[0], BETWEEN)
        seen.append(_play(env, SEED, STEPS))
        _play(env, OTHERS[1], BETWEEN)
        try:
            neighbour = factory()
        except RpdError:  # some can exist only once
            return seen
        with closing(neighbour):
            seen.append(_play(env, SEED, STEPS, neighbour))
            seen.append(_play(neighbour, SEED, STEPS))
        return seen


def _play_in_fresh_ones(factory: Factory) -> list[Seen]:
    """Play the episode in two fresh environments: alone, and beside another."""
    with closing(factory()) as alone, closing(factory()) as env, closing(factory()) as neighbour:
        return [_play(alone, SEED, STEPS), _play(env, SEED, STEPS, neighbour)]


def _play(env: Env, seed: int, steps: int, neighbour: Env | None = None) -> Seen:
    """Record what an episode of fixed random actions shows, with or without a neighbour."""
    other = _moves(neighbour, OTHERS[2]) if neighbour is not None else None
    seen: Seen = []
    for number, shown in enumerate(_moves(env, seed)):
        seen.append(shown)
        if other is not None:
            next(other, None)
        if number == steps:
            break
    return seen


def _moves(env: Env, seed: int) -> Iterator[bytes]:
    """Yield what each step of an episode shows; the actions leave the environment's space alone."""
    layout = Layout.of(env.observation_space)
    observation, _ = start(env, seed)
    actions = copy.deepcopy(env.action_space)
    actions.seed(SEED)
    yield _bytes(layout, observation)
    over = cut = False
    while not (over or cut):
        observation, reward, over, cut, _ = env.step(actions.sample())
        yield _bytes(layout, observation) + np.float64(reward).tobytes()


def _bytes(layout: Layout, observation: Any) -> bytes:
    batch = layout.blank(1)
    layout.writer(batch)(0, observation)
    parts = list(batch.values()) if isinstance(batch, dict) else [batch]
    return b"".join(part.tobytes() for part in parts)


def chosen_safeguards(rebuild: bool | None, factory: Callable[[], Env], name: str) -> Safeguards:
    """Return the safeguards that the user chose, or else those that a trial finds necessary."""
    if rebuild is None:
        return find_safeguards(factory, name)
    return Safeguards(rebuild, own_chance=rebuild)
