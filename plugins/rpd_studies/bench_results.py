"""Measures against each other: the figures of every measure on several suites, and what follows.

A measure that is chosen because it did best on some seeds looks better there than it is. So it is
chosen on some seeds, and its figures, with paired differences to a base, come from the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from rpd_core.analysis.records import Stability
from rpd_core.config.configuration import Configuration
from rpd_core.errors import ConfigError, nearest
from rpd_core.pruning.choice import size
from rpd_core.pruning.curves import Curve, area_under, reaching
from rpd_core.pruning.records import PrunedPoint
from rpd_core.pruning.references import References
from rpd_core.pruning.sweep import Sweep
from rpd_studies.estimates import Estimate, mean_difference
from rpd_studies.results import rows_of

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray

Criterion = Literal[
    "both", "states", "steps", "area_states", "area_steps", "top10", "top50", "holds", "effect"
]  # fmt: skip
"""Figures of a measure; of the first three less is better, of the others more."""
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
SIZES = ("both", "states", "steps")
FRACTION = 0.9
"""Of the return that pruned policies are to keep."""
_COMPARED = ("portfolio", "random")
"""Rows that are no measure and are never chosen."""
BENCHED = (
    "impact", "effect-return", "regression", "jaccard", "ample2", "phi", "dstar", "op2", "barinel",
    "differ:first", "value-gap", "entropy",
)  # fmt: skip
"""Measures that are tried beside the standard ones."""
_FEW = 5
"""Seeds from which on an interval over seeds is worth its name."""


@dataclass(frozen=True)
class BenchQuestion:
    """Which measures are compared, on which seeds, and by what."""

    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    """One suite each."""
    choose_on: tuple[int, ...] = (0, 1)
    """Seeds that decide which measure is best; the figures come from the others."""
    base: str = "tarantula"
    """Measure that the others are compared with."""
    criterion: Criterion = "both"
    """What decides."""
    all_measures: bool = False
    """Try every installed measure."""

    def __post_init__(self) -> None:
        if not self.seeds or len({*self.seeds}) < len(self.seeds):
            raise ConfigError(f"seeds must be different numbers, got {_listed(self.seeds)}")
        strange = [seed for seed in self.choose_on if seed not in self.seeds]
        if strange:
            raise ConfigError(
                f"choose_on must be among the seeds {_listed(self.seeds)}, got {strange[0]}"
            )
        if self.criterion not in CRITERIA:
            hint = nearest(self.criterion, CRITERIA)
            raise ConfigError(
                f"criterion must be one of {', '.join(CRITERIA)}, got {self.criterion!r}.{hint}"
            )

    @property
    def report_on(self) -> tuple[int, ...]:
        """Seeds that the figures come from: those that did not choose, if there are any."""
        return tuple(seed for seed in self.seeds if seed not in self.choose_on) or self.seeds

    @property
    def judges(self) -> tuple[int, ...]:
        """Seeds that choose; all of them where none is named."""
        return self.choose_on or self.seeds


def choosing_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """Return the seeds that choose where none are named: two of five, at least one of two."""
    return tuple(seeds[: max(2 * len(seeds) // _FEW, len(seeds) > 1)])


@dataclass(frozen=True)
class SeedFigures:
    """One measure on one suite."""

    seed: int
    fewest_states: PrunedPoint | None
    """The pruned policy of the sweep with the fewest states that keeps the return; null: none."""
    fewest_steps: PrunedPoint | None
    """Likewise with the smallest share of steps."""
    fewest_both: PrunedPoint | None
    """Likewise with the smallest sum of both shares."""
    area_states: float
    """Area under the share of the return against the share of states; 1 is best."""
    area_steps: float
    """Likewise against the share of steps."""
    top10: float | None
    """Half-split overlap of the first ten of the list; null: cannot be told."""
    top50: float | None
    """Likewise the first fifty."""
    holds: float | None = None
    """Share of the first fifty of the list with a positive effect in the suite of another seed."""
    effect: float | None = None
    """Mean effect there of the first ten; null: no other seed with the same states."""

    def figure(self, name: Criterion) -> float | None:
        """Return a figure; where no pruned policy is good enough, the whole policy is needed."""
        if name == "both":
            whole = self.fewest_both
            return 2.0 if whole is None else whole.states + whole.steps
        if name == "states":
            return 1.0 if self.fewest_states is None else self.fewest_states.states
        if name == "steps":
            return 1.0 if self.fewest_steps is None else self.fewest_steps.steps
        figure: float | None = getattr(self, name)
        return figure


@dataclass(frozen=True)
class BenchRow:
    """One measure over all seeds; `means` and `differences` are over those that report."""

    measure: str
    judged: float | None
    """Mean of the criterion over the seeds that choose."""
    means: Mapping[str, float | None]
    """By figure; null where a seed has none. A seed on which 90 % are missed counts as 100 %."""
    differences: Mapping[str, Estimate | None]
    """Mean paired difference to the base, with the 95 % interval of a t-test over seeds."""
    missed: int
    """Seeds on which no pruned policy of the sweep kept the return."""
    seeds: tuple[SeedFigures, ...]


@dataclass(frozen=True)
class Bench:
    """Measures compared on the same suites and the same test episodes; best row first."""

    env: str
    policy: str
    condition: str
    episodes: int
    """Mutant episodes of each suite."""
    test_episodes: int
    """Episodes of each pruned policy."""
    fraction: float
    """Of the return that is to be kept."""
    criterion: str
    base: str
    chosen: str
    """The best measure by the criterion on the seeds that choose."""
    choose_on: tuple[int, ...]
    report_on: tuple[int, ...]
    rows: tuple[BenchRow, ...]
    left_out: Mapping[str, str]
    """Measures that could not rank one of the suites, and why."""
    notes: tuple[str, ...]
    """What to bear in mind."""


def seed_figures(
    seed: int, swept: Sweep, references: References, stability: Mapping[str, Stability | None]
) -> dict[str, SeedFigures]:
    """Return the figures of every measure on one suite, and of what they are compared with."""
    curves = rows_of(swept.curves, swept.random_curves)
    return {
        name: _figures(seed, some, references, stability.get(name)) for name, some in curves.items()
    }


def _figures(
    seed: int, curves: Sequence[Curve], references: References, stability: Stability | None
) -> SeedFigures:
    points = reaching(curves, references.target(FRACTION))
    states, steps, both = (
        min(points, key=lambda one: size(one, objective), default=None)
        for objective in ("states", "steps", "both")
    )
    gain = references.original_mean - references.reference
    returns = np.concatenate([curve.mean_return for curve in curves])
    shares = (returns - references.reference) / gain
    return SeedFigures(
        seed,
        states,
        steps,
        both,
        area_under(np.concatenate([curve.shares for curve in curves]), shares),
        area_under(np.concatenate([curve.step_shares for curve in curves]), shares),
        None if stability is None else stability.top10,
        None if stability is None else stability.top50,
    )


def bench_of(
    config: Configuration,
    condition: str,
    asked: BenchQuestion,
    figures: Mapping[str, Sequence[SeedFigures]],
    left_out: Mapping[str, str],
) -> Bench:
    """Put together what was found on all seeds."""
    rows = bench_rows(figures, asked)
    return Bench(
        env=config.env,
        policy=config.policy,
        condition=condition,
        episodes=config.settings.episodes,
        test_episodes=config.settings.test_episodes,
        fraction=FRACTION,
        criterion=asked.criterion,
        base=asked.base,
        chosen=chosen_measure(rows, asked),
        choose_on=asked.judges,
        report_on=asked.report_on,
        rows=rows,
        left_out=left_out,
        notes=notes_on(asked, left_out),
    )


def bench_rows(
    figures: Mapping[str, Sequence[SeedFigures]], asked: BenchQuestion
) -> tuple[BenchRow, ...]:
    """Return a row per measure, best first by the criterion on the seeds that choose."""
    if asked.base not in figures:
        raise ConfigError(f"the base {asked.base!r} cannot rank every suite: choose another --base")
    base = figures[asked.base]
    rows = [_row(name, some, base, asked) for name, some in figures.items()]
    return tuple(sorted(rows, key=lambda row: _place(row, asked.criterion)))


def _row(
    name: str, seeds: Sequence[SeedFigures], base: Sequence[SeedFigures], asked: BenchQuestion
) -> BenchRow:
    judging = _column(seeds, asked.criterion, asked.judges)
    means: dict[str, float | None] = {}
    differences: dict[str, Estimate | None] = {}
    for figure in CRITERIA:
        mine, others = (_column(some, figure, asked.report_on) for some in (seeds, base))
        means[figure] = None if mine is None else float(mine.mean())
        differences[figure] = None
        if mine is not None and others is not None and name != asked.base:
            differences[figure] = mean_difference(mine, others)
    reported = [one for one in seeds if one.seed in asked.report_on]
    return BenchRow(
        name,
        None if judging is None else float(judging.mean()),
        means,
        differences,
        sum(one.fewest_states is None for one in reported),
        tuple(seeds),
    )


def _column(
    seeds: Sequence[SeedFigures], name: Criterion, wanted: Sequence[int]
) -> FloatArray | None:
    """Return a figure on some seeds; None if one of them has none."""
    found = [one.figure(name) for one in seeds if one.seed in wanted]
    known = [figure for figure in found if figure is not None]
    return np.array(known) if len(known) == len(found) else None


def _place(row: BenchRow, criterion: str) -> tuple[bool, float, str]:
    """Return what rows are sorted by; those without the figure come last."""
    if row.judged is None:
        return True, 0.0, row.measure
    return False, row.judged if criterion in SIZES else -row.judged, row.measure


def chosen_measure(rows: Sequence[BenchRow], asked: BenchQuestion) -> str:
    """Return the best measure; rows that are no measure cannot be chosen."""
    able = [row.measure for row in rows if row.measure not in _COMPARED and row.judged is not None]
    if not able:
        raise ConfigError(f"no measure has the figure {asked.criterion!r}: choose another")
    return able[0]


def notes_on(asked: BenchQuestion, left_out: Mapping[str, str]) -> tuple[str, ...]:
    """Return what to bear in mind when reading the figures."""
    notes = []
    if {*asked.judges} & {*asked.report_on}:
        notes.append(
            "the same seeds choose and report, so the figures of the best measure are flattered: "
            "give more --seeds, and --choose-on some of them"
        )
    count = len(asked.report_on)
    if count < 2:
        notes.append("one seed reports: there are no intervals, and seeds differ a lot")
    elif count < _FEW:
        notes.append(f"the intervals stand on {count} seeds only and are wide")
    if left_out:
        reasons = (why.partition(": ")[0] for why in left_out.values())
        notes.append(f"left out: {'; '.join(reasons)}")
    return tuple(notes)


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
