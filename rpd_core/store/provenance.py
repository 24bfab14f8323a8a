"""Who played the parts of a run: what may change from part to part, and what may not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rpd_core.errors import StoreError
from rpd_core.plugin.origins import Origin


@dataclass
class Provenance:
    """The origins of a run's parts so far."""

    note: Callable[[str], None]
    """Told once if other versions play than before."""
    known: dict[str, Origin] = field(default_factory=dict)
    """Origins that were met, by their text."""

    def check(self, origin: Origin) -> None:
        """Refuse a part whose components come from another distribution than those before it."""
        text = repr(origin)
        if text in self.known:
            return
        for first in list(self.known.values())[:1]:
            _refuse_other_distribution(first, origin)
            changes = version_changes(first, origin)
            if changes:
                self.note(
                    f"this run continues under other versions than it began with "
                    f"({'; '.join(changes)}): results may differ between its parts"
                )
        self.known[text] = origin


def _refuse_other_distribution(before: Origin, now: Origin) -> None:
    for component, distribution in now.components.items():
        known = before.components.get(component, distribution)
        if known != distribution:
            raise StoreError(
                f"{component!r} was played by {known or 'no distribution'} so far and now comes "
                f"from {distribution or 'no distribution'}: choose another --out"
            )


def version_changes(before: Origin, now: Origin) -> list[str]:
    """Return which versions differ between two origins, as `name: old -> new`.

    Where other components took part, as in random play, what only one of them needs is no change.
    """
    pairs = {"python": (before.python, now.python), "machine": (before.machine, now.machine)}
    names = {*before.distributions} | {*now.distributions}
    if {*before.components} != {*now.components}:
        names = {*before.distributions} & {*now.distributions}
    for name in sorted(names):
        pairs[name] = before.distributions.get(name, "none"), now.distributions.get(name, "none")
    return [f"{name}: {old} -> {new}" for name, (old, new) in pairs.items() if old != new]
