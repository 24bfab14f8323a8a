"""A module together with the way to call it, found by trying it on zeros."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import torch

from rpd_core.errors import FitError
from rpd_core.play.heartbeat import one_numeric_thread
from rpd_core.plugin.protocols import Facts
from rpd_torchscript.limits import Unusable, last_line
from rpd_torchscript.observations import Fit, Source, ambiguous_pixels, fits
from rpd_torchscript.signature import Loaded, Signature, leaves_of

if TYPE_CHECKING:
    from rpd_torchscript.loader import TorchScriptFile

_STACKED = re.compile(r"weight_hh_l\d+$")
_CELL = re.compile(r"weight_hh$")


@dataclass(frozen=True)
class _StateShape:
    """The shape of one hidden state."""

    lane: tuple[int, ...]
    """Sizes for one lane."""
    axis: int = 0
    """Where the axis of lanes stands."""

    def zeros(self, lanes: int) -> torch.Tensor:
        """Return the hidden state at the start of an episode."""
        return torch.zeros((*self.lane[: self.axis], lanes, *self.lane[self.axis :]))

    def fresh(self, state: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        """Forget what was remembered in the lanes where an episode starts."""
        mask = starts.reshape([-1 if place == self.axis else 1 for place in range(state.dim())])
        return torch.where(mask, torch.zeros_like(state), state)


@dataclass(frozen=True)
class Network:
    """Calls the module with the arrays of a step."""

    loaded: Loaded = field(repr=False)
    signature: Signature
    sources: tuple[Source, ...]
    fits: tuple[Fit, ...] = ()
    state: _StateShape | None = None

    @torch.inference_mode()
    def __call__(
        self, arrays: Sequence[Any], states: Sequence[torch.Tensor]
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Return the outputs and the hidden states after the step."""
        with one_numeric_thread():
            tensors = [fit(array) for fit, array in zip(self.fits, arrays, strict=True)]
            result = self.loaded.call(self._arguments(tensors, list(states)))
        leaves = leaves_of(result)
        carried = self.signature.state_leaves
        return leaves[: len(leaves) - carried], leaves[len(leaves) - carried :]

    def _arguments(self, tensors: list[torch.Tensor], states: list[torch.Tensor]) -> dict[str, Any]:
        first = self.signature.observations[0]
        if first.is_dict:
            names = [str(source.part) for source in self.sources]
            arguments: dict[str, Any] = {first.name: dict(zip(names, tensors, strict=True))}
        else:
            given = [argument.name for argument in self.signature.observations]
            arguments = dict(zip(given, tensors, strict=True))
        for argument in self.signature.states:
            leaves, states = states[: argument.leaves], states[argument.leaves :]
            arguments[argument.name] = tuple(leaves) if argument.is_tuple else leaves[0]
        return arguments

    def start(self, lanes: int) -> list[torch.Tensor]:
        """Return the hidden states of episodes that start."""
        if self.state is None:
            return []
        return [self.state.zeros(lanes) for _ in range(self.signature.state_leaves)]


def fit_network(
    network: Network, file: TorchScriptFile, facts: Facts, expected: Sequence[tuple[int, ...]]
) -> Network:
    """Try the ways to call a module until one gives an output of an expected shape per lane."""
    complaints: list[str] = []
    lanes, where = facts.lanes, facts.description or "the environment"
    blanks = [source.blank(lanes) for source in network.sources]
    ways = [
        list(fits(source.space, blank.shape[1:], file.layout, file.divide))
        for source, blank in zip(network.sources, blanks, strict=True)
    ]
    for state in _state_shapes(network, file):
        for chosen in product(*ways):
            tried = Network(network.loaded, network.signature, network.sources, chosen, state)
            complaint = _try(tried, blanks, lanes, expected)
            if complaint is None:
                _check_pixels(tried, file.divide)
                return tried
            complaints.append(complaint)
    _check_remembers_outside(network)
    shapes = ", ".join(
        _shown(source, blank) for source, blank in zip(network.sources, blanks, strict=True)
    )
    raise FitError(
        f"{network.loaded.path.name} does not take what {where} gives ({shapes}): "
        f"{complaints[0]}. Options that may help: layout=, divide=, stack=, hidden=, preprocess="
    )


def _check_remembers_outside(network: Network) -> None:
    """Refuse a recurrent module that fits nothing, since it keeps its hidden state in itself."""
    loaded = network.loaded
    if not network.signature.states and any("weight_hh" in name for name in loaded.weights):
        raise FitError(
            f"{loaded.path.name} keeps its hidden state in itself, for one episode at a time: "
            "export it with the state as input and output, as the ONNX files of RSL-RL (Isaac "
            "Lab) have it, and take it with onnx:"
        )


def _shown(source: Source, blank: Any) -> str:
    name = f"{source.part} " if source.part else ""
    return f"{name}{blank.dtype} {tuple(blank.shape[1:])}"


def _try(
    network: Network, blanks: list[Any], lanes: int, expected: Sequence[tuple[int, ...]]
) -> str | None:
    """Call the module once; return what is wrong with the result, if anything."""
    states = network.start(lanes)
    try:
        outputs, after = network(blanks, states)
    except Unusable:  # no other way to call it would help
        raise
    except Exception as error:  # a module may raise anything
        return last_line(error)
    if not outputs or not isinstance(outputs[0], torch.Tensor):
        return "it returns no tensor"
    if outputs[0].is_complex():
        return "it returns complex numbers"
    shape = tuple(outputs[0].shape)
    if shape[:1] != (lanes,) or shape[1:] not in expected:
        wanted = " or ".join(str((lanes, *rest)) for rest in expected)
        return f"it returns shape {shape} where {wanted} is needed"
    shapes = [tuple(state.shape) for state in after]
    if shapes != [tuple(s.shape) for s in states]:
        return f"it returns hidden states of shape {shapes}"
    return None


def _state_shapes(network: Network, file: TorchScriptFile) -> Iterator[_StateShape | None]:
    """Return the shapes that the hidden state may have: declared, or read off the weights."""
    if not network.signature.states:
        if file.hidden:
            size = "+".join(map(str, file.hidden))
            raise FitError(f"hidden={size} is given, but the module takes no state")
        yield None
    elif file.hidden:
        yield _StateShape(file.hidden, file.hidden_axis)
    else:
        yield from _shapes_from_weights(network)


def _shapes_from_weights(network: Network) -> Iterator[_StateShape]:
    weights = {name: shape for name, shape in network.loaded.weights.items() if len(shape) > 1}
    stacked = [shape[1] for name, shape in weights.items() if _STACKED.search(name)]
    cells = [shape[1] for name, shape in weights.items() if _CELL.search(name)]
    if not stacked and not cells:
        names = ", ".join(repr(a.name) for a in network.signature.states)
        raise FitError(
            f"the module carries a hidden state ({names}) whose size its weights do not show: "
            "give it as hidden=<size>"
        )
    for size in dict.fromkeys(cells):
        yield _StateShape((size,))
        yield _StateShape((2 * size,))  # both states of an LSTM side by side
    for size in dict.fromkeys(stacked):
        yield _StateShape((len(stacked), size), axis=1)
        yield _StateShape((size,))
        yield _StateShape((2 * size,))


def _check_pixels(network: Network, divide: float | None) -> None:
    for source, fit in zip(network.sources, network.fits, strict=True):
        if ambiguous_pixels(source.space, fit, divide):
            raise FitError(
                "the module takes floats and the environment gives pixels of 0 to 255: say "
                "divide=255 if it was trained on 0 to 1, divide=1 if on 0 to 255"
            )
