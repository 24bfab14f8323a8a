"""`auto`: how finely to tell states apart in an environment that nobody has tuned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rpd_basics.batches import Array, Batch, check_finite, pick_entries, shape_of, width
from rpd_basics.bins import binned, box_of, digitise
from rpd_basics.entry_choice import distinct_entries, informative_entries
from rpd_basics.entry_names import bin_rules, check_names, names_in
from rpd_basics.images import shrink, to_grey, to_levels
from rpd_basics.resolution import Judge, best_edges, best_picture
from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.protocols import Bound, Entry, FitSample, learned

LARGEST_VECTOR = 512
"""Arrays of more numbers than this are treated as pictures."""
LARGEST_SYMBOL = 31
"""Whole numbers that never exceed this stand for things, not for brightness."""
MOST_VISITORS = 0.5
"""Share of the episodes that is always enough, also where a suite is too small to identify any."""
MOST_EPISODES = 1_000_000_000
"""Episodes that a suite may be planned with at most."""


@dataclass(frozen=True)
class Auto:
    """The resolution that identifies the most states and still covers fresh episodes.

    From episodes of the original policy, vectors get equally full bins, as many per entry as pay;
    pictures get a size and a number of grey levels. A state counts as identified if the suite can
    be expected to visit it in at least 20 episodes in each arm: mutated and kept. That takes the
    share of the policy's own episodes that visit it for the share of mutant episodes that do,
    which promises too much where mutants fail early and rarely reach the states of late steps.
    Coverage is the share of steps of half of the episodes that land in states of the other half;
    for the same reason a small suite covers less, and a large one may cover more.
    """

    coverage: float = 0.95
    """Share of the steps of fresh episodes that must land in known states."""
    visits: int = 20
    """Episodes in each arm that identify a state."""
    episodes: int | None = None
    """Size of the suite to plan for; none: the run's."""
    mutation_rate: float | None = None
    """Mutation rate to plan for; none: the run's."""
    kind: Literal["", "vector", "picture"] = learned("")
    """What was found to be at hand; learned."""
    length: int = learned(0)
    """Numbers in a vector; learned."""
    entries: tuple[int, ...] = learned(())
    """Entries that have bins; learned."""
    edges: tuple[tuple[float, ...], ...] = learned(())
    """Inner edges of the bins of these entries; learned."""
    names: tuple[str, ...] = learned(())
    """What these entries are called, if they have names; learned."""
    size: tuple[int, ...] = learned(())
    """Rows and columns of the small picture; learned."""
    levels: int = learned(0)
    """Grey levels of the small picture; learned."""
    span: tuple[float, ...] = learned(())
    """Values that count as black and white; none: those of bytes; learned."""
    identified: int = learned(0)
    """States expected to be identified; learned."""
    covered: float = learned(0.0)
    """Share of the steps of fresh episodes in known states; learned."""

    def __post_init__(self) -> None:
        if not 0 < self.coverage <= 1:
            raise SpecError(f"auto: coverage must lie in (0, 1], got {self.coverage:g}")
        if self.mutation_rate is not None and not 0 < self.mutation_rate < 1:
            raise SpecError(f"auto: mutation_rate must lie in (0, 1), got {self.mutation_rate:g}")
        for name in ("visits", "episodes"):
            count = getattr(self, name)
            if count is not None and not 1 <= count <= MOST_EPISODES:
                raise SpecError(f"auto: {name} must lie in 1..{MOST_EPISODES}, got {count}")
        check_names("auto", self.names, len(self.entries))

    def fit(self, sample: FitSample) -> Auto:
        """Choose the resolution."""
        rate = self.mutation_rate or sample.mutation_rate
        arm = (self.episodes or sample.planned_episodes) * min(rate, 1 - rate)
        share = min(self.visits / arm, MOST_VISITORS)
        judge = Judge.of(sample.episodes, share, self.coverage)
        check_finite(sample.values, "auto")
        if _is_picture(sample.values):
            return self._fit_pictures(to_grey(sample.values), judge)
        fitted = self._fit_vectors(sample.values, judge)
        names = names_in(sample, fitted.length)
        return replace(fitted, names=tuple(names[one] for one in fitted.entries) if names else ())

    def _fit_pictures(self, grey: Array, judge: Judge) -> Auto:
        span = _span_of(grey)
        size, levels, quality = best_picture(grey, span, judge)
        return replace(
            self, kind="picture", size=size, levels=levels, span=span,
            identified=quality.identified, covered=quality.covered,
        )  # fmt: skip

    def _fit_vectors(self, values: Batch, judge: Judge) -> Auto:
        entries = distinct_entries(values, informative_entries(values))
        edges, quality = best_edges(pick_entries(values, entries), judge)
        binned = [(entry, inner) for entry, inner in zip(entries, edges, strict=True) if inner]
        return replace(
            self, kind="vector", length=width(values),
            entries=tuple(entry for entry, _ in binned), edges=tuple(inner for _, inner in binned),
            identified=quality.identified, covered=quality.covered,
        )  # fmt: skip

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        if not self.kind:
            raise FitError(f"auto is not fitted and got shape {shape_of(values)}")
        if self.kind == "picture":
            small = shrink(to_grey(values), (self.size[0], self.size[1]))
            return to_levels(small, self.levels, self.span)
        if width(values) != self.length:
            raise FitError(
                f"auto is fitted to shape ({self.length},) and got shape {shape_of(values)}"
            )
        binned = digitise(pick_entries(values, self.entries), self.edges)
        return binned if self.entries else np.zeros((len(binned), 1), dtype=np.int16)

    def show(self, value: Array) -> str:
        """Describe between which edges each entry lies, or draw the picture in digits."""
        if self.kind == "vector":
            named = self._named
            return bin_rules(value.tolist(), self.edges, named) if self.edges else "anything"
        return "/".join("".join(map(str, row)) for row in value.tolist())

    def bounds(self, value: Array) -> tuple[Bound, ...] | None:
        """Return the bins in numbers; pictures are no boxes."""
        if self.kind != "vector":
            return None
        return box_of(value.tolist(), self.edges, self._named, self.entries) if self.edges else ()

    @property
    def _named(self) -> Sequence[str]:
        return self.names or [f"x{entry}" for entry in self.entries]

    def name_entries(self, before: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the entries that have bins, with their edges; pictures have none."""
        if self.kind != "vector" or not self.edges or len(before) != self.length:
            return ()
        return binned([before[entry] for entry in self.entries], self.edges)


def _is_picture(values: Batch) -> bool:
    """Return whether a batch holds large pictures rather than vectors, small grids or symbols."""
    if isinstance(values, dict) or np.ndim(values) not in (3, 4):
        return False
    if int(np.prod(np.shape(values)[1:])) <= LARGEST_VECTOR:
        return False
    return values.dtype.kind == "f" or int(values.max()) > LARGEST_SYMBOL


def _span_of(grey: Array) -> tuple[float, ...]:
    """Return what counts as black and white in pictures like these; mutants may see others."""
    if grey.dtype == np.uint8:
        return ()
    low, high = float(grey.min()), float(grey.max())
    if grey.dtype.kind == "f" and low >= 0 and high <= 1:
        return 0.0, 1.0
    if low == high:
        return low, low + max(1.0, float(np.spacing(abs(low))))
    return low, high
