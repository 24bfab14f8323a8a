"""Mutated and hostile TorchScript archives, and what it means to survive one."""

from __future__ import annotations

import io
import random
import re
import struct
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from rpd_core.chance import Draws
from rpd_core.errors import RpdError
from rpd_core.plugin.protocols import Facts, PolicyInput
from rpd_torchscript.functions.table import ALLOWED, RANDOM
from rpd_torchscript.loader import TorchScriptFile
from tests.fuzz.mutations import pickle_bomb

_LANES = 4
_EACH = 40
"""Cases of each kind for one seed."""
_NUMBERS = (
    "0", "1", "-1", "2", "3", "7", "64", "255", "100000", "2147483648", "-2147483648",
    "4294967297", "9223372036854775807", "-9223372036854775807", "1e300", "inf", "-inf", "nan",
)  # fmt: skip
_STRANGE = (
    "aten::save", "aten::from_file", "aten::as_strided", "aten::set_", "aten::resize_",
    "aten::_unsafe_view", "prim::PythonOp", "prim::CallMethod", "prim::AutogradZero", "aten::wait",
)  # fmt: skip
_EXPRESSIONS = (
    "x", "None", "True", "False", "self", "self.w", "[]", "[0]", "[1, 1]", "[-1]", "[0, 0]", '""',
    "[x, x]", "[None, x]", "(x, x)", "torch.size(x)", "torch.to(x, 4)", "torch.t(self.w)",
    "torch.zeros([0, 4])", "torch.gt(x, 0)", "unchecked_cast(__torch__.Net, x)", "CONSTANTS.c0",
    "torch.unsqueeze(x, 0)", "torch.zeros([2, 3, 4, 4])", "torch.zeros([3], dtype=4)",
    'torch.device("cuda")', "annotate(List[Tensor], [])", "uninitialized(Tensor)",
)  # fmt: skip


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 3))

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.layers(x), dim=-1)


class Pictures(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 4, 2, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layers(x.view(x.size(0), 1, 2, 2)).flatten(1))


class Memory(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.head = nn.GRUCell(4, 5), nn.Linear(5, 3)

    def forward(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.cell(x, hidden)
        return self.head(hidden), hidden


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.core = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        rows = x.unsqueeze(1).repeat(1, 3, 1)
        return self.core(rows, rows, rows)[0].mean(1)[:, :3]


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.times = 3
        self.register_buffer("scale", torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        found: list[Tensor] = []
        for turn in range(self.times):
            found.append(x * self.scale + turn)
        if bool(x.sum() > 0):
            x = torch.stack(found).sum(0)
        x[:, 0] = 1.0
        return x[:, :3]


def _bases() -> list[dict[str, bytes]]:
    """Return the members of small honest archives."""
    made = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        rows = torch.zeros(2, 4)
        for module in (Mlp(), Pictures(), Memory(), Attention(), Branches()):
            scripted: Any = torch.jit.script(module.eval())
            made.append(_members(scripted))
        for module in (Mlp(), Pictures()):
            traced: Any = torch.jit.trace(module.eval(), rows)
            made.append(_members(traced))
    return made


def _members(module: Any) -> dict[str, bytes]:
    stream = io.BytesIO()
    torch.jit.save(module, stream)  # type: ignore[no-untyped-call]
    with zipfile.ZipFile(stream) as archive:
        names = [name for name in archive.namelist() if not name.endswith(".debug_pkl")]
        return {name: archive.read(name) for name in names}


def _zipped(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


# ------------------------------------------------------------------------ mutations

Members = dict[str, bytes]
Mutation = Callable[[Members, random.Random], bytes]


def _ending(members: Members, suffix: str, chance: random.Random) -> str:
    return chance.choice([name for name in members if name.endswith(suffix)])


def _change_code(members: Members, chance: random.Random) -> bytes:
    """Change numbers, names and lines of the code."""
    name = _ending(members, ".py", chance)
    text = members[name].decode()
    for _ in range(chance.choice([1, 1, 2, 4])):
        text = chance.choice([_other_number, _other_name, _other_operator, _other_lines])(
            text, chance
        )
    return _zipped({**members, name: text.encode()})


def _replaced(text: str, pattern: str, new: str, chance: random.Random) -> str:
    places = list(re.finditer(pattern, text))
    if not places:
        return text
    place = chance.choice(places)
    return text[: place.start(1)] + new + text[place.end(1) :]


def _other_number(text: str, chance: random.Random) -> str:
    return _replaced(text, r"(?<![\w.])(\d+\.?)", chance.choice(_NUMBERS), chance)


def _other_name(text: str, chance: random.Random) -> str:
    words = re.findall(r"\b[a-z_]\w*\b", text)
    return _replaced(text, r"\b([a-z_]\w*)\b", chance.choice(words), chance)


def _other_operator(text: str, chance: random.Random) -> str:
    space, word = chance.choice([*ALLOWED, *RANDOM, *_STRANGE]).split("::")
    new = f"torch.{word}" if space == "aten" else f"ops.{space}.{word}"
    return _replaced(text, r"\b(torch\.\w+)\(", new, chance)


def _other_lines(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    first, second = chance.randrange(len(lines)), chance.randrange(len(lines))
    if chance.random() < 0.4:
        lines.insert(first, lines[second])
    elif chance.random() < 0.5:
        del lines[first]
    else:
        lines[first], lines[second] = lines[second], lines[first]
    return "".join(lines)


def _change_bytes(members: Members, chance: random.Random) -> bytes:
    """Change, cut or lengthen the bytes of one member."""
    name = chance.choice([*members, _ending(members, ".pkl", chance)])
    content = bytearray(members[name])
    for _ in range(chance.choice([1, 1, 2, 8])):
        if content:
            content[chance.randrange(len(content))] = chance.randrange(256)
    if chance.random() < 0.2:
        content = content[: chance.randrange(len(content) + 1)]
    if chance.random() < 0.1:
        content += chance.randbytes(100)
    return _zipped({**members, name: bytes(content)})


def _change_pickle(members: Members, chance: random.Random) -> bytes:
    """Put other opcodes and numbers into a pickle."""
    name = _ending(members, ".pkl", chance)
    content = members[name]
    place = chance.randrange(2, max(len(content), 3))
    inserted = chance.choice(
        [
            bytes([chance.randrange(256)]),
            b"(" * chance.choice([1, 1000]),
            b"]" * 1000 + b"a" * 999,
            b")" + b"\x85" * chance.choice([3, 100, 100000]),
            b"\x8a\x08" + struct.pack("<q", chance.choice([-1, 2**62, -(2**63)])),
            b"cos\nsystem\n(X\x04\x00\x00\x00truetR",
            b"h" + bytes([chance.randrange(20)]),
            b"K" + bytes([chance.randrange(256)]),
        ]
    )
    skipped = chance.choice([0, 0, 1, 2, 9])
    return _zipped({**members, name: content[:place] + inserted + content[place + skipped :]})


def _change_members(members: Members, chance: random.Random) -> bytes:
    """Remove, rename, swap or repeat members."""
    changed, names = dict(members), list(members)
    first, second = chance.choice(names), chance.choice(names)
    deed = chance.randrange(4)
    if deed == 0:
        del changed[first]
    elif deed == 1:
        changed[first], changed[second] = changed[second], changed[first]
    elif deed == 2:
        changed[first.upper() if chance.random() < 0.5 else f"{first}/../x"] = changed.pop(first)
    else:
        changed[first] = changed[first] * chance.choice([2, 50])
    return _zipped(changed)


def _change_zip(members: Members, chance: random.Random) -> bytes:
    """Change bytes of the finished zip."""
    content = bytearray(_zipped(members))
    for _ in range(chance.choice([1, 2, 5, 20])):
        near_end = max(len(content) - chance.choice([30, 3000]), 0)
        place = chance.randrange(near_end if chance.random() < 0.6 else 0, len(content))
        content[place] = chance.choice([0, 255, chance.randrange(256)])
    return bytes(content[: chance.randrange(len(content))] if chance.random() < 0.1 else content)


def _write_code(members: Members, chance: random.Random) -> bytes:
    """Write code of calls that nobody would write."""
    lines = [f"    v{n} = {_call(chance, n)}" for n in range(chance.choice([1, 2, 4]))]
    if chance.random() < 0.2:
        lines = ["    k = x", "    for i in range(99):", f"      k = {_call(chance, 0)}"]
    deep = chance.choice(["(", "[", "-", "x.", "not "]) * chance.choice([0, 0, 0, 0, 0, 99, 99999])
    code = (
        "class Net(Module):\n  __parameters__ = []\n  w : Tensor\n"
        "  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n"
        + "\n".join(lines)
        + f"\n    return {deep}{chance.choice(['x', 'v0', 'self.w', '(x, x)'])}\n"
    )
    storage = (
        b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
        b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x0ctQ"
    )
    weight = (
        b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00(K\x03K\x04t(K\x04K\x01t\x89}tR"
    )
    data = b"\x80\x02c__torch__\nNet\n)\x81}(X\x01\x00\x00\x00w" + weight + b"ub."
    return _zipped(
        {
            "n/data.pkl": data,
            "n/data/0": np.ones(12, np.float32).tobytes(),
            "n/code/__torch__.py": code.encode(),
            "n/version": chance.choice([b"3", b"4", b"10"]),
        }
    )


def _call(chance: random.Random, known: int) -> str:
    space, word = chance.choice([*ALLOWED, *_STRANGE]).split("::")
    variables = [f"v{number}" for number in range(known)]
    choices = [*_EXPRESSIONS, *_NUMBERS, *variables * 5, "x", "x", "x"]
    first = chance.choice(["x", "x", "self.w", *variables])
    rest = [chance.choice(choices) for _ in range(chance.choice([0, 1, 1, 2, 2, 3, 5, 9]))]
    name = f"torch.{word}" if space == "aten" else f"ops.{space}.{word}"
    return f"{name}({', '.join([first, *rest])})"


def _heavy(members: Members, chance: random.Random) -> bytes:
    """Write code, names or tensors that take far more than they look."""
    size, word = chance.choice([100, 10_000, 1_000_000]), chance.choice(_LISTED)
    body = chance.choice(
        [
            f"return torch.{word}(x, torch.mul([{chance.choice([0, 1])}], {size}))",
            f"for i in range({size}):\n      x = torch.unsqueeze(x, 0)\n    return x",
            f"for i in range({size}):\n      x = torch.mul(x, x)\n    return x",
            f'return torch.format("{{}}", torch.mul(["{"x" * 10_000}"], {size}))',
            f"return torch.sum(self.w)\n    {'y' * size} = x",
        ]
    )
    code = (
        "class Net(Module):\n  __parameters__ = []\n  w : Tensor\n"
        f"  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n    {body}\n"
    )
    storage = (
        b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
        b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x01tQ"
    )
    wide = b"J" + struct.pack("<i", chance.choice([1, 2**20, 2**27]))
    weight = (
        b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00(" + wide + b"t(K\x00t\x89}tR"
    )
    names = b"".join(b"X\x04\x00\x00\x00%04d" % n + weight for n in range(chance.choice([1, 2000])))
    data = b"\x80\x02c__torch__\nNet\n)\x81}(X\x01\x00\x00\x00w" + weight + names + b"ub."
    number = np.array([chance.choice([0.0, float("nan"), float("inf")])], np.float32)
    return _zipped(
        {
            "n/data.pkl": pickle_bomb(chance)[1] if chance.random() < 0.2 else data,
            "n/data/0": number.tobytes(),
            "n/code/__torch__.py": code.encode(),
            "n/version": b"10",
        }
    )


_LISTED = ("view", "reshape", "flip", "permute", "sum", "squeeze", "expand", "repeat", "movedim")
_MUTATIONS: tuple[Mutation, ...] = (
    _heavy,
    _change_code,
    _change_bytes,
    _change_pickle,
    _change_members,
    _change_zip,
    _write_code,
)


def cases(seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield the cases of a seed: a name, and the bytes of a file."""
    chance = random.Random(seed)
    bases = _bases()
    for number in range(_EACH):
        for mutation in _MUTATIONS:
            content = mutation(chance.choice(bases), chance)
            yield f"{mutation.__name__.strip('_')}-{seed}-{number}", content


def attempt(path: Path) -> None:
    """Load a file without trust and call it once; only errors of rpd itself are survived."""
    space = spaces.Box(0.0, 1.0, (4,), np.float32)
    facts = Facts(space, spaces.Discrete(3), _LANES, description="a world")
    seen = PolicyInput(
        np.ones((_LANES, 4), np.float32),
        views={},
        starts=np.ones(_LANES, dtype=bool),
        memory=None,
        draws=Draws(np.arange(_LANES, dtype=np.uint64), np.zeros(_LANES, dtype=np.int64)),
        previous=np.zeros(_LANES, dtype=np.int64),
        rewards=np.zeros(_LANES),
    )
    try:
        TorchScriptFile(path).load(facts)(seen)
    except RpdError as error:
        if "\n" in str(error):
            raise AssertionError(f"an error of several lines: {error}") from error
        raise
