"""Rules for the layers of networks: the work and the size of a result, before torch is asked.

Torch compares the shapes of inputs and weights itself, except in recurrent layers.
"""

from __future__ import annotations

from math import prod
from typing import Any

from torch import Tensor

from rpd_torchscript.functions.operator import Given, Rule
from rpd_torchscript.functions.sizes import broadcast_count
from rpd_torchscript.limits import Fault, Forbidden, Meter, check_count, check_sizes

_WIDEST = 2**20
"""Pixels of padding, steps and the like."""
_NORMALISING = 10
"""What a normalised number counts for, in multiplications."""
_MOST_LAYERS = 32


def linear(meter: Meter, given: Given) -> None:
    """Count a product with a matrix."""
    rows, matrix = given["input"], given["weight"]
    if matrix.dim() != 2:
        raise Fault("a linear layer needs a matrix")
    outputs, inputs = matrix.shape
    count = prod(rows.shape[:-1]) * outputs
    check_count(count)
    meter.worked(count * inputs)


def product(meter: Meter, given: Given) -> None:
    """Count a product of matrices, or of stacks of them: the last two tensors that are given."""
    left, right = [value for value in given.values() if type(value) is Tensor][-2:]
    if not left.dim() or not right.dim():
        raise Fault("a number is multiplied as a matrix")
    inner = left.size(-1)
    rows = left.size(-2) if left.dim() > 1 else 1
    columns = right.size(-1) if right.dim() > 1 else 1
    stacks = broadcast_count([tuple(left.shape[:-2]), tuple(right.shape[:-2])])
    check_count(stacks * rows * columns)
    check_count(stacks * rows * inner)  # stacks are copied to the same size first
    check_count(stacks * inner * columns)
    meter.worked(stacks * rows * columns * inner)


def _spread(value: Any, axes: int, low: int, what: str) -> list[int]:
    """Return one number for each axis, each within its bounds."""
    numbers = [value] if type(value) is int else list(value)
    numbers = numbers * axes if len(numbers) == 1 else numbers
    if len(numbers) != axes or any(not low <= number <= _WIDEST for number in numbers):
        raise Fault(f"a {what} of {numbers[:9]} does not fit {axes} axes")
    return numbers


def convolution(meter: Meter, given: Given) -> None:
    """Refuse a convolution whose result, or whose windows laid out, are too large."""
    picture, kernel = given["input"].shape, given["weight"].shape
    axes = len(kernel) - 2
    if given.get("transposed"):
        raise Forbidden("uses a transposed convolution, which rpd does not run")
    if axes not in (1, 2, 3) or len(picture) not in (axes + 1, axes + 2) or 0 in kernel:
        raise Fault(f"a convolution of {tuple(kernel)} does not fit the shape {tuple(picture)}")
    steps = _spread(given["stride"], axes, 1, "stride")
    gaps = _spread(given["dilation"], axes, 1, "dilation")
    windows = [gap * (size - 1) + 1 for gap, size in zip(gaps, kernel[2:], strict=True)]
    edges = _edges(given["padding"], windows)
    free = [picture[i - axes] + 2 * edges[i] - windows[i] for i in range(axes)]
    places = prod(max(free[i], 0) // steps[i] + 1 for i in range(axes))
    lanes = picture[0] if len(picture) == axes + 2 else 1
    check_count(lanes * kernel[0] * places)
    check_count(picture[-axes - 1] * prod(kernel[2:]) * places)
    meter.worked(lanes * places * prod(kernel))


def _edges(padding: Any, windows: list[int]) -> list[int]:
    """Return the most that is added on each side of a picture."""
    if isinstance(padding, str):  # "valid" or "same"
        return [window // 2 + 1 for window in windows]
    return _spread(padding, len(windows), 0, "padding")


def pooling(axes: int) -> Rule:
    """Return the rule of a pooling layer over so many axes."""

    def rule(meter: Meter, given: Given) -> None:
        picture = given["self"].shape
        window = _spread(given["kernel_size"], axes, 1, "window")
        steps = _spread(given["stride"], axes, 1, "stride") if given["stride"] else window
        edges = _spread(given["padding"], axes, 0, "padding")
        sides = [side + 2 * edge for side, edge in zip(picture[-axes:], edges, strict=True)]
        places = [side // step + 2 for side, step in zip(sides, steps, strict=True)]
        count = prod(picture[:-axes]) * prod(places)
        check_count(count)
        meter.worked(count * prod(window))

    return rule


def adaptive_pooling(axes: int) -> Rule:
    """Return the rule of a pooling layer that makes pictures of a certain size."""

    def rule(meter: Meter, given: Given) -> None:
        picture = given["self"].shape
        sizes = _spread(given["output_size"], axes, 1, "size")
        check_sizes([*picture[:-axes], *sizes])
        windows = [side // size + 2 for side, size in zip(picture[-axes:], sizes, strict=True)]
        meter.worked(prod(picture[:-axes]) * prod(sizes) * prod(windows))

    return rule


def padded(meter: Meter, given: Given) -> None:
    """Bound a tensor that gets wider at its edges."""
    sizes, edges = list(given["self"].shape), given["pad"]
    if len(edges) % 2 or len(edges) > 2 * len(sizes) or any(abs(e) > _WIDEST for e in edges):
        raise Fault(f"shape {tuple(sizes)} is not padded by {list(edges)[:9]}")
    for place in range(len(edges) // 2):
        sizes[-place - 1] += edges[2 * place] + edges[2 * place + 1]
    check_sizes(sizes)


def normalised(meter: Meter, given: Given) -> None:
    """Check that a layer normalises every lane by itself, and keeps its statistics as they are."""
    if given.get("training"):
        raise Forbidden(
            "normalises over the lanes of a batch ('aten::batch_norm' in training mode), so that "
            "an episode would depend on the others; call eval() before saving it"
        )
    if given.get("use_input_stats") and given["running_mean"] is not None:
        raise Forbidden("changes its own statistics when it is called ('aten::instance_norm')")
    meter.worked(_NORMALISING * given["input"].numel())


def dropout(meter: Meter, given: Given) -> None:
    """Check that nothing is left out: a module that is played is in evaluation mode."""
    if given["train"]:
        raise Forbidden(
            "leaves numbers out at random ('aten::dropout' in training mode), which no seed could "
            "repeat; call eval() before saving it"
        )


def _check_shape(tensor: Tensor | None, *shape: int) -> None:
    if tensor is not None and tuple(tensor.shape) != shape:
        raise Fault(f"a recurrent layer has {tuple(tensor.shape)} numbers where it needs {shape}")


def recurrent_layers(gates: int) -> Rule:
    """Return the rule of recurrent layers with so many gates, whose weights torch would believe."""

    def rule(meter: Meter, given: Given) -> None:
        sequence, weights = given["input"], list(given["params"])
        if given["train"] and given["dropout"]:
            raise Forbidden("leaves numbers out at random (a recurrent layer in training mode)")
        states = given["hx"]
        hidden = list(states) if isinstance(states, list | tuple) else [states]
        if len(hidden) != (2 if gates == 4 else 1) or not all(state.numel() for state in hidden):
            raise Fault(f"a recurrent layer does not take {len(hidden)} such hidden states")
        layers, ways = given["num_layers"], 2 if given["bidirectional"] else 1
        each = 4 if given["has_biases"] else 2
        if not 1 <= layers <= _MOST_LAYERS or len(weights) != layers * each * ways:
            raise Fault(f"{len(weights)} tensors do not make {layers} recurrent layers")
        if sequence.dim() != 3 or not sequence.numel():
            raise Fault(f"a recurrent layer does not take shape {tuple(sequence.shape)}")
        size, first = hidden[0].size(-1), given["batch_first"]
        for state in hidden:
            _check_shape(state, layers * ways, sequence.size(0 if first else 1), size)
        for number in range(layers * ways):
            inputs = sequence.size(2) if number < ways else ways * size
            part = weights[number * each : (number + 1) * each]
            _check_shape(part[0], gates * size, inputs)
            _check_shape(part[1], gates * size, size)
            for bias in part[2:]:
                _check_shape(bias, gates * size)
        rows = sequence.size(0) * sequence.size(1)
        check_count(rows * gates * size * ways * layers)
        meter.worked(rows * sum(weight.numel() for weight in weights))
        meter.stepped(sequence.size(1 if first else 0) * layers)

    return rule


def recurrent_cell(meter: Meter, given: Given) -> None:
    """Count the products of a recurrent cell; torch makes it of ordinary functions."""
    rows, inner, outer = given["input"], given["w_ih"], given["w_hh"]
    lanes = prod(rows.shape[:-1])
    check_count(lanes * max(inner.size(0), outer.size(0)))
    meter.worked(lanes * (inner.numel() + outer.numel()))
