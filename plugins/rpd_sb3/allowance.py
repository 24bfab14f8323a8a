"""A bound on the memory that settings from a file may ask for while a network is built."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from rpd_core.untrusted.boundary import Flaw
from rpd_sb3.weights import Weights

_FACTORIES = frozenset({torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn})
_TIMES = 4
"""How often the stored weights may be made: for targets, and for parts that are shared."""
_SPARE = 2**20, 1000
"""Numbers and tensors that any network may have besides."""


class Allowance(TorchFunctionMode):
    """Counts what is about to be allocated, and refuses more than the stored weights can fill.

    The sizes of layers stand in the settings and the weights in another part of the file, so a
    short list of sizes could ask for any amount of memory, or for a million layers.
    """

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.numbers = _TIMES * sum(value.numel() for value in weights.values()) + _SPARE[0]
        self.tensors = _TIMES * len(weights) + _SPARE[1]

    def __torch_function__(
        self, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _FACTORIES:
            self._spend(args[0] if args else kwargs.get("size", ()), args)
        return func(*args, **kwargs)

    def _spend(self, first: Any, args: tuple[Any, ...]) -> None:
        sizes = first if isinstance(first, tuple | list) else args
        self.numbers -= math.prod(size for size in sizes if isinstance(size, int))
        self.tensors -= 1
        if self.numbers < 0 or self.tensors < 0:
            raise Flaw("its settings describe a network far larger than the stored weights")
