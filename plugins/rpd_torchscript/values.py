"""The values that the code of a file works on, besides tensors and Python's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from rpd_torchscript.limits import Fault

TYPE_OF_CODE = {
    0: torch.uint8, 1: torch.int8, 2: torch.int16, 3: torch.int32, 4: torch.int64,
    5: torch.float16, 6: torch.float32, 7: torch.float64, 11: torch.bool, 15: torch.bfloat16,
}  # fmt: skip
"""TorchScript writes types of numbers as whole numbers."""
CODE_OF_TYPE = {dtype: code for code, dtype in TYPE_OF_CODE.items()}


@dataclass(eq=False)
class Module:
    """An object of one of the file's classes."""

    kind: str
    """The qualified name of its class."""
    attributes: dict[str, Any] = field(default_factory=dict, repr=False)


class StoredList(list[Any]):
    """A list that belongs to the module; code may read it, never change it."""


class StoredDict(dict[Any, Any]):
    """A dictionary that belongs to the module; code may read it, never change it."""


def kind_of(value: Any) -> str:
    """Return what a value is, in words for an error."""
    return f"a tensor of {value.dtype}" if isinstance(value, Tensor) else type(value).__name__


def check(value: Any, *kinds: type) -> Any:
    """Return a value that is of one of some types; a truth value is no whole number."""
    if isinstance(value, kinds) and (type(value) is not bool or bool in kinds):
        return value
    wanted = " or ".join(kind.__name__ for kind in kinds)
    raise Fault(f"{wanted} is needed where the code has {kind_of(value)}")
