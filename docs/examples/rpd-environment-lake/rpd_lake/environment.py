from dataclasses import dataclass
from typing import Literal

from rpd_core import Task
from rpd_lake.lanes import LakeLanes


@dataclass(frozen=True)
class Lake:
    """Cross a frozen lake to the far corner; whoever gets there without falling in earns 1."""

    size: Literal[4, 8] = 4
    """Cells along one side."""
    slip: float = 0.1
    """Chance that a step goes in a direction drawn at random."""

    def task(self):
        """Return settings under which the ranking works well."""
        return Task(
            abstraction=("identity",),
            default_action="repeat",
            condition="return>0",
            mutation_rate=0.2,
            episodes=2000,
            test_episodes=100,
            max_steps=100,
            reference=0.0,
            policy="python:rpd_lake.policy:walk",
        )

    def open(self, opening):
        """Build the lanes."""
        return LakeLanes(self.size, self.slip, opening.lanes)
