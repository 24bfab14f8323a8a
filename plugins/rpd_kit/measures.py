"""Checks of measures and conditions: functions of stored data."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.analysis.analysis import fit_condition, restore_condition, weigh
from rpd_core.analysis.ranking import evidence_for
from rpd_core.analysis.spectrum import tally
from rpd_core.chance import state_keys
from rpd_core.config.configuration import stored_fields
from rpd_core.errors import EvidenceError, one_line
from rpd_core.plugin.protocols import (
    Condition,
    Episodes,
    Evidence,
    Measure,
    Scores,
    Spectrum,
    States,
    Suite,
    Visits,
)
from rpd_core.plugin.protocols.optional import LearnsFromEpisodes

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray


_MOMENTS = ("action_sum", "action_squares", "default_sum", "default_squares")


def sample_suite(states: int = 40, episodes: int = 200, seed: int = 0) -> Suite:
    """Make a small random suite in which every cell of the spectrum occurs, zeros included."""
    chance = np.random.default_rng(seed)
    values = np.arange(states, dtype=np.int64)[:, None]
    keys = state_keys(values)
    order = np.argsort(keys)
    keys, values = keys[order], values[order]
    visited = chance.random((episodes, states)) < np.linspace(0.02, 0.9, states)
    visited[0] = True
    episode, state = np.nonzero(visited)
    count = len(episode)
    differed = np.random.default_rng(seed + 1).random(count) < 0.6
    return Suite(
        Episodes(
            index=np.arange(episodes),
            seed=np.arange(episodes),
            total_return=np.round(chance.normal(size=episodes), 1),
            length=np.full(episodes, 10),
            ended=np.arange(episodes) % 3,
            policy_steps=np.full(episodes, 5),
            overrides=np.full(episodes, 3),
            info={"is_success": (chance.random(episodes) < 0.5).astype(np.float64)},
        ),
        Visits(
            episode=episode,
            key=keys[state],
            mutated=chance.random(count) < 0.3,
            mutation_rate=np.full(count, 0.3),
            first_step=np.zeros(count, dtype=np.int64),
            count=np.ones(count, dtype=np.int64),
            return_before=np.zeros(count),
            differed=differed.astype(np.int64),
            differed_first=differed,
            overrides=differed.astype(np.int64),
        ),
        States(
            key=keys,
            value=values,
            first_episode=np.zeros(states, dtype=np.int64),
            first_step=np.zeros(states, dtype=np.int64),
            visits=visited.sum(axis=0),
            choices=np.ones((states, 2), dtype=np.int64),
            default_choices=np.ones((states, 2), dtype=np.int64),
            **dict.fromkeys(_MOMENTS, np.zeros((states, 0))),
            value_gap=np.ones(states),
            entropy=np.ones(states),
            default_gap=np.ones(states),
        ),
    )


def corner_suite() -> Suite:
    """Make a suite with a state for every set of cells that are 0, in which nothing else hides.

    States are visited in few episodes, which passed or failed with the fates that they ask for.
    """
    whole = sample_suite(states=15)
    passed = np.flatnonzero(whole.episodes.total_return > 0)[:8]
    failed = np.flatnonzero(whole.episodes.total_return <= 0)[:8]
    rows = []
    for state, cells in enumerate(itertools.product((False, True), repeat=4)):
        fates = (failed[:4], True), (passed[:4], True), (failed[4:], False), (passed[4:], False)
        for wanted, (episodes, mutated) in zip(cells, fates, strict=True):
            rows += [(int(one), state - 1, mutated) for one in episodes if wanted]
    episode, at, fate = (np.array(column) for column in zip(*sorted(rows), strict=True))
    first = np.arange(len(rows)) % len(whole.visits.episode)
    visits = replace(
        _rows_of(whole.visits, first),
        episode=episode,
        key=whole.states.key[at],
        mutated=fate.astype(bool),
    )
    order = np.lexsort((visits.key, visits.episode))
    counts = np.bincount(at, minlength=15)
    states = replace(whole.states, visits=counts)
    return Suite(whole.episodes, _rows_of(visits, order), states)


def _evidence(measure: Measure, suite: Suite) -> Evidence:
    weights = (suite.episodes.total_return > 0).astype(np.float64)
    return evidence_for(measure, tally([suite], weights), weights, lambda: suite)


def check_measure(measure: Measure) -> Iterator[str]:
    """Check that scores are finite, one per state, repeatable and free of order."""
    with np.errstate(all="ignore"):  # what matters is what comes out
        yield from _check_scores(measure)


def _check_scores(measure: Measure) -> Iterator[str]:
    evidence = _evidence(measure, sample_suite())
    before = [cell.copy() for cell in vars(evidence.spectrum).values()]
    given = _scores(measure, evidence)
    if isinstance(given, str):
        yield given
        return
    if not np.array_equal(given, np.asarray(_values(measure(evidence)))):
        yield "gave different scores when asked twice"
    if any(
        not np.array_equal(old, new)
        for old, new in zip(before, vars(evidence.spectrum).values(), strict=True)
    ):
        yield "changed the spectrum it was given"
    if evidence.suite is None:
        if not _equivariant(measure, evidence, given):
            yield "gave a state another score when the states came in another order"
        yield from _check_corners(measure, evidence)
    else:
        found = _scores(measure, _evidence(measure, corner_suite()))
        if isinstance(found, str):
            yield found


def _values(given: Any) -> Any:
    return given.values if isinstance(given, Scores) else given


def _scores(measure: Measure, evidence: Evidence) -> FloatArray | str:
    """Return the scores of a measure, or what is wrong with them."""
    given = measure(evidence)
    scores = np.asarray(_values(given))
    count = len(evidence.keys)
    if scores.shape != (count,) or scores.dtype.kind not in "fiub":
        return f"gave scores of {scores.dtype} {scores.shape} for {count} states"
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        cells = {name: float(cell[row]) for name, cell in vars(evidence.spectrum).items()}
        return f"gave {scores[row]} for a state with {cells}; say what 0/0 means"
    if isinstance(given, Scores):
        low, high = np.asarray(given.low), np.asarray(given.high)
        if low.shape != (count,) or high.shape != (count,):
            return f"gave intervals of shapes {low.shape} and {high.shape} for {count} states"
        if (low > high).any():
            return "gave an interval whose lower end lies above its upper end"
    return scores.astype(np.float64)


def _check_corners(measure: Measure, evidence: Evidence) -> Iterator[str]:
    """Check every combination of cells that are 0 or not."""
    cells = np.array(list(itertools.product((0.0, 3.0), repeat=4))).T
    corners = replace(_rows_of(evidence, np.arange(16)), spectrum=Spectrum(*cells))
    with np.errstate(all="ignore"):
        found = _scores(measure, corners)
    if isinstance(found, str):
        yield found


def _equivariant(measure: Measure, evidence: Evidence, scores: FloatArray) -> bool:
    order = np.random.default_rng(1).permutation(len(scores))
    turned = _rows_of(evidence, order)
    return np.allclose(np.asarray(_values(measure(turned))), scores[order])


def _rows_of(record: Any, rows: Any) -> Any:
    """Return a record whose arrays, and those of records inside it, have these rows."""
    if isinstance(record, np.ndarray):
        return record[rows]
    if not is_dataclass(record) or isinstance(record, type):
        return record
    return replace(record, **{name: _rows_of(value, rows) for name, value in vars(record).items()})


def check_condition(condition: Condition) -> Iterator[str]:
    """Check that weights lie in [0, 1], one per episode, and that what is learned is kept."""
    episodes = sample_suite().episodes
    try:
        fitted = fit_condition(condition, episodes)
        weights = weigh(fitted, episodes)
    except EvidenceError:
        return  # it asks for something that the sample's episodes do not have
    if not np.array_equal(weights, weigh(fitted, episodes)):
        yield "gave different weights when asked twice"
    if isinstance(condition, LearnsFromEpisodes):
        yield from _check_learned(condition, fitted, episodes)


def _check_learned(condition: Condition, fitted: Condition, episodes: Episodes) -> Iterator[str]:
    if fit_condition(condition, episodes) != fitted:
        yield "its fit() learned something else from the same episodes"
    try:
        stored = json.loads(json.dumps(stored_fields(fitted)))
        if restore_condition(condition, stored) != fitted:
            yield "its fields are not the same after they were stored as JSON"
    except Exception as error:  # a stranger's component may raise anything
        yield f"its fields cannot be stored as JSON after fit(): {one_line(error)}"
