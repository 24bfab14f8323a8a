"""Recurrent layers and cells; torch is asked only when every weight has the size it must have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from rpd_torchscript.functions.elementwise import torch_function
from rpd_torchscript.functions.function import Function
from rpd_torchscript.limits import Fault, Forbidden, Meter, check_count
from rpd_torchscript.values import check_int, check_tensor, check_tensors, kind_of

_GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
_MOST_LAYERS = 32


def _check_shape(tensor: Tensor | None, shape: tuple[int, ...]) -> None:
    if tensor is not None and tuple(tensor.shape) != shape:
        raise Fault(f"a recurrent layer has {tuple(tensor.shape)} numbers where it needs {shape}")


def _check_weights(
    weights: list[Tensor], inputs: int, hidden: int, gates: int, has_biases: bool, ways: int
) -> None:
    """Check the weights of all layers, one direction after the other."""
    each = 4 if has_biases else 2
    for number in range(len(weights) // each):
        part = weights[number * each : (number + 1) * each]
        before = inputs if number < ways else ways * hidden
        shapes = [(gates * hidden, before), (gates * hidden, hidden)]
        shapes += [(gates * hidden,), (gates * hidden,)] if has_biases else []  # type: ignore[list-item]
        for tensor, shape in zip(part, shapes, strict=True):
            _check_shape(tensor, shape)


def _layers(name: str) -> Callable[..., Any]:
    function, gates = torch_function(name), _GATES[name]

    def call(
        meter: Meter,
        value: Any,
        states: Any,
        params: Any,
        has_biases: Any,
        num_layers: Any,
        dropout: Any,
        train: Any,
        bidirectional: Any = None,
        batch_first: Any = None,
    ) -> Any:
        if batch_first is None or (type(states) is Tensor and name == "lstm"):
            raise Fault("packed sequences are not supported")
        if train and dropout:
            raise Forbidden(f"leaves numbers out at random ('aten::{name}' in training mode)")
        sequence, weights = check_tensor(value), check_tensors(params)
        hidden = check_tensors(states) if name == "lstm" else [check_tensor(states)]
        layers, ways = check_int(num_layers), 2 if bidirectional else 1
        per_layer = (4 if has_biases else 2) * ways
        if not 1 <= layers <= _MOST_LAYERS or len(weights) != layers * per_layer:
            raise Fault(f"{len(weights)} tensors do not make {layers} recurrent layers")
        if sequence.dim() != 3 or len(hidden) != (2 if name == "lstm" else 1):
            raise Fault(f"a recurrent layer does not take shape {tuple(sequence.shape)}")
        size, lanes = hidden[0].size(-1), sequence.size(0 if batch_first else 1)
        if not size or not sequence.numel():
            raise Fault("a recurrent layer has no numbers to work on")
        for state in hidden:
            _check_shape(state, (layers * ways, lanes, size))
        _check_weights(weights, sequence.size(2), size, gates, bool(has_biases), ways)
        rows = sequence.size(0) * sequence.size(1)
        check_count(rows * gates * size * ways * layers)
        meter.worked(rows * sum(weight.numel() for weight in weights))
        meter.stepped(sequence.size(1 if batch_first else 0) * layers)
        given = hidden if name == "lstm" else hidden[0]
        flags = (bool(has_biases), layers, 0.0, False, bool(bidirectional), bool(batch_first))
        return tuple(map(meter.made, function(sequence, given, weights, *flags)))

    return call


def _cell(name: str, gates: int) -> Callable[..., Any]:
    function = torch_function(name)

    def call(
        meter: Meter,
        value: Any,
        states: Any,
        w_ih: Any,
        w_hh: Any,
        b_ih: Any = None,
        b_hh: Any = None,
    ) -> Any:
        rows = check_tensor(value)
        hidden = check_tensors(states) if name == "lstm_cell" else [check_tensor(states)]
        if len(hidden) != (2 if name == "lstm_cell" else 1):
            raise Fault(f"a recurrent cell does not take {kind_of(states)}")
        if rows.dim() != 2 or hidden[0].dim() != 2 or not hidden[0].numel() or not rows.numel():
            raise Fault(f"a recurrent cell does not take shape {tuple(rows.shape)}")
        lanes, size = hidden[0].shape
        _check_shape(rows, (lanes, rows.size(1)))
        for state in hidden:
            _check_shape(state, (lanes, size))
        _check_shape(check_tensor(w_ih), (gates * size, rows.size(1)))
        _check_shape(check_tensor(w_hh), (gates * size, size))
        for bias in (b_ih, b_hh):
            if bias is not None:
                _check_shape(check_tensor(bias), (gates * size,))
        check_count(lanes * gates * size)
        meter.worked(lanes * (w_ih.numel() + w_hh.numel()))
        given = hidden if name == "lstm_cell" else hidden[0]
        made = function(rows, given, w_ih, w_hh, b_ih, b_hh)
        return meter.made(made) if type(made) is Tensor else tuple(map(meter.made, made))

    return call


_CELLS = {"gru_cell": 3, "lstm_cell": 4, "rnn_relu_cell": 1, "rnn_tanh_cell": 1}
FUNCTIONS = {
    **{f"aten::{name}": Function(_layers(name)) for name in _GATES},
    **{
        f"aten::{name}": Function(_cell(name, gates), raw=torch_function(name))
        for name, gates in _CELLS.items()
    },
}
