"""How parts of a suite merge into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.errors import EvidenceError
from rpd_core.plugin.records import Episodes, States, Suite, Visits

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, IntArray, KeyArray


def merge(parts: Sequence[Suite]) -> Suite:
    """Join suites of disjoint episodes; the order of the parts does not matter."""
    if not parts:
        raise EvidenceError("there are no episodes to merge")
    ordered = sorted(parts, key=lambda part: int(part.episodes.index[0]))
    if len(ordered) == 1:
        return ordered[0]
    episodes = concat_episodes([part.episodes for part in ordered])
    if not (np.diff(episodes.index) > 0).all():
        raise EvidenceError("parts of the suite overlap: two hold the same range of episodes")
    visits = Visits(**_stack([part.visits for part in ordered]))
    return Suite(episodes, visits, merge_states([part.states for part in ordered]))


def concat_episodes(parts: Sequence[Episodes]) -> Episodes:
    """Join tables of episodes in the order given."""
    names = sorted({name for part in parts for name in part.info})
    info = {
        name: np.concatenate([part.info.get(name, np.full(len(part), np.nan)) for part in parts])
        for name in names
    }
    columns = _stack(parts, skip=("info",))
    return Episodes(**columns, info=info)


def take_episodes(episodes: Episodes, rows: IntArray) -> Episodes:
    """Give some rows of a table of episodes."""
    columns = {name: column[rows] for name, column in vars(episodes).items() if name != "info"}
    return Episodes(**columns, info={name: column[rows] for name, column in episodes.info.items()})


def merge_states(parts: Sequence[States]) -> States:
    """Join tables of states; counts of the same state add up."""
    stacked = States(**_stack(parts))
    order = np.lexsort((stacked.first_step, stacked.first_episode, stacked.key))
    keys = stacked.key[order]
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    _refuse_collisions(stacked.value[order], keys)
    first = order[starts]

    def total(column: Array) -> Array:
        summed: Array = np.add.reduceat(column[order], starts, axis=0)
        return summed

    return States(
        key=stacked.key[first],
        value=stacked.value[first],
        first_episode=stacked.first_episode[first],
        first_step=stacked.first_step[first],
        visits=total(stacked.visits),
        choices=total(stacked.choices),
        value_gap=total(stacked.value_gap),
        entropy=total(stacked.entropy),
    )


def _refuse_collisions(values: Array, keys: KeyArray) -> None:
    """Two different states under one key would be scored as one: 1 chance in 10^7 at a million."""
    same = keys[1:] == keys[:-1]
    axes = tuple(range(1, values.ndim))
    later, earlier = values[1:][same], values[:-1][same]
    differ = later != earlier
    if values.dtype.kind == "f":
        differ &= ~(np.isnan(later) & np.isnan(earlier))
    if np.any(differ.any(axis=axes)):
        raise EvidenceError("two different states share a key; change the abstraction slightly")


def _stack(parts: Sequence[object], skip: tuple[str, ...] = ()) -> dict[str, Array]:
    names = [name for name in vars(parts[0]) if name not in skip]
    return {name: np.concatenate([vars(part)[name] for part in parts]) for name in names}
