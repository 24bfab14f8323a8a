"""A model together with the way to call it for all lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rpd_core.errors import FitError, RpdError
from rpd_core.plugin.protocols import Facts
from rpd_onnx.model import Model, Value
from rpd_onnx.session import Session
from rpd_onnx.signature import ONE_ALONE, Signature, State
from rpd_onnx.trial import Beyond, try_out

Array = NDArray[Any]
_CLOSE = 1e-3


@dataclass(frozen=True)
class Network:
    """Calls a session with the arrays of a step."""

    model: Model = field(repr=False)
    signature: Signature
    session: Session = field(repr=False)

    def start(self, lanes: int) -> list[Array]:
        """Return the hidden states of episodes that start."""
        return _start(self.signature, lanes)

    def __call__(
        self, seen: Any, states: Sequence[Array], mask: Array | None, names: Sequence[str]
    ) -> tuple[dict[str, Array], list[Array]]:
        """Return the outputs that are named, a row for each lane, and the states afterwards."""
        inputs = [fit(seen) for fit in self.signature.fits]
        lanes = len(inputs[0])
        size = lanes if self.signature.batch is None else max(self.signature.batch, 1)
        parts = []
        for first in range(0, lanes, size):
            rows = np.minimum(np.arange(first, first + size), lanes - 1)
            parts.append(
                self._part(
                    [one[rows] for one in inputs],
                    [state[rows] for state in states],
                    None if mask is None else mask[rows],
                    names,
                )
            )
        if len(parts) == 1 and size == lanes:
            return parts[0]
        found = {
            name: np.concatenate([outputs[name] for outputs, _ in parts])[:lanes]
            for name in parts[0][0]
        }
        after = [np.concatenate(one)[:lanes] for one in zip(*(s for _, s in parts), strict=True)]
        return found, after

    def _part(
        self, inputs: list[Array], states: list[Array], mask: Array | None, names: Sequence[str]
    ) -> tuple[dict[str, Array], list[Array]]:
        """Call the session once."""
        rows, carried = len(inputs[0]), self.signature.states
        wanted = [*names, *(s.after for s in carried if s.after not in names)]
        found = self.session(_feeds(self.signature, inputs, states, mask), wanted)
        after = [_state_rows(state, found[state.after], rows) for state in carried]
        if self.signature.batch == ONE_ALONE:
            found = {name: values[None] for name, values in found.items()}
        kept = {n: v for n, v in found.items() if n in names and v.shape[:1] == (rows,)}
        return kept, after

    def describe_batches(self) -> str:
        """Return how many rows a call takes, in words."""
        batch = self.signature.batch
        if batch is None:
            return "whole batches"
        return "one row at a time, as the graph has it" if batch < 2 else f"{batch} rows at a time"


def _start(signature: Signature, lanes: int) -> list[Array]:
    return [np.zeros((lanes, *state.row), state.value.dtype) for state in signature.states]


def _feeds(
    signature: Signature, inputs: Sequence[Array], states: Sequence[Array], mask: Array | None
) -> dict[str, Array]:
    """Return what the session is given, by the names of its inputs."""
    rows, alone = len(inputs[0]), signature.batch == ONE_ALONE
    feeds = {
        fit.value.name: values[0] if alone else values
        for fit, values in zip(signature.fits, inputs, strict=True)
    }
    for state, values in zip(signature.states, states, strict=True):
        given = values[0] if state.axis is None else np.moveaxis(values, 0, state.axis)
        feeds[state.value.name] = np.ascontiguousarray(given)
    for name, (dtype, number, sizes) in (signature.fillers or {}).items():
        shape = tuple(size if isinstance(size, int) else rows for size in sizes)
        feeds[name] = np.full(shape, number, dtype)
    if signature.mask is not None:
        feeds[signature.mask.name] = _mask_rows(signature.mask, mask, rows)
    return feeds


def _mask_rows(value: Value, mask: Array | None, rows: int) -> Array:
    """Return which actions are allowed, as the model takes it; all of them if nothing is known."""
    sizes = () if value.shape is None else value.shape[1:]
    shape = (rows, *(size if isinstance(size, int) else 1 for size in sizes))
    dtype = np.float32 if value.dtype is None else value.dtype
    return np.ones(shape, dtype) if mask is None else mask.astype(dtype).reshape(shape)


def _state_rows(state: State, values: Array, rows: int) -> Array:
    """Return a hidden state with lanes first."""
    if state.axis is None:
        if values.size != int(np.prod(state.row)):
            raise FitError(_other_size(state, values))
        return values.reshape(1, *state.row)
    moved = np.moveaxis(values, state.axis, 0) if values.ndim > state.axis else values
    if moved.shape != (rows, *state.row):
        raise FitError(_other_size(state, values))
    return moved


def _other_size(state: State, values: Array) -> str:
    return f"the hidden state {state.value} comes back as {list(values.shape)}: export it again"


def build_network(model: Model, signature: Signature, facts: Facts) -> Network:
    """Try the model out and choose how many rows each call takes."""
    sizes = [None, 1] if signature.batch is None else [signature.batch]
    complaint: RpdError | None = None
    for size in sizes:
        chosen = replace(signature, batch=size)
        try:
            _try_in_child(model, chosen, facts)
            network = Network(model, chosen, Session(model))
            if size is None and not _agrees_with_single(network, facts):
                continue
            return network
        except Beyond:
            raise
        except RpdError as error:
            complaint = complaint or error
    raise complaint or FitError("its rows depend on one another: export a policy for one row")


def _try_in_child(model: Model, signature: Signature, facts: Facts) -> None:
    """Call the model in a process of its own first."""
    rows = facts.lanes if signature.batch is None else max(signature.batch, 1)
    seen = sample(facts, rows)
    inputs = [fit(seen) for fit in signature.fits]
    feeds = _feeds(signature, inputs, _start(signature, rows), None)
    try_out(model, {name: (str(values.dtype), values.shape) for name, values in feeds.items()})


def _agrees_with_single(network: Network, facts: Facts) -> bool:
    """Return whether a batch gives what its rows give one by one; some graphs bake a size in."""
    names = [o.name for o in network.model.outputs if not network.model.draws(o.name)]
    single = replace(network, signature=replace(network.signature, batch=1))
    seen = sample(facts, facts.lanes)
    try:
        ours, states = network(seen, network.start(facts.lanes), None, names)
        theirs, others = single(seen, single.start(facts.lanes), None, names)
    except RpdError:
        raise
    except Exception:  # onnxruntime raises classes of its own where a shape does not fit
        return False
    pairs = [(ours[n], theirs[n]) for n in ours if n in theirs] + list(
        zip(states, others, strict=True)
    )
    return bool(ours) and all(
        a.shape == b.shape and np.allclose(a, b, rtol=_CLOSE, atol=_CLOSE, equal_nan=True)
        for a, b in pairs
        if a.dtype.kind in "iufb"
    )


def sample(facts: Facts, rows: int) -> Any:
    """Return a batch of observations, all different where the space is of real numbers."""
    space = facts.observation_space
    if isinstance(space, spaces.Dict):
        return {name: _sample(part, rows) for name, part in space.spaces.items()}
    return _sample(space, rows)


def _sample(space: Any, rows: int) -> Array:
    if space.shape is None or space.dtype is None:
        return np.zeros(rows)
    noise = np.random.default_rng(0).random((rows, *space.shape))
    if not isinstance(space, spaces.Box):
        return np.zeros(noise.shape, space.dtype)
    return (noise * 255 if np.dtype(space.dtype).kind in "iu" else noise).astype(space.dtype)
