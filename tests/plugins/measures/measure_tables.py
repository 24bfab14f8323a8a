"""A small spectrum that holds every kind of state, and evidence made of tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rpd_core.plugin.protocols import Evidence, Spectrum
from rpd_core.plugin.registry import installed

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
