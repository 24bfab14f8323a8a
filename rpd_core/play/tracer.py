"""From steps to a trace: what a few episodes did, step by step, for whoever shows them later."""

from __future__ import annotations

import numpy as np
from gymnasium.spaces import Discrete

from rpd_core.play.loop import Plan, Step
from rpd_core.play.recorder import grouped
from rpd_core.plugin.protocols import Array, Batch, BoolArray, FloatArray, IntArray
from rpd_core.plugin.protocols.suite import Trace
from rpd_core.plugin.wording import order_of_parts

LONGEST = 3000
"""Steps of an episode that are kept; those behind them are left out."""
WIDEST = 64
"""Entries of a vector observation that is kept; nothing is kept of a longer one, or a picture."""


class Tracer:
    """Collects every step of the episodes from one position of a plan to before another."""

    def __init__(self, action_space: object, first: int, end: int) -> None:
        self.first, self.end = first, end
        self.start = int(action_space.start) if isinstance(action_space, Discrete) else 0
        self.columns: dict[str, list[Array]] = {}
        self._lanes: IntArray = np.zeros(0, dtype=np.int64)
        """Lanes whose present step is kept."""

    def __call__(self, step: Step) -> None:
        rows = np.flatnonzero(self._mine(step.position) & (step.number < LONGEST))
        self._lanes = lanes = step.lanes[rows]
        told = {
            "position": step.position,
            "step": step.number,
            "key": step.keys,
            "kept": step.kept,
            "override": step.overrides,
        }
        given = {
            "policy": _rows(step.choice.actions) - self.start,
            "default": _rows(step.default) - self.start,
            "observation": _vectors(step.observations, len(step.default)),
        }
        self._add({name: column.take(rows) for name, column in told.items()})
        self._add({name: column.take(lanes, axis=0) for name, column in given.items()})

    def _mine(self, position: IntArray) -> BoolArray:
        return np.asarray((position >= self.first) & (position < self.end))

    def watch(self, rewards: FloatArray) -> None:
        """Add what the steps gave."""
        self._add({"reward": rewards[self._lanes]})
        self._lanes = self._lanes[:0]

    def _add(self, row: dict[str, Array]) -> None:
        for name, column in row.items():
            self.columns.setdefault(name, []).append(column)

    def trace(self, plan: Plan) -> Trace:
        """Return the steps, those of an episode together and in their order."""
        columns = {name: np.concatenate(parts) for name, parts in self.columns.items()}
        position = columns.pop("position")
        order, _ = grouped(position)
        taken = {name: column[order] for name, column in columns.items()}
        return Trace(episode=plan.index[position[order]], **taken)


def _rows(actions: Array) -> FloatArray:
    return np.asarray(actions.reshape(len(actions), -1), dtype=np.float64)


def _vectors(observations: Batch, lanes: int) -> Array:
    """Return observations that are short vectors; of others, rows without entries.

    The parts of a dict are joined in the order in which abstractions join them.
    """
    held = observations if isinstance(observations, dict) else {"": observations}
    parts = [held[name] for name in sorted(held, key=order_of_parts)]
    numbers = all(part.dtype.kind in "biuf" and part.ndim <= 2 for part in parts)
    if not numbers or not 0 < sum(part[0].size for part in parts) <= WIDEST:
        return np.zeros((lanes, 0), dtype=np.float32)
    return np.concatenate([part.reshape(lanes, -1).astype(np.float32) for part in parts], axis=1)
