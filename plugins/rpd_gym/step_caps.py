"""After how many steps an episode ends at the latest."""

from __future__ import annotations

from typing import Any

import gymnasium

from rpd_core.errors import SpecError

MOST_STEPS = 1_000_000_000
"""Lengths of episodes are stored in 32 bits."""


def check_cap(component: str, max_steps: int | None) -> None:
    """Refuse a number of steps that no episode can have."""
    if max_steps is not None and not 1 <= max_steps <= MOST_STEPS:
        raise SpecError(f"{component}: max_steps must lie in 1..{MOST_STEPS}, got {max_steps}")


def find_cap(env: gymnasium.Env[Any, Any], max_steps: int | None, name: str) -> int:
    """Return the number of steps after which to stop, or ask for one where there is none."""
    limit = max_steps or (env.spec.max_episode_steps if env.spec else None)
    for attribute in ("_max_episode_steps", "max_steps"):  # of TimeLimit, and of MiniGrid
        if not limit and env.has_wrapper_attr(attribute):
            found = env.get_wrapper_attr(attribute)
            limit = found if isinstance(found, int) and found > 0 else None
    limit = limit or _frame_limit(env)
    if not limit:
        raise SpecError(
            f"{name} may never end: give a step cap, for example max_steps=1000 in its spec, or "
            "wrap it in gymnasium.wrappers.TimeLimit"
        )
    return min(int(limit), MOST_STEPS)


def _frame_limit(env: gymnasium.Env[Any, Any]) -> int | None:
    """Return the most steps that an Atari environment of Gymnasium makes; it counts frames."""
    options = env.spec.kwargs if env.spec else {}
    frames, skip = options.get("max_num_frames_per_episode"), options.get("frameskip", 1)
    fewest = min(skip) if isinstance(skip, tuple | list) else skip
    return int(frames) // int(fewest) if frames and fewest else None
