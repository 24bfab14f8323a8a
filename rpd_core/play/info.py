"""The final `info` of episodes, as far as it is numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rpd_core.plugin.protocols import FloatArray


def scalar_items(info: object, wanted: tuple[str, ...] | None = None) -> dict[str, float]:
    """Keep the entries of an `info` that are single numbers or truth values."""
    kept: dict[str, float] = {}
    if not isinstance(info, Mapping):
        return kept
    for name, value in info.items():
        if wanted is not None and name not in wanted:
            continue
        single = isinstance(value, bool | int | float | np.generic) or (
            isinstance(value, np.ndarray) and value.ndim == 0
        )
        if single and np.asarray(value).dtype.kind in "iufb":
            kept[str(name)] = float(value)
    return kept


def info_columns(rows: list[dict[str, float]]) -> dict[str, FloatArray]:
    """Turn the final infos into columns, NaN where an episode lacks an entry."""
    names = sorted({name for row in rows for name in row})
    return {name: np.array([row.get(name, np.nan) for row in rows]) for name in names}
