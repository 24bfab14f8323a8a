"""A bound on the memory and work that a graph may take, checked before each operation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from rpd_core.errors import FitError

_NUMBERS = 2**26, 2**23
"""Numbers that all operations together may give: for constants alone, and for each picture more."""
_PRODUCTS = 2**32, 2**31
"""Multiplications likewise; the zoo's networks need some ten million for a picture."""


class Allowance(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Computes each operation without its numbers first, and refuses results that are too large.

    Sizes multiply from node to node: a few bytes of a graph could ask for any amount of memory, and
    two moderate matrices for hours of work. It slows every operation down, so it is used once, for
    a batch of the size that is played with.
    """

    def __init__(self, rows: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.numbers = _NUMBERS[0] + rows * _NUMBERS[1]
        self.products = _PRODUCTS[0] + rows * _PRODUCTS[1]

    def __torch_dispatch__(
        self, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        outline, outline_kwargs = tree_map(_without_numbers, (args, kwargs))
        try:
            result = func(*outline, **outline_kwargs)
        except (RuntimeError, NotImplementedError, IndexError):
            result = None  # it fails with the numbers, too, or gives a single one
        size = sum(part.numel() for part in tree_leaves(result) if isinstance(part, torch.Tensor))
        self.numbers -= size
        self.products -= size * _products_for_one(func, args)
        if self.numbers < 0 or self.products < 0:
            raise FitError("it computes far more than a network of the zoo does: not one of them")
        return func(*args, **kwargs)


def _without_numbers(value: Any) -> Any:
    return value.to("meta") if isinstance(value, torch.Tensor) else value


def _products_for_one(func: Any, args: Any) -> int:
    """Return how many multiplications one number of a result takes."""
    name = func.overloadpacket.__name__
    if "conv" in name:
        return max(int(args[1][0].numel()), 1) if len(args[1]) else 1
    if name in ("mm", "bmm", "matmul"):
        return max(int(args[0].shape[-1]), 1)
    if "pool" in name:
        return int(args[1][0] * args[1][-1])
    return 1
