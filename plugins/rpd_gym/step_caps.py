"""After how many steps an episode ends at the latest."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium

from rpd_core.errors import RpdError, SpecError, ends_rpd, one_line
from rpd_gym.lifecycle import start

MOST_STEPS = 1_000_000_000
"""Lengths of episodes are stored in 32 bits."""
PILOT_EPISODES, PILOT_STEPS = 6, 3000
"""Episodes that a pilot plays where no limit is known, and the most steps of each."""
_GENEROUS = 10
"""The cap is at least so many times the longest episode of the pilot."""
_LEAST_CAP = 1000
_SEED = 20_211

Env = gymnasium.Env[Any, Any]


def check_cap(component: str, max_steps: int | None) -> None:
    """Refuse a number of steps that no episode can have."""
    if max_steps is not None and not 1 <= max_steps <= MOST_STEPS:
        raise SpecError(f"{component}: max_steps must lie in 1..{MOST_STEPS}, got {max_steps}")


def find_cap(env: Env, max_steps: int | None, name: str) -> tuple[int, tuple[str, ...]]:
    """Return the number of steps after which to stop, and what to say of it.

    Where no limit is known, a pilot looks whether episodes end by themselves.
    """
    limit = max_steps or (env.spec.max_episode_steps if env.spec else None)
    for attribute in ("_max_episode_steps", "max_steps"):  # of TimeLimit, and of MiniGrid
        if not limit and env.has_wrapper_attr(attribute):
            found = env.get_wrapper_attr(attribute)
            limit = found if isinstance(found, int) and found > 0 else None
    limit = limit or _frame_limit(env)
    if limit:
        return min(int(limit), MOST_STEPS), ()
    longest = _longest_episode(env, name)
    cap = _generous(longest)
    return cap, (
        f"{name} names no step limit; {PILOT_EPISODES} pilot episodes ended by themselves, the "
        f"longest after {longest} steps, so episodes are cut after {cap}: max_steps= in its spec "
        "changes that, and a lower one makes runs faster",
    )


def _longest_episode(env: Env, name: str) -> int:
    """Return the steps of the longest pilot episode, or refuse where one does not end."""
    try:
        episodes = range(PILOT_EPISODES)
        lengths = [_length(env, _SEED + number, number % 2 == 1) for number in episodes]
    except RpdError:
        raise
    except BaseException as error:  # an environment may raise anything
        if ends_rpd(error):
            raise
        raise SpecError(f"{name} failed in a pilot episode: {one_line(error)}") from error
    if None in lengths:
        raise SpecError(
            f"{name} may never end, a pilot episode was not over after {PILOT_STEPS} steps: give a "
            "step cap, for example max_steps=1000 in its spec, or wrap it in "
            "gymnasium.wrappers.TimeLimit"
        )
    return max(length for length in lengths if length is not None)


def _length(env: Env, seed: int, repeats: bool) -> int | None:
    """Return the steps of an episode of random actions, or of one that is repeated; None: no end.

    Defaults and pruned policies often repeat an action, which may be where nothing ever ends.
    """
    start(env, seed)
    actions = copy.deepcopy(env.action_space)
    actions.seed(seed)
    action = actions.sample()
    for number in range(1, PILOT_STEPS + 1):
        _, _, over, cut, *_ = env.step(action)
        if over or cut:
            return number
        action = action if repeats else actions.sample()
    return None


def _generous(longest: int) -> int:
    """Return a round number of steps that is many times the longest episode.

    Pilots act at random, and a good policy may last far longer: a cap that cuts its episodes would
    change its return, one that is too high only costs time. The numbers are coarse so that pilots
    which differ a little, as with another version of the environment, lead to the same task.
    """
    cap = _LEAST_CAP
    while cap < _GENEROUS * longest:
        cap = cap * 5 // 2 if str(cap).startswith("2") else cap * 2
    return cap


def _frame_limit(env: Env) -> int | None:
    """Return the most steps that an Atari environment of Gymnasium makes; it counts frames."""
    options = env.spec.kwargs if env.spec else {}
    frames, skip = options.get("max_num_frames_per_episode"), options.get("frameskip", 1)
    fewest = min(skip) if isinstance(skip, tuple | list) else skip
    return int(frames) // int(fewest) if frames and fewest else None
