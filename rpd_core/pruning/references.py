"""The returns that every threshold stands on: the policy's, the default action's, the reference."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.chance import Phase
from rpd_core.errors import EvidenceError
from rpd_core.play.prepare import RandomPlay
from rpd_core.play.recipe import in_place_of
from rpd_core.plugin.protocols import Episodes
from rpd_core.pruning.evaluation import Evaluations, ask
from rpd_core.store.session import Session

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray


@dataclass(frozen=True)
class References:
    """Returns that every threshold stands on."""

    original: Episodes
    default_everywhere: Episodes
    reference: float
    reference_source: str
    reference_returns: FloatArray | None = None
    """Returns of random play, where the reference is their mean; None: it is given."""

    @property
    def reference_variance(self) -> float:
        """Variance of the reference itself; a given one has none."""
        return _mean_variance(self.reference_returns)

    @property
    def original_mean(self) -> float:
        return float(self.original.total_return.mean())

    def target(self, fraction: float) -> float:
        """Return the return that counts as `fraction` of the original's."""
        return target_return(fraction, self.original_mean, self.reference)

    def worth(self, share: float) -> float:
        """Return how much return a share of the original's is, measured from the reference."""
        return share * (self.original_mean - self.reference)

    def share(self, returned: float) -> float:
        """Return which share of the original's return this is, measured from the reference."""
        return (returned - self.reference) / (self.original_mean - self.reference)


def target_return(fraction: float, original: float, reference: float) -> float:
    """Return what counts as `fraction` of the original's return, measured from the reference."""
    return reference + fraction * (original - reference)


def measure_references(session: Session, evaluations: Evaluations) -> References:
    """Play the policy, the default action everywhere and, where needed, random play."""
    nothing = np.zeros(0, dtype=np.uint64)
    asked = {
        "original": ask(session, [nothing], [(0, 0)], unranked_kept=True),
        "default-everywhere": ask(session, [nothing], [(0, 0)], unranked_kept=False),
    }
    given = session.setup.config.settings.reference
    if given is None:
        random_play = in_place_of(session.recipe, RandomPlay(), session.recipe.lanes)
        asked["random-play"] = dataclasses.replace(
            asked["original"], recipe=random_play, phase=Phase.REFERENCE
        )
    played = evaluations.play("references", asked)
    reference, source, returns = given, "given", None
    if reference is None:
        returns = played["random-play"].total_return
        reference, source = float(returns.mean()), "random play"
    returned = played["original"].total_return
    refuse_weak_policy(returned, reference, source, returns, advice_for(session.setup.policy))
    return References(played["original"], played["default-everywhere"], reference, source, returns)


CLEARLY = 2.0
"""Standard errors by which the policy must surpass its reference."""
NOTABLY = 0.2
"""And by how much of the spread of their returns: below that, a share of the gain is noise."""


def advice_for(policy: object) -> str:
    """Return what to try with a policy that earns nothing, if it can be played in another way."""
    if getattr(policy, "deterministic", None) is not True:
        return ""
    return (
        ". Its likeliest action is taken at every step, and some policies then turn on the spot: "
        "try deterministic=false in its spec"
    )


def refuse_weak_policy(
    returns: FloatArray,
    reference: float,
    text: str,
    random_play: FloatArray | None = None,
    advice: str = "",
) -> None:
    """Refuse a policy whose return is not clearly and notably above the reference."""
    gain = float(returns.mean()) - reference
    error = float(np.sqrt(_mean_variance(returns) + _mean_variance(random_play)))
    spreads = [float(np.var(one)) for one in (returns, random_play) if one is not None]
    spread = float(np.sqrt(np.mean(spreads)))
    if gain > CLEARLY * error and gain > NOTABLY * spread:
        return
    raise EvidenceError(
        f"the policy's return {returns.mean():.4g} is not clearly above the reference "
        f"{reference:.4g} ({text}): the gain is {gain:.2g} +- {error:.2g} in {len(returns)} "
        f"episodes whose returns spread by {spread:.2g}, so a share of it means nothing: check "
        f"that the policy fits the environment{advice}"
    )


def _mean_variance(returns: FloatArray | None) -> float:
    """Return the variance of a mean; 0 where there is nothing to estimate it from."""
    if returns is None or len(returns) < 2:
        return 0.0
    return float(returns.var(ddof=1) / len(returns))
