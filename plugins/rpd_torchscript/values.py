"""The values that the code of a file works on, besides tensors and Python's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import torch
from torch import Tensor

from rpd_torchscript.limits import Fault, check_count

TYPE_OF_CODE = {
    0: torch.uint8, 1: torch.int8, 2: torch.int16, 3: torch.int32, 4: torch.int64,
    5: torch.float16, 6: torch.float32, 7: torch.float64, 11: torch.bool, 15: torch.bfloat16,
}  # fmt: skip
"""TorchScript writes types of numbers as whole numbers."""
CODE_OF_TYPE = {dtype: code for code, dtype in TYPE_OF_CODE.items()}
_FORMATS = {
    0: torch.contiguous_format,
    1: torch.preserve_format,
    2: torch.channels_last,
    3: torch.channels_last_3d,
}


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


class Uninitialized:
    """The value of a variable on a way that ends in an exception."""


def kind_of(value: Any) -> str:
    """Return what a value is, in words for an error."""
    return f"a tensor of {value.dtype}" if isinstance(value, Tensor) else type(value).__name__


def needs_tensor(value: Any) -> Fault:
    """Return the error for a value that should be a tensor."""
    return Fault(f"a tensor is needed where the code has {kind_of(value)}")


def check_tensor(value: Any) -> Tensor:
    """Return a value that is a tensor; an empty one counts as if its empty axes had one number.

    A sum over an empty axis, or a product of empty rows, would be as large as all the other axes.
    """
    if type(value) is not Tensor:
        raise needs_tensor(value)
    if not value.numel():
        check_count(prod(max(size, 1) for size in value.shape))
    return value


def check_int(value: Any) -> int:
    """Return a value that is a whole number."""
    if type(value) is not int:
        raise Fault(f"a whole number is needed where the code has {kind_of(value)}")
    return value


def check_number(value: Any) -> int | float | bool:
    """Return a value that is a number."""
    if type(value) not in (int, float, bool):
        raise Fault(f"a number is needed where the code has {kind_of(value)}")
    return value  # type: ignore[no-any-return]


def check_ints(value: Any) -> list[int]:
    """Return a list of whole numbers; one number stands for a list of it."""
    if type(value) is int:
        return [value]
    if not isinstance(value, list | tuple):
        raise Fault(f"a list of whole numbers is needed where the code has {kind_of(value)}")
    for item in value:
        if type(item) is not int:
            raise Fault(f"a list of whole numbers has {kind_of(item)} in it")
    return list(value)


def check_tensors(value: Any) -> list[Tensor]:
    """Return a list of tensors."""
    if not isinstance(value, list | tuple):
        raise Fault(f"a list of tensors is needed where the code has {kind_of(value)}")
    return [check_tensor(item) for item in value]


def dtype_of(code: Any) -> torch.dtype | None:
    """Return the type of numbers that a code stands for; None stays None."""
    if code is None:
        return None
    if type(code) is not int or code not in TYPE_OF_CODE:
        raise Fault(f"numbers of type {str(code)[:20]} are not supported")
    return TYPE_OF_CODE[code]


def memory_format_of(code: Any) -> torch.memory_format | None:
    """Return the order in memory that a code stands for; None stays None."""
    if code is None:
        return None
    if type(code) is not int or code not in _FORMATS:
        raise Fault(f"the memory format {str(code)[:20]} is not supported")
    return _FORMATS[code]


def frozen(value: Any) -> Any:
    """Return a value that can be a key: lists become tuples."""
    return tuple(value) if isinstance(value, list) else value


def shape_of(tensor: Any) -> tuple[int, ...] | None:
    """Return the shape of a tensor that may be missing."""
    return None if tensor is None else check_tensor(tensor).shape
