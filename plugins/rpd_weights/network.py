"""The network at work: layers of a file, computed with torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional

from rpd_core.errors import FitError
from rpd_core.untrusted.boundary import quoted
from rpd_weights.layers import Block, Layer
from rpd_weights.structure import Structure

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "tanh": torch.tanh,
    "elu": functional.elu,
    "silu": functional.silu,
    "gelu": functional.gelu,
    "leaky-relu": functional.leaky_relu,
    "none": lambda values: values,
}
_NORM_EPSILON = 1e-5
"""Of torch's layers, which files do not tell."""
_LARGEST = 2**27
"""Numbers in all layers together; the networks of Atari have some millions."""
Step = Layer | None
"""A layer; None: the activation."""
States = tuple[Tensor, ...]
"""Of a core: one tensor (levels, lanes, hidden), or two for an LSTM."""


@dataclass(frozen=True)
class Network:
    """The layers of a structure in the order in which they are computed."""

    trunk: tuple[Step, ...] = field(repr=False)
    head: tuple[Step, ...] = field(repr=False)
    value: tuple[Step, ...] = field(repr=False)
    """Of a dueling network; else empty."""
    activation: str
    dtype: torch.dtype

    def __call__(self, rows: Tensor, states: States) -> tuple[Tensor, States]:
        """Return the numbers for each lane, and what is remembered."""
        features, states = self._through(self.trunk, rows, states)
        numbers, states = self._through(self.head, features, states)
        if not self.value:
            return numbers, states
        value, _ = self._through(self.value, features, ())
        return value + numbers - numbers.mean(dim=1, keepdim=True), states

    def _through(
        self, steps: tuple[Step, ...], values: Tensor, states: States
    ) -> tuple[Tensor, States]:
        for step in steps:
            if step is None:
                values = ACTIVATIONS[self.activation](values)
            elif step.is_core:
                values, states = _remembered(step, values.flatten(1), states)
            else:
                values = _computed(step, values)
        return values, states

    @property
    def core(self) -> Layer | None:
        """The layer that remembers, if there is one."""
        cores = [step for step in self.trunk + self.head if step is not None and step.is_core]
        return cores[0] if cores else None

    def start(self, lanes: int) -> States:
        """Return what is remembered at the start of an episode."""
        core = self.core
        if core is None:
            return ()
        zeros = torch.zeros((core.levels, lanes, core.hidden), dtype=self.dtype)
        return (zeros, zeros) if core.kind == "lstm" else (zeros,)


def build(structure: Structure, activation: str) -> Network:
    """Return the network of a structure, with an activation wherever such networks have one."""
    layers = [layer for block in structure.blocks for layer in block.layers]
    _check(layers)
    wide = any(layer.weight.dtype == torch.float64 for layer in layers)
    dtype = torch.float64 if wide else torch.float32
    path = _steps(structure.path, dtype)
    if not structure.value:
        return Network((), path, (), activation, dtype)
    trunk = structure.path[: structure.trunk]
    cored = not trunk or trunk[-1].layers[-1].is_core
    pending = () if cored else (None,)  # both streams begin behind the trunk's last activation
    value = _steps(structure.value, dtype)
    shared = (*_steps(trunk, dtype), *pending)
    return Network(shared, _steps(structure.path[len(trunk) :], dtype), value, activation, dtype)


def _check(layers: list[Layer]) -> None:
    """Refuse what cannot be computed, or only into nonsense."""
    if sum(layer.is_core for layer in layers) > 1:
        raise FitError("the network has several recurrent layers of different names: not supported")
    if sum(one.numel() for layer in layers for one in layer.tensors.values()) > _LARGEST:
        raise FitError(f"the network has more than {_LARGEST:,} numbers: refused")
    for layer in layers:
        for part, values in layer.tensors.items():
            if values.is_floating_point() and not bool(torch.isfinite(values).all()):
                raise FitError(
                    f"the weights {quoted(f'{layer.name}.{part}')} are not all finite numbers: its "
                    "training diverged, use an earlier checkpoint"
                )


def _steps(blocks: Iterable[Block], dtype: torch.dtype) -> tuple[Step, ...]:
    """Return layers with activations between them.

    A normalisation whose number follows that of its layer comes before the activation; behind a
    recurrent layer there is none.
    """
    made: list[Step] = []
    pending = False
    for block in blocks:
        number: int | None = None
        for layer in block.layers:
            before, number = number, _number(layer.name)
            normal = layer.kind in ("norm", "batch-norm")
            adjacent = None not in (before, number) and number == (before or 0) + 1
            if pending and not (normal and adjacent):
                made.append(None)
                pending = False
            made.append(_typed(layer, dtype))
            pending = (pending if normal else True) and not layer.is_core
    return tuple(made)


def _number(name: str) -> int | None:
    last = name.rpartition(".")[2]
    return int(last[:9]) if last.isdecimal() else None


def _typed(layer: Layer, dtype: torch.dtype) -> Layer:
    tensors = {part: values.to(dtype) for part, values in layer.tensors.items()}
    return Layer(layer.name, layer.kind, tensors, layer.stride)


def _computed(layer: Layer, values: Tensor) -> Tensor:
    weight, bias = layer.weight, layer.tensors.get("bias")
    if layer.kind == "conv":
        return functional.conv2d(values, weight, bias, layer.stride)
    if layer.kind == "norm":
        return functional.layer_norm(values, weight.shape, weight, bias, _NORM_EPSILON)
    if layer.kind == "batch-norm":
        moments = layer.tensors["running_mean"], layer.tensors["running_var"]
        return functional.batch_norm(values, *moments, weight, bias, False, 0.0, _NORM_EPSILON)
    return functional.linear(values.flatten(1), weight, bias)


def _remembered(core: Layer, values: Tensor, states: States) -> tuple[Tensor, States]:
    """Return what a core gives and remembers, level by level."""
    kept: list[States] = []
    for level in range(core.levels):
        parts = [core.tensors[f"{name}_l{level}"] for name in _PARTS]
        before = tuple(state[level] for state in states)
        if core.kind == "lstm":
            hidden, cell = torch.lstm_cell(values, before, *parts)
            after: States = (hidden, cell)
        else:
            after = (torch.gru_cell(values, before[0], *parts),)
        values = after[0]
        kept.append(after)
    return values, tuple(torch.stack(each) for each in zip(*kept, strict=True))


_PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
