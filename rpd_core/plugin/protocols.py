"""What a plugin hands to rpd, and what the things behind it promise.

A plugin's hook returns `Component` records. The target of a record is a frozen dataclass, the
*recipe*: its fields are the parameters that a spec string sets, it is light and picklable, and a
worker process opens it into the live object that does the work. Nothing here imports NumPy, so
that listing plugins stays cheap.

Where a component may state `needs`, it is a class attribute, `needs: ClassVar[tuple[str, ...]]`, or
a property, never a field: fields are parameters.

Arrays that pass between lanes, policies, abstractions and default actions are valid until the next
step or reset: whoever wants one for longer copies it, and nobody writes to one that is not theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from rpd_core.execute.work import Executor

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rpd_core.play.chance import Draws
    from rpd_core.plugin.records import Episodes, Suite

    Array = NDArray[Any]
    BoolArray = NDArray[np.bool_]
    IntArray = NDArray[np.int64]
    FloatArray = NDArray[np.float64]
    KeyArray = NDArray[np.uint64]
    Batch = Array | dict[str, Array]

T = TypeVar("T")
KINDS = {
    "environment": "rpd_environments",
    "policy": "rpd_policy_loaders",
    "abstraction": "rpd_abstractions",
    "default-action": "rpd_default_actions",
    "measure": "rpd_measures",
    "condition": "rpd_conditions",
    "executor": "rpd_executors",
}
"""Each kind of component and the hook that offers it."""


@dataclass(frozen=True)
class Component:
    """One thing a plugin offers: what it is called, where it lives, what it needs."""

    name: str
    """The word users type, for example `tarantula`."""
    target: str
    """`module:attribute` of the recipe, imported only on use."""
    summary: str
    """One line for `rpd list-plugins`."""
    requires: tuple[str, ...] = ()
    """Import names that must be installed for it to work."""
    install: str = ""
    """What to `pip install` if one of them is missing."""


def learned(default: T) -> T:
    """Give a dataclass field that only `fit` sets: no parameter, and refused in specs."""
    return field(default=default, metadata={"learned": True})


# ---------------------------------------------------------------- environments


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
    """Chance that a state is mutated in an episode."""
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
    shares: tuple[float, ...] = ()
    """Shares of states restored in the pruning sweep; empty: the standard sweep."""
    notes: tuple[str, ...] = ()
    """Lines to show once, for example that an old id was mapped to a new one."""


@dataclass(frozen=True)
class Facts:
    """What policies, abstractions and default actions may know about an environment."""

    observation_space: Any
    """The Gymnasium space of one observation."""
    action_space: Any
    """The Gymnasium space of one action."""
    lanes: int
    """Rows in every batch."""
    views: tuple[str, ...] = ()
    """Names of the extra views on offer, for example `ram`."""
    no_op: Any = None
    """The action that does nothing, if there is one."""
    action_names: tuple[str, ...] = ()
    """What to call the actions when showing them to a person."""
    entry_names: tuple[str, ...] = ()
    """What to call the entries of a vector observation when showing them to a person."""
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
    """Whether `render` will be called."""


@dataclass(frozen=True)
class StepResult:
    """What one step gave, one row per lane; rows of idle lanes mean nothing."""

    rewards: FloatArray
    terminated: BoolArray
    truncated: BoolArray


class Lanes(Protocol):
    """A batch of independent copies of one environment, each re-seeded on its own.

    An episode, with its observations, views, infos and pictures, is a function of its seed and its
    actions alone: not of the lane it runs in, of its neighbours, or of what ran there before. The
    rows of a lane that was never reset hold some valid element of the space, for example zeros.
    When the environment of one lane fails, the lanes raise `rpd_core.play.loop.LaneError`.
    """

    @property
    def facts(self) -> Facts:
        """Spaces, views and names."""

    def reset(self, lanes: IntArray, seeds: IntArray) -> None:
        """Start a new episode in each of `lanes` with the seed at the same position."""

    def observe(self) -> Batch:
        """Give the present observations of all lanes; the caller does not change them."""

    def view(self, name: str) -> Array:
        """Give an extra view of all lanes that `facts.views` names."""

    def step(self, actions: Array, active: BoolArray) -> StepResult:
        """Act in the active lanes and leave the others alone."""

    def info(self, lane: int) -> Mapping[str, Any]:
        """Give the last `info` of a lane; its scalar entries are stored when an episode ends."""

    def render(self, lane: int) -> Array:
        """Draw a lane as an RGB picture (height, width, 3) uint8."""

    def close(self) -> None:
        """Let go of everything."""


@runtime_checkable
class Environment(Protocol):
    """The recipe of an environment."""

    def task(self) -> Task:
        """Give the recommended settings."""

    def open(self, opening: Opening) -> Lanes:
        """Make the copies."""


# ------------------------------------------------------------------- policies


@dataclass(frozen=True)
class PolicyInput:
    """What a policy sees at one step, one row per lane."""

    observations: Batch
    """The observations; rows of idle lanes hold old ones."""
    views: Mapping[str, Array]
    """The extra views that the policy's `needs` names."""
    starts: BoolArray
    """Lanes at the first step of an episode: forget what was remembered there."""
    memory: Any
    """What the policy returned as `memory` at the last step; None at the very first call."""
    draws: Draws
    """Randomness keyed by episode and step, the only source a policy may use."""
    previous: Array
    """Actions executed at the step before, by whoever decided; meaningless where `starts`."""
    rewards: FloatArray
    """Rewards of the step before; 0 where `starts`."""


@dataclass(frozen=True)
class Choice:
    """What a policy wants to do, one row per lane; the same fields at every step."""

    actions: Array
    """The actions, shaped like a batch of the action space."""
    action_values: Array | None = None
    """Estimated return of every discrete action, if the policy has it."""
    probabilities: Array | None = None
    """Probability of every discrete action, if the policy has it."""
    memory: Any = None
    """Handed back at the next step; hidden states and frame stacks live here."""


class Policy(Protocol):
    """A loaded policy: a batch of observations in, a batch of actions out.

    Optional: `needs`, the extra views it wants to see; better stated by the loader, too.
    """

    def __call__(self, seen: PolicyInput) -> Choice:
        """Decide in all lanes at once; row i depends on row i of the input alone."""


@runtime_checkable
class PolicyLoader(Protocol):
    """The recipe of a policy.

    A loader whose input files are not all fields annotated `Path` offers `inputs()`, a tuple of
    paths; all of them count, by content, as part of the suite's configuration.
    """

    def load(self, facts: Facts) -> Policy:
        """Load the policy and fit it to the environment, or say exactly what does not fit."""


# ------------------------------------------------- abstractions, default actions


@runtime_checkable
class Abstraction(Protocol):
    """Maps a batch of observations to a batch of fixed-shape arrays.

    The values are truth values, integers or floats, of one dtype and shape for the whole run; row
    i depends on row i of the input alone. Optional: `needs`, the views it wants; `show(value) ->
    str`, one value in words; `open(facts)`, which gives the abstraction at work, for those that
    load a model or check the environment; `fit(sample)`, for those that must first learn
    something, which gives a component of the same class whose fields are JSON values; those that
    it sets are declared with `learned`.
    """

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        """Give the abstract states; in a chain `values` is what the one before gave."""


@dataclass(frozen=True)
class FitSample:
    """What a component learns from: steps of the original policy, in order."""

    values: Batch
    """Observations, or what the abstraction before gave, one row per step."""
    views: Mapping[str, Array]
    """The views that the component needs, one row per step."""
    episodes: IntArray
    """Episode of each step."""
    actions: Array
    """What the policy chose at each step."""
    facts: Facts
    """The environment."""
    seed: int
    """Seed for any randomness in the fitting."""
    planned_episodes: int
    """Size of the suite that is to be played."""
    mutation_rate: float
    """Chance that a state will be mutated in it."""


@dataclass(frozen=True)
class Moment:
    """What a default action may look at, one row per lane."""

    observations: Batch
    views: Mapping[str, Array]
    previous: Array
    """Actions executed at the step before; meaningless where `starts`."""
    rewards: FloatArray
    """Rewards of the step before; 0 where `starts`."""
    starts: BoolArray
    """Lanes at the first step of an episode."""
    state_draws: Draws
    """Randomness keyed by episode and state: the same at every revisit."""
    step_draws: Draws
    """Randomness keyed by episode and step."""


DefaultActor = Callable[[Moment], "Array"]
"""A default action at work: the actions for all lanes."""


@runtime_checkable
class DefaultAction(Protocol):
    """The recipe of a default action. Optional: `needs`, the views it wants."""

    def open(self, facts: Facts) -> DefaultActor:
        """Fit it to the environment, or say why it cannot work there."""


# ------------------------------------------------------- measures, conditions


@dataclass(frozen=True)
class Spectrum:
    """Per state, the weight of the episodes that visited it, by fate and outcome."""

    mutated_failed: FloatArray
    mutated_passed: FloatArray
    kept_failed: FloatArray
    kept_passed: FloatArray

    def __len__(self) -> int:
        return len(self.mutated_failed)


@dataclass(frozen=True)
class Evidence:
    """What a measure may look at; `suite` is there only if it declares `needs = ("suite",)`."""

    spectrum: Spectrum
    keys: KeyArray
    """Key of each state, in the order of the spectrum."""
    weights: FloatArray | None = None
    """Weight of each episode under the condition, with `suite`."""
    suite: Suite | None = None
    """The whole suite: returns, coins, action values."""


@runtime_checkable
class Measure(Protocol):
    """Maps evidence to one finite score per state; higher matters more."""

    def __call__(self, evidence: Evidence) -> FloatArray:
        """Score every state."""


@runtime_checkable
class Condition(Protocol):
    """Gives each episode a weight in [0, 1]: 1 passed, 0 failed.

    Optional: `resolve(episodes) -> (spec string)`, for conditions that choose a cut from the
    suite; the spec it gives is stored and used from then on.
    """

    def __call__(self, episodes: Episodes) -> FloatArray:
        """Weigh the episodes."""


PROTOCOLS: dict[type, str] = {
    Environment: "environment",
    PolicyLoader: "policy",
    Abstraction: "abstraction",
    DefaultAction: "default-action",
    Measure: "measure",
    Condition: "condition",
    Executor: "executor",
}
"""The kind that a field annotated with a protocol takes a nested spec of."""
