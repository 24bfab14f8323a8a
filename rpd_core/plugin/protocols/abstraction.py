"""Abstractions and default actions: which states there are, and what is done instead."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from rpd_core.plugin.protocols.arrays import Array, Batch, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from rpd_core.chance import Draws
    from rpd_core.plugin.protocols.environment import Facts

POLICY_ACTION, POLICY_GAP = "policy.action", "policy.gap"
"""Views that the loop itself offers to an abstraction: the policy's action, a batch of the action
space, and by how much the policy prefers it to the default's, `(lanes,)` float64."""
POLICY_VIEWS = (POLICY_ACTION, POLICY_GAP)


@runtime_checkable
class Abstraction(Protocol):
    """Maps a batch of observations to a batch of fixed-shape arrays.

    The values are truth values, integers or floats, of one dtype and shape for the whole run; row
    i depends on row i of the input alone. Optional: `needs`, the views it wants, also those of
    `POLICY_VIEWS`, for which policy and default action are asked first; `show`, `draw`
    (`ShowsValues`, `DrawsValues`); `bounds` (`TellsBounds`); `name_entries` (`NamesEntries`);
    `relate_actions` (`RelatesActions`), for those that join mirror images; `open`
    (`OpensForFacts`), for those that load a model or check the environment; `fit`
    (`LearnsFromSteps`), for those that must first learn something; `grow` (`LearnsByPlaying`), for
    those that try out what they learn.
    """

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        """Return the abstract states; in a chain `values` is what the one before returned."""


@dataclass(frozen=True)
class Entry:
    """What one entry of a vector, or of an abstract state, is called and how it is shown."""

    name: str
    """For example `pole tilt`."""
    unit: str = ""
    """Written behind numbers, with the space that belongs there: `°`, ` m/s`."""
    factor: float = 1.0
    """What a value is multiplied by before it is shown; above 0."""
    digits: int | None = None
    """Decimals that are shown; None: as many as there are."""
    edges: tuple[float, ...] = ()
    """Where the value is the number of a bin: the inner edges of the bins, ascending.

    An edge belongs to the bin above it.
    """
    words: tuple[str, ...] = ()
    """Where the value is 0, 1 and so on: what is said of each, for example `left leg in the air`
    and `left leg on the ground`."""
    angle_of: tuple[str, ...] = ()
    """Names of two entries that are the cosine and the sine of this angle, which is no entry
    itself; its values are radians in (-pi, pi]."""


@dataclass(frozen=True)
class Bound:
    """What a state asks of one number: that it lies between two others."""

    name: str
    """What the number is called."""
    entries: tuple[int, ...]
    """The entry of an observation that it is, parts joined in the order of their names; or two:
    it is the angle in radians whose cosine and sine they are."""
    low: float = -math.inf
    """It is at least this."""
    high: float = math.inf
    """And below this."""
    factor: float = 1.0
    """What it is multiplied by before that."""


@dataclass(frozen=True)
class FitSample:
    """What a component learns from: steps of the original policy, in order.

    A component whose attribute `learns_from_mutants` is true gets steps of mutant episodes, too,
    behind those of the policy; all others never see any.
    """

    values: Batch
    """A batch with a row per step: observations, or what the abstraction before returned."""
    views: Mapping[str, Array]
    """The views that the abstractions of the chain need, with a row per step."""
    episodes: IntArray
    """Episode of each step, from 0, ascending."""
    actions: Array
    """`(steps, ...)`, dtype of the action space: what the policy chose at each step, also where a
    mutant did something else."""
    facts: Facts
    """The environment; after another abstraction `entry_names` and `entries` are those that its
    `name_entries` gives, if any."""
    seed: int
    """Seed for any randomness in the fitting."""
    planned_episodes: int
    """Size of the suite that is to be played."""
    mutation_rate: float
    """Chance that a state will be mutated in it."""
    mutant: BoolArray | None = None
    """Whether each step is of a mutant episode; None: no step is."""
    defaults: Array | None = None
    """`(steps, ...)`, dtype of the action space: what the default action did at each step, or would
    have done; None: unknown."""
    gap_unit: str = ""
    """What the view `policy.gap` is measured in: `value`, `log odds` or `log density`; empty where
    it is not wanted."""


@dataclass(frozen=True)
class Minimised:
    """What is left of the policy over the states of an abstraction, and what each is worth.

    The policy decides in the kept states, the default action in all others.
    """

    values: Array
    """`(states, ...)`, dtype of the abstraction: the abstract states that were seen."""
    kept: BoolArray
    """Whether the policy keeps each of them."""
    loss: FloatArray
    """Return lost if the default acts there, too, in the mean over all episodes; nan: not kept."""
    error: FloatArray
    """Standard error of that."""
    steps: FloatArray
    """Share of all steps spent in each."""
    overrides: FloatArray
    """Share of all steps at which the policy decides there and differs from the default."""
    share: float
    """Part of the return that is kept, measured from the reference."""
    met: bool
    """Whether the target is estimated to be met."""
    sample: FitSample
    """Steps of the minimised policy."""


class Ground(Protocol):
    """Where an abstraction that learns by playing tries out states."""

    @property
    def sample(self) -> FitSample:
        """Steps of the policy and of mutants."""

    @property
    def left(self) -> float:
        """Share of the steps for growing that is left; at 0 or below, take what there is."""

    def minimise(self, abstraction: Any, target: float, start: Array | None = None) -> Minimised:
        """Return what keeps a fraction of the return and can spare none of its states.

        The states are those of `abstraction`, a component of the same class that has learned.
        `start` are those in which the policy decides at first; None: all. Where these already miss
        the target, that is what is returned. It is found by playing, on episodes of their own; the
        same question has the same answer. The target is the component's to choose, whatever the
        run's targets are, so that these do not change the states.
        """


@dataclass(frozen=True)
class Moment:
    """What a default action may look at, one row per lane."""

    observations: Batch
    """A batch of the observation space: what is seen; rows of idle lanes hold old ones. At the
    first step: the observation after `reset`."""
    views: Mapping[str, Array]
    """The extra views that the default action's `needs` names. At the first step: the same."""
    previous: Array
    """A batch of the action space: actions executed at the step before, by whoever decided. At the
    first step: means nothing."""
    rewards: FloatArray
    """Rewards of the step before. At the first step: 0."""
    starts: BoolArray
    """Lanes at the first step of an episode. At the first step: true."""
    state_draws: Draws
    """Randomness keyed by episode and state: the same at every revisit. At the first step: the
    same."""
    step_draws: Draws
    """Randomness keyed by episode and step. At the first step: the same."""


DefaultActor = Callable[[Moment], "Array"]
"""A default action at work: the actions for all lanes."""


@runtime_checkable
class DefaultAction(Protocol):
    """The recipe of a default action.

    Optional: `needs`, the views it wants; `fit` (`LearnsFromSteps`), for those that must first
    learn something from the policy's own episodes: until then they are opened all the same, so
    that something stands in.
    """

    def open(self, facts: Facts) -> DefaultActor:
        """Fit it to the environment, or raise `FitError` where it cannot work."""
