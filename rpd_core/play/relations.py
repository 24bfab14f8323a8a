"""Actions counted relative to the state, where an abstraction joins mirror images of states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Discrete

from rpd_core.errors import ComponentError, one_line
from rpd_core.plugin.protocols.optional import RelatesActions

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Abstraction, Array, Batch

Relation = Callable[["Batch", "Array"], "Array"]
"""From observations and actions to actions relative to the states, all from the space's start."""


def related_names(links: Sequence[Abstraction], space: Any) -> tuple[str, ...]:
    """Return what actions relative to the state are called; none where they are not related."""
    first: Any = links[0] if links else None
    if not isinstance(first, RelatesActions) or not isinstance(space, Discrete):
        return ()
    names: Any = first.name_relations(int(space.n))
    good = isinstance(names, tuple) and all(isinstance(name, str) for name in names)
    if not good or len(names) not in (0, int(space.n)):
        raise ComponentError(
            f"abstraction {type(first).__name__}: its name_relations() must return a tuple of "
            f"{space.n} texts, or none, got {names!r:.80}"
        )
    return tuple(names)


def relations_note(links: Sequence[Abstraction]) -> str:
    """Return a sentence that explains the names, if there is one."""
    return " ".join(str(getattr(links[0], "relations_note", "")).split()) if links else ""


def relation_of(links: Sequence[Abstraction], space: Any) -> Relation | None:
    """Return how actions are counted in the states of a chain; None: as they are."""
    if not related_names(links, space):
        return None
    first: Any = links[0]
    count, start = int(space.n), int(space.start)
    who = f"abstraction {type(first).__name__}: its relate_actions()"

    def relate(observations: Batch, actions: Array) -> Array:
        try:
            related = np.asarray(first.relate_actions(observations, actions - start))
        except Exception as error:  # a stranger's abstraction may raise anything
            raise ComponentError(f"{who} raised {one_line(error)}") from error
        numbers = related.dtype.kind in "iu" and related.shape == np.shape(actions)
        if not numbers or related.min(initial=0) < 0 or related.max(initial=0) >= count:
            raise ComponentError(f"{who} must return one number from 0 to {count - 1} per lane")
        related = related.astype(np.int64, copy=False)
        return related + start if start else related

    return relate
