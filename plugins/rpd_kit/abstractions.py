"""Checks of abstractions, those that must be fitted and those that need views included."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.chance import Draws, canonical
from rpd_core.config.configuration import stored_fields
from rpd_core.errors import ComponentError, FitError, one_line
from rpd_core.play.actions import random_actions
from rpd_core.play.decision_tree import flat_rows
from rpd_core.play.entry_names import observed_entries, relation_of
from rpd_core.play.prepare import restore_fitted
from rpd_core.plugin.blame import a_kind
from rpd_core.plugin.chain import Chain, opened
from rpd_core.plugin.protocols import (
    POLICY_ACTION,
    POLICY_GAP,
    POLICY_VIEWS,
    Abstraction,
    Bound,
    FitSample,
    Minimised,
)
from rpd_core.plugin.protocols.optional import TellsBounds
from rpd_kit.faults import (
    Faulty,
    attempt,
    check_in_scenes,
    check_pickling,
    require_views,
)
from rpd_kit.scenes import LANES, NEIGHBOURS, Rows, Scene, WithPolicy

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array

FIT_EPISODES, FIT_STEPS = 6, 3
"""Size of the sample that abstractions are fitted on."""
MOST_QUESTIONS = 1000
"""How often an abstraction may have states tried out."""


def check_abstraction(abstraction: Abstraction, scenes: Sequence[Scene]) -> Iterator[str]:
    """Check an abstraction on observations and views of every scene that it fits."""
    return check_in_scenes(lambda scene: _check_in(abstraction, WithPolicy(scene)), scenes)


def _check_in(abstraction: Abstraction, scene: Scene) -> Iterator[str]:
    needs = require_views(abstraction, scene, POLICY_VIEWS)
    fitted = abstraction
    if hasattr(abstraction, "fit"):
        sample = _fit_sample(scene, needs)
        fitted = _fitted(abstraction, sample)
        yield from _check_learned(fitted, "fit()")
        if fitted != _fitted(abstraction, sample):
            yield "its fit() learned something else from the same sample"
    if hasattr(abstraction, "grow"):
        grown = _grown(fitted, scene, needs)
        yield from _check_learned(grown, "grow()")
        if grown != _grown(fitted, scene, needs):
            yield "its grow() learned something else from the same answers"
        fitted = grown
    with attempt("its open()"):
        at_work = opened(fitted, scene.facts)
    values = _Values(at_work)
    yield from _check_values(values, scene, needs)
    given = scene.rows(LANES, 1, needs)
    shown = values(given)
    yield from _check_relations(at_work, given, scene)
    yield from _check_show(fitted, shown)
    yield from _check_bounds(fitted, shown, given)
    yield from _check_draw(fitted, shown)
    yield from _check_names(fitted, shown, scene)


# --------------------------------------------------------------------- fitting


def _fit_sample(scene: Scene, needs: tuple[str, ...]) -> FitSample:
    """Return a small sample as `fit` gets it."""
    count = FIT_EPISODES * FIT_STEPS
    rows = scene.rows(count, 3, needs)
    draws = Draws(np.arange(count, dtype=np.uint64), np.zeros(count))
    actions = rows.views.get(POLICY_ACTION)
    if actions is None:
        actions = random_actions(scene.facts.action_space, draws)
    return FitSample(
        values=rows.values,
        views=rows.views,
        episodes=np.repeat(np.arange(FIT_EPISODES), FIT_STEPS),
        actions=actions,
        facts=scene.facts,
        seed=5,
        planned_episodes=1000,
        mutation_rate=0.2,
        gap_unit="log odds" if POLICY_GAP in needs else "",
        defaults=random_actions(scene.facts.action_space, draws.split(1)),
    )


def _fitted(abstraction: Any, sample: FitSample) -> Any:
    with attempt("its fit()"):
        fitted = abstraction.fit(sample)
    return _of_its_class(abstraction, fitted, "fit()")


def _grown(abstraction: Any, scene: Scene, needs: tuple[str, ...]) -> Any:
    with attempt("its grow()"):
        grown = abstraction.grow(_Ground(type(abstraction), _fit_sample(scene, needs)))
    return _of_its_class(abstraction, grown, "grow()")


def _of_its_class(abstraction: Any, learned: Any, by: str) -> Any:
    if type(learned) is not type(abstraction):
        kind = type(abstraction).__name__
        raise Faulty(f"its {by} gave a {type(learned).__name__} where a {kind} is needed")
    return learned


@dataclass
class _Ground:
    """A ground on which nothing is played: of the states to start from, every second is needed."""

    kind: Any
    sample: FitSample
    asked: int = 0

    @property
    def left(self) -> float:
        """Return how many questions are left, as a share."""
        return 1 - self.asked / MOST_QUESTIONS

    def minimise(self, abstraction: Any, target: float, start: Array | None = None) -> Minimised:
        """Check the question, and make up an answer."""
        self.asked += 1
        if self.asked > MOST_QUESTIONS:
            raise Faulty(f"its grow() does not end: it asked {MOST_QUESTIONS} times")
        if type(abstraction) is not self.kind or not 0 < target < 1:
            raise Faulty(
                f"its grow() asked about {a_kind(abstraction)} and {target!r:.40} where a "
                f"{self.kind.__name__} and a share are needed"
            )
        at_work: Any = opened(abstraction, self.sample.facts)
        states = canonical(at_work(self.sample.values, self.sample.views))
        values, steps = np.unique(states, axis=0, return_counts=True)
        begun = values if start is None else np.asarray(start)
        if begun.dtype != values.dtype or begun.shape[1:] != values.shape[1:]:
            raise Faulty(
                f"its grow() started from {begun.dtype} of shape {begun.shape[1:]} where its "
                f"states are {values.dtype} of shape {values.shape[1:]}"
            )
        known = {row.tobytes() for row in begun}
        kept = np.array([row.tobytes() in known for row in values], dtype=bool)
        kept &= np.cumsum(kept) % 2 == 1
        share = steps / steps.sum()
        loss = np.where(kept, 1.0, np.nan)
        return Minimised(
            values, kept, loss, 0.1 * loss, share, 0.5 * kept * share, 1.0, True, self.sample
        )


def _check_learned(learned: Any, by: str) -> Iterator[str]:
    """Check that what was learned is kept with a run as it is."""
    try:
        stored = json.loads(json.dumps(stored_fields(learned)))
        same = restore_fitted(Chain((learned,)), [stored]).links[0] == learned
    except Exception as error:
        raise Faulty(
            f"its fields cannot be stored as JSON after {by}: {one_line(error)}"
        ) from error
    if not same:
        yield "its fields are not the same after they were stored as JSON"
    yield from check_pickling(learned, by)


# ---------------------------------------------------------------------- values


@dataclass(frozen=True)
class _Values:
    """The abstraction at work, called on a batch and checked for what all the rest relies on."""

    abstraction: Any

    def __call__(self, rows: Rows) -> Array:
        with attempt("the call"):
            values = self.abstraction(rows.values, rows.views)
        if not isinstance(values, np.ndarray):
            raise Faulty(f"gave {a_kind(values)} where an array is needed")
        if values.shape[:1] != (LANES,):
            count = f"{len(values)} values" if values.ndim else "a single number"
            raise Faulty(f"gave {count} for {LANES} observations")
        try:
            return canonical(values).copy()
        except FitError as error:
            raise Faulty(one_line(error)) from error


def _check_values(values: _Values, scene: Scene, needs: tuple[str, ...]) -> Iterator[str]:
    given, other = (scene.rows(LANES, seed, needs) for seed in (1, 2))
    before = given.take(np.arange(LANES))
    first, second = values(given), values(other)
    if not given.equals(before):
        yield "changed the observations or views it was given"
        return
    if (first.dtype, first.shape) != (second.dtype, second.shape):
        yield (
            f"gave values of {first.dtype} {first.shape[1:]} and then of "
            f"{second.dtype} {second.shape[1:]}"
        )
        return
    if not _same(first, values(given)):
        yield "gave other values when asked twice"
        return
    turned = values(given.take(np.arange(LANES)[::-1]))
    if not _same(turned, first[::-1]) or _rows_mix(values, given, scene, needs):
        yield "lets one row of the batch depend on the others"


def _rows_mix(values: _Values, given: Rows, scene: Scene, needs: tuple[str, ...]) -> bool:
    """Return whether a row's value changes with what stands beside it."""
    odd = np.arange(LANES) % 2 == 1
    kept = values(given)[~odd]
    others = (scene.rows(LANES, seed, needs) for seed in range(2, 2 + NEIGHBOURS))
    return not all(_same(values(given.mixed(other, odd))[~odd], kept) for other in others)


def _same(left: Array, right: Array) -> bool:
    return np.array_equal(left, right, equal_nan=left.dtype.kind == "f")


def _check_show(fitted: Any, values: Array) -> Iterator[str]:
    show = getattr(fitted, "show", None)
    if show is None:
        return
    texts: dict[str, bytes] = {}
    for value in values:
        try:
            shown = show(value)
        except Exception as error:
            yield f"its show() raised {one_line(error)}"
            return
        if not isinstance(shown, str):
            yield "has a show() that does not give text"
            return
        if texts.setdefault(shown, value.tobytes()) != value.tobytes():
            yield f"its show() gives {shown!r:.60} for different values"
            return


def _check_bounds(fitted: Any, values: Array, given: Rows) -> Iterator[str]:
    """Check that the bounds of a state hold where it is seen, and nowhere else."""
    if not isinstance(fitted, TellsBounds):
        return
    rows = flat_rows(given.values).astype(np.float64)
    for value in values:
        try:
            bounds = fitted.bounds(value)
            if bounds is None:
                return
            inside = np.all([np.ones(len(rows), bool), *(_lies_in(one, rows) for one in bounds)], 0)
        except Exception as error:
            yield f"its bounds() raised {one_line(error)}"
            return
        if (inside != (values == value).reshape(len(values), -1).all(axis=1)).any():
            yield "its bounds() hold in other states, or not in their own"
            return


def _lies_in(bound: Bound, rows: Array) -> Array:
    numbers = rows[:, bound.entries[0]]
    if len(bound.entries) == 2:
        numbers = np.arctan2(rows[:, bound.entries[1]], numbers)
    numbers = numbers * bound.factor
    return np.asarray((numbers >= bound.low) & (numbers < bound.high))


def _check_names(fitted: Any, values: Array, scene: Scene) -> Iterator[str]:
    if not hasattr(fitted, "name_entries"):
        return
    try:
        named = Chain((fitted,)).name_entries(observed_entries(scene.facts))
    except ComponentError as error:
        yield str(error).partition(": ")[2]
        return
    size = values[0].size
    if len(named) not in (0, size):
        yield f"its name_entries() names {len(named)} entries of values that have {size}"
    wrong = [one for one in named if not (one.name.isprintable() and one.name and one.factor > 0)]
    if wrong:
        yield f"its name_entries() gave {wrong[0]!r}: names are printable, factors above 0"


def _check_relations(fitted: Any, given: Rows, scene: Scene) -> Iterator[str]:
    links, space = (fitted,), scene.facts.action_space
    try:
        relation = relation_of(links, space)
        if relation is not None:
            for action in range(int(space.start), int(space.start) + int(space.n)):
                relation(given.values, np.full(LANES, action))
    except ComponentError as error:
        yield str(error).partition(": ")[2]


def _check_draw(fitted: Any, values: Array) -> Iterator[str]:
    draw = getattr(fitted, "draw", None)
    if draw is None:
        return
    for value in values:
        try:
            drawn = draw(value)
        except Exception as error:
            yield f"its draw() raised {one_line(error)}"
            return
        if not isinstance(drawn, np.ndarray):
            yield f"has a draw() that gives a {type(drawn).__name__} where an array is needed"
            return
        picture = drawn.ndim == 3 and drawn.shape[2] == 3 and drawn.size > 0
        if drawn.dtype != np.uint8 or not picture:
            yield (
                f"has a draw() that gives {drawn.dtype} {drawn.shape}, where a picture is uint8 "
                "(height, width, 3)"
            )
            return
