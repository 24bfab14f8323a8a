"""How parts of a suite merge into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.errors import EvidenceError
from rpd_core.plugin.protocols import Episodes, States, Suite, Visits

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, IntArray


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
    """Return some rows of a table of episodes."""
    columns = {name: column[rows] for name, column in vars(episodes).items() if name != "info"}
    return Episodes(**columns, info={name: column[rows] for name, column in episodes.info.items()})


def merge_states(parts: Sequence[States]) -> States:
    """Join tables of states; counts of the same state add up."""
    return merge_with_sums(parts, [])[0]


def merge_with_sums(parts: Sequence[States], sums: Sequence[Array]) -> tuple[States, Array | None]:
    """Join tables of states and, row by row, arrays that belong to them and add up."""
    stacked = States(**_stack(parts))
    order = np.lexsort((stacked.first_step, stacked.first_episode, stacked.key))
    keys = stacked.key[order]
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    first = order[starts]

    def total(column: Array) -> Array:
        summed: Array = np.add.reduceat(column[order], starts, axis=0)
        return summed

    states = States(
        key=stacked.key[first],
        value=stacked.value[first],
        first_episode=stacked.first_episode[first],
        first_step=stacked.first_step[first],
        visits=total(stacked.visits),
        choices=total(stacked.choices),
        default_choices=total(stacked.default_choices),
        action_sum=total(stacked.action_sum),
        action_squares=total(stacked.action_squares),
        default_sum=total(stacked.default_sum),
        default_squares=total(stacked.default_squares),
        value_gap=total(stacked.value_gap),
        entropy=total(stacked.entropy),
    )
    return states, total(np.concatenate(sums)) if sums else None


def _stack(parts: Sequence[object], skip: tuple[str, ...] = ()) -> dict[str, Array]:
    names = [name for name in vars(parts[0]) if name not in skip]
    return {name: np.concatenate([vars(part)[name] for part in parts]) for name in names}


def redrawn(suite: Suite, counts: IntArray) -> Suite:
    """Return a suite that holds each episode as often as given, numbered anew.

    Its states are those of the whole suite, with their counts there: what is added up per state
    is not known episode by episode.
    """
    drawn = np.repeat(np.arange(len(suite.episodes)), counts)
    starts = np.searchsorted(suite.episode_of_visit(), np.arange(len(suite.episodes) + 1))
    lengths = np.diff(starts)[drawn]
    begins = np.cumsum(lengths) - lengths
    place = np.arange(lengths.sum()) + np.repeat(starts[drawn] - begins, lengths)
    number = np.arange(len(drawn))
    columns = {
        name: column[drawn] for name, column in vars(suite.episodes).items() if name != "info"
    }
    info = {name: column[drawn] for name, column in suite.episodes.info.items()}
    episodes = Episodes(**{**columns, "index": number, "info": info})
    visits = {name: column[place] for name, column in vars(suite.visits).items()}
    return Suite(
        episodes, Visits(**{**visits, "episode": np.repeat(number, lengths)}), suite.states
    )
