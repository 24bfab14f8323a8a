"""ONNX models are found by content, and sessions that live in this process become files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import helper
from onnx_files import VECTOR, by_hand, facts, numbers, rows, seen

from rpd_core.config.objects import advised, look_into, takers
from rpd_core.config.resolve import choose
from rpd_core.errors import RpdError
from rpd_core.plugin.protocols import Contents
from rpd_core.plugin.registry import installed
from rpd_onnx.recognise import is_onnx

WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3) % 5 - 2


@pytest.fixture
def model(tmp_path: Path) -> Path:
    nodes = [helper.make_node("MatMul", ["obs", "w"], ["out"])]
    return by_hand(tmp_path / "model.bin", nodes, tensors=[numbers("w", WEIGHTS)])


def test_a_bare_path_is_read_whatever_its_ending(model: Path) -> None:
    chosen = choose(installed(), "policy", f"{model},output=q")
    assert chosen.text == f"onnx:{model},output=q"
    assert np.allclose(chosen.recipe.load(facts())(seen(rows())).action_values, rows() @ WEIGHTS)


@pytest.mark.parametrize("loader", ["torchscript", "sb3", "atari-zoo"])
def test_other_loaders_name_onnx(model: Path, loader: str) -> None:
    recipe = choose(installed(), "policy", f"{loader}:{model}").recipe
    with pytest.raises(RpdError, match=f"Write onnx:{model}"), advised(recipe):
        recipe.describe()


def test_files_of_other_formats_are_not_taken_for_onnx(tmp_path: Path) -> None:
    torch.save({"w": torch.zeros(2)}, tmp_path / "w.pth")
    names = [one.component.name for one in takers(installed(), tmp_path / "w.pth")]
    assert "onnx" not in names
    for start in (b"", b"\x08", b"\x80\x04N.", b"\x08\x0a\x12\x03a\nb:", b"\x08\x63\x12\x01a:"):
        assert not is_onnx(Contents(start))
    assert is_onnx(Contents(b"\x08\x0a\x12\x07pytorch\x1a\x05abcde:\x99\x01"))


def test_sessions_play_from_their_file_or_from_their_bytes(model: Path) -> None:
    for source in (str(model), model.read_bytes()):
        session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
        recipe = choose(installed(), "policy", session).recipe
        assert look_into(recipe.path).start == look_into(model).start
        policy = recipe.load(facts(VECTOR, 3))
        best = (rows() @ WEIGHTS).argmax(axis=1)
        assert policy.describe()["action"] == "drawn"
        assert np.array_equal(policy(seen(rows())).probabilities.argmax(axis=1), best)
