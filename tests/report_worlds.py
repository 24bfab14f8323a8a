"""A policy that lives in a file, for tests of reading."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import worlds

from rpd_core.plugin.protocols import Facts, Policy


@dataclass(frozen=True)
class Filed:
    """Does what a file says."""

    path: Path
    """The file, which holds the number of an action."""

    def load(self, facts: Facts) -> Policy:
        return worlds.Goes(int(self.path.read_text())).load(facts)
