"""Archives that would harm torch's own loader and interpreter; here each is one line of refusal."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hostile_files import (
    hostile,
    members,
    module_code,
    name,
    record,
    tensor,
    text,
    write,
)
from script_files import Linear, facts, loaded, save, seen, vectors
from torch import Tensor

from rpd_core.errors import EpisodeError, FitError, RpdError
from rpd_torchscript.evaluation import Evaluation
from rpd_torchscript.functions.table import ALLOWED
from rpd_torchscript.limits import CALL_STEPS, Meter
from rpd_torchscript.syntax import Library

WEIGHT = np.arange(12, dtype=np.float32).reshape(3, 4)
LEAST = "torch.sub(-9223372036854775807, 1)"


def refusal(path: Path) -> str:
    """Load a file and return the one line with which it is refused."""
    with pytest.raises(RpdError) as caught:
        loaded(path, output="q")
    line = str(caught.value)
    assert "\n" not in line
    assert path.name in line
    return line


def test_the_hand_written_archive_itself_is_good(tmp_path: Path) -> None:
    path = hostile(tmp_path / "a.pt", "return torch.linear(x, self.w)", "w : Tensor", w=WEIGHT)
    found = loaded(path, output="q")(seen(vectors())).action_values
    with torch.inference_mode():
        expected = torch.from_numpy(vectors()) @ torch.from_numpy(WEIGHT).T
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5)


@pytest.mark.parametrize("trust", [False, True])
def test_only_with_trust_does_torch_itself_see_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trust: bool
) -> None:
    path = save(Linear(), tmp_path / "a.pt")
    calls: list[str] = []

    def watch(place: Any, attribute: str) -> None:
        before = getattr(place, attribute)

        def call(*arguments: Any, **options: Any) -> Any:
            calls.append(attribute)
            return before(*arguments, **options)

        monkeypatch.setattr(place, attribute, call)

    watch(torch._C, "import_ir_module")
    watch(torch._C, "import_ir_module_from_buffer")
    watch(torch, "load")
    loaded(path, trust=trust)(seen(vectors()))
    assert calls == (["import_ir_module"] if trust else [])


# ------------------------------------------------------------------- what code may do


BIG = "class Big(Module):\n  __parameters__ = []\n  a : Tensor\n  b : Tensor\n  c : Tensor\n"
CODE = {
    "a cast to a class with more attributes": (
        "y = unchecked_cast(__torch__.Big, self)\nreturn y.c",
        "has no 'c'",
    ),
    "a call of Python": ("return ops.prim.PythonOp(x)", r"the operator 'prim::PythonOp'"),
    "a write to a file": ('torch.save(x, "f")\nreturn x', r"the operator 'aten::save'"),
    "memory by its address": ("return torch.as_strided(x, [9], [9])", "'aten::as_strided'"),
    "a thread": ("return fork(x)", "'prim::fork'"),
    "an import": ('return __import__("os")', "calls '__import__'"),
    "a remainder by zero": (
        "return torch.mul(x, torch.remainder(torch.size(x, 0), 0))",
        "by zero",
    ),
    "a remainder by zeros": (
        "y = torch.to(x, 4)\nreturn torch.remainder(y, torch.mul(y, 0))",
        "a whole number is divided by zero",
    ),
    "the least number divided by -1": (
        f"return torch.mul(x, torch.floordiv({LEAST}, -1))",
        "does not fit into 64 bits",
    ),
    "a tensor of the least number divided by -1": (
        f"y = torch.add(torch.zeros_like(x, dtype=4), {LEAST})\nreturn torch.floor_divide(y, -1)",
        "the least whole number is divided by -1",
    ),
    "a remainder of the least number by -1": (
        f"y = torch.add(torch.zeros_like(x, dtype=4), {LEAST})\nreturn torch.remainder(y, -1)",
        "the least whole number is divided by -1",
    ),
    "a type of numbers that is none": (
        'return torch.to(x, torch.device("cpu"), -1, False)',
        "'aten::to' does not take",
    ),
    "a convolution without steps": (
        "y = torch.unsqueeze(x, 1)\nreturn torch.conv1d(y, torch.ones([1, 1, 1]), None, [0])",
        r"a stride of \[0\]",
    ),
    "a loop without end": ("b = True\nwhile b:\n  b = True\nreturn x", f"more than {CALL_STEPS}"),
    "a very long loop": ("for i in range(10000000000):\n  pass\nreturn x", "steps in one call"),
    "loops in loops": (
        "k = 0\nfor i in range(9999):\n  for j in range(9999):\n    k = torch.add(k, j)\nreturn x",
        "steps in one call",
    ),
    "calls without end": ("return (self).forward(x, )", "call one another 40 deep"),
    "a number that grows": (
        "k = 3\nfor i in range(99):\n  k = torch.mul(k, k)\nreturn x",
        "64 bits",
    ),
    "a power that fills memory": ("return torch.mul(x, torch.pow(10, 1000000000))", "64 bits"),
    "a list that doubles": (
        "k = [1]\nfor i in range(99):\n  k = torch.add(k, k)\nreturn x",
        "steps in one call",
    ),
    "a text that doubles": (
        'k = "ab"\nfor i in range(99):\n  k = torch.format("{}{}", k, k)\nreturn x',
        "steps in one call",
    ),
    "tuples in tuples": ("k = (x, x)\nfor i in range(99):\n  k = (k, k)\nreturn k", "1000 values"),
    "a list inside itself": (
        "k = annotate(List[Tensor], [])\n_0 = torch.append(k, k)\nreturn torch.tensor(k)",
        "too large for a tensor",
    ),
    "a tensor that doubles": (
        "y = x\nfor i in range(99):\n  y = torch.cat([y, y])\nreturn y",
        "asks for a tensor of",
    ),
    "work without end": (
        "y = torch.zeros([1000000])\nfor i in range(99999):\n  y = torch.add_(y, 1)\nreturn x",
        "multiplications in one call",
    ),
    "an output to a weight": ("return torch.add(x, x, out=self.w)", "'aten::add' does not take"),
    "an index out of range": (
        "return torch.embedding(self.w, torch.add(torch.to(x, 4), 1000000))",
        "out of range",
    ),
    "a recurrent layer of wrong weights": (
        "a, h = torch.gru(torch.unsqueeze(x, 0), torch.zeros([1, 6, 5]), [self.w, self.w, self.w, "
        "self.w], True, 1, 0., False, False, False)\nreturn a",
        "a recurrent layer has",
    ),
    "a random number": ("return torch.rand([3])", "draws its actions itself"),
    "an unknown constant": ("return CONSTANTS.c7", "which it lacks"),
    "an exception": ('ops.prim.RaiseException("not today")\nreturn x', "it says: not today"),
}


@pytest.mark.parametrize("attack", CODE)
def test_hostile_code_is_refused_in_one_line(tmp_path: Path, attack: str) -> None:
    body, message = CODE[attack]
    path = hostile(tmp_path / "h.pt", body, "w : Tensor", BIG, w=WEIGHT)
    with pytest.raises(RpdError, match=message):
        loaded(path, output="q")
    refusal(path)


SIZES = [
    "torch.zeros([1000000, 1000000])",
    "torch.ones([4294967296, 4294967296, 4294967296])",
    "torch.relu(torch.expand(x, [1000000000, 6, 4]))",
    "torch.repeat(x, [100000, 100000])",
    "torch.repeat_interleave(x, 1000000000)",
    "torch.matmul(torch.zeros([99999, 9]), torch.zeros([9, 99999]))",
    "torch.linear(torch.zeros([99999, 9]), torch.zeros([99999, 9]))",
    "torch.add(torch.zeros([99999, 1]), torch.zeros([1, 99999]))",
    "torch.pad(x, [900000, 900000, 900000, 900000])",
    "torch.arange(100000000000)",
    "torch.arange(0., 1., 1e-30)",
    "torch.one_hot(torch.add(torch.to(x, 4), 1000000000000))",
    "torch.index(torch.zeros([9999, 9999]), [torch.zeros([99999], dtype=4)])",
    "torch.embedding(torch.zeros([9, 99999]), torch.zeros([99999], dtype=4))",
    "torch.adaptive_avg_pool2d(torch.reshape(x, [6, 1, 2, 2]), [99999, 99999])",
    "torch.conv1d(torch.unsqueeze(x, 1), torch.ones([99, 1, 1]), None, [1], [1000000])",
    "torch.sum(torch.zeros([0, 131072, 131072]), [0])",
    "torch.all(torch.reshape(torch.zeros([0]), [0, 131072, 131072]), 0)",
    "torch.linalg_vector_norm(torch.view(torch.zeros([0]), [0, 131072, 131072]), 2, [0])",
    "torch.linear(torch.zeros([131072, 0]), torch.zeros([131072, 0]))",
    "torch.layer_norm(torch.zeros([131072, 131072, 0]), [0])",
]


@pytest.mark.parametrize("expression", SIZES)
def test_a_tensor_that_would_fill_memory_is_not_made(tmp_path: Path, expression: str) -> None:
    path = hostile(tmp_path / "h.pt", f"return {expression}")
    assert "asks for a tensor of" in refusal(path)


FROZEN_OUT = {
    "attention": ("_native_multi_head_attention", "x, x, x, 4, 0, self.w, self.w, self.w, self.w"),
    "attention over nothing": ("scaled_dot_product_attention", "x, x, x"),
    "a transformer": ("_transformer_encoder_layer_fwd", "x, 4, 0, self.w, self.w, self.w, self.w"),
    "a grid of tables": ("meshgrid", "[torch.expand(x, [100000, 6, 4])]"),
    "an einsum": ("einsum", '"ab,cd->abcd", [x, x]'),
    "a resizing": ("upsample_nearest2d", "torch.reshape(x, [6, 1, 2, 2]), [99999, 99999], None"),
    "a transposed convolution": ("conv_transpose2d", "x, self.w"),
    "windows": ("unfold", "x, 0, 50000, 1"),
    "a row of numbers": ("linspace", "0., 1., 100000000000"),
    "a unit matrix": ("eye", "1000000"),
    "a triangle": ("triu", "x, 1"),
    "a pop": ("pop", "[0, 1], 0"),
    "a sort of a list": ("sorted", "[1, 0]"),
    "empty memory": ("empty", "[3]"),
    "a quantised layer": ("quantize_per_tensor", "x, 1., 0, 12"),
}


@pytest.mark.parametrize("attempt", FROZEN_OUT)
def test_a_function_off_the_list_is_named_with_the_ways_out(tmp_path: Path, attempt: str) -> None:
    function, arguments = FROZEN_OUT[attempt]
    body = f"return torch.{function}({arguments})"
    assert refusal(hostile(tmp_path / "h.pt", body, "w : Tensor", w=WEIGHT)) == (
        f"h.pt uses the operator 'aten::{function}', which rpd does not run: refused. If you trust "
        "whoever made the file, add trust=true or --trust-policy, or export the policy to ONNX"
    )


def test_the_list_is_frozen() -> None:
    assert len(ALLOWED) == 270


@pytest.mark.parametrize(
    ("operator", "arguments"),
    [
        ("aten::__contains__", ([0] * 10**6, 1)),
        ("aten::eq", ([0] * 10**6, [0] * 10**6)),
        ("aten::slice", ((0,) * 10**6, 1, 2)),
    ],
)
def test_what_looks_at_a_whole_list_counts_as_many_steps(operator: str, arguments: Any) -> None:
    meter = Meter()
    Evaluation(Library({}, {}, 10), meter).run(operator, list(arguments), {})
    assert meter.steps <= CALL_STEPS - 10**4


DEEP = {
    "brackets": "return " + "(" * 20000 + "x" + ")" * 20000,
    "lists": "return " + "[" * 20000,
    "attributes": "return x" + ".a" * 20000,
    "items": "return x" + "[0]" * 20000,
    "signs": "return " + "-" * 20000 + "1",
    "choices": "return " + "x if x else " * 20000 + "x",
    "negations": "return " + "not " * 20000 + "x",
    "lambdas": "return " + "lambda: " * 20000 + "x",
    "blocks": "".join(" " * n + "if x:\n" for n in range(200)) + " " * 200 + "pass",
    "an f-string": 'return f"{x}"',
    "a sum": "return x" + " + x" * 20000,
    "a long number": "return torch.add(x, " + "9" * 10000 + ")",
    "no letters": "return \x00",
}


@pytest.mark.parametrize("kind", DEEP)
def test_syntax_that_torchscript_lacks_never_reaches_the_parser(tmp_path: Path, kind: str) -> None:
    assert "refused" in refusal(hostile(tmp_path / "h.pt", DEEP[kind]))


def test_functions_that_call_one_another_twice_are_refused(tmp_path: Path) -> None:
    more = "def f0(x: Tensor) -> Tensor:\n  return x\n"
    for number in range(1, 30):
        call = f"__torch__.f{number - 1}"
        more += f"def f{number}(x: Tensor) -> Tensor:\n  return torch.add({call}(x), {call}(x))\n"
    path = hostile(tmp_path / "h.pt", "return __torch__.f29(x)", more=more)
    assert "steps in one call" in refusal(path)


# ------------------------------------------------------------- modules that change


CHANGES = [
    "self.w = x",
    "y = torch.add_(self.w, 1)",
    "y = torch.copy_(self.w, torch.zeros([3, 4]))",
    "y = torch.zero_(torch.select(torch.transpose(torch.slice(self.w), 0, 1), 0, 1))",
    "y = torch.fill_(torch.view(torch.detach(self.w), [-1]), 1.)",
    "y = torch.relu_(torch.contiguous(torch.to(self.w, 6)))",
    "y = torch.mul_(torch.dropout(self.w, 0.5, False), 2)",
    "y = torch.index_put_(self.w, [torch.zeros([1], dtype=4)], torch.zeros([4]))",
    "y = torch.masked_fill_(torch.unsqueeze(self.w, 0), torch.gt(self.w, 0), 0)",
    "y = torch.clamp_(torch.squeeze(torch.reshape(self.w, [1, 12])), 0.)",
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_module_that_changes_its_weights_is_refused(tmp_path: Path, change: str) -> None:
    path = hostile(
        tmp_path / "h.pt", f"{change}\nreturn torch.linear(x, self.w)", "w : Tensor", w=WEIGHT
    )
    assert "two workers would answer differently" in refusal(path)


def test_a_module_that_changes_its_lists_is_refused(tmp_path: Path) -> None:
    stored = name("torch.jit._pickle", "build_intlist") + b"(](K\x01K\x02etR"
    code = module_code("_0 = torch.append(self.n, 3)\nreturn x", "n : List[int]")
    path = write(tmp_path / "h.pt", members(code, {"n": stored}))
    assert "changes its own lists" in refusal(path)


def test_training_mode_in_the_code_is_refused(tmp_path: Path) -> None:
    path = hostile(tmp_path / "h.pt", "return torch.dropout(x, 0.5, True)")
    assert "leaves numbers out at random" in refusal(path)
    norm = "torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False)"
    assert "over the lanes of a batch" in refusal(hostile(tmp_path / "n.pt", f"return {norm}"))


# ------------------------------------------------------------------- hostile pickles


def pickled(tmp_path: Path, value: bytes, **more: bytes) -> Path:
    """Write a file whose attribute `w` is this pickle."""
    made = members(module_code("return torch.linear(x, self.w)", "w : Tensor"), {"w": value})
    return write(tmp_path / "h.pt", {**made, **more})


FLOATS = {"data/0": WEIGHT.tobytes()}
PICKLES = {
    "a storage of another type": (tensor("0", (3, 4), "QInt8Storage"), "it wants torch.QInt8"),
    "a storage that is a function": (tensor("0", (3, 4), "load"), "it wants torch.load:"),
    "more numbers than bytes": (tensor("0", (3, 4), "DoubleStorage"), "96 bytes, but 48 are"),
    "a negative number of numbers": (
        tensor("0", (3, 4), count=-12),
        "numbers that makes no sense",
    ),
    "sizes beyond the storage": (tensor("0", (7, 4), count=12), "only 12 numbers are stored"),
    "strides beyond the storage": (tensor("0", (3, 4), strides=(2**39, 1)), "only 12 numbers"),
    "an offset beyond the storage": (tensor("0", (3, 4), offset=1), "only 12 numbers are stored"),
    "a negative stride": (tensor("0", (3, 4), strides=(-4, 1)), "whose size makes no sense"),
    "a negative offset": (tensor("0", (3, 4), offset=-1), "a tensor that makes no sense"),
    "sizes that overflow": (tensor("0", (2**36, 4), count=12, strides=(0, 0)), "only 12"),
    "one storage of two types": (
        b"(" + tensor("0", (3, 4)) + tensor("0", (3,), "IntStorage") + b"t",
        "in two ways",
    ),
    "a call": (name("os", "system") + b"(" + text("true") + b"tR", "it wants os.system:"),
    "a class": (name("os", "PathLike") + b")\x81", "it wants os.PathLike:"),
    "a native class": (record("__torch__.torch.classes.a.B", {}), "it wants __torch__.torch.cl"),
    "an unknown class": (record("__torch__.Other", {}), "the code of '__torch__.Other'"),
    "tuples in tuples": (b")" + b"\x85" * 100000, "nested too deeply"),
    "lists in lists": (b"]" * 100000 + b"a" * 99999, "nested too deeply"),
    "a list inside itself": (b"]q\x01h\x01a", "nested too deeply"),
    "a state that runs code": (name("__torch__", "Net") + b")\x81K\x01b", "'__setstate__'"),
    "an operation that torch never writes": (b"\x8f", "the operation EMPTY_SET"),
    "a huge integer": (b"\x8a\xff" + b"\x7f" * 255, "absurdly long integer"),
    "a text longer than the file": (b"X\xff\xff\xff\xff", "only"),
    "a memo that is empty": (b"j\xff\xff\xff\xff", "before it is made"),
    "too few arguments": (name("torch._utils", "_rebuild_tensor_v2") + b")R", "wrong arguments"),
}


@pytest.mark.parametrize("attack", PICKLES)
def test_a_hostile_pickle_is_refused_in_one_line(tmp_path: Path, attack: str) -> None:
    value, message = PICKLES[attack]
    line = refusal(pickled(tmp_path, value, **FLOATS))
    assert message in line


def test_a_pickle_of_marks_alone_is_refused(tmp_path: Path) -> None:
    made = members(module_code("return x"))
    for content in (b"\x80\x02" + b"(" * 1000 + b".", b"\x80\x02.", b"", b"\x80\x02K\x01."):
        refusal(write(tmp_path / "h.pt", {**made, "data.pkl": content}))


# --------------------------------------------------------------------- hostile zips


def test_a_member_that_unpacks_to_more_than_it_says_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members(module_code("return x")).items():
            archive.writestr(f"net/{member}", content)
        archive.writestr("net/data/0", bytes(10**7))
    raw = path.read_bytes()
    lied = raw.replace(struct.pack("<I", 10**7), struct.pack("<I", 10))
    assert lied != raw
    path.write_bytes(lied)
    refusal(path)


def test_a_file_that_unpacks_to_too_much_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "h.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("net/data/0", bytes(10**6))
    raw = path.read_bytes()
    path.write_bytes(raw.replace(struct.pack("<I", 10**6), struct.pack("<I", 2**32 - 2)))
    assert "unpacks to more than 2 GB" in refusal(path)


def test_unusual_packing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for member, content in members(module_code("return x")).items():
            archive.writestr(f"net/{member}", content)
    assert "packed in a way that is not read: save it again" in refusal(path)


# -------------------------------------------------------------- numbers and outputs


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinite values")])
def test_weights_that_mean_nothing_are_named(tmp_path: Path, value: float, word: str) -> None:
    module = Linear()
    with torch.no_grad():
        module.layer.bias[1] = value
    assert f"holds {word} in 'layer.bias'" in refusal(save(module, tmp_path / "a.pt"))


@pytest.mark.parametrize(
    ("expression", "word"),
    [
        ("torch.div(torch.sub(y, y), torch.sub(y, y))", "NaN"),
        ("torch.div(torch.abs(y), 0.)", "infinite"),
    ],
)
def test_outputs_that_mean_nothing_end_the_episode(
    tmp_path: Path, expression: str, word: str
) -> None:
    code = f"y = torch.slice(x, 1, 0, 3)\nreturn {expression}"
    policy = loaded(hostile(tmp_path / "h.pt", code), output="q")
    with pytest.raises(EpisodeError, match=rf"h\.pt returned {word}"):
        policy(seen(np.maximum(np.abs(vectors()), 0.1)))


def test_a_logit_of_minus_infinity_rules_an_action_out(tmp_path: Path) -> None:
    mask = np.array([0.0, -np.inf, 0.0], dtype=np.float32)
    body = "return torch.add(torch.slice(x, 1, 0, 3), self.mask)"
    policy = loaded(hostile(tmp_path / "h.pt", body, "mask : Tensor", mask=mask))
    assert policy(seen(vectors())).probabilities[:, 1].tolist() == [0.0] * 6


def test_small_floats_are_read_as_larger_ones(tmp_path: Path) -> None:
    class Small(Linear):
        def forward(self, observation: Tensor) -> Tensor:
            return self.layer(observation).to(torch.bfloat16)

    policy = loaded(save(Small(), tmp_path / "a.pt"), output="q")
    values = policy(seen(vectors())).action_values
    with torch.inference_mode():
        expected = Linear()(torch.from_numpy(vectors())).bfloat16().float().numpy()
    assert values.dtype == np.float32
    assert (values == expected).all()


def test_complex_numbers_are_refused(tmp_path: Path) -> None:
    class Complex(Linear):
        def forward(self, observation: Tensor) -> Tensor:
            return torch.complex(self.layer(observation), self.layer(observation))

    path = save(Complex(), tmp_path / "a.pt")
    assert "'aten::complex'" in refusal(path)
    with pytest.raises(FitError, match="it returns complex numbers"):
        loaded(path, trust=True)


def test_an_action_that_the_environment_lacks_ends_the_episode(tmp_path: Path) -> None:
    body = "return torch.add(torch.to(torch.gt(torch.select(x, 1, 0), 100.), 4), 7)"
    policy = loaded(hostile(tmp_path / "h.pt", body))
    with pytest.raises(EpisodeError, match=r"returned action 7, which is not in Discrete\(3\)"):
        policy(seen(vectors()))


def test_whole_numbers_for_every_action_are_no_action(tmp_path: Path) -> None:
    policy = loaded(hostile(tmp_path / "h.pt", "return torch.to(torch.slice(x, 1, 0, 3), 4)"))
    assert policy.describe()["output"].startswith("logits")
    assert policy(seen(10 * vectors())).actions.shape == (6,)


def test_a_module_without_forward_is_named(tmp_path: Path) -> None:
    class Silent(torch.nn.Module):
        @torch.jit.export
        def answer(self, x: Tensor) -> Tensor:
            return x

    path = save(Silent(), tmp_path / "a.pt")
    assert "has no method 'forward'" in refusal(path)
    with pytest.raises(FitError, match="has no method 'forward'"):
        loaded(path, trust=True)


# ------------------------------------------------------------------------ the loader


@pytest.mark.parametrize("trust", [False, True])
def test_the_number_of_threads_stays_as_it_was(tmp_path: Path, trust: bool) -> None:
    path = save(Linear(), tmp_path / "a.pt")
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        loaded(path, trust=trust)(seen(vectors()))
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("left_out", ["constants.pkl", "version", "byteorder"])
def test_an_archive_of_an_older_torch_loads(tmp_path: Path, left_out: str) -> None:
    made = members(module_code("return torch.linear(x, self.w)", "w : Tensor"), w=WEIGHT)
    del made[left_out]
    made["code/__torch__.py"] = f"op_version_set = 1\n{made['code/__torch__.py']}"
    policy = loaded(write(tmp_path / "a.pt", made), output="q")
    assert policy(seen(vectors())).action_values.shape == (6, 3)


def test_division_of_old_files_is_refused_because_it_meant_something_else(tmp_path: Path) -> None:
    body = "return torch.div(torch.to(torch.slice(x, 1, 0, 2), 4), 2)"
    made = members(module_code(body))
    old = refusal(write(tmp_path / "old.pt", {**made, "version": "3"}))
    assert old == "old.pt uses 'aten::div' as PyTorch before 1.6 meant it: save it again"
    path = write(tmp_path / "a.pt", {**made, "version": "4"})
    rows = np.tile(np.array([7, -7, 0, 0], dtype=np.float32), (6, 1))
    found = loaded(path, facts(actions=2), output="q")(seen(rows)).action_values
    assert found[0].tolist() == [3.5, -3.5]


def test_the_format_before_1_4_is_named(tmp_path: Path) -> None:
    made = {**members(module_code("return x")), "model.json": "{}"}
    assert "the format of PyTorch before 1.4" in refusal(write(tmp_path / "a.pt", made))


def test_weights_that_share_their_memory_still_do(tmp_path: Path) -> None:
    whole = tensor("0", (3, 4))
    part = tensor("0", (4,), count=12, offset=4)
    code = module_code(
        "return torch.add(torch.linear(x, self.w), torch.sum(self.v))", "w : Tensor\nv : Tensor"
    )
    path = write(tmp_path / "a.pt", {**members(code, {"w": whole, "v": part}), **FLOATS})
    found = loaded(path, output="q")(seen(np.zeros((6, 4), np.float32))).action_values
    assert found[0].tolist() == [22.0] * 3
