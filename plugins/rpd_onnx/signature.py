"""What the inputs of a model are for: observations, hidden states, masks, fillers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rpd_core.errors import FitError, nearest
from rpd_core.untrusted.boundary import quoted
from rpd_onnx.model import Model, Value
from rpd_onnx.observations import Fit, Layout, fit_input

_MASKS = ("action_masks", "action_mask")
_LENGTHS = ("seq_lens",)
_NUMBERED = re.compile(r"obs_(\d+)")
_SEEN = re.compile(r"obs|observations?|inputs?|states?|x", re.IGNORECASE)
_AFTER = {"in": "out", "ins": "outs", "input": "output", "prev": "next", "h0": "hn", "c0": "cn"}
ONE_ALONE = 0
"""The size of a batch of a model whose inputs have no axis for one."""


@dataclass(frozen=True)
class State:
    """A hidden state: an input and the output that it becomes."""

    value: Value
    after: str
    row: tuple[int, ...]
    """Sizes for one lane."""
    axis: int | None
    """Where lanes stand; None: one lane alone has all of it."""


@dataclass(frozen=True)
class Signature:
    """How to call a model."""

    fits: tuple[Fit, ...]
    batch: int | None
    """Rows that each call takes; None: any number."""
    states: tuple[State, ...] = ()
    mask: Value | None = None
    fillers: Mapping[str, tuple[Any, float, tuple[int | str, ...]]] | None = None
    """Other inputs: type, the number that fills them, and sizes."""


def read_signature(
    model: Model, parts: Mapping[str | None, Any], wanted: tuple[str, ...], layout: Layout
) -> Signature:
    """Tell the inputs of a model apart and fit the observation to those that take it."""
    read = {name for node in model.nodes for name in node.inputs}
    read |= {output.name for output in model.outputs}
    values = {value.name: value for value in model.inputs}
    seen = _observations(values, parts, wanted)
    fits, batch = _fitted(model, seen, parts, layout)
    others = [value for name, value in values.items() if name not in seen]
    mask = next((value for value in others if value.name in _MASKS), None)
    idle = [v for v in others if v.name not in read or v.name in _LENGTHS]
    carried = [value for value in others if value not in idle and value is not mask]
    return _with_states(
        Signature(
            fits,
            batch,
            mask=mask,
            fillers={
                v.name: (v.dtype, float(v.name in _LENGTHS), v.shape or ())
                for v in idle
                if v is not mask
            },
        ),
        model,
        carried,
        seen,
    )


def _observations(
    values: Mapping[str, Value], parts: Mapping[str | None, Any], wanted: tuple[str, ...]
) -> dict[str, str | None]:
    """Return which inputs take observations, each with the part that its name tells."""
    if not values:
        raise FitError("the model takes no input: it is no policy")
    for name in wanted:
        if name not in values:
            hint = nearest(name, values) or f" It takes {_listed(values.values())}."
            raise FitError(f"input={name} is not an input of the model.{hint}")
    by_name = {name: name for name in wanted or values if name in parts}
    if by_name:
        return dict(by_name)
    numbered = sorted(filter(_NUMBERED.fullmatch, wanted or values), key=lambda n: int(n[4:]))
    if len(numbered) > 1:
        if len(numbered) != len(parts):
            raise FitError(
                f"the model takes {len(numbered)} observations, the environment gives {len(parts)}"
            )
        return dict(zip(numbered, parts, strict=True))
    only = next(iter(parts)) if len(parts) == 1 else None
    if wanted:
        return dict.fromkeys(wanted, only)
    return {next(filter(_SEEN.match, values), next(iter(values))): only}


def _fitted(
    model: Model,
    seen: Mapping[str, str | None],
    parts: Mapping[str | None, Any],
    layout: Layout,
) -> tuple[tuple[Fit, ...], int | None]:
    values = {value.name: value for value in model.inputs}
    found, batch = [], None
    for name, part in seen.items():
        value = values[name]
        choices = {part: parts[part]} if part in parts else parts
        first = (value.shape or ("",))[0]
        ways = [(first if isinstance(first, int) else None, value.shape and value.shape[1:])]
        if value.shape and all(isinstance(size, int) for size in value.shape):
            ways.append((ONE_ALONE, value.shape))
        fits = [
            (fit, size)
            for size, rows in ways
            for key, space in choices.items()
            if (fit := fit_input(value, key, space, rows, layout)) is not None
        ]
        if not fits:
            given = "; ".join(f"{k or ''} {tuple(s.shape)} {s.dtype}" for k, s in choices.items())
            raise FitError(
                f"the model takes {_listed(model.inputs)}, which the observation ({given.strip()}) "
                "does not fit: another environment or model, input=NAME, or layout="
            )
        if len(fits) > 1 and len(choices) > 1 and fits[0][1] == fits[1][1]:
            names = " and ".join(repr(fit.part) for fit, _ in fits[:2])
            raise FitError(f"{names} would both fit the input {quoted(name)}: name it after one")
        fit, batch = fits[0]
        found.append(fit)
    return tuple(found), batch


def _with_states(
    signature: Signature, model: Model, carried: Sequence[Value], seen: Mapping[str, Any]
) -> Signature:
    """Pair what is left of the inputs with the outputs that they become."""
    names = [output.name for output in model.outputs]
    after = [_name_after(value.name, names) for value in carried]
    if None in after or len(set(after)) != len(after):
        spare = names[-len(carried) :] if len(names) > len(carried) else []
        if not spare or not _same_ranks(carried, spare, model):
            raise FitError(
                f"the model also takes {_listed(carried)}, which is neither an observation nor a "
                f"hidden state that it returns ({', '.join(map(quoted, names[:8]))})"
            )
        after = list(spare)
    pairs = [(value, str(name)) for value, name in zip(carried, after, strict=True)]
    symbols = {value.shape[0] for value in model.inputs if value.name in seen and value.shape}
    batch = signature.batch
    if batch is None and any(_lanes_axis(value, symbols) is None for value, _ in pairs):
        batch = 1  # hidden states of one lane alone
    states = tuple(_state(value, name, batch, symbols) for value, name in pairs)
    return replace(signature, states=states, batch=batch)


def _name_after(name: str, names: Sequence[str]) -> str | None:
    words = name.split("_")
    renamed = "_".join(_AFTER.get(word, word) for word in words)
    tried = (renamed, f"{name}_out", f"{name}_next", f"next_{name}", f"new_{name}")
    return next((one for one in tried if one in names and one != name), None)


def _same_ranks(carried: Sequence[Value], spare: Sequence[str], model: Model) -> bool:
    outputs = {output.name: output for output in model.outputs}
    shapes = [
        (value.shape, outputs[name].shape) for value, name in zip(carried, spare, strict=True)
    ]
    return all(a is not None and (b is None or len(a) == len(b)) for a, b in shapes)


def _lanes_axis(value: Value, symbols: set[int | str]) -> int | None:
    open_axes = [axis for axis, size in enumerate(value.shape or ()) if isinstance(size, str)]
    shared = [axis for axis in open_axes if (value.shape or ())[axis] in symbols]
    return next(iter(shared or open_axes), None)


def _state(value: Value, after: str, batch: int | None, symbols: set[int | str]) -> State:
    if value.shape is None or value.dtype is None:
        raise FitError(f"the graph does not tell the size of the hidden state {value}")
    axis = _lanes_axis(value, symbols)
    if axis is None and batch not in (1, ONE_ALONE, None) and batch in value.shape:
        axis = value.shape.index(batch)
    rest = [size for place, size in enumerate(value.shape) if place != axis]
    sizes = tuple(size for size in rest if isinstance(size, int))
    if len(sizes) != len(rest):
        raise FitError(f"the graph does not tell the size of the hidden state {value}")
    return State(value, after, sizes, axis)


def _listed(values: Any) -> str:
    return ", ".join(map(str, list(values)[:8]))
