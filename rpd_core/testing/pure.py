"""Checks of measures and conditions: functions of stored data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.conditions import resolve_condition, weigh
from rpd_core.analysis.ranking import evidence_for
from rpd_core.analysis.spectrum import count_spectrum
from rpd_core.errors import EvidenceError
from rpd_core.play.chance import state_keys
from rpd_core.plugin.protocols import Condition, Evidence, Measure
from rpd_core.plugin.records import Episodes, States, Suite, Visits
from rpd_core.plugin.registry import installed

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray


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
    return Suite(
        Episodes(
            index=np.arange(episodes),
            seed=np.arange(episodes),
            total_return=np.round(chance.normal(size=episodes), 1),
            length=np.full(episodes, 10),
            ended=np.arange(episodes) % 3,
            policy_steps=np.full(episodes, 5),
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
            differed=np.zeros(count, dtype=np.int64),
        ),
        States(
            key=keys,
            value=values,
            first_episode=np.zeros(states, dtype=np.int64),
            first_step=np.zeros(states, dtype=np.int64),
            visits=visited.sum(axis=0),
            choices=np.ones((states, 2), dtype=np.int64),
            value_gap=np.ones(states),
            entropy=np.ones(states),
        ),
    )


def _evidence(measure: Measure, suite: Suite) -> Evidence:
    weights = (suite.episodes.total_return > 0).astype(np.float64)
    return evidence_for(measure, suite, count_spectrum(suite, weights), weights)


def check_measure(measure: Measure) -> Iterator[str]:
    """Check that scores are finite, one per state, repeatable and free of order."""
    suite = sample_suite()
    evidence = _evidence(measure, suite)
    before = [cell.copy() for cell in vars(evidence.spectrum).values()]
    scores = np.asarray(measure(evidence))
    if scores.shape != (len(suite.states),):
        yield f"gave scores of shape {scores.shape} for {len(suite.states)} states"
        return
    if not np.isfinite(scores).all():
        yield "gave a score that is not finite; say what 0/0 means"
    if not np.array_equal(scores, np.asarray(measure(evidence))):
        yield "gave different scores when asked twice"
    if any(
        not np.array_equal(old, new)
        for old, new in zip(before, vars(evidence.spectrum).values(), strict=True)
    ):
        yield "changed the spectrum it was given"
    if evidence.suite is None and not _equivariant(measure, evidence, scores):
        yield "gave a state another score when the states came in another order"


def _equivariant(measure: Measure, evidence: Evidence, scores: FloatArray) -> bool:
    order = np.random.default_rng(1).permutation(len(scores))
    cells = {name: cell[order] for name, cell in vars(evidence.spectrum).items()}
    turned = Evidence(type(evidence.spectrum)(**cells), evidence.keys[order])
    return np.allclose(np.asarray(measure(turned)), scores[order])


def check_condition(condition: Condition) -> Iterator[str]:
    """Check that weights lie in [0, 1], one per episode, and that a cut is chosen once."""
    episodes = sample_suite().episodes
    try:
        weights = weigh(condition, episodes)
    except EvidenceError:
        return  # it asks for something that the sample's episodes do not have
    if not np.array_equal(weights, weigh(condition, episodes)):
        yield "gave different weights when asked twice"
    resolver = getattr(condition, "resolve", None)
    if resolver is not None:
        text = resolver(episodes)
        if resolve_condition(text, episodes, installed()) != text:
            yield f"resolves to {text!r}, which must itself be resolved"
