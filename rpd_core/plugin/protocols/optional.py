"""What components may offer beyond their one method; each is looked for and used if it is there.

Besides these methods, six attributes have a meaning. `needs` (a class attribute annotated
`ClassVar[tuple[str, ...]]`, or a property, never a field: fields are parameters) names the extra
views that a policy, abstraction or default action wants, and for measures may be `("suite",)`.
`runs_code` (class attribute or property) is true where, with these parameters, code may run that
the user did not install; see `Component.runs_code`. `learns_from_mutants` (class attribute) is true
for an abstraction whose `fit` wants mutant episodes in its sample; it is then called twice.
`wants_vectors` (class attribute) is true for an abstraction of named vectors: where it is the first
of a chain, the task's `vectors` come before it.
`otherwise` (a field that takes a component) is the abstraction that takes the place of one that
needs what the policy prefers, where nobody can tell that.
`fallback` (class attribute) is true for a panel that is shown only where no other draws a plane.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from rpd_core.plugin.protocols.arrays import Array, Batch

if TYPE_CHECKING:
    from rpd_core.plugin.protocols.abstraction import Bound, Entry, FitSample, Ground
    from rpd_core.plugin.protocols.environment import Facts
    from rpd_core.plugin.protocols.panel import Scene
    from rpd_core.plugin.protocols.suite import Episodes


@runtime_checkable
class ShowsValues(Protocol):
    """An abstraction that puts its values into words."""

    def show(self, value: Array) -> str:
        """Return one abstract state in words, on one line; different values differ."""


@runtime_checkable
class TellsBounds(Protocol):
    """An abstraction of observations whose states are boxes, so that they can be exported."""

    def bounds(self, value: Array) -> tuple[Bound, ...] | None:
        """Return all that one abstract state asks, and no observation of another one meets; None:
        it is no box."""


@runtime_checkable
class DrawsValues(Protocol):
    """An abstraction that draws its values."""

    def draw(self, value: Array) -> Array:
        """Return one abstract state as a small RGB picture, (height, width, 3) uint8."""


@runtime_checkable
class PlacesAgent(Protocol):
    """Lanes that know where in their picture the agent is, so that its path can be drawn."""

    def place(self, lane: int) -> tuple[float, float]:
        """Return where the agent is in what `render` draws, as shares of width and height."""


@runtime_checkable
class NamesEntries(Protocol):
    """An abstraction that knows what the entries of its values are called."""

    def name_entries(self, before: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the entries of a value, in order, or none where they are not known.

        `before` are the entries of what it is given; none where they are not known.
        """


@runtime_checkable
class RelatesActions(Protocol):
    """An abstraction of observations that joins mirror images, in which actions swap sides.

    Where it is the first of a chain and actions are discrete, the policy's and the default
    action's choices are counted relative to the state: `under`, not `left`. A class attribute
    `words_note`, which every abstraction may have, explains its words to a reader in one sentence.
    """

    def name_relations(self, count: int) -> tuple[str, ...]:
        """Return what the actions relative to a state are called; none for another `count`."""

    def relate_actions(self, values: Batch, actions: Array) -> Array:
        """Return which of them each action is, all from 0: one row per lane."""


@runtime_checkable
class OpensForFacts(Protocol):
    """An abstraction that loads something, or checks the environment, before it works."""

    def open(self, facts: Facts) -> Any:
        """Return the abstraction at work, or raise `FitError`."""


@runtime_checkable
class LearnsFromSteps(Protocol):
    """An abstraction or a default action that learns something from the policy's own episodes."""

    def fit(self, sample: FitSample) -> Any:
        """Return a component of the same class that has learned.

        Its fields are JSON values, stored with the run; those that it sets are declared with
        `learned`. With `learns_from_mutants` it is called a second time, on the same recipe, with
        mutant episodes in the sample: mutated are states as the first call told them apart.
        """


@runtime_checkable
class LearnsByPlaying(Protocol):
    """An abstraction that finds its states by experiment: it has states tried out in episodes."""

    def grow(self, ground: Ground) -> Any:
        """Return a component of the same class that has learned; stored as by `fit`.

        Where it has `fit`, too, that comes first, and what it returns is grown.
        """


@runtime_checkable
class KnowsStart(Protocol):
    """An abstraction that has learned in which of its states the policy has to decide."""

    def start_states(self) -> Array:
        """Return these states, one row each; none where it is not known.

        Where it is the last of a chain, minimising begins with them, too.
        """


@runtime_checkable
class LearnsFromEpisodes(Protocol):
    """A condition that chooses something, for example a cut, from the stored suite."""

    def fit(self, episodes: Episodes) -> Any:
        """Return a component of the same class that has learned; stored as for abstractions."""


@runtime_checkable
class ShowsCondition(Protocol):
    """A condition that says in words what it asks, with what it has learned."""

    def show_condition(self) -> str:
        """Return the condition in words, for example `return>=195`."""


@runtime_checkable
class DescribesItself(Protocol):
    """A policy, or a loader, that says what it is."""

    def describe(self) -> dict[str, str]:
        """Return names and values for `rpd describe policy`."""


@runtime_checkable
class ReadsFiles(Protocol):
    """A component that reads files which are not all fields annotated `Path`."""

    def inputs(self) -> tuple[Path, ...]:
        """Return the further files; they count by content and travel to workers."""


@runtime_checkable
class HasSources(Protocol):
    """A component whose text is part of what it does, for example a module of the user's own."""

    def sources(self) -> tuple[Path, ...]:
        """Return the files; they count by content and are not shipped."""


@runtime_checkable
class Gatherer(Protocol):
    """A panel that needs more than is stored: it gathers that while the environment is at hand."""

    def gather(self, scene: Scene) -> Mapping[str, bytes]:
        """Return files by name, which are stored with the run and stand in `view.files`."""
