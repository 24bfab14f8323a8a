"""The allow-list: every operator that is run for a stranger, by its exact name.

Left out on purpose: whatever touches files (`aten::save`, `aten::from_file`), prints, draws random
numbers (they would not be keyed to the episode), reaches memory by address (`aten::as_strided`,
`aten::set_`), calls what is not in the file (`prim::PythonOp`) or starts threads (`prim::fork`).
"""

from __future__ import annotations

from pathlib import Path

from rpd_torchscript.functions import (
    arithmetic,
    attention,
    containers,
    convolution,
    creation,
    elementwise,
    indexing,
    layers,
    old,
    products,
    recurrent,
    reductions,
    scalars,
    shapes,
)
from rpd_torchscript.functions.function import Function
from rpd_torchscript.limits import Refused, refused

__all__ = ["ALLOWED", "RANDOM", "Function", "Table"]

ALLOWED: dict[str, Function] = {
    **arithmetic.FUNCTIONS,
    **attention.FUNCTIONS,
    **containers.FUNCTIONS,
    **convolution.FUNCTIONS,
    **creation.FUNCTIONS,
    **elementwise.FUNCTIONS,
    **indexing.FUNCTIONS,
    **layers.FUNCTIONS,
    **products.FUNCTIONS,
    **recurrent.FUNCTIONS,
    **reductions.FUNCTIONS,
    **scalars.FUNCTIONS,
    **shapes.FUNCTIONS,
}
"""Every operator that is run without `trust=true`."""

_RANDOM = (
    "bernoulli bernoulli_ exponential_ multinomial normal normal_ rand rand_like randint "
    "randint_like randn randn_like randperm uniform uniform_"
)
RANDOM = frozenset(f"aten::{word}" for word in _RANDOM.split())
"""Operators that draw random numbers; refused with a better hint than the others."""


class Table:
    """The functions for one file, whose version decides what old operators mean."""

    def __init__(self, path: Path, version: int) -> None:
        self.path = path
        self.functions = {**ALLOWED, **old.functions_for(version)}

    def get(self, name: str) -> Function:
        """Return the function of an operator, or raise the error that names it."""
        if name in RANDOM:
            raise Refused(
                f"{self.path.name} draws its actions itself ({name!r}), which no seed could "
                "repeat: save a module that returns logits, and rpd draws from them"
            )
        if name not in self.functions:
            raise refused(self.path, f"uses the operator {name[:100]!r}, which rpd does not run")
        return self.functions[name]
