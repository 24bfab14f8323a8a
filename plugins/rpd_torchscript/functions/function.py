"""One function of the allow-list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Function:
    """What is done for an operator, and what the compiler must know of it."""

    call: Callable[..., Any]
    """Takes the meter of the call, then the operator's arguments."""
    folds: Literal["never", "plain", "always"] = "never"
    """Whether a call with known values is done once and for all; `plain`: unless with tensors."""
    writes: bool = False
    """Whether it changes its first argument in place."""
    keeps: bool = False
    """Whether a list among its arguments lives on in its result."""
    reads: bool = False
    """Whether numbers in a tensor decide over plain values or over the shape of the result."""
    raw: Callable[..., Any] | None = None
    """The same without checks and meter, for tensors whose shapes were checked before."""
