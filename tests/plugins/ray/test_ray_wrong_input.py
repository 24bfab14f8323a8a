"""What cannot be a Ray cluster: one line each."""

from __future__ import annotations

import importlib.util

import pytest
from commands import refusal

if importlib.util.find_spec("ray") is None:  # not imported before its token is there
    pytest.skip("needs the extra ray", allow_module_level=True)

pytestmark = pytest.mark.extras

CARTPOLE = ["--env", "gym:CartPole-v1", "--policy", "random", "--default-action", "constant:0"]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("ray:adress=127.0.0.1:9", "must be like HOST:6379 or auto, got 'adress=127.0.0.1:9'"),
        ("ray:timeout=0", "timeout must be above 0 seconds, got 0"),
        ("ray:127.0.0.1:9", "no Ray cluster answers at '127.0.0.1:9' (ConnectionRefusedError: "),
        ("ray:nonsense", "address must be like HOST:6379 or auto, got 'nonsense'"),
    ],
)
def test_wrong_input_is_one_line(spec, told, tmp_path):
    said = refusal("suite", *CARTPOLE, "--out", tmp_path / "run", "--executor", spec)
    assert told in said
    assert not (tmp_path / "run").exists()
