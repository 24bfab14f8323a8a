"""Panels: what only one environment, or one kind of state, can show of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from rpd_core.plugin.protocols.abstraction import Entry
    from rpd_core.plugin.protocols.arrays import Array, Batch, FloatArray, IntArray, KeyArray


@dataclass(frozen=True)
class PanelFacts:
    """What a panel may know of a run before it says whether it has something to show."""

    environment: str
    """Spec string of the environment."""
    task: str = ""
    """What the environment calls itself."""
    abstraction: tuple[str, ...] = ()
    """Spec strings of the abstractions."""
    entries: tuple[Entry, ...] = ()
    """What the entries of an abstract state are called; none where they are not known."""
    shape: tuple[int, ...] = ()
    """Shape of an abstract state."""
    pictures: bool = False
    """Whether pictures of states are stored with the run."""
    files: tuple[str, ...] = ()
    """Names of the files that the panel's own `gather` left with the run."""


@dataclass(frozen=True)
class PanelView:
    """What a panel draws from: the states of a suite, one row each, and what is stored of them."""

    about: PanelFacts
    """What is known of the run."""
    measure: str
    """What the scores are by: what the list of a mutated policy is sorted by."""
    keys: KeyArray
    """Keys, ascending."""
    values: Array
    """`(states, ...)`, dtype of the abstraction: the abstract states."""
    visits: IntArray
    """Steps of the suite spent in each."""
    scores: FloatArray
    """By the measure."""
    effects: FloatArray
    """Risk of failing if mutated minus risk if kept."""
    ranks: IntArray
    """Place among the decisions of the smallest policy, by loss, from 1; 0 for other states."""
    words: Mapping[int, str] = field(default_factory=dict)
    """By key, these decisions and the first 1000 states of the list, in words."""
    pictures: Mapping[int, bytes] = field(default_factory=dict)
    """By key, small WebP pictures of the first decisions, where they are stored."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """By name, what the panel's own `gather` left with the run."""


@dataclass(frozen=True)
class Paragraph:
    """A few sentences of plain text."""

    text: str
    """A few sentences; nothing in it is markup."""


@dataclass(frozen=True)
class Image:
    """A picture; those that follow one another are shown side by side."""

    data: bytes
    """The content of an image file."""
    media_type: str
    """`image/png`, `image/webp`, `image/jpeg`, `image/gif` or `image/svg+xml`."""
    alt: str
    """What it shows, for who cannot see it; never empty."""
    caption: str = ""
    """What stands below it."""


@dataclass(frozen=True)
class Axis:
    """A variable that the states can be laid out by."""

    name: str
    """For example `pole tilt`."""
    values: FloatArray
    """A finite number per state."""
    unit: str = ""
    """Written behind numbers, for example `°`."""


@dataclass(frozen=True)
class Layer:
    """What is coloured where states lie."""

    name: str
    """For example `score`."""
    values: FloatArray
    """A finite number per state."""
    combine: Literal["mean", "sum", "max"] = "mean"
    """What is shown where several states lie in one place; sums on a logarithmic scale."""


@dataclass(frozen=True)
class Plane:
    """Heatmaps side by side, one per layer, over two of the axes."""

    axes: tuple[Axis, ...]
    """At least two, all over the same states."""
    layers: tuple[Layer, ...]
    """At least one, over the same states."""
    x: int = 0
    """Position of the axis that is shown from left to right."""
    y: int = 1
    """Position of the axis that is shown from bottom to top."""


Block = Paragraph | Image | Plane
"""What a panel is made of. Panels never hand in markup: the page writes it."""


@runtime_checkable
class Panel(Protocol):
    """The recipe of a panel. Optional: `gather`, `plot`; `fallback`, a class attribute."""

    title: ClassVar[str]
    """Its heading in the page."""

    def applies(self, about: PanelFacts) -> bool:
        """Return whether it has something to show of such a run."""

    def draw(self, view: PanelView) -> Sequence[Block]:
        """Return what it shows, from stored data alone; nothing: it is left out."""


@dataclass(frozen=True)
class SceneStep:
    """One step of an episode that is played again for a panel."""

    number: int
    """From 0."""
    key: int
    """Key of the abstract state."""
    value: Array
    """`(...)`, dtype of the abstraction: the abstract state."""
    observation: Any
    """What the policy saw: an array, or a dict of arrays."""
    mutated: bool
    """Whether the default action decided."""
    frame: Array | None = None
    """`(height, width, 3)` uint8: the picture before the step; None where it cannot be drawn."""


class Scene(Protocol):
    """A run with its policy and environment at hand, for panels that gather what they need."""

    @property
    def about(self) -> PanelFacts:
        """What is known of the run."""

    @property
    def first(self) -> Sequence[int]:
        """Keys of the first decisions of the smallest policy, those that are worth most first."""

    def seen(self, key: int) -> tuple[str, int]:
        """Return the name of the first episode that visited a state, and the step."""

    def seed(self, episode: str) -> int:
        """Return what the environment is reset with at the start of an episode."""

    def replay(self, episode: str) -> Sequence[SceneStep]:
        """Play an episode again, for example `suite:17` or `original:0`."""

    def keys(self, observations: Batch) -> KeyArray:
        """Return the keys of the abstract states of a batch of observations."""
