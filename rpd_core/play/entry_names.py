"""What the entries of observations are called, and actions relative to the state."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.spaces import Discrete

from rpd_core.errors import ComponentError, FitError, one_line
from rpd_core.play.names import Names
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.protocols import Abstraction, Array, Batch, Entry, Facts
from rpd_core.plugin.protocols.optional import RelatesActions
from rpd_core.plugin.wording import order_of_parts

_MOST_ENTRIES = 10_000  # entries beyond which no names are made up
_MOST_ACTIONS = 1000  # actions beyond which their numbers are not stored
_LISTED = 3  # names that a message repeats


def named_facts(facts: Facts, names: Sequence[str]) -> Facts:
    """Return facts with the names that the user gives; those of a dict's parts fill a gap."""
    space, who = facts.observation_space, facts.description or "the environment"
    if not names:
        unnamed = not facts.entry_names and _has_parts(space)
        return replace(facts, entry_names=tuple(_names_of_parts(space))) if unnamed else facts
    if not _has_parts(space) and len(space.shape or ()) > 1:
        raise FitError(
            f"names are for vectors, and observations of {who} have shape {space.shape}: leave "
            "--names out"
        )
    count = sum(math.prod(shape) for _, shape in _parts(space))
    if count != len(names):
        shown = ", ".join(names[:_LISTED]) + ", ..." * (len(names) > _LISTED)
        raise FitError(
            f"names gives {len(names)} ({shown}) for observations of {who} with {count} "
            f"entries: give {count}, parted by commas"
        )
    return replace(facts, entry_names=tuple(names))


def observed_entries(facts: Facts) -> tuple[Entry, ...]:
    """Return the entries of an observation; those of a vector without names are numbered."""
    if facts.entry_names:
        known = {entry.name: entry for entry in facts.entries}
        return tuple(known.get(name, Entry(name)) for name in facts.entry_names)
    space = facts.observation_space
    if not isinstance(space, spaces.Box) or len(space.shape) != 1:
        return ()
    return tuple(Entry(f"x{place}") for place in range(space.shape[0]))


def _has_parts(space: object) -> bool:
    return isinstance(space, spaces.Dict | spaces.Tuple)


def _names_of_parts(space: object) -> Iterator[str]:
    """Yield names for the numbers of a dict, in the order in which abstractions join them."""
    parts = _parts(space)
    pictures = any(len(shape) > 1 for _, shape in parts)
    if pictures or sum(math.prod(shape) for _, shape in parts) > _MOST_ENTRIES:
        return
    for path, shape in parts:
        name = f"part {path}" if path.isdecimal() else path
        count = math.prod(shape)
        yield from (name,) if count == 1 else (f"{name} {place}" for place in range(count))


def _parts(space: Any, path: tuple[str, ...] = ()) -> list[tuple[str, tuple[int, ...]]]:
    """Return name and shape of each part with numbers, in the order of their names."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(space, spaces.Dict):
        inner = list(space.spaces.items())
    elif isinstance(space, spaces.Tuple):
        inner = list(enumerate(space.spaces))
    elif space.shape is not None and space.dtype is not None and space.dtype.kind not in "USO":
        return [(".".join(path), tuple(space.shape))]
    found = [part for key, one in inner for part in _parts(one, (*path, str(key)))]
    return found if path else sorted(found, key=lambda part: order_of_parts(part[0]))


Relation = Callable[[Batch, Array], Array]
"""From observations and actions to actions relative to the states, all from the space's start."""


def _related_names(links: Sequence[Abstraction], space: object) -> tuple[str, ...]:
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


def relation_of(links: Sequence[Abstraction], space: Any) -> Relation | None:
    """Return how actions are counted in the states of a chain; None: as they are."""
    if not _related_names(links, space):
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
        related = related.astype(np.int64, copy=False) if numbers else actions
        # below 0 is a large number without a sign: one look for both bounds
        if not numbers or related.view(np.uint64).max(initial=0) >= count:
            raise ComponentError(f"{who} must return one number from 0 to {count - 1} per lane")
        return related + start if start else related

    return relate


def names_of(facts: Facts, links: Sequence[Abstraction]) -> Names:
    actions, space = tuple(facts.action_names), facts.action_space
    if not actions and isinstance(space, Discrete) and space.n <= _MOST_ACTIONS:
        actions = tuple(str(int(space.start) + place) for place in range(int(space.n)))
    observed = observed_entries(facts)
    entries = Chain(links).name_entries(observed)
    relations = _related_names(links, facts.action_space)
    told = relations or not isinstance(links[0] if links else None, RelatesActions)
    note = str(getattr(links[0], "words_note", "")) if links and told else ""
    angles = tuple(entry for entry in facts.entries if entry.angle_of and observed)
    named = facts.description, actions, tuple(facts.entry_names), entries
    return Names(*named, relations, " ".join(note.split()), (*observed, *angles))
