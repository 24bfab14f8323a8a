"""Each kind of policy file finds its loader, and every other loader names that one."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import PPO

from rpd_core.config.objects import advised, takers
from rpd_core.errors import RpdError
from rpd_core.plugin.protocols import Facts
from rpd_core.plugin.registry import installed

FACTS = Facts(spaces.Box(-1.0, 1.0, (4,), np.float32), spaces.Discrete(2), 3)


class Net(torch.nn.Module):
    """The smallest policy."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(x)


@cache
def _model() -> Any:
    return PPO("MlpPolicy", "CartPole-v1", n_steps=8, batch_size=8, device="cpu")


def _saved(save: Callable[[Any], Any]) -> Callable[[], bytes]:
    def content() -> bytes:
        stream = io.BytesIO()
        save(stream)
        return stream.getvalue()

    return content


def _exported(stream: Any) -> None:
    rows = {"x": {0: torch.export.Dim("rows", min=1, max=64)}}
    torch.export.save(torch.export.export(Net(), (torch.ones(2, 4),), dynamic_shapes=rows), stream)


def _safetensors() -> bytes:
    entry = {"dtype": "F32", "shape": [2, 4], "data_offsets": [0, 32]}
    table = json.dumps({"fc.weight": entry}).encode()
    return len(table).to_bytes(8, "little") + table + bytes(32)


def _zip(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, "{}")
    return stream.getvalue()


def _old(stream: Any) -> None:
    torch.save(Net().state_dict(), stream, _use_new_zipfile_serialization=False)


FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "model.save of stable-baselines3": (_saved(lambda s: _model().save(s)), "sb3"),
    "policy.save of stable-baselines3": (_saved(lambda s: _model().policy.save(s)), "sb3"),
    "TorchScript": (
        _saved(lambda s: s.write(torch.jit.script(Net()).save_to_buffer())),
        "torchscript",
    ),
    "torch.export": (_saved(_exported), "torchscript"),
    "a module, pickled whole": (_saved(lambda s: torch.save(Net(), s)), "torchscript"),
    "a state dict": (_saved(lambda s: torch.save(Net().state_dict(), s)), "weights"),
    "a checkpoint": (_saved(lambda s: torch.save({"net": Net().state_dict()}, s)), "weights"),
    "safetensors": (_safetensors, "weights"),
    "npz": (_saved(lambda s: np.savez(s, **{"fc.weight": np.ones((2, 4))})), "weights"),
    "a frozen graph": (lambda: b"\x0a\x0e\x0a\x01x\x12\x09Placehold", "atari-zoo"),
    "a pruned policy": (lambda: _zip("pruned.json", "keys.npy"), "pruned"),
    "ONNX": (lambda: b"\x08\x08\x12\x07pytorch\x1a\x062.13.0\x3a\x00", "onnx"),
    "a state dict of old torch": (_saved(_old), ""),
    "a zip of notes": (lambda: _zip("notes.txt"), ""),
    "a text": (lambda: b"not a policy", ""),
    "nothing": (lambda: b"", ""),
}
"""What is in a file, and the loader that takes it; none: nobody does."""
LOADERS = ("atari-zoo", "onnx", "pruned", "sb3", "torchscript", "weights")
OFFERED = {one.component.name for one in installed().of_kind("policy")}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_has_one_loader_and_every_other_one_names_it(kind: str, tmp_path: Path) -> None:
    make, named = FILES[kind]
    taker = named if named in OFFERED else ""
    path = tmp_path / "policy.file"
    path.write_bytes(make())
    assert [one.component.name for one in takers(installed(), path)] == ([taker] if taker else [])
    for loader in LOADERS:
        if loader in OFFERED and loader != taker:
            line = _refusal(loader, path)
            assert "\n" not in line
            assert "policy.file" in line
            assert not taker or line.endswith(f"Write {taker}:{path}"), line


def _refusal(loader: str, path: Path) -> str:
    recipe = installed().make("policy", f"{loader}:{path}")
    with pytest.raises(RpdError) as caught, advised(recipe):
        recipe.load(FACTS)
    return str(caught.value)


def test_every_loader_of_files_is_in_the_table() -> None:
    files = {o.component.name for o in installed().of_kind("policy") if o.component.recognises}
    assert files <= {*LOADERS}
