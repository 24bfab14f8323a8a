"""The kept states of a chosen pruned policy on disk, for whoever acts by it later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.suite import StoredEpisodes
from rpd_core.store.codec import from_plain
from rpd_core.store.directory import RunDirectory

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import KeyArray


@dataclass(frozen=True)
class KeptRule:
    """A kept state with its one action."""

    key: int
    action: tuple[float, ...]
    """Its numbers; a discrete one counts from 0, relative to the state where these are related."""


@dataclass(frozen=True)
class KeptStates:
    """The states in which a chosen pruned policy keeps the policy."""

    fraction: float
    """Of the return that it is to keep."""
    measure: str
    """What it was found by."""
    identity: str
    """A short name for the set of states; its fresh episodes bear it."""
    keys: tuple[int, ...]
    """In ascending order."""
    part: int = 0
    """Which of the sets of fresh episodes it was confirmed on."""
    path: tuple[tuple[int, ...], ...] = ()
    """The kept states of each policy that minimising went through, as in the front."""
    rules: tuple[KeptRule, ...] = ()
    """What each does as rules alone, in the order of the keys; not those that were never seen."""

    @property
    def array(self) -> KeyArray:
        """The keys as an array."""
        return np.array(self.keys, dtype=np.uint64)


def _place(analysis: str, fraction: float) -> str:
    return f"analyses/{analysis}/policies/{fraction:g}.json"


def write_kept(directory: RunDirectory, analysis: str, kept: KeptStates) -> None:
    """Leave the kept states of a chosen policy with its analysis."""
    directory.write_json(_place(analysis, kept.fraction), kept)


def read_kept(directory: RunDirectory, analysis: str, fraction: float) -> KeptStates | None:
    """Read the kept states of a chosen policy; None if there is none."""
    where = _place(analysis, fraction)
    found = directory.read_json(where)
    if found is None:
        return None
    return from_plain(KeptStates, found, repr(str(directory.path / where)))


def all_keys(directory: RunDirectory, episodes: int) -> KeyArray:
    """Return the states of the first mutant episodes of a suite, whatever is asked of them."""
    stored = StoredEpisodes(directory.suite(), episodes)
    keys = [tables["states"]["key"].to_numpy() for tables in stored.tables("states")]
    return np.unique(np.concatenate(keys))
