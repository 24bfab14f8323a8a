"""A policy chosen from the front: those that minimising went through on its way to the smallest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rpd_core.errors import StoreError, counted, shell_word
from rpd_core.results.records import FrontPoint

if TYPE_CHECKING:
    from rpd_core.results.run import Run


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
            f"{fewest}; a lower --target may need fewer"
        )
    place = max(found, key=lambda one: (front[one].decisions, front[one].share))
    return FrontChoice(front[place], _states(run, paths[place]))


def _states(run: Run, keys: tuple[int, ...]) -> tuple[FrontState, ...]:
    from rpd_core.analysis.suite import StoredEpisodes  # numerical; most readers do without

    known = {one.key: one for one in run.decisions}
    own = [one for one in run.decisions if one.key in set(keys)]
    others = [key for key in keys if key not in known]
    words = StoredEpisodes(run.directory.suite(), run.asked.episodes).words(others)
    return (
        *(FrontState(one.key, one.state, one.loss, one.needed) for one in own),
        *(FrontState(key, words.get(key, f"{key:016x}"), None, None) for key in others),
    )
