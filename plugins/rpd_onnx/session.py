"""A session of onnxruntime for a model that was checked: one thread, bounded memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from rpd_core.errors import FitError, one_line
from rpd_core.untrusted.boundary import printable
from rpd_onnx.model import Model

Array = NDArray[Any]
MEMORY = 2**31
"""Bytes that all sessions of a process may use together."""
_FATAL = 4
_FOLDING = ["ConstantFolding"]
"""Would compute parts of a graph while it is loaded, before anything bounds them."""


class Session:
    """Runs a model on named arrays."""

    def __init__(self, model: Model) -> None:
        _bound_memory()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = _FATAL
        options.use_deterministic_compute = True
        options.add_session_config_entry("session.load_model_format", "ONNX")
        options.add_session_config_entry("session.use_env_allocators", "1")
        held = {name: _ort(values) for name, values in model.weights.items()}
        if held:  # onnxruntime opens no file: it is given the numbers
            options.add_external_initializers(list(held), list(held.values()))
        self._held = held  # must outlive the session
        try:
            self._session = onnxruntime.InferenceSession(
                model.content,
                options,
                providers=["CPUExecutionProvider"],
                disabled_optimizers=_FOLDING,
            )
        except Exception as error:  # onnxruntime raises classes of its own, by what is wrong
            raise FitError(f"onnxruntime does not load it: {said(error)}") from error

    def __call__(self, feeds: Mapping[str, Array], outputs: Sequence[str]) -> dict[str, Array]:
        """Return the outputs that are named; sequences and maps are left out."""
        found = self._session.run(list(outputs), dict(feeds))
        pairs = zip(outputs, found, strict=True)
        return {name: values for name, values in pairs if isinstance(values, np.ndarray)}


def _ort(values: Array) -> Any:
    return onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(values))


@lru_cache(maxsize=1)
def _bound_memory() -> None:
    """Give the sessions of this process one arena that cannot grow beyond a size."""
    kind = onnxruntime.OrtAllocatorType.ORT_ARENA_ALLOCATOR
    place = onnxruntime.OrtMemoryInfo("Cpu", kind, 0, onnxruntime.OrtMemType.DEFAULT)
    by_need = 1  # grow by what is asked for, not by doubling
    limits = onnxruntime.OrtArenaCfg({"max_mem": MEMORY, "arena_extend_strategy": by_need})
    onnxruntime.create_and_register_allocator(place, limits)


def said(error: BaseException) -> str:
    """Return what onnxruntime says, without the prefix and the places in its source."""
    line = one_line(error)
    for mark in ("Status Message: ", "] : ", " was false. "):
        line = line.rpartition(mark)[2]
    return printable(line, 250).rstrip(". ")
