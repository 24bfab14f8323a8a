"""Plain functions as components: `python:module:attribute`, or a function handed over in Python."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.errors import ComponentError, RpdError, one_line
from rpd_core.plugin.importing import import_attribute, source_of
from rpd_core.plugin.protocols import DefaultActor, Episodes, Evidence, Facts, Moment, Scores

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, Batch, FloatArray

Named = str | Callable[..., Any]


def called(function: Named) -> Callable[..., Any]:
    """Return the function itself, imported where it is named."""
    imported: Callable[..., Any] = (
        import_attribute(function) if isinstance(function, str) else function
    )
    return imported


def _answer(what: str, function: Named, given: object) -> Any:
    """Return what a function of the user's gives, or say where it failed."""
    try:
        return called(function)(given)
    except RpdError:
        raise
    except Exception as error:  # it is the user's own
        message = f"the {what} function raised {one_line(error)} ({place_of(error)})"
        raise ComponentError(message) from error


def place_of(error: Exception) -> str:
    """Describe where in the function's own file an error arose."""
    _, *frames = traceback.extract_tb(error.__traceback__)  # the first is ours
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    return f"{Path(own[-1].filename).name}, line {own[-1].lineno}" if own else "at its call"


@dataclass(frozen=True)
class PythonAbstraction:
    """A function from a batch of observations to a batch of abstract states."""

    function: str | Callable[..., Any]
    """`module:attribute`, searched from the working directory, too."""

    def sources(self) -> tuple[Path, ...]:
        """Return the file that the function is written in: another text is another abstraction."""
        return source_of(self.function)

    def __call__(self, values: Batch, views: Mapping[str, Array]) -> Array:
        return np.asarray(_answer("abstraction", self.function, values))


@dataclass(frozen=True)
class PythonDefaultAction:
    """A function from a `Moment` to a batch of actions."""

    function: str | Callable[..., Any]
    """`module:attribute`, searched from the working directory, too."""

    def sources(self) -> tuple[Path, ...]:
        """Return the file that the function is written in: another text is another action."""
        return source_of(self.function)

    def open(self, facts: Facts) -> DefaultActor:
        """Import the function."""
        return _FunctionActor(called(self.function))


@dataclass(frozen=True)
class _FunctionActor:
    function: Callable[..., Any]

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(getattr(self.function, "needs", ()))

    def __call__(self, moment: Moment) -> Array:
        return np.asarray(_answer("default action", self.function, moment))


@dataclass(frozen=True)
class PythonMeasure:
    """A function from `Evidence` to one score per state."""

    function: str | Callable[..., Any]
    """`module:attribute`, searched from the working directory, too."""

    @property
    def needs(self) -> tuple[str, ...]:
        """What the function's attribute `needs` says, if it has one."""
        return tuple(getattr(called(self.function), "needs", ()))

    def __call__(self, evidence: Evidence) -> FloatArray | Scores:
        scores: FloatArray | Scores = called(self.function)(evidence)
        return scores


@dataclass(frozen=True)
class PythonCondition:
    """A function from `Episodes` to one weight in [0, 1] per episode."""

    function: str | Callable[..., Any]
    """`module:attribute`, searched from the working directory, too."""

    def __call__(self, episodes: Episodes) -> FloatArray:
        return np.asarray(called(self.function)(episodes), dtype=np.float64)
