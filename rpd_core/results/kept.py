"""The kept states of pruned policies on disk: of the chosen one, and of those on the way to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.suite import StoredEpisodes
from rpd_core.errors import StoreError, counted, shell_word
from rpd_core.results.records import FrontPoint
from rpd_core.store.codec import from_plain
from rpd_core.store.directory import RunDirectory

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import KeyArray
    from rpd_core.results.run import Run


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


# --------------------------------------------------------------------------------- the front


@dataclass(frozen=True)
class FrontState:
    """A state that a policy of the front keeps."""

    key: int
    state: str
    """In words."""
    loss: float | None
    """What the smallest policy loses without it; null: that one can spare it."""
    needed: bool | None
    """Whether that is shown to be above 0; null likewise."""


@dataclass(frozen=True)
class FrontChoice:
    """A policy of the front: its figures on the block that it was last looked at, its states."""

    point: FrontPoint
    states: tuple[FrontState, ...]
    """Those of the smallest policy first, by loss; then the others in the order of their keys."""


def choose_from_front(run: Run, most: int) -> FrontChoice:
    """Return the largest policy of the front with at most so many decisions."""
    policy, kept = run.policy(), run.kept()
    paths = () if kept is None else kept.path
    front = () if policy is None else policy.front
    if not front or len(front) != len(paths):
        raise StoreError(
            f"{str(run.path)!r} has no front to choose from, as no policy was minimised: rpd show "
            f"{shell_word(run.path)} says what was found"
        )
    found = [place for place, point in enumerate(front) if point.decisions <= most]
    if not found:
        fewest = min(point.decisions for point in front)
        raise StoreError(
            f"no policy of the front has at most {counted(most, 'decision')}: the fewest is "
            f"{fewest}; {_fewer(run, most)}"
        )
    place = max(found, key=lambda one: (front[one].decisions, front[one].share))
    known, inside = {one.key for one in run.decisions}, {*paths[place]}
    others = [key for key in paths[place] if key not in known]
    words = StoredEpisodes(run.directory.suite(), run.asked.episodes).words(others)
    own = (one for one in run.decisions if one.key in inside)
    states = [FrontState(one.key, one.state, one.loss, one.needed) for one in own]
    states += [FrontState(key, words.get(key, f"{key:016x}"), None, None) for key in others]
    return FrontChoice(front[place], tuple(states))


def _fewer(run: Run, most: int) -> str:
    """Return where there is a policy with fewer decisions than the front has."""
    for target, one in run.summary.policies.items():
        if one is not None and one.met and one.kept <= most:
            return (
                f"{one.kept} keep {float(target):.0%} of the return (rpd show "
                f"{shell_word(run.path)} --full)"
            )
    return "a lower --target may need fewer"
