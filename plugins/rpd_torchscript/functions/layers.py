"""Rules for the layers of networks: every size is worked out before torch is asked."""

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


# ------------------------------------------------------------------ convolution, pooling


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
    if axes not in (1, 2, 3) or len(picture) not in (axes + 1, axes + 2):
        raise Fault(f"a convolution of {tuple(kernel)} does not fit the shape {tuple(picture)}")
    if 0 in kernel or 0 in picture[-axes - 1 :]:
        raise Fault("a convolution has no numbers to work on")
    if not 1 <= given["groups"] <= picture[-axes - 1]:
        raise Fault(f"a convolution in {given['groups']} groups is not to be had")
    steps = _spread(given["stride"], axes, 1, "stride")
    gaps = _spread(given["dilation"], axes, 1, "dilation")
    windows = [gap * (size - 1) + 1 for gap, size in zip(gaps, kernel[2:], strict=True)]
    edges = _edges(given["padding"], windows)
    places = 1
    for axis in range(axes):
        free = picture[axis - axes] + 2 * edges[axis] - windows[axis]
        if free < 0:
            raise Fault("a convolution's window is larger than the picture")
        places *= free // steps[axis] + 1
    lanes = picture[0] if len(picture) == axes + 2 else 1
    check_count(lanes * kernel[0] * places)
    check_count(picture[-axes - 1] * prod(kernel[2:]) * places)
    meter.worked(lanes * places * prod(kernel))


def _edges(padding: Any, windows: list[int]) -> list[int]:
    """Return the most that is added on each side of a picture."""
    if padding == "valid":
        return [0] * len(windows)
    if padding == "same":
        return [window // 2 + 1 for window in windows]
    if isinstance(padding, str):
        raise Fault("a convolution is padded in an unknown way")
    return _spread(padding, len(windows), 0, "padding")


def pooling(axes: int) -> Rule:
    """Return the rule of a pooling layer over so many axes."""

    def rule(meter: Meter, given: Given) -> None:
        picture = _pooled(given["self"], axes)
        window = _spread(given["kernel_size"], axes, 1, "window")
        steps = _spread(given["stride"], axes, 1, "stride") if given["stride"] else window
        edges = _spread(given["padding"], axes, 0, "padding")
        gaps = _spread(given.get("dilation", 1), axes, 1, "dilation")
        if given.get("divisor_override") == 0:
            raise Fault("a pooling layer divides by zero")
        if any(2 * edge > width for edge, width in zip(edges, window, strict=True)):
            raise Fault(f"a pooling window of {window} has a padding of {edges}")
        sizes = [
            (picture[i - axes] + 2 * edges[i] - gaps[i] * (window[i] - 1) - 1) // steps[i] + 2
            for i in range(axes)
        ]
        if min(sizes) < 1:
            raise Fault("a pooling window is larger than the picture")
        count = prod(picture[:-axes]) * prod(sizes)
        check_count(count)
        meter.worked(count * prod(window))

    return rule


def adaptive_pooling(axes: int) -> Rule:
    """Return the rule of a pooling layer that makes pictures of a certain size."""

    def rule(meter: Meter, given: Given) -> None:
        picture = _pooled(given["self"], axes)
        sizes = _spread(given["output_size"], axes, 1, "size")
        check_sizes([*picture[:-axes], *sizes])
        windows = [picture[i - axes] // sizes[i] + 2 for i in range(axes)]
        meter.worked(prod(picture[:-axes]) * prod(sizes) * prod(windows))

    return rule


def _pooled(picture: Tensor, axes: int) -> tuple[int, ...]:
    if picture.dim() not in (axes + 1, axes + 2) or 0 in picture.shape[-axes:]:
        raise Fault(f"pooling over {axes} axes does not fit shape {tuple(picture.shape)}")
    return tuple(picture.shape)


def padded(meter: Meter, given: Given) -> None:
    """Bound a tensor that gets wider at its edges."""
    tensor, edges = given["self"], given["pad"]
    if len(edges) % 2 or len(edges) > 2 * tensor.dim():
        raise Fault(f"shape {tuple(tensor.shape)} is not padded by {list(edges)[:9]}")
    if any(abs(edge) > _WIDEST for edge in edges):
        raise Fault("a tensor is padded too much")
    mode = given.get("mode", "constant")
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise Fault("a tensor is padded in an unknown way")
    if 0 in tensor.shape and mode != "constant":
        raise Fault("an empty tensor is padded")
    sizes = list(tensor.shape)
    for place in range(len(edges) // 2):
        sizes[-place - 1] += edges[2 * place] + edges[2 * place + 1]
    check_sizes(sizes)


# --------------------------------------------------------------- normalisation, dropout


def normalised_channels(meter: Meter, given: Given) -> None:
    """Check batch, instance and group normalisation: one weight for each channel."""
    picture = given["input"]
    if given.get("training"):
        raise Forbidden(
            "normalises over the lanes of a batch ('aten::batch_norm' in training mode), so that "
            "an episode would depend on the others; call eval() before saving it"
        )
    if picture.dim() < 2:
        raise Fault(f"shape {tuple(picture.shape)} has no channels to normalise")
    channels = picture.size(1)
    statistics = [given.get("running_mean"), given.get("running_var")]
    for values in (given["weight"], given["bias"], *statistics):
        if values is not None and tuple(values.shape) != (channels,):
            raise Fault(f"{tuple(values.shape)} numbers normalise {channels} channels")
    known = sum(values is not None for values in statistics)
    if given.get("use_input_stats"):
        if known:
            raise Forbidden("changes its own statistics when it is called ('aten::instance_norm')")
    elif "running_mean" in given and known < 2:
        raise Fault("a normalisation lacks its statistics")
    groups = given.get("num_groups", 1)
    if groups < 1 or not channels or channels % groups:
        raise Fault(f"{channels} channels are not normalised in {groups} groups")
    meter.worked(_NORMALISING * picture.numel())


def normalised_rows(meter: Meter, given: Given) -> None:
    """Check layer and root-mean-square normalisation: weights of the shape of a row."""
    tensor, sizes = given["input"], list(given["normalized_shape"])
    if not sizes or list(tensor.shape[-len(sizes) :]) != sizes:
        raise Fault(f"shape {tuple(tensor.shape)} is not normalised over {sizes[:9]}")
    for values in (given["weight"], given.get("bias")):
        if values is not None and list(values.shape) != sizes:
            raise Fault(f"weights of {tuple(values.shape)} normalise {sizes[:9]}")
    meter.worked(_NORMALISING * tensor.numel())


def dropout(meter: Meter, given: Given) -> None:
    """Check that nothing is left out: a module that is played is in evaluation mode."""
    if given["train"]:
        raise Forbidden(
            "leaves numbers out at random ('aten::dropout' in training mode), which no seed could "
            "repeat; call eval() before saving it"
        )


# ------------------------------------------------------------------------- recurrence


def _check_shape(tensor: Tensor | None, *shape: int) -> None:
    if tensor is not None and tuple(tensor.shape) != shape:
        raise Fault(f"a recurrent layer has {tuple(tensor.shape)} numbers where it needs {shape}")


def _states(given: Given, gates: int) -> list[Tensor]:
    """Return the hidden states: two of an LSTM, which has four gates, one of the others."""
    states = given["hx"]
    hidden = list(states) if isinstance(states, list | tuple) else [states]
    if len(hidden) != (2 if gates == 4 else 1) or not all(state.numel() for state in hidden):
        raise Fault(f"a recurrent layer does not take {len(hidden)} such hidden states")
    return hidden


def recurrent_layers(gates: int) -> Rule:
    """Return the rule of recurrent layers with so many gates, whose weights torch would believe."""

    def rule(meter: Meter, given: Given) -> None:
        sequence, weights = given["input"], list(given["params"])
        if given["train"] and given["dropout"]:
            raise Forbidden("leaves numbers out at random (a recurrent layer in training mode)")
        hidden = _states(given, gates)
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


def recurrent_cell(gates: int) -> Rule:
    """Return the rule of a recurrent cell with so many gates."""

    def rule(meter: Meter, given: Given) -> None:
        rows, hidden = given["input"], _states(given, gates)
        if rows.dim() != 2 or hidden[0].dim() != 2 or not rows.numel():
            raise Fault(f"a recurrent cell does not take shape {tuple(rows.shape)}")
        lanes, size = hidden[0].shape
        _check_shape(rows, lanes, rows.size(1))
        for state in hidden:
            _check_shape(state, lanes, size)
        _check_shape(given["w_ih"], gates * size, rows.size(1))
        _check_shape(given["w_hh"], gates * size, size)
        for bias in (given["b_ih"], given["b_hh"]):
            _check_shape(bias, gates * size)
        check_count(lanes * gates * size)
        meter.worked(lanes * (given["w_ih"].numel() + given["w_hh"].numel()))

    return rule
