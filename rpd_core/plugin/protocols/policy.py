"""Policies: a batch of observations in, a batch of actions out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from rpd_core.plugin.protocols.arrays import Array, Batch, BoolArray, FloatArray

if TYPE_CHECKING:
    from rpd_core.chance import Draws
    from rpd_core.plugin.protocols.environment import Facts


@dataclass(frozen=True)
class PolicyInput:
    """What a policy sees at one step, one row per lane."""

    observations: Batch
    """A batch of the observation space: what is seen; rows of idle lanes hold old ones. At the
    first step: the observation after `reset`."""
    views: Mapping[str, Array]
    """The extra views that the policy's `needs` names. At the first step: the same."""
    starts: BoolArray
    """Lanes at the first step of an episode: forget what was remembered there. At the first step:
    true."""
    memory: Any
    """What the policy returned as `memory` at the last step, for all lanes. At the first step: None
    at the very first call; later the old one, to be forgotten where `starts`."""
    draws: Draws
    """Randomness keyed by episode and step, the only source a policy may use. At the first step:
    the same."""
    previous: Array
    """A batch of the action space: actions executed at the step before, by whoever decided. At the
    first step: means nothing."""
    rewards: FloatArray
    """Rewards of the step before. At the first step: 0."""


@dataclass(frozen=True)
class Choice:
    """What a policy wants to do, one row per lane; the same fields at every step."""

    actions: Array
    """A batch of the action space: what the policy wants to do; whole numbers where the space is
    discrete.

    An action outside the space in an active lane stops the run.
    """
    action_values: Array | None = None
    """`(lanes, actions)` float: estimated return of every discrete action, if the policy has it."""
    probabilities: Array | None = None
    """`(lanes, actions)` float: probability of every discrete action, if the policy has it."""
    memory: Any = None
    """Handed back at the next step; hidden states and frame stacks live here."""
    log_probability: Callable[[Array], Array] | None = None
    """From a batch of actions to the log of the probability, or density, of each, `(lanes,)` float,
    if the policy has it. It is called before the next step, if at all, so it may cost something."""


class Policy(Protocol):
    """A loaded policy: a batch of observations in, a batch of actions out.

    Optional: `needs`, the views it wants, better stated by the loader, too; `describe`
    (`DescribesItself`).
    """

    def __call__(self, seen: PolicyInput) -> Choice:
        """Decide in all lanes at once; row i depends on row i of the input alone."""


@runtime_checkable
class PolicyLoader(Protocol):
    """The recipe of a policy.

    Optional: `needs`, the views the policy wants; `inputs` (`ReadsFiles`), `describe`
    (`DescribesItself`); a field `trust: bool = permission()`, which `--trust-policy` sets, for
    loaders that may then run code of the file's author.
    """

    def load(self, facts: Facts) -> Policy:
        """Load the policy and fit it to the environment; raise `FitError` if it does not fit."""
