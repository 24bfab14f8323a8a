"""What is shown of a stored validation: the file has more, and says itself what it comes to."""

from __future__ import annotations

from dataclasses import dataclass

from rpd_core.results.run import Run
from rpd_core.store.codec import from_plain


@dataclass(frozen=True)
class _AloneEffect:
    """The effect of a state that was mutated alone; the ends are null where nothing is known."""

    estimate: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class _AloneState:
    """One state of the list, mutated alone."""

    rank: int
    state: str
    groups: tuple[str, ...]
    """Why it was chosen."""
    reached: int
    """Unmutated episodes that visit it."""
    suite_effect: float
    effect: _AloneEffect | None
    """Null if no episode reaches it."""


@dataclass(frozen=True)
class Validation:
    """Whether the suite's effects are those of mutating one state alone."""

    episodes: int
    rows: tuple[_AloneState, ...]
    sentences: tuple[str, ...] = ()
    """What it comes to, the most important first."""


def read_validation(run: Run) -> Validation | None:
    """Read what `rpd validate` stored with an analysis; None if there is nothing."""
    where = f"analyses/{run.name}/validation.json"
    found = run.directory.read_json(where)
    return None if found is None else from_plain(Validation, found, repr(str(run.path / where)))
