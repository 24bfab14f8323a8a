"""Every function of the allow-list is bounded, whatever it is given: found by looking at all."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from hostile_files import hostile, members, module_code, record, tensor, write
from script_files import loaded

from rpd_core.errors import FitError
from rpd_core.untrusted.boundary import loading
from rpd_torchscript.functions.operator import Parameter
from rpd_torchscript.functions.table import OPERATORS
from rpd_torchscript.limits import AXES, CALL_STEPS, PIECES, Exhausted, Meter

HERE = Path(__file__).resolve().parent
VALUES: dict[str, Any] = {"int": 1, "float": 1.0, "number": 1, "bool": True, "str": "a"}


def item_of(kind: str) -> Any:
    inner = kind.removeprefix("Optional[").removeprefix("List[").removeprefix("Optional[")
    name = inner.rstrip("]")
    return torch.ones(1) if name == "Tensor" else VALUES[name]


def lists() -> list[tuple[str, str, Any]]:
    """Return all arguments of the table that take lists: function, kind, argument."""
    return [
        (name, argument.real_type.annotation_str, argument)
        for name, operator in OPERATORS.items()
        for overload in operator.overloads
        for argument in overload.operator._schema.arguments
        if "List[" in argument.real_type.annotation_str
    ]


def test_every_list_that_a_function_takes_is_bounded() -> None:
    found = lists()
    assert len(found) > 100
    for name, kind, argument in found:
        parameter = Parameter.of(argument)
        pieces = "Tensor" in kind or argument.name.startswith("split_size")
        longest = PIECES if pieces else AXES
        assert parameter.fits([item_of(kind)] * longest), (name, argument.name)
        assert not parameter.fits([item_of(kind)] * (longest + 1)), (name, argument.name)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["long", "wide"])
def test_no_call_of_the_table_takes_long_or_ends_the_process(what: str, tmp_path: Path) -> None:
    with (tmp_path / "next").open("w+b") as following:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", str(HERE / "table_walk.py"), what],
            stdout=subprocess.PIPE,
            stderr=following,
            timeout=1500,
            check=False,
        )
    assert done.returncode == 0, (tmp_path / "next").read_text(errors="replace")
    found = json.loads(done.stdout)
    assert found["wrong"] == {}
    assert found["functions"] == len(OPERATORS)


LONG = {
    "view": "torch.view(x, torch.mul([1], 200000))",
    "reshape": "torch.reshape(x, torch.mul([1], 200000))",
    "flip": "torch.flip(x, torch.mul([0], 200000))",
    "permute": "torch.permute(x, torch.mul([0], 200000))",
    "sum": "torch.sum(x, torch.mul([0], 200000))",
    "squeeze": "torch.squeeze(x, torch.mul([0], 200000))",
    "expand": "torch.expand(x, torch.mul([1], 200000))",
    "repeat": "torch.repeat(x, torch.mul([1], 200000))",
    "cat": "torch.cat(torch.mul([x], 20000))",
}


@pytest.mark.parametrize("name", LONG)
def test_a_list_of_thousands_is_not_handed_to_torch(tmp_path: Path, name: str) -> None:
    with pytest.raises(FitError, match=rf"'aten::{name}' does not take .*a list of 20+"):
        loaded(hostile(tmp_path / "h.pt", f"return {LONG[name]}"))


def test_axes_do_not_pile_up(tmp_path: Path) -> None:
    body = "y = x\nfor i in range(100000):\n  y = torch.unsqueeze(y, 0)\nreturn y"
    with pytest.raises(FitError, match="a tensor of 65 axes is too much"):
        loaded(hostile(tmp_path / "h.pt", body))


def test_letters_of_texts_in_lists_are_counted(tmp_path: Path) -> None:
    body = (
        f'a = "{"x" * 50_000}"\nb = torch.mul([a], 100000)\nc = torch.format("{{}}", b)\nreturn x'
    )
    with pytest.raises(FitError, match=f"goes on for more than {CALL_STEPS} steps"):
        loaded(hostile(tmp_path / "h.pt", body))


def test_repeats_that_are_numbers_in_a_tensor_are_added_up() -> None:
    operator = OPERATORS["aten::repeat_interleave"]
    row, meter = torch.arange(3.0), Meter()
    assert operator(meter, [row, torch.tensor([1, 0, 2])], {})[0].tolist() == [0.0, 2.0, 2.0]
    begun = time.process_time()
    for repeats in (torch.ones(1, dtype=torch.int64).expand(2**26), torch.tensor([2**62] * 3)):
        with pytest.raises(Exhausted, match="asks for a tensor of"):
            operator(meter, [torch.ones(3), repeats], {})
    assert time.process_time() - begun < 5
    seen = Meter()
    seen.from_inputs.add(id(repeats := torch.tensor([1, 0, 2])))
    operator(seen, [row, repeats], {})
    assert seen.steered


def test_what_is_written_through_a_wide_index_counts() -> None:
    index = torch.zeros(1, dtype=torch.int64).expand(2**24)
    for name, arguments in (
        ("scatter_", [torch.ones(3), 0, index, 1.0]),
        ("index_put_", [torch.ones(3), [index], torch.tensor(1.0)]),
    ):
        meter = Meter()
        before = meter.work
        OPERATORS[f"aten::{name}"](meter, arguments, {})
        assert before - meter.work >= 2**24


# ------------------------------------------------------------------------------- loading itself


def test_thousands_of_views_of_one_row_are_searched_once(tmp_path: Path) -> None:
    count, numbers = 20_000, 2**18
    shown = tensor("0", (numbers,), count=numbers)
    row = b"(" + shown * count + b"l"
    parts = members(module_code("return x"), {"w": row})
    parts["data/0"] = bytes(4 * numbers)
    begun = time.process_time()
    with pytest.raises(FitError, match="returns shape"):
        loaded(write(tmp_path / "h.pt", parts))
    assert time.process_time() - begun < 30  # searched one by one they would take minutes


def test_a_large_tensor_of_few_bytes_is_not_laid_out_to_be_searched(tmp_path: Path) -> None:
    wide = tensor("0", (2**27,), count=1, strides=(0,))
    parts = members(module_code("return x"), {"w": wide})
    parts["data/0"] = b"\0\0\xc0\x7f"  # NaN
    with pytest.raises(FitError, match="grows to far more bytes than are stored"):
        loaded(write(tmp_path / "h.pt", parts))


def test_long_names_are_not_put_together_again_and_again(tmp_path: Path) -> None:
    name = "n" * 500_000
    inner = {f"t{number}": tensor("0", (1,)) for number in range(3000)}
    parts = members(module_code("return x"), {name: record("__torch__.Net", inner)})
    parts["data/0"] = bytes(4)
    with pytest.raises(FitError, match="grows to far more bytes than are stored"):
        loaded(write(tmp_path / "h.pt", parts))


def test_the_lists_of_parameters_of_many_modules_are_charged(tmp_path: Path) -> None:
    listed = "'a', " * 100_000
    code = module_code("return x").replace("__parameters__ = []", f"__parameters__ = [{listed}]")
    inner = {f"m{number}": record("__torch__.Net", {}) for number in range(1000)}
    with pytest.raises(FitError, match="more steps to read than any policy needs"):
        loaded(write(tmp_path / "h.pt", members(code, inner)))


def test_a_name_without_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FitError, match="a name of 1001 letters"):
        loaded(hostile(tmp_path / "h.pt", f"{'n' * 1001} = x\nreturn x"))


def test_calls_that_try_a_file_out_share_the_time_of_loading(tmp_path: Path) -> None:
    body = "for i in range(900000):\n  pass\nreturn x"
    with (
        loading(0.1),
        pytest.raises(FitError, match=r"longer than 0\.1 seconds: .* longer --load-timeout"),
    ):
        loaded(hostile(tmp_path / "h.pt", body))
