"""Panels: what only one environment, or one kind of state, can show of a run.

The page has three places that a panel may fill: the hero, the picture beside the timeline; the
frames of the timeline; and the cards, which say in which situations the policy matters. Panels
hand in records, never markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from rpd_core.plugin.protocols.arrays import Array, Batch, FloatArray, KeyArray

if TYPE_CHECKING:
    from rpd_core.plugin.protocols.abstraction import Bound, Entry
    from rpd_core.plugin.protocols.suite import Episodes, States, Trace

Point = tuple[float, float]
"""To the right and downwards, in the units of the drawing."""


@dataclass(frozen=True)
class Image:
    """A picture from a file."""

    data: bytes
    """The content of an image file."""
    media_type: str
    """`image/png`, `image/webp`, `image/jpeg` or `image/gif`."""
    alt: str
    """What it shows, for who cannot see it; never empty."""


@dataclass(frozen=True)
class Polygon:
    """A filled shape; many with the same colours one after the other cost little."""

    points: tuple[Point, ...]
    """At least three."""
    fill: str = "none"
    """Colour inside."""
    stroke: str = "none"
    """Colour of the edge."""
    width: float = 1.0
    """Of the edge."""


@dataclass(frozen=True)
class Line:
    """A line through points."""

    points: tuple[Point, ...]
    """At least two."""
    stroke: str = "ink"
    """Its colour."""
    width: float = 1.0
    """How thick it is."""
    dashes: tuple[float, ...] = ()
    """Lengths of dashes and gaps; none: it is solid."""


@dataclass(frozen=True)
class Circle:
    """A circle."""

    at: Point
    """Its middle."""
    radius: float
    """Above 0."""
    fill: str = "ink"
    """Colour inside."""
    stroke: str = "none"
    """Colour of the edge."""
    width: float = 1.0
    """Of the edge."""


@dataclass(frozen=True)
class Text:
    """A line of text."""

    at: Point
    """Where its baseline begins, has its middle, or ends."""
    text: str
    """Nothing in it is markup."""
    size: float = 11.0
    """Height of the letters."""
    anchor: Literal["start", "middle", "end"] = "start"
    """Which of the three."""
    fill: str = "ink"
    """Colour."""
    bold: bool = False
    """Whether it is heavy."""
    upright: bool = False
    """Whether it runs from bottom to top."""


@dataclass(frozen=True)
class Picture:
    """An image in a place."""

    at: Point
    """Its upper left corner."""
    width: float
    """Above 0."""
    height: float
    """Above 0."""
    image: Image
    """What is seen there."""


Shape = Polygon | Line | Circle | Text | Picture
"""What a drawing is made of; later ones cover earlier ones."""


@dataclass(frozen=True)
class Drawing:
    """Shapes on a sheet."""

    width: float
    """Of the sheet."""
    height: float
    """Of the sheet."""
    shapes: tuple[Shape, ...]
    """From back to front."""
    label: str
    """What it shows, for who cannot see it; never empty."""
    caption: str = ""
    """What stands below it."""
    name: str = ""
    """Entry in the menu of several; those with the same name are shown side by side."""
    track: tuple[Point, ...] = ()
    """Where the typical episode is at each step; a marker follows the timeline along it."""


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
    observed: tuple[Entry, ...] = ()
    """The entries of a vector observation, and behind them angles that two of them make."""
    actions: tuple[str, ...] = ()
    """Names of the actions."""
    default_action: str = ""
    """Spec string of the default action."""
    pictures: bool = False
    """Whether pictures of decisions are stored with the run."""
    frames: bool = False
    """Whether frames of the typical episode are."""
    files: tuple[str, ...] = ()
    """Names of the files that the panel's own `gather` left with the run."""


@dataclass(frozen=True)
class PanelDecision:
    """A decision of the smallest policy."""

    key: int
    """Key of the state."""
    state: str
    """The state, or the rule, in words."""
    policy: str
    """What the policy does there, in words."""
    default: str
    """What the default action would do."""
    loss: float
    """Return lost without it, in the mean over all episodes."""
    return_without: float
    """Mean return without it."""
    needed: bool
    """Whether its loss is shown to be above 0."""
    overrides: float
    """Share of all steps at which the policy differs from the default action there."""
    bounds: tuple[Bound, ...] = ()
    """What a rule asks of an observation; none where the state is no rule."""
    value: Array | None = None
    """`(...)`, dtype of the abstraction: the abstract state; None where it is not at hand."""


@dataclass(frozen=True)
class TracedEpisodes:
    """Some episodes, all their steps, and the states that these are in."""

    episodes: Episodes
    """One row per episode."""
    trace: Trace
    """One row per step."""
    states: States
    """One row per state."""

    def __len__(self) -> int:
        return len(self.episodes)

    def steps(self, episode: int) -> Trace:
        """Return the steps of one episode."""
        from rpd_core.plugin.protocols.suite import Trace, columns_of  # for this alone

        first, end = self.trace.episode.searchsorted([episode, episode + 1])
        return Trace(**{name: getattr(self.trace, name)[first:end] for name in columns_of(Trace)})


@dataclass(frozen=True)
class Traces:
    """The same fresh episodes twice."""

    smallest: TracedEpisodes
    """The smallest policy's."""
    whole: TracedEpisodes
    """The whole policy's; episode by episode the same random draws."""
    typical: int
    """The episode that is shown: of middling length and return, with middling many overrides."""


@dataclass(frozen=True)
class PanelView:
    """What a panel draws from; everything is stored with the run."""

    about: PanelFacts
    """What is known of the run."""
    decisions: tuple[PanelDecision, ...]
    """Those of the smallest policy, by loss, the largest first."""
    traces: Traces
    """Episodes step by step."""
    pictures: Mapping[int, bytes] = field(default_factory=dict)
    """By key, small WebP pictures of the first decisions, where they are stored."""
    frames: Mapping[int, Image] = field(default_factory=dict)
    """By step, frames of the typical episode, where they are stored."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """By name, what the panel's own `gather` left with the run."""
    beside: PanelView | None = None
    """A run that is shown beside it, on the same scales, where two are compared."""

    @property
    def largest(self) -> float:
        """The largest loss, never 0: what colours are measured by."""
        both = (*self.decisions, *(self.beside.decisions if self.beside is not None else ()))
        return max([one.loss for one in both if one.loss > 0], default=1.0)

    def losses(self, trace: Trace) -> FloatArray:
        """Return the loss behind each step: 0 where the default action does, or would do, it.

        In a trace of the whole policy these are the losses that the smallest one has there.
        """
        worth = {one.key: max(one.loss, 0.0) for one in self.decisions}
        deciding = (trace.kept & trace.override).tolist()
        keys = trace.key.tolist()
        found = trace.reward * 0.0  # an array of as many zeros; NumPy is not imported here
        found[:] = [
            worth.get(key, 0.0) if here else 0.0 for key, here in zip(keys, deciding, strict=True)
        ]
        return found


@dataclass(frozen=True)
class Card:
    """A situation in which the policy matters."""

    title: str
    """For example `A wall one cell ahead`."""
    text: str
    """What the policy does there, and what the default action would do."""
    keys: tuple[int, ...]
    """The decisions that belong to it."""
    picture: Image | Drawing | None = None
    """A typical one; None: the stored picture of the decision that is worth most."""


@runtime_checkable
class Panel(Protocol):
    """The recipe of a panel. It has at least one of `hero`, `frames` and `cards`; `gather` and
    `fallback`, a class attribute, are optional, too."""

    def applies(self, about: PanelFacts) -> bool:
        """Return whether it has something to show of such a run."""


@runtime_checkable
class HeroPanel(Protocol):
    """A panel that draws the picture beside the timeline."""

    def hero(self, view: PanelView) -> Sequence[Drawing]:
        """Return drawings, the first of which is shown at once; none: somebody else may."""


@runtime_checkable
class FramePanel(Protocol):
    """A panel that knows what single steps look like."""

    def frames(self, view: PanelView) -> Mapping[int, Image]:
        """Return what some steps of the typical episode look like, by their numbers."""


@runtime_checkable
class CardPanel(Protocol):
    """A panel that knows situations."""

    def cards(self, view: PanelView) -> Sequence[Card]:
        """Return up to six situations, those that matter most first."""


class Scene(Protocol):
    """A run with its policy and environment at hand, for panels that gather what they need."""

    @property
    def about(self) -> PanelFacts:
        """What is known of the run."""

    @property
    def traces(self) -> Traces | None:
        """Episodes step by step; None where no smallest policy is confirmed."""

    @property
    def first(self) -> Sequence[int]:
        """Keys of the first decisions of the smallest policy, those that are worth most first."""

    def replay(self, episode: str) -> Sequence[SceneStep]:
        """Play an episode again: `pruned:3` is the fourth traced one, `suite:17` a mutant."""

    def keys(self, observations: Batch) -> KeyArray:
        """Return the keys of the abstract states of a batch of observations."""


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
