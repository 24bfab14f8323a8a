"""A small spectrum that holds every kind of state, and evidence made of tables."""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rpd_core.plugin.protocols import Evidence, Returns, Spectrum, States
from rpd_core.plugin.registry import installed
from rpd_kit.measures import sample_suite

TABLE = np.array(
    [  # MF, MP, KF, KP
        [3, 1, 2, 6],
        [0, 4, 2, 2],
        [5, 0, 0, 3],
        [0, 0, 1, 1],
        [2, 2, 0, 0],
        [0, 0, 0, 0],
        [1, 3, 3, 1],
    ],
    dtype=float,
)
"""Ordinary; never failed when mutated; a perfect culprit; never mutated; never kept; nothing;
mutation helps."""

CELL = st.one_of(st.just(0.0), st.integers(0, 10**6).map(float), st.floats(1e-3, 1e6))
TABLES = hnp.arrays(np.float64, st.tuples(st.integers(1, 12), st.just(4)), elements=CELL)


def evidence(table: Any, keys: Any = None) -> Evidence:
    """Return evidence that holds nothing but a spectrum."""
    columns = np.asarray(table, dtype=np.float64).T
    keys = np.arange(columns.shape[1]) if keys is None else keys
    return Evidence(Spectrum(*columns), np.asarray(keys, dtype=np.uint64))


def scores(spec: str, table: Any, keys: Any = None) -> Any:
    """Return what a measure makes of a table."""
    return installed().make("measure", spec)(evidence(table, keys))


def full_evidence(table: Any, seed: int = 0) -> Evidence:
    """Return evidence in which everything but the suite is filled in, at random but for the table.

    Returns are what the table would give if each were 0 or 1, spread a little.
    """
    bare = evidence(table)
    mf, mp, kf, kp = np.asarray(table, dtype=np.float64).T
    chance = np.random.default_rng(seed)
    count = len(mf)
    total = mf + mp + kf + kp
    visits = np.ceil(total * chance.uniform(1, 3, count)).astype(np.int64)
    returns = Returns(10 * mp, 101 * mp + mf, 10 * kp, 101 * kp + kf)
    states = sample_suite(max(count, 2)).states
    states = States(**{name: column[:count] for name, column in vars(states).items()})
    inside = {
        name: chance.uniform(0, 2, count) * visits
        for name in ("value_gap", "entropy", "default_gap")
    }
    return replace(
        bare,
        states=replace(states, visits=visits, **inside),
        differed=chance.random(count),
        differed_first=chance.random(count),
        returns=returns,
        episodes=int(np.ceil(total.max())) + 1,
    )


def rows_of(record: Any, rows: Any) -> Any:
    """Return a record whose arrays, and those of records inside it, have these rows."""
    if isinstance(record, np.ndarray):
        return record[rows]
    if not is_dataclass(record) or isinstance(record, type):
        return record
    return replace(record, **{name: rows_of(value, rows) for name, value in vars(record).items()})
