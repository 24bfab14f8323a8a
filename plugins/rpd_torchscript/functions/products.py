"""Products of matrices, their work and their results bounded before they are made."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch import Tensor

from rpd_torchscript.functions.elementwise import broadcast_count
from rpd_torchscript.functions.function import Function
from rpd_torchscript.limits import Fault, Meter, check_count
from rpd_torchscript.values import check_number, check_tensor, check_tensors

_linear = torch._C._nn.linear
_MOST_OPERANDS = 8


def linear(meter: Meter, value: Any, weight: Any, bias: Any = None) -> Tensor:
    """Multiply by a matrix and add."""
    rows, matrix = check_tensor(value), check_tensor(weight)
    if matrix.dim() != 2:
        raise Fault("a linear layer needs a matrix")
    if bias is not None:
        check_tensor(bias)
    outputs, inputs = matrix.shape
    count = prod(rows.shape[:-1]) * outputs
    check_count(count)
    meter.worked(count * inputs)
    return meter.made(_linear(rows, matrix, bias))


def check_product(meter: Meter, left: Tensor, right: Tensor) -> None:
    """Refuse a product of matrices (or stacks of them) that is too large."""
    if not left.dim() or not right.dim():
        raise Fault("a number is multiplied as a matrix")
    inner = left.size(-1)
    rows = left.size(-2) if left.dim() > 1 else 1
    columns = right.size(-1) if right.dim() > 1 else 1
    stacks = broadcast_count([tuple(left.shape[:-2]), tuple(right.shape[:-2])])
    count = stacks * rows * columns
    check_count(count)
    check_count(stacks * rows * inner)  # stacks are copied to the same size first
    check_count(stacks * inner * columns)
    meter.worked(count * inner)


def _product(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def call(meter: Meter, left: Any, right: Any) -> Tensor:
        check_product(meter, check_tensor(left), check_tensor(right))
        return meter.made(function(left, right))

    return call


def _added_product(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def call(
        meter: Meter, value: Any, left: Any, right: Any, *, beta: Any = 1, alpha: Any = 1
    ) -> Tensor:
        check_product(meter, check_tensor(left), check_tensor(right))
        factors = {"beta": check_number(beta), "alpha": check_number(alpha)}
        return meter.made(function(check_tensor(value), left, right, **factors))

    return call


def _einsum(meter: Meter, equation: Any, operands: Any, *, path: Any = None) -> Tensor:
    """Check an Einstein sum: the product of all sizes bounds work and all that lies between."""
    tensors = check_tensors(operands)
    if not isinstance(equation, str) or "..." in equation or len(tensors) > _MOST_OPERANDS:
        raise Fault("an einsum is written in a way that is not supported")
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(tensors):
        raise Fault(f"the einsum {equation[:50]!r} needs {len(terms)} tensors")
    sizes: dict[str, int] = {}
    for term, tensor in zip(terms, tensors, strict=True):
        if len(term) != tensor.dim() or not (term.isalpha() or not term):
            raise Fault(f"the einsum {equation[:50]!r} does not fit its tensors")
        for letter, size in zip(term, tensor.shape, strict=True):
            sizes[letter] = max(size, sizes.get(letter, 1))
    work = prod(sizes.values())
    if len(tensors) > 2 or not arrow:
        check_count(work)
    if not set(output) <= set(sizes):
        raise Fault(f"the einsum {equation[:50]!r} does not fit its tensors")
    check_count(prod(sizes[letter] for letter in output))
    meter.worked(work)
    return meter.made(torch.einsum(equation, tensors))


_CALLS: dict[str, Callable[..., Any]] = {
    "aten::addmm": _added_product(torch.addmm),
    "aten::addmv": _added_product(torch.addmv),
    "aten::baddbmm": _added_product(torch.baddbmm),
    "aten::bmm": _product(torch.bmm),
    "aten::dot": _product(torch.dot),
    "aten::einsum": _einsum,
    "aten::linear": linear,
    "aten::matmul": _product(torch.matmul),
    "aten::mm": _product(torch.mm),
    "aten::mv": _product(torch.mv),
}
_RAW: dict[str, Callable[..., Any]] = {
    "aten::addmm": torch.addmm,
    "aten::bmm": torch.bmm,
    "aten::linear": _linear,
    "aten::matmul": torch.matmul,
    "aten::mm": torch.mm,
}
FUNCTIONS = {name: Function(call, raw=_RAW.get(name)) for name, call in _CALLS.items()}
