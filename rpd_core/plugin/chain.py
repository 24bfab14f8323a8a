"""Abstractions one after the other, and what it takes to put components to work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Abstraction, Array, Batch, Facts


@dataclass(frozen=True)
class Chain:
    """Abstractions applied one after the other, which is an abstraction again."""

    links: Sequence[Abstraction] = field(default_factory=tuple)

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for link in self.links for name in needs_of(link)))

    def open(self, facts: Facts) -> Chain:
        """Open those links that want to be opened."""
        return Chain(tuple(opened(link, facts) for link in self.links))

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        for link in self.links:
            values = link(values, views)
        return values  # type: ignore[return-value]  # a chain has at least one link


def opened(abstraction: Abstraction, facts: Facts) -> Abstraction:
    """Give the abstraction at work."""
    opener = getattr(abstraction, "open", None)
    return opener(facts) if opener else abstraction


def needs_of(component: object) -> tuple[str, ...]:
    """Give the views that a component declares it needs."""
    return tuple(getattr(component, "needs", ()))
