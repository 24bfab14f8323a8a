"""The returns that every threshold stands on: the policy's, the default action's, the reference."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.errors import EvidenceError
from rpd_core.play.chance import Phase
from rpd_core.play.prepare import RandomPlay
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

    @property
    def original_mean(self) -> float:
        return float(self.original.total_return.mean())

    def target(self, fraction: float) -> float:
        """Return the return that counts as `fraction` of the original's."""
        return target_return(fraction, self.original_mean, self.reference)


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
        random_play = dataclasses.replace(session.recipe, policy=RandomPlay())
        asked["random-play"] = dataclasses.replace(
            asked["original"], recipe=random_play, phase=Phase.REFERENCE
        )
    played = evaluations.play("references", asked)
    reference, source = given, "given"
    if reference is None:
        reference, source = float(played["random-play"].total_return.mean()), "random play"
    refuse_weak_policy(played["original"].total_return, reference, source)
    return References(played["original"], played["default-everywhere"], reference, source)


def refuse_weak_policy(returns: FloatArray, reference: float, text: str) -> None:
    """Refuse a policy whose return is not clearly above the reference (two standard errors)."""
    mean = float(returns.mean())
    error = float(returns.std(ddof=1) / np.sqrt(len(returns))) if len(returns) > 1 else 0.0
    if mean - reference > 2 * error:
        return
    raise EvidenceError(
        f"the policy's return {mean:.4g} +- {error:.2g} is not clearly above the reference "
        f"{reference:.4g} ({text}), so a share of it means nothing: check that the policy fits "
        "the environment"
    )
