"""Policies made in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rpd_basics.functions import place_of
from rpd_core.errors import FitError, RpdError, one_line
from rpd_core.plugin.importing import import_attribute, source_of
from rpd_core.plugin.protocols import Choice, Facts, Policy, PolicyInput


@dataclass(frozen=True)
class PythonPolicy:
    """A function from a batch of observations to a batch of actions (or to a `Choice`)."""

    function: str | Callable[..., Any]
    """`module:attribute`, searched from the working directory, too."""

    @property
    def runs_code(self) -> bool:
        """Whether a module of the user's is imported: always."""
        return True

    def sources(self) -> tuple[Path, ...]:
        """Return the file that the function is written in: another text is another policy."""
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
        try:
            answer = self.function(seen.observations)
        except (RpdError, SystemExit):
            raise
        except Exception as error:  # it is the user's own
            message = f"the policy function raised {one_line(error)} ({place_of(error)})"
            raise FitError(message) from error
        if isinstance(answer, Choice):
            return answer
        actions = self._actions(answer)
        if actions.shape[:1] != (self.facts.lanes,):
            raise FitError(
                f"the policy function must return one action for each of the {self.facts.lanes} "
                f"observations of a batch, got an array of shape {actions.shape}"
            )
        return Choice(actions)

    def _actions(self, answer: Any) -> Any:
        """Return an answer as an array; of a pair, as `predict` returns it, the first part."""
        first = answer[0] if isinstance(answer, tuple) and answer else None
        if tuple(getattr(first, "shape", ()))[:1] == (self.facts.lanes,):
            answer = first
        return np.asarray(answer.detach().cpu() if hasattr(answer, "detach") else answer)
