"""Environments: what makes one analysable, and batches of copies of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from rpd_core.plugin.protocols.arrays import Array, Batch, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from rpd_core.plugin.protocols.abstraction import Entry


@dataclass(frozen=True)
class Task:
    """What makes an environment analysable: the settings used where the user gives none."""

    abstraction: tuple[str, ...]
    """Spec strings of the abstractions, applied one after the other."""
    default_action: str
    """Spec string of the default action."""
    condition: str
    """Spec string of the condition."""
    mutation_rate: float
    """Chance that a state is mutated in an episode, in (0, 1)."""
    episodes: int
    """Size of the suite."""
    test_episodes: int
    """Episodes for each pruned policy."""
    max_steps: int
    """Steps after which the loop ends an episode."""
    reference: float | None = None
    """Return that thresholds are measured from; None: the measured return of random play."""
    policy: str | None = None
    """Spec string of a policy that ships with the task, used if the user names none."""
    lanes: int = 64
    """Episodes played side by side in one process."""
    chunk: int = 250
    """Episodes per unit of work and of storage."""
    confirm_episodes: int = 400
    """Fresh episodes that try a chosen pruned policy first."""
    shares: tuple[float, ...] = ()
    """Shares of states restored in the pruning sweep; empty: the standard sweep."""
    minimise_steps: int | None = None
    """Steps that minimising may take; None: as many as suite and sweep took."""
    vectors: tuple[str, ...] = ()
    """Spec strings of abstractions that make a short vector of named entries out of an observation
    that is none; they come before an abstraction that `wants_vectors`."""
    notes: tuple[str, ...] = ()
    """Lines to show once, for example that an old id was mapped to a new one."""


@dataclass(frozen=True)
class Facts:
    """What policies, abstractions and default actions may know about an environment."""

    observation_space: Any
    """The Gymnasium space of one observation."""
    action_space: Any
    """The Gymnasium space of one action: `Discrete`, `Box`, `MultiDiscrete` or `MultiBinary`."""
    lanes: int
    """Rows in every batch."""
    views: tuple[str, ...] = ()
    """Names of the extra views on offer, for example `ram`."""
    no_op: Any = None
    """The action that does nothing, if there is one: a whole number, or an array of one action."""
    action_names: tuple[str, ...] = ()
    """What to call the actions when showing them to a person."""
    entry_names: tuple[str, ...] = ()
    """What to call the entries of a vector observation, as many as it has; of a dict, the numbers
    of its parts in the order of their names.

    Where it is empty, vectors are numbered (`x0`) and parts of a dict are called by their keys;
    `--names` takes their place.
    """
    entries: tuple[Entry, ...] = ()
    """How some of them are shown, found by their names: units, words; and angles whose cosine and
    sine are among them."""
    description: str = ""
    """How error messages name the environment."""
    info_keys: tuple[str, ...] | None = None
    """Entries of the final `info` worth storing; None: every number in it."""


@dataclass(frozen=True)
class Opening:
    """How an environment is to be opened."""

    lanes: int
    """How many copies."""
    views: tuple[str, ...] = ()
    """Views that will be asked for, as far as they are known; others may be asked for, too."""
    render: bool = False
    """Whether `render` will be called; true only where pictures are taken."""


@dataclass(frozen=True)
class StepResult:
    """What one step gave, one row per lane; rows of idle lanes mean nothing."""

    rewards: FloatArray
    """Reward of the step."""
    terminated: BoolArray
    """Ended by the environment's rules."""
    truncated: BoolArray
    """Ended by its own time limit; the cap of `max_steps` is counted by the loop."""


class Lanes(Protocol):
    """A batch of independent copies of one environment, each re-seeded on its own.

    An episode, with its observations, views, infos and pictures, is a function of its seed and its
    actions alone: not of the lane it runs in, of its neighbours, or of what ran there before.
    Nothing resets by itself: after the end of an episode `observe`, `info` and `render` show its
    last step until `reset`. When the environment of one lane fails, the lanes raise `LaneError`.
    """

    @property
    def facts(self) -> Facts:
        """Spaces, views and names."""

    def reset(self, lanes: IntArray, seeds: IntArray) -> None:
        """Start a new episode in each of `lanes` with the seed at the same position.

        Both are int64 and of the same length; seeds lie in [0, 2**31).
        """

    def observe(self) -> Batch:
        """Return the present observations: a batch in the shape and dtype of the space.

        Rows of a lane that was never reset hold some valid element, for example zeros. The caller
        does not change them.
        """

    def view(self, name: str) -> Array:
        """Return an extra view that `facts.views` names, `(lanes, ...)`."""

    def step(self, actions: Array, active: BoolArray) -> StepResult:
        """Act in the active lanes, `(lanes,)` bool, and leave the others alone.

        `actions` has the shape and dtype of a batch of the action space; its rows of idle lanes
        mean nothing.
        """

    def info(self, lane: int) -> Mapping[str, object]:
        """Return the last `info` of a lane.

        Its numbers and truth values are stored when an episode ends.
        """

    def render(self, lane: int) -> Array:
        """Draw a lane as a picture, `(height, width, 3)` uint8, if it was opened with `render`."""

    def close(self) -> None:
        """Close everything."""


@runtime_checkable
class Environment(Protocol):
    """The recipe of an environment."""

    def task(self) -> Task:
        """Return the recommended settings."""

    def open(self, opening: Opening) -> Lanes:
        """Build the copies."""
