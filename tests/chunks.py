"""Parts of one small suite, made anew each time, and what makes two suites the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import worlds

from rpd_core.play.chunks import SuiteChunk, perform_suite
from rpd_core.play.recipe import Recipe
from rpd_core.plugin.protocols import Choice, Suite

EPISODES = 40


@dataclass(frozen=True)
class Opinionated:
    """A policy with action values and probabilities that vary from step to step."""

    def load(self, facts: Any) -> Any:
        def decide(seen: Any) -> Choice:
            values = seen.draws.uniform(2) * 3
            chances = values / values.sum(axis=1, keepdims=True)
            return Choice((values[:, 0] < 2).astype(int), values, chances)

        return decide


RECIPE = Recipe(
    worlds.Corridor(), Opinionated(), worlds.Itself(), worlds.Drifts(), 16, worlds.MAX_STEPS
)


def chunk(first: int, last: int) -> Suite:
    """Play the episodes `first` to `last` of the suite."""
    return perform_suite(SuiteChunk(RECIPE, 5, 0.3, first, last)).suite


def assert_same(one: Suite, other: Suite) -> None:
    """Check that two suites have equal tables, to the type of each column."""
    for table in ("episodes", "visits", "states"):
        for name, column in vars(getattr(one, table)).items():
            found = vars(getattr(other, table))[name]
            np.testing.assert_equal(found, column, f"{table}.{name}")
            if name != "info":
                assert found.dtype == column.dtype, f"{table}.{name}"
