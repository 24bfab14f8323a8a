"""A few of the fuzzer's files; many more are tried by the command that drives it."""

from __future__ import annotations

import importlib.util
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from rpd_core.errors import RpdError

FUZZER = Path(__file__).parents[2] / "fuzz" / "torchscript.py"


@pytest.fixture(scope="module")
def fuzzer() -> Any:
    spec = importlib.util.spec_from_file_location("fuzz_torchscript", FUZZER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("error::UserWarning")
def test_mutated_files_are_refused_in_one_line_or_play(tmp_path: Path, fuzzer: Any) -> None:
    path = tmp_path / "policy.pt"
    for _, content in islice(fuzzer.cases(7), 60):
        path.write_bytes(content)
        with suppress(RpdError):
            fuzzer.attempt(path)


def test_a_seed_always_yields_the_same_files(fuzzer: Any) -> None:
    first, again = (list(islice(fuzzer.cases(3), 12)) for _ in range(2))
    assert [name for name, _ in first] == [name for name, _ in again]
    assert len({name for name, _ in fuzzer.cases(3)}) == 280
