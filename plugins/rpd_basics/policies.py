"""Policies made in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rpd_core.components import Choice, Facts, Policy, PolicyInput
from rpd_core.errors import FitError
from rpd_core.importing import import_attribute, source_of


@dataclass(frozen=True)
class PythonPolicy:
    """A function from a batch of observations to a batch of actions (or to a `Choice`)."""

    function: str | Callable[..., Any]
    """`module:attribute`, searched from the working directory, too."""

    def sources(self) -> tuple[Path, ...]:
        """Give the file that the function is written in: another text is another policy."""
        return source_of(self.function)

    def load(self, facts: Facts) -> Policy:
        """Import the function."""
        function = import_attribute(self.function) if isinstance(self.function, str) else None
        return _FunctionPolicy(function or self.function, facts)  # type: ignore[arg-type]


@dataclass
class _FunctionPolicy:
    function: Callable[..., Any]
    facts: Facts

    def __call__(self, seen: PolicyInput) -> Choice:
        answer = self.function(seen.observations)
        if isinstance(answer, Choice):
            return answer
        actions = np.asarray(answer)
        if actions.shape[:1] != (self.facts.lanes,):
            raise FitError(
                f"the policy function must give one action for each of the {self.facts.lanes} "
                f"observations of a batch, got an array of shape {actions.shape}"
            )
        return Choice(actions)
