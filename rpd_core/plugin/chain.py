"""Abstractions one after the other, and what it takes to put components to work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rpd_core.errors import ComponentError, one_line
from rpd_core.plugin.blame import a_kind, blamed, refuse
from rpd_core.plugin.protocols import Array, Batch, Facts
from rpd_core.plugin.protocols.abstraction import Entry
from rpd_core.plugin.protocols.optional import NamesEntries
from rpd_core.plugin.wording import value_words

if TYPE_CHECKING:  # at run time, links would look like the spec of one nested component
    from rpd_core.plugin.protocols import Abstraction


@dataclass(frozen=True)
class Chain:
    """Abstractions applied one after the other, which is an abstraction again."""

    links: Sequence[Abstraction] = field(default_factory=tuple)

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for link in self.links for name in needs_of(link)))

    def open(self, facts: Facts) -> Chain:
        return Chain(tuple(opened(link, facts) for link in self.links))

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        for link in self.links:
            with blamed("abstraction", link, "the call"):
                values = link(values, views)
            given: object = values  # an array, or what can be taken for one
            if not hasattr(given, "__len__") or isinstance(given, str | bytes):
                refuse("abstraction", link, f"gave {a_kind(values)} where an array is needed")
        return values  # type: ignore[return-value]  # a chain has at least one link

    def show(self, value: Array, entries: Sequence[Entry] = ()) -> str:
        """Return a value in the words of the last link, or entry by entry."""
        show = getattr(self.links[-1], "show", None)  # the protocol takes five times as long
        return show(value) if callable(show) else value_words(value, entries)

    def name_entries(self, before: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return what the entries of a value are called; none where a link does not know it."""
        for link in self.links:
            named: Any = ()
            who = f"abstraction {type(link).__name__}: its name_entries()"
            try:
                if isinstance(link, NamesEntries):
                    named = link.name_entries(before)
            except Exception as error:  # a stranger's abstraction may raise anything
                raise ComponentError(f"{who} raised {one_line(error)}") from error
            if not isinstance(named, tuple) or not all(isinstance(one, Entry) for one in named):
                raise ComponentError(f"{who} must return a tuple of Entry, got {named!r:.80}")
            before = named
        return before


def links_of(abstraction: Abstraction) -> tuple[Abstraction, ...]:
    """Return the abstractions that one is made of, in the order in which they are applied."""
    return tuple(abstraction.links) if isinstance(abstraction, Chain) else (abstraction,)


def opened(abstraction: Abstraction, facts: Facts) -> Abstraction:
    opener = getattr(abstraction, "open", None)
    return opener(facts) if opener else abstraction


def needs_of(component: object) -> tuple[str, ...]:
    return tuple(getattr(component, "needs", ()))
