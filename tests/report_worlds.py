"""Further policies of the corridor, one of them in a file, for tests of reading."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import worlds

from rpd_core.plugin.protocols import Choice, Facts, Policy, PolicyInput


@dataclass(frozen=True)
class Filed:
    """Does what a file says."""

    path: Path
    """The file, which holds the number of an action."""

    def load(self, facts: Facts) -> Policy:
        return worlds.Goes(int(self.path.read_text())).load(facts)


@dataclass(frozen=True)
class Wavers:
    """Goes, but drifts in one state of the corridor."""

    at: int = 2
    """The state."""

    def load(self, facts: Facts) -> Policy:
        def decide(seen: PolicyInput) -> Choice:
            return Choice(np.where(np.asarray(seen.observations)[:, 0] == self.at, 0, 1))

        return decide
