"""What components may offer beyond their one method; each is looked for and used if it is there.

Besides these methods, three attributes have a meaning. `needs` (a class attribute annotated
`ClassVar[tuple[str, ...]]`, or a property, never a field: fields are parameters) names the extra
views that a policy, abstraction or default action wants, and for measures may be `("suite",)`.
`runs_code` (class attribute or property) is true where, with these parameters, code may run that
the user did not install; see `Component.runs_code`. `learns_from_mutants` (class attribute) is true
for an abstraction whose `fit` wants mutant episodes in its sample; it is then called twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from rpd_core.plugin.protocols.abstraction import Entry, FitSample
    from rpd_core.plugin.protocols.arrays import Array
    from rpd_core.plugin.protocols.environment import Facts
    from rpd_core.plugin.protocols.suite import Episodes


@runtime_checkable
class ShowsValues(Protocol):
    """An abstraction that puts its values into words."""

    def show(self, value: Array) -> str:
        """Return one abstract state in words, on one line; different values differ."""


@runtime_checkable
class DrawsValues(Protocol):
    """An abstraction that draws its values."""

    def draw(self, value: Array) -> Array:
        """Return one abstract state as a small RGB picture, (height, width, 3) uint8."""


@runtime_checkable
class NamesEntries(Protocol):
    """An abstraction that knows what the entries of its values are called."""

    def name_entries(self, before: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the entries of a value, in order, or none where they are not known.

        `before` are the entries of what it is given; none where they are not known.
        """


@runtime_checkable
class OpensForFacts(Protocol):
    """An abstraction that loads something, or checks the environment, before it works."""

    def open(self, facts: Facts) -> Any:
        """Return the abstraction at work, or raise `FitError`."""


@runtime_checkable
class LearnsFromSteps(Protocol):
    """An abstraction that must learn something from the policy's own episodes."""

    def fit(self, sample: FitSample) -> Any:
        """Return a component of the same class that has learned.

        Its fields are JSON values, stored with the run; those that it sets are declared with
        `learned`. With `learns_from_mutants` it is called a second time, on the same recipe, with
        mutant episodes in the sample: mutated are states as the first call told them apart.
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
        """Return names and values for `rpd describe-policy`."""


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
