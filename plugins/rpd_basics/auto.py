"""`auto`: how finely to tell states apart in an environment that nobody has tuned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rpd_basics.abstractions import Batch, flat, shape_of
from rpd_basics.bins import describe, digitise
from rpd_basics.images import shrink, to_grey, to_levels
from rpd_basics.resolution import Judge, best_edges, best_picture
from rpd_core.components import FitSample
from rpd_core.errors import FitError, SpecError

Array = NDArray[Any]
LARGEST_VECTOR = 512
"""Arrays of more numbers than this are treated as pictures."""


@dataclass(frozen=True)
class Auto:
    """The resolution that identifies the most states and still covers fresh episodes.

    From episodes of the original policy, vectors get equally full bins, as many per entry as pay;
    pictures get a size and a number of grey levels. A state counts as identified if the suite can
    be expected to visit it in at least 20 episodes in each arm: mutated and kept. That takes the
    share of the policy's own episodes that visit it for the share of mutant episodes that do,
    which is only roughly right, as mutants stray. Coverage is the share of steps of half of the
    episodes that land in states of the other half: less than a whole suite will cover.
    """

    coverage: float = 0.95
    """Share of the steps of fresh episodes that must land in known states."""
    visits: int = 20
    """Episodes in each arm that identify a state."""
    episodes: int | None = None
    """Size of the suite to plan for; none: the run's."""
    mutation_rate: float | None = None
    """Mutation rate to plan for; none: the run's."""
    kind: Literal["", "vector", "picture"] = ""
    """What was found to be at hand; learned."""
    edges: tuple[tuple[float, ...], ...] = ()
    """Inner edges of the bins of every entry; learned."""
    size: tuple[int, ...] = ()
    """Rows and columns of the small picture; learned."""
    levels: int = 0
    """Grey levels of the small picture; learned."""
    identified: int = 0
    """States expected to be identified; learned."""
    covered: float = 0.0
    """Share of the steps of fresh episodes in known states; learned."""

    def __post_init__(self) -> None:
        if not 0 < self.coverage <= 1:
            raise SpecError(f"auto: coverage must lie in (0, 1], got {self.coverage:g}")
        if self.mutation_rate is not None and not 0 < self.mutation_rate < 1:
            raise SpecError(f"auto: mutation_rate must lie in (0, 1), got {self.mutation_rate:g}")

    def fit(self, sample: FitSample) -> Auto:
        """Choose the resolution."""
        rate = self.mutation_rate or sample.mutation_rate
        arm = (self.episodes or sample.planned_episodes) * min(rate, 1 - rate)
        judge = Judge.of(sample.episodes, self.visits / arm, self.coverage)
        if is_picture(sample.values):
            grey = to_grey(sample.values)
            size, levels, found = best_picture(grey, judge)
            learned = {"kind": "picture", "size": size, "levels": levels}
        else:
            edges, found = best_edges(flat(sample.values), judge)
            learned = {"kind": "vector", "edges": edges}
        return replace(self, **learned, identified=found.identified, covered=found.covered)  # type: ignore[arg-type]

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        if not self.kind:
            raise FitError(f"auto is not fitted and got shape {shape_of(values)}")
        if self.kind == "picture":
            return to_levels(shrink(to_grey(values), (self.size[0], self.size[1])), self.levels)
        rows = flat(values)
        if rows.shape[1] != len(self.edges):
            raise FitError(
                f"auto is fitted to shape ({len(self.edges)},) and got shape {shape_of(values)}"
            )
        return digitise(rows, self.edges)

    def show(self, value: Array) -> str:
        """Say between which edges each entry lies, or draw the picture in digits."""
        if self.kind == "vector":
            return describe(value.tolist(), self.edges)
        return "\n".join("".join(map(str, row)) for row in value.tolist())


def is_picture(values: Batch) -> bool:
    """Tell whether a batch holds large pictures rather than vectors or small grids."""
    if isinstance(values, dict) or np.ndim(values) not in (3, 4):
        return False
    return int(np.prod(np.shape(values)[1:])) > LARGEST_VECTOR
