"""Rules for functions of single numbers, for shapes, sums along axes, new tensors and indices.

Each bounds the result before it is made. Rules look at shapes and plain numbers; one that must look
at numbers inside a tensor tells the meter.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, isfinite, prod
from typing import Any

import torch
from torch import Tensor

from rpd_torchscript.functions.operator import Given, Rule
from rpd_torchscript.limits import NUMBERS, PIECES, Fault, Meter, check_count, check_sizes

_SCATTERING = 10
"""What a number that is put into its place counts for, in multiplications."""
_INDICES = (torch.bool, torch.int8, torch.int16, torch.int32, torch.int64)


def broadcast_count(shapes: Iterable[tuple[int, ...]]) -> int:
    """Return how many numbers come out at most when tensors of these shapes are combined."""
    known = list(shapes)
    count = 1
    for place in range(1, max(map(len, known), default=0) + 1):
        count *= max(shape[-place] for shape in known if len(shape) >= place)
    return count


def combined(meter: Meter, given: Given) -> None:
    """Bound a function that combines tensors number by number."""
    tensors = [value for value in given.values() if type(value) is Tensor]
    if prod(tensor.numel() for tensor in tensors) > NUMBERS:
        check_count(broadcast_count(tuple(tensor.shape) for tensor in tensors))


def divided(meter: Meter, given: Given) -> None:
    """Refuse a rounded division of whole numbers by zero, or of the least one by -1.

    The processor would answer with a signal, so the numbers themselves are looked at.
    """
    combined(meter, given)
    if "rounding_mode" in given and given["rounding_mode"] is None:
        return
    dividend, divisor = (torch.as_tensor(given[name]) for name in ("self", "other"))
    if dividend.is_floating_point() or divisor.is_floating_point():
        return
    meter.read(*(value for value in given.values() if type(value) is Tensor))
    if bool((divisor == 0).any()):
        raise Fault("a whole number is divided by zero")
    kind = torch.promote_types(dividend.dtype, divisor.dtype)
    least = -1 if kind == torch.bool else torch.iinfo(kind).min
    if bool((divisor == -1).any()) and bool((dividend == least).any()):
        raise Fault("the least whole number is divided by -1")


def along(cost: int) -> Rule:
    """Return the rule of a function whose result is no larger than its first argument."""

    def rule(meter: Meter, given: Given) -> None:
        meter.worked(cost * next(iter(given.values())).numel())

    return rule


def joined(meter: Meter, given: Given) -> None:
    """Bound tensors that are put together."""
    tensors = given["tensors"]
    meter.stepped(len(tensors) // 10)
    check_count(sum(tensor.numel() for tensor in tensors))


def spread(meter: Meter, given: Given) -> None:
    """Bound tensors that are expanded to one shape; they show the same numbers over and over."""
    check_count(broadcast_count(tuple(tensor.shape) for tensor in given["tensors"]))


def cut(meter: Meter, given: Given) -> None:
    """Bound the number of pieces that a tensor is cut into."""
    tensor, sizes = given["self"], given.get("split_size", given.get("split_sizes"))
    length = tensor.size(given["dim"]) if tensor.dim() else 1
    most = max(length + 1, given.get("chunks", 0))
    count = len(sizes) if isinstance(sizes, list | tuple) else most
    if count > PIECES:
        raise Fault(f"a tensor of shape {tuple(tensor.shape)} is cut into {count} pieces")
    meter.stepped(count)


def sized(meter: Meter, given: Given) -> None:
    """Bound a tensor that is made of its sizes."""
    check_sizes(given["size"])


def turned(meter: Meter, given: Given) -> None:
    """Check a matrix whose axes change places; torch would warn about anything else."""
    if given["self"].dim() != 2:
        raise Fault(f"a tensor of {given['self'].dim()} axes is turned like a matrix")


def expanded(meter: Meter, given: Given) -> None:
    """Bound a tensor that is spread over more axes."""
    tensor = given["self"]
    sizes = given["other"].shape if "other" in given else given["size"]
    lead = len(sizes) - tensor.dim()
    if lead < 0:
        raise Fault(f"a tensor of {tensor.dim()} axes is not expanded to {list(sizes)[:9]}")
    check_sizes(
        [
            tensor.size(place - lead) if size == -1 and place >= lead else size
            for place, size in enumerate(sizes)
        ]
    )


def repeated(meter: Meter, given: Given) -> None:
    """Bound a tensor that is laid side by side with itself."""
    repeats = given["repeats"]
    if type(repeats) is Tensor:
        meter.read(repeats)  # they decide over the shape of the result
        check_count(given["self"].numel() * int(repeats.double().clamp(0, NUMBERS).sum()))
        return
    times = [repeats] if type(repeats) is int else repeats
    check_sizes(times)
    check_count(given["self"].numel() * prod(times))


def counted(meter: Meter, given: Given) -> None:
    """Bound a row of numbers from a start to an end."""
    start, end, step = given.get("start", 0), given["end"], given.get("step", 1)
    if not all(map(isfinite, (start, end, step))) or not step:
        raise Fault(f"numbers from {start} to {end} in steps of {step} are not to be had")
    check_count(max(ceil((end - start) / step), 0))


def indexed(meter: Meter, given: Given) -> None:
    """Bound what a list of indices picks; the shape of what a mask picks depends on its numbers."""
    tensor, indices = given["self"], given["indices"]
    chosen = [index for index in indices if index is not None]
    if not chosen or any(index.dtype not in _INDICES for index in chosen):
        raise Fault("a tensor is indexed by what is no whole number")
    masks = [index for index in chosen if index.dtype == torch.bool]
    used = sum(mask.dim() for mask in masks) + len(indices) - len(masks)
    if used > tensor.dim():
        raise Fault(f"a tensor of {tensor.dim()} axes has too many indices")
    if masks:
        if "values" not in given:  # what is written to keeps its shape
            meter.read(*masks)
        others = (max(index.numel(), 1) for index in chosen if index.dtype != torch.bool)
        count = tensor.numel() * prod(others)
        check_count(count)
        meter.worked(_SCATTERING * count)
        return
    kept = [n for n, index in zip(tensor.shape, indices, strict=False) if index is None]
    rest = prod(kept) * prod(tensor.shape[len(indices) :])
    count = rest * broadcast_count(tuple(index.shape) for index in chosen)
    check_count(count)
    meter.worked(_SCATTERING * count)


def selected(meter: Meter, given: Given) -> None:
    """Bound the rows that an index picks along one axis."""
    tensor, index = given["self"], given["index"]
    length = tensor.size(given["dim"]) if tensor.dim() else 1
    check_count(tensor.numel() * max(index.numel(), 1) // max(length, 1))


def embedded(meter: Meter, given: Given) -> None:
    """Bound the rows of a table."""
    table = given["weight"]
    if table.dim() != 2:
        raise Fault("the table of an embedding needs two axes")
    check_count(given["indices"].numel() * table.size(1))


def one_hot(meter: Meter, given: Given) -> None:
    """Bound rows with a single 1; without a number of classes it depends on the numbers."""
    tensor, classes = given["self"], given["num_classes"]
    if classes == -1:
        meter.read(tensor)
        classes = int(tensor.max()) + 1 if tensor.numel() else 0
    if classes < 1:
        raise Fault(f"one-hot numbers need at least one class, not {classes}")
    check_count(tensor.numel() * classes)


def scattered(meter: Meter, given: Given) -> None:
    """Count the numbers that are looked up or put down, which may be more than there are places."""
    source = given.get("src")
    sources = source.numel() if type(source) is Tensor else 0
    meter.worked(_SCATTERING * max(given["index"].numel(), sources))


def anything(meter: Meter, given: Any) -> None:
    """Allow a function whose result is never larger than what is there already."""
