"""A resolved configuration: what is stored, compared and digested."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rpd_core.config.identity import Json, short_digest
from rpd_core.config.settings import ASKED, AUTO, Settings


@dataclass(frozen=True)
class Configuration:
    """A whole run, with every setting resolved and every component as text."""

    env: str
    policy: str
    max_steps: int
    settings: Settings
    components: Mapping[str, Any] = field(default_factory=dict)
    """Identity of the environment, policy, abstractions and default action."""
    live: bool = False
    """Whether a component is a function that only the Python process that made it knows."""

    open_rate: bool = False
    """Whether a pilot is still to find the mutation rate; the one in the settings stands in."""

    def digest(self) -> str:
        """Return a short name for what fixes every episode."""
        return short_digest(self.identity())

    def identity(self) -> Json:
        """Return what must be equal for two suites to hold the same episodes."""
        exact = {key: getattr(self.settings, key) for key in ("mutation_rate", "lanes", "seed")}
        if self.open_rate:
            exact["mutation_rate"] = AUTO
        if self.settings.names:  # they stand in the words of every state
            exact["names"] = self.settings.names
        return plain({**exact, "max_steps": self.max_steps, **self.components})

    def suite_json(self) -> Json:
        """Return what `run.json` holds."""
        return plain(
            {
                "env": self.env,
                "policy": self.policy,
                "max_steps": self.max_steps,
                "settings": self.settings.of_scope("suite", "size"),
                "components": self.components,
                "live": self.live,
            }
        )

    def analysis_json(self) -> Json:
        """Return what `analysis.json` holds: what is asked of the suite."""
        return plain(self.settings.of_scope(*ASKED))


def plain(value: Mapping[str, object]) -> Json:
    """Return a table as JSON has it: lists for tuples, text for keys."""
    as_json: Json = json.loads(json.dumps(value))
    return as_json
