"""What people call the actions, observations and states of a run: a record that readers have."""

from __future__ import annotations

from dataclasses import dataclass

from rpd_core.plugin.protocols import Entry


@dataclass(frozen=True)
class Names:
    """What people call the actions and the entries of an observation."""

    environment: str = ""
    actions: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    state_entries: tuple[Entry, ...] = ()
    """Those of an abstract state; none where they are not known."""
    relations: tuple[str, ...] = ()
    """Actions relative to the state, where choices are counted so."""
    note: str = ""
    """What these, or the words of states, mean, in a sentence."""
    observed: tuple[Entry, ...] = ()
    """The entries of an observation that is a vector, with their units, and angles behind them."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What the counted choices in a state are called."""
        return self.relations or self.actions
