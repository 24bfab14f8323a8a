"""Small frozen graphs in the zoo's layouts, and the same networks in plain NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from rpd_atari_zoo.graph import DTYPES
from rpd_atari_zoo.protos import GraphDef
from rpd_core.chance import Draws
from rpd_core.plugin.protocols import Facts, PolicyInput

NUMBERS = {np.dtype(dtype): number for number, dtype in DTYPES.items()}
ACTIONS = 3
SIZE = 12  # height and width of a picture
FIELDS = {bytes: "s", bool: "b", int: "i", float: "f"}


class Builder:
    """Writes nodes one after the other; every method gives the name of its node."""

    def __init__(self, seed: int = 0) -> None:
        self.message = GraphDef()
        self.random = np.random.default_rng(seed)
        self.weights: dict[str, np.ndarray] = {}

    def node(self, op: str, name: str, *inputs: str, **attributes: Any) -> str:
        node = self.message.node.add(name=name, op=op, device="/gpu:0")
        node.input.extend(inputs)
        for key, value in attributes.items():
            entry = node.attr.add(key=key)
            if isinstance(value, list):
                entry.value.list.i.extend(value)
            elif isinstance(value, type):
                entry.value.type = NUMBERS[np.dtype(value)]
            else:
                setattr(entry.value, FIELDS[type(value)], value)
        return name

    def constant(self, name: str, value: Any, dtype: Any = np.int32) -> str:
        array = np.asarray(value, dtype=dtype)
        entry = self.message.node.add(name=name, op="Const").attr.add(key="value")
        tensor = entry.value.tensor
        tensor.dtype = NUMBERS[array.dtype]
        for size in array.shape:
            tensor.tensor_shape.dim.add(size=size)
        tensor.tensor_content = array.tobytes()
        return name

    def placeholder(self, name: str, shape: list[int], dtype: type = np.float32) -> str:
        self.node("Placeholder", name, dtype=dtype)
        entry = self.message.node[-1].attr.add(key="shape")
        for size in shape:
            entry.value.shape.dim.add(size=size)
        return name

    def weight(self, name: str, *shape: int) -> str:
        self.weights[name] = self.random.normal(0, 0.3, shape).astype(np.float32)
        self.constant(name, self.weights[name], np.float32)
        return self.node("Identity", f"{name}/read", name)

    def convolution(self, scope: str, source: str, sizes: tuple[int, ...], **options: Any) -> str:
        """A convolution with bias and Relu; sizes are kernel, stride, in, out."""
        kernel, stride, before, after = sizes
        order, padding = options.get("order", b"NHWC"), options.get("padding", b"SAME")
        strides = [1, 1, stride, stride] if order == b"NCHW" else [1, stride, stride, 1]
        weights = self.weight(f"{scope}/weights", kernel, kernel, before, after)
        bias = self.weight(f"{scope}/biases", after)
        self.node(
            "Conv2D", f"{scope}/Conv2D", source, weights,
            strides=strides, padding=padding, data_format=order,
        )  # fmt: skip
        self.node("BiasAdd", f"{scope}/BiasAdd", f"{scope}/Conv2D", bias, data_format=order)
        return self.node("Relu", f"{scope}/Relu", f"{scope}/BiasAdd")

    def dense(self, scope: str, source: str, before: int, after: int) -> str:
        weights = self.weight(f"{scope}/weights", before, after)
        bias = self.weight(f"{scope}/biases", after)
        self.node("MatMul", f"{scope}/MatMul", source, weights, transpose_a=False)
        return self.node("BiasAdd", f"{scope}/BiasAdd", f"{scope}/MatMul", bias)

    def flatten(self, scope: str, source: str, size: int, shape: str | None = None) -> str:
        """Reshape to one row per picture the way TF1's slim does, batch size read from Shape."""
        shape = shape or self.node("Shape", f"{scope}/Shape", source, out_type=np.int32)
        ends = [self.constant(f"{scope}/stack{i}", [value]) for i, value in enumerate((0, 1, 1))]
        first = self.node(
            "StridedSlice", f"{scope}/strided_slice", shape, *ends, shrink_axis_mask=1
        )
        rest = self.constant(f"{scope}/rest", size)
        pack = self.node("Pack", f"{scope}/pack", first, rest, axis=0)
        return self.node("Reshape", f"{scope}/Reshape", source, pack)

    def save(self, path: Path) -> Path:
        path.write_bytes(self.message.SerializeToString())
        return path


def dopamine(builder: Builder, batch: int = -1, outputs: int = ACTIONS) -> Builder:
    """The layout of dqn: bytes in, divided by 255, one convolution, one dense layer."""
    builder.placeholder("state_ph", [batch, SIZE, SIZE, 4], np.uint8)
    builder.node("Cast", "Online/Cast", "state_ph", DstT=np.float32)
    builder.constant("Online/div/y", 255.0, np.float32)
    builder.node("RealDiv", "Online/div", "Online/Cast", "Online/div/y")
    last = builder.convolution("Online/Conv", "Online/div", (4, 2, 4, 5), padding=b"VALID")
    shape = builder.constant("Online/Shape", [1, 5, 5, 5]) if batch == 1 else None
    flat = builder.flatten("Online/Flatten", last, 125, shape)
    builder.dense("Online/fully_connected_1", flat, 125, outputs)
    return builder


def convolve(pictures: np.ndarray, weights: np.ndarray, stride: int, padding: str) -> np.ndarray:
    """Convolve (rows, height, width, channels) in plain loops, padded as TensorFlow does."""
    kernel = weights.shape[0]
    if padding == "SAME":
        total = max((-(-pictures.shape[1] // stride) - 1) * stride + kernel - pictures.shape[1], 0)
        ends = (total // 2, total - total // 2)
        pictures = np.pad(pictures, [(0, 0), ends, ends, (0, 0)])
    size = (pictures.shape[1] - kernel) // stride + 1
    result = np.zeros((len(pictures), size, size, weights.shape[3]))
    for y in range(size):
        for x in range(size):
            window = pictures[:, y * stride : y * stride + kernel, x * stride : x * stride + kernel]
            result[:, y, x] = np.tensordot(window, weights, axes=3)
    return result


def dopamine_in_numpy(weights: dict[str, np.ndarray], pictures: np.ndarray) -> np.ndarray:
    """The same network, computed without the loader."""
    hidden = convolve(pictures / 255.0, weights["Online/Conv/weights"], 2, "VALID")
    hidden = np.maximum(hidden + weights["Online/Conv/biases"], 0).reshape(len(pictures), -1)
    scope = "Online/fully_connected_1"
    return hidden @ weights[f"{scope}/weights"] + weights[f"{scope}/biases"]


def pictures(rows: int = 6, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (rows, SIZE, SIZE, 4)).astype(np.uint8)


def facts(
    rows: int = 6, shape: tuple[int, ...] = (SIZE, SIZE, 4), actions: int = ACTIONS, **more: Any
) -> Facts:
    space = gymnasium.spaces.Box(0, 255, shape, np.uint8)
    return Facts(space, gymnasium.spaces.Discrete(actions), rows, description="a game", **more)


def seen(observations: np.ndarray, step: int = 0, **more: Any) -> PolicyInput:
    """One step of a batch; every row plays an episode of its own."""
    rows = len(observations)
    given: dict[str, Any] = {
        "views": {},
        "starts": np.full(rows, step == 0),
        "memory": None,
        "draws": Draws(np.arange(rows, dtype=np.uint64), np.full(rows, step)),
        "previous": np.zeros(rows, dtype=np.int64),
        "rewards": np.zeros(rows),
        **more,
    }
    return PolicyInput(observations, **given)
