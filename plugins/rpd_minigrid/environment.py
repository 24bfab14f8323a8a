"""The recipe of a MiniGrid task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rpd_core.errors import SpecError
from rpd_core.plugin.protocols import Lanes, Opening, Task

if TYPE_CHECKING:
    import gymnasium

PAPER = "MiniGrid-SimpleCrossingS9N1-v0"
WIDEST_VIEW = 99
"""More than any map of the package is wide, looked at from either end."""


@dataclass(frozen=True)
class MiniGrid:
    """A MiniGrid or BabyAI task, for example `minigrid:Empty-16x16`."""

    id: str = "SimpleCrossingS9N1"
    """The registered id, in full or without `MiniGrid-` and the version."""
    view: int | None = None
    """Width of the square that the agent sees, an odd number; none: the task's own, mostly 7."""

    def __post_init__(self) -> None:
        if self.view is not None and not (3 <= self.view <= WIDEST_VIEW and self.view % 2):
            raise SpecError(
                f"minigrid: view must be an odd number in 3..{WIDEST_VIEW}, got {self.view}"
            )

    def task(self) -> Task:
        """Return the paper's settings."""
        from rpd_minigrid.ids import full_id, newer_id  # minigrid takes a second to import
        from rpd_minigrid.tasks import make_task, step_limit

        name, env = full_id(self.id), make_task(self.id, self.view)
        try:
            max_steps = step_limit(env.unwrapped)
        finally:
            env.close()
        newer = newer_id(name)
        return Task(
            abstraction=("minigrid",),
            vectors=("situation",),
            default_action="repeat",
            condition="return>=0.8",
            mutation_rate=0.2,
            episodes=5000,
            test_episodes=100,
            max_steps=max_steps,
            reference=0.0,
            policy="minigrid:simple-crossing" if name == PAPER and self.view in (None, 7) else None,
            lanes=512,
            chunk=1250,
            notes=(f"{name} has a newer version, {newer}",) if newer else (),
        )

    def open(self, opening: Opening) -> Lanes:
        """Open the lanes."""
        from rpd_minigrid.ids import full_id  # minigrid takes a second to import
        from rpd_minigrid.lanes import MiniGridLanes
        from rpd_minigrid.tasks import make_task

        def make() -> gymnasium.Env[Any, Any]:
            return make_task(self.id, self.view, opening.render)

        return MiniGridLanes(make, opening.lanes, full_id(self.id))
