"""From a recipe to a loaded policy: weights, layers, the network among them, and how it fits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.protocols import Facts
from rpd_core.untrusted.boundary import boundary, file_name, printable
from rpd_weights.conventions import Convention, convention_of
from rpd_weights.files import Weights, read_weights
from rpd_weights.layers import Block, blocks_of, layers_of
from rpd_weights.network import build
from rpd_weights.observations import Look, looks, statistics_of
from rpd_weights.outputs import Stored, output_of, widths_of
from rpd_weights.policy import WeightsPolicy
from rpd_weights.structure import Structure, structures

if TYPE_CHECKING:
    from rpd_weights.loader import WeightsFile

_DAMAGED = "it is damaged or holds no network that is known; copy it or save it again"
_SHOWN = 250
"""Characters of a list of layers in an error."""


def load_policy(file: WeightsFile, facts: Facts) -> WeightsPolicy:
    """Read the weights, find the network and fit it to the environment."""
    with boundary(file.path, _DAMAGED, FitError):
        stored = _stored(file)
        weights, everything = stored.weights, stored.blocks
        _check_told(file, weights)
        structure, look = _fitted(file, facts, everything)
        within = [block for block in everything if block.name.startswith(structure.prefix)]
        convention = convention_of(structure, weights, within)
        activation = convention.activation if file.activation == "auto" else file.activation
        network = build(structure, activation)
        if file.normalize:
            used = frozenset(layer.name for b in structure.blocks for layer in b.layers)
            look = replace(look, statistics=statistics_of(weights, look.shape, used))
        output = output_of(file, facts.action_space, structure, convention, stored)
        notes = {
            **_described(stored.kind, structure.blocks),
            "network": printable(_listed(structure)),
            "activation": _said(activation, file.activation, convention),
            "observation": printable(look.describe(), 300),
            "output": output.words,
            "action": "best" if file.deterministic else "drawn",
        }
        return WeightsPolicy(file.path, network, look, output, facts, file.deterministic, notes)


def describe_file(file: WeightsFile) -> dict[str, str]:
    """Return what the file holds; which of it acts is known with an environment alone."""
    with boundary(file.path, _DAMAGED, FitError):
        stored = _stored(file)
        layers = printable(_shapes(stored.blocks), 2000)
        return {**_described(stored.kind, stored.blocks), "layers": layers}


def _check_told(file: WeightsFile, weights: Weights) -> None:
    """Refuse weights that say too little of how they act."""
    if any("._body_endoder." in name for name in weights):  # spelt so by ML-Agents
        raise FitError(
            f"{file_name(file.path)} is a checkpoint of ML-Agents, which does not tell how "
            "observations are normalised and actions scaled: take the .onnx file that ML-Agents "
            "writes beside it, with onnx:"
        )


def _stored(file: WeightsFile) -> Stored:
    """Return the blocks below the prefix, or an error that says what the file has instead."""
    kind, weights = read_weights(file.path)
    layers = layers_of(weights, file.strides)
    if all(layer.kind == "unknown" for layer in layers):
        names = printable(", ".join(list(weights)[:5]), 200) or "nothing"
        raise SpecError(
            f"{file_name(file.path)} holds no layer that is known (linear, convolution, "
            f"normalisation, LSTM or GRU, named NAME.weight), but {names}"
        )
    if file.strides and all(layer.kind != "conv" for layer in layers):
        name = file_name(file.path)
        raise SpecError(f"strides= is for convolutions, and {name} holds none: drop it")
    start = f"{file.prefix}." if file.prefix else ""
    inside = [layer for layer in layers if f"{layer.name}.".startswith(start) or not start]
    if not inside:
        first = sorted({layer.name.partition(".")[0] for layer in layers})
        raise SpecError(
            f"{file_name(file.path)} has nothing below prefix={file.prefix}: its names begin with "
            f"{printable(', '.join(first), _SHOWN)}"
        )
    return Stored(kind, weights, blocks_of(inside, start))


def _fitted(file: WeightsFile, facts: Facts, blocks: list[Block]) -> tuple[Structure, Look]:
    """Return the one network that leads from observations to actions, and how it looks at them."""
    widths = widths_of(facts)
    found: dict[str | None, tuple[list[Structure], Look]] = {}
    for look in looks(facts, file.key, file.stack, file.divide):
        if look.part not in found:
            fitting = structures(blocks, look.shape, widths, file.prefix)
            if fitting:
                found[look.part] = fitting, look
    if len(found) > 1:
        parts = " and ".join(repr(part) for part in found)
        raise FitError(f"{file_name(file.path)} fits {parts} of the observation: choose with key=")
    if not found:
        raise FitError(_unfit(file, facts, blocks))
    ((fitting, look),) = found.values()
    if len(fitting) > 1:
        several = [f"{_spec(file, one)} ({_listed(one)})" for one in fitting[:4]]
        raise FitError(
            f"{file_name(file.path)} holds {len(fitting)} networks that fit: write "
            f"{' or '.join(printable(text, 140) for text in several)}"
        )
    return fitting[0], look


def _spec(file: WeightsFile, structure: Structure) -> str:
    return f"weights:{file_name(file.path)},prefix={structure.prefix}"


def _unfit(file: WeightsFile, facts: Facts, blocks: list[Block]) -> str:
    where = facts.description or "the environment"
    seen = facts.observation_space
    shape = getattr(seen, "shape", None) or getattr(seen, "n", None) or seen
    wanted = " or ".join(map(str, sorted(widths_of(facts))))
    return (
        f"{file_name(file.path)} holds no network from an observation of shape "
        f"{printable(str(shape), 60)} to {wanted} numbers, as {where} needs: its layers are "
        f"{printable(_shapes(blocks), _SHOWN)}; options: prefix=, stack=, key=, strides="
    )


def _said(activation: str, given: str, convention: Convention) -> str:
    if given != "auto":
        return f"{activation} (said so)"
    return f"{activation} (assumed, the default of {convention.library}; activation= says another)"


def _described(kind: str, blocks: Any) -> dict[str, str]:
    layers = [layer for block in blocks for layer in block.layers]
    count = sum(one.numel() for layer in layers for one in layer.tensors.values())
    return {"format": f"weights, {kind}", "size": f"{count:,} numbers in {len(layers)} layers"}


def _shapes(blocks: Any) -> str:
    return ", ".join(str(layer) for block in blocks for layer in block.layers)


def _listed(structure: Structure) -> str:
    if not structure.value:
        return _shapes(structure.path)
    trunk, advantage = structure.path[: structure.trunk], structure.path[structure.trunk :]
    return f"{_shapes(trunk)}; advantage {_shapes(advantage)}; value {_shapes(structure.value)}"
