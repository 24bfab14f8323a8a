"""Weights by name -> layers, and blocks of layers whose order their names tell."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch

from rpd_core.errors import FitError
from rpd_core.untrusted.boundary import quoted

Kind = Literal["linear", "conv", "norm", "batch-norm", "lstm", "gru", "unknown"]
Role = Literal["", "actor", "critic", "q", "advantage", "std", "target"]
Shape = tuple[int, ...]

_CORE = re.compile(r"(?:(.+)\.)?(weight|bias)_(ih|hh)(?:_l(\d+))?")
_PLAIN = re.compile(r"(?:(.+)\.)?(weight|bias|running_mean|running_var|num_batches_tracked)")
_ROLES: dict[Role, frozenset[str]] = {
    "target": frozenset(["target", "targ", "old", "lagged", "ema"]),
    "std": frozenset(["std", "logstd", "sigma", "stddev"]),
    "advantage": frozenset(["adv", "advantage", "af"]),
    "q": frozenset(["q", "qf", "qs", "qnet", "qfunc", "qfuncs"]),
    "critic": frozenset(["critic", "critics", "value", "values", "vf", "v", "vnet", "baseline"]),
    "actor": frozenset(["actor", "policy", "pi", "mu", "mean", "action", "actions", "logits"]),
}
"""Words of a name that say what a layer is for; the first role counts whose word is there."""
_MEMORIES: dict[str, Role] = {"memory_a": "actor", "memory_c": "critic"}
"""What RSL-RL calls the cores of a policy and of its critic."""
_JUMPING = frozenset(
    ["res", "resblock", "residual", "resnet", "skip", "attn", "attention", "transformer"]
)
"""Words of names of layers that do not just follow one another."""
_STATISTICS = frozenset(["running_mean", "running_var", "num_batches_tracked"])
_STRIDES = {8: 4, 4: 2}
_GATES: dict[int, Kind] = {4: "lstm", 3: "gru"}
_MOST_NUMBERS = 2**22
"""Numbers that a layer may give for one lane."""
_MOST_PRODUCTS = 10**9
"""Multiplications of a layer for one lane."""


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer with its tensors."""

    name: str
    kind: Kind
    tensors: Mapping[str, torch.Tensor] = field(repr=False)
    stride: int = 1

    @property
    def weight(self) -> torch.Tensor:
        return self.tensors["weight_ih_l0" if self.is_core else "weight"]

    @property
    def is_core(self) -> bool:
        """Whether it remembers."""
        return self.kind in ("lstm", "gru")

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers, or channels, that go in and come out."""
        if self.is_core:
            return self.weight.shape[1], self.hidden
        out, rest = self.weight.shape[0], self.weight.shape[1:]
        return (rest[0], out) if rest else (out, out)

    @property
    def hidden(self) -> int:
        """Numbers that a core remembers in each of its levels."""
        return int(self.tensors["weight_hh_l0"].shape[1])

    @property
    def levels(self) -> int:
        """How many cores lie one upon the other."""
        return sum(name.startswith("weight_ih") for name in self.tensors)

    def after(self, shape: Shape) -> Shape | None:
        """Return the shape for one lane of what comes out; None if this shape does not go in."""
        if self.kind == "unknown":
            return None
        size_in, size_out = self.sizes
        if self.kind == "conv":
            return self._convolved(shape) if len(shape) == 3 and shape[0] == size_in else None
        if self.kind in ("norm", "batch-norm"):
            fits = shape[0] == size_in and (len(shape) == 1 or self.kind == "batch-norm")
            return shape if fits else None
        return (size_out,) if math.prod(shape) == size_in else None

    def _convolved(self, shape: Shape) -> Shape | None:
        out, _, *kernel = self.weight.shape
        sides = [
            (side - width) // self.stride + 1 for side, width in zip(shape[1:], kernel, strict=True)
        ]
        numbers = out * math.prod(sides)
        if min(sides) < 1:
            return None
        if numbers > _MOST_NUMBERS or numbers * self.weight[0].numel() > _MOST_PRODUCTS:
            raise FitError(
                f"the convolution {quoted(self.name)} gives {numbers:,} numbers for one lane, more "
                "than any policy needs: refused"
            )
        return out, *sides

    def __str__(self) -> str:
        if self.kind == "unknown":
            return f"{self.name} of an unknown kind"
        size_in, size_out = self.sizes
        if self.kind == "conv":
            sides = "x".join(map(str, self.weight.shape[2:]))
            return f"{self.name} conv {size_in}>{size_out} {sides}/{self.stride}"
        kind = "" if self.kind == "linear" else f"{self.kind} "
        return f"{self.name} {kind}{size_in}>{size_out}"


@dataclass(frozen=True, eq=False)
class Block:
    """Layers that follow one another: those of a Sequential, or a single one."""

    name: str
    layers: tuple[Layer, ...]
    role: Role

    def after(self, shape: Shape | None) -> Shape | None:
        """Return the shape of what comes out; None if this shape does not go in."""
        for layer in self.layers:
            shape = layer.after(shape) if shape is not None else None
        return shape


def role_of(name: str) -> Role:
    """Return what a name says: its last word that says anything counts, a target's anywhere."""
    for part in name.split("."):
        if part in _MEMORIES:
            return _MEMORIES[part]
    parts = [_words(part) for part in name.split(".")]
    if any(words & _ROLES["target"] for words in parts):
        return "target"
    for words in reversed(parts):
        told: list[Role] = [role for role, known in _ROLES.items() if words & known]
        if told and not words >= {"actor", "critic"}:  # a name for both
            return told[0]
    return ""


def _words(part: str) -> set[str]:
    """Return the words of `targ_q_funcs`, `actorNet` or `qf1`."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z]+", " ", part)
    return set(spaced.lower().split())


def layers_of(weights: Mapping[str, torch.Tensor], strides: tuple[int, ...]) -> list[Layer]:
    """Return the layers in the order of the file."""
    grouped: dict[str, dict[str, torch.Tensor]] = {}
    for name, values in weights.items():
        core, plain = _CORE.fullmatch(name), _PLAIN.fullmatch(name)
        if core is not None:
            part = f"{core[2]}_{core[3]}_l{core[4] or 0}"
            grouped.setdefault(core[1] or "", {})[part] = values
        elif plain is not None:
            grouped.setdefault(plain[1] or "", {})[plain[2]] = values
    made = [
        _layer(name, parts) or Layer(name, "unknown", parts)
        for name, parts in grouped.items()
        if not {*parts} <= _STATISTICS
    ]
    return _with_strides(made, strides)


def _layer(name: str, parts: dict[str, torch.Tensor]) -> Layer | None:
    """Return the layer of some tensors; None where they are none that is known."""
    if _JUMPING & {word for part in name.split(".") for word in _words(part)}:
        return None
    if "weight_ih_l0" in parts and "weight_hh_l0" in parts:
        return _core(name, parts)
    weight = parts.get("weight")
    if weight is None or not weight.is_floating_point() or 0 in weight.shape:
        return None
    bias = parts.get("bias")
    if bias is not None and bias.shape != weight.shape[:1]:
        return None
    kinds: dict[int, Kind] = {1: "norm", 2: "linear", 4: "conv"}
    kind = "batch-norm" if "running_mean" in parts else kinds.get(weight.dim())
    if kind == "batch-norm" and not _is_batch_norm(parts):
        return None
    return None if kind is None else Layer(name, kind, parts)


def _is_batch_norm(parts: dict[str, torch.Tensor]) -> bool:
    held = [parts.get(name) for name in ("weight", "bias", "running_mean", "running_var")]
    shapes = {tuple(one.shape) for one in held if one is not None}
    return all(one is not None for one in held) and len(shapes) == 1 and len(shapes.pop()) == 1


def _core(name: str, parts: dict[str, torch.Tensor]) -> Layer | None:
    """Return an LSTM or a GRU whose tensors are all there and of sizes that agree."""
    given, kept = parts["weight_ih_l0"], parts["weight_hh_l0"]
    if given.dim() != 2 or kept.dim() != 2 or not kept.shape[1] or not given.shape[1]:
        return None
    hidden = kept.shape[1]
    kind = _GATES.get(kept.shape[0] // hidden)
    levels = sum(part.startswith("weight_ih") for part in parts)
    sizes = [given.shape[1]] + [hidden] * (levels - 1)
    wanted: dict[str, Shape] = {}
    for level, size in enumerate(sizes):
        gates = kept.shape[0]
        wanted |= {f"weight_ih_l{level}": (gates, size), f"weight_hh_l{level}": (gates, hidden)}
        wanted |= {f"bias_{side}_l{level}": (gates,) for side in ("ih", "hh")}
    fits = {part: tuple(values.shape) for part, values in parts.items()} == wanted
    return Layer(name, kind, parts) if kind and fits and kept.shape[0] % hidden == 0 else None


def _with_strides(layers: list[Layer], strides: tuple[int, ...]) -> list[Layer]:
    """Give convolutions their strides, those that are said or those that are common."""
    place, made = 0, []
    for layer in layers:
        if layer.kind != "conv":
            made.append(layer)
            continue
        common = _STRIDES.get(layer.weight.shape[-1], 1)
        stride = strides[place % len(strides)] if strides else common
        made.append(Layer(layer.name, layer.kind, layer.tensors, stride))
        place += 1
    return made


def blocks_of(layers: list[Layer], start: str) -> list[Block]:
    """Join layers whose names differ only in a number at the end; names lose `start`."""
    grouped: dict[str, list[Layer]] = {}
    for layer in layers:
        parent, _, last = layer.name.rpartition(".")
        grouped.setdefault(f"{parent}." if last.isdecimal() else layer.name, []).append(layer)
    made = []
    for name, members in grouped.items():
        role = role_of(name.removesuffix(".").removeprefix(start))
        if name.endswith(".") or name == "":
            members = sorted(members, key=lambda one: int(one.name.rpartition(".")[2][:9] or 0))
        made.append(Block(name.removesuffix("."), tuple(members), role))
    return made
