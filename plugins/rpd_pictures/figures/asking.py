"""What may be asked of a figure."""

from __future__ import annotations

from dataclasses import dataclass

from rpd_core.errors import ConfigError


class PlotError(ConfigError):
    """A figure cannot be drawn of this run, or not so."""


@dataclass(frozen=True)
class PlotOptions:
    """What is to be shown in a figure."""

    measures: tuple[str, ...] = ()
    """Measures; none: all of the analysis."""
    count: int = 15
    """Decisions."""
    pair: tuple[str, str] | None = None
    """Two entries of a state, by name or number; none: the two that take most values."""

    def __post_init__(self) -> None:
        if self.count < 1:
            raise PlotError(f"a figure shows at least 1 decision, got {self.count}")
