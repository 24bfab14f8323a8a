"""ONNX files made by torch's exporters and by hand, and what is needed to load and call them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from gymnasium import spaces
from onnx import TensorProto, helper

from rpd_core.chance import Draws
from rpd_core.plugin.protocols import Facts, PolicyInput
from rpd_onnx.loader import OnnxFile

LANES = 6
VECTOR = spaces.Box(-2.0, 3.0, (4,), np.float32)


def export(module: torch.nn.Module, given: Any, path: Path, **more: Any) -> Path:
    """Export a module as most tools do, by way of TorchScript; remarks on its age are dropped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module.eval(), given, str(path), **({"dynamo": False} | more))
    return path


def by_hand(
    path: Path,
    nodes: Sequence[Any],
    inputs: Sequence[tuple[str, Any]] = (("obs", ["batch", 4]),),
    outputs: Sequence[str] = ("out",),
    tensors: Sequence[Any] = (),
    **more: Any,
) -> Path:
    """Write a model of a few operations."""
    graph = helper.make_graph(
        nodes,
        "by hand",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        list(tensors),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    for name, value in more.items():
        getattr(model, name).extend(value)
    path.write_bytes(model.SerializeToString())
    return path


def numbers(name: str, values: Any, kind: Any = np.float32) -> Any:
    """Return a stored tensor."""
    return onnx.numpy_helper.from_array(np.asarray(values, kind), name)


def facts(observation: Any = VECTOR, actions: Any = 3, lanes: int = LANES, **more: Any) -> Facts:
    space = spaces.Discrete(actions) if isinstance(actions, int) else actions
    return Facts(observation, space, lanes, description="a world", **more)


def rows(seed: int = 0, lanes: int = LANES, size: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(lanes, size)).astype(np.float32)


def seen(observations: Any, step: int = 0, lanes: int = LANES, **more: Any) -> PolicyInput:
    """One step of a batch; every row plays an episode of its own."""
    given: dict[str, Any] = {
        "views": {},
        "starts": np.full(lanes, step == 0),
        "memory": None,
        "draws": Draws(np.arange(lanes, dtype=np.uint64), np.full(lanes, step)),
        "previous": np.zeros(lanes, dtype=np.int64),
        "rewards": np.zeros(lanes),
        **more,
    }
    return PolicyInput(observations, **given)


def loaded(path: Path, where: Facts | None = None, **options: Any) -> Any:
    return OnnxFile(path, **options).load(where or facts())
