"""What rpd computes is what torch computes, bit for bit, for many kinds of modules."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from script_files import Counter, save
from torch import Tensor, nn

from rpd_torchscript.loading import load_module
from rpd_torchscript.signature import Loaded

VECTORS = (torch.linspace(-2.0, 2.0, 24).reshape(6, 4),)
PICTURES = (torch.linspace(-1.0, 1.0, 2 * 3 * 12 * 12).reshape(2, 3, 12, 12),)
SEQUENCES = (torch.linspace(-1.0, 1.0, 2 * 5 * 4).reshape(2, 5, 4),)


def leaves(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return tuple(map(copied, value)) if isinstance(value, tuple) else value


def compare(path: Path, inputs: tuple[Any, ...]) -> None:
    """Load a file both ways and compare what is known of it, and its answers."""
    ours, theirs = load_module(path, trust=False), load_module(path, trust=True)
    assert ours.arguments == theirs.arguments
    assert (ours.returned, ours.weights, ours.name) == (
        theirs.returned,
        theirs.weights,
        theirs.name,
    )
    compare_answers(ours, theirs, inputs)


def compare_answers(ours: Loaded, theirs: Loaded, inputs: tuple[Any, ...]) -> None:
    """Call both: checked, along the short cut, and with other numbers of the same shapes."""
    assert ours.arguments is not None
    names = [argument.name for argument in ours.arguments]
    with torch.inference_mode():
        for given in (inputs, inputs, turned(inputs), inputs):
            arguments = dict(zip(names, given, strict=False))
            expected = leaves(theirs.call(copied(arguments)))
            found = leaves(ours.call(copied(arguments)))
            assert len(found) == len(expected)
            for left, right in zip(found, expected, strict=True):
                if isinstance(right, Tensor):
                    assert left.dtype == right.dtype
                    assert torch.equal(left.nan_to_num(), right.nan_to_num())
                else:
                    assert left == right
                    assert type(left) is type(right)


def turned(value: Any) -> Any:
    """Return tensors with their rows in the reverse order."""
    if isinstance(value, Tensor):
        return value.flip(0)
    return tuple(map(turned, value)) if isinstance(value, tuple) else value


def seeded(module: nn.Module) -> nn.Module:
    """Give every weight a value that does not depend on the order of tests."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in module.state_dict().values():
            if weight.is_floating_point():
                weight.copy_(torch.rand(weight.shape, generator=generator) - 0.3)
    return module.eval()


class Residual(nn.Module):
    """Normalisation, dropout, pooling and a sum around a layer, as picture networks have them."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True)
        )
        self.parts = nn.ModuleList([nn.Conv2d(8, 8, 3, padding=1) for _ in range(3)])
        self.pools = nn.Sequential(nn.MaxPool2d(2), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(2))
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(32, 3))

    def forward(self, picture: Tensor) -> Tensor:
        found = self.first(picture)
        for part in self.parts:
            found = found + torch.relu(part(found))
        return self.head(self.pools(found))


class HandMadeLstm(nn.Module):
    """An LSTM cell written with plain operators."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs, self.hidden = nn.Linear(4, 20), nn.Linear(5, 20)

    def forward(self, rows: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        hidden, cell = state
        gates = self.inputs(rows) + self.hidden(hidden)
        enter, forget, new, leave = gates.chunk(4, dim=1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
        hidden = torch.sigmoid(leave) * torch.tanh(cell)
        return hidden, hidden, cell


class HandMadeGru(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(15, 9))

    def forward(self, rows: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        both = torch.cat([rows, hidden], dim=-1)
        reset, update, _ = torch.split(both @ self.weights.t(), 5, dim=-1)
        fresh = torch.cat([rows, torch.sigmoid(reset) * hidden], dim=-1)
        new = torch.tanh(torch.matmul(fresh, self.weights[10:].t()))
        hidden = torch.lerp(new, hidden, torch.sigmoid(update))
        return hidden.softmax(-1), hidden


class Recurrent(nn.Module):
    """One of torch's recurrent layers with a head."""

    def __init__(self, core: nn.Module) -> None:
        super().__init__()
        self.core = core

    def forward(self, rows: Tensor) -> Tensor:
        return self.core(rows)[0].mean(1)


class MaskedAttention(nn.Module):
    """Attention written out, with a mask of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(4, 8), nn.Linear(4, 8)
        self.register_buffer("mask", torch.full((5, 5), float("-inf")).triu(1))

    def forward(self, rows: Tensor) -> Tensor:
        lanes, length = rows.shape[0], rows.size(1)
        query = self.query(rows).view(lanes, length, 2, 4).transpose(1, 2)
        key = self.key(rows).view(lanes, length, 2, 4).transpose(1, 2)
        scores = torch.matmul(query, key.transpose(-2, -1)) / 2.0 + self.mask
        return torch.matmul(scores.softmax(-1), key).transpose(1, 2).reshape(lanes, length, 8)


class Branches(nn.Module):
    """Branches and loops on shapes, constants and numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.times, self.names, self.scale = 3, ["a", "b"], {"a": 1.5}
        self.sizes = (2, 4)

    def forward(self, rows: Tensor, mask: Tensor | None = None) -> tuple[Tensor, int, float]:
        found: list[Tensor] = []
        for turn in range(self.times):
            found.append(rows * turn)
        if rows.dim() == 1:
            rows = rows.unsqueeze(0)
        elif rows.size(0) % 2 == 0 and len(self.names) > 1:
            rows = rows + self.scale["a"]
        else:
            rows = rows - 1
        if mask is not None:
            rows = rows.masked_fill(mask, 0.0)
        count = 0
        while count < 10 and bool(rows.sum() < 1000):
            rows, count = rows * 1.5 + 1.0, count + 1
            if count == 7:
                break
        left, right = 1, 2
        for _ in range(3):
            left, right = right, left + right
        total = torch.stack(found).sum(0)
        return total + rows, left * 10 + self.sizes[1], float(count) / 2


class Assignments(nn.Module):
    """Writes to tensors that it made itself."""

    def forward(self, rows: Tensor) -> Tensor:
        made = rows.clone()
        made[:, 0] = 1.0
        made[:, 1:3] += 2.0
        made.mul_(2.0).clamp_(min=-3.0)
        made[made > 4.0] = 0.5
        rows.add_(1.0)
        return torch.relu_(made + rows)


class Containers(nn.Module):
    def forward(self, rows: Tensor, parts: dict[str, Tensor]) -> dict[str, Tensor]:
        made = {"both": torch.cat([parts[key] for key in list(parts.keys())], dim=1)}
        for key, value in parts.items():
            made[key] = value * len(parts)
        if "other" not in made:
            made["other"] = rows[:, [1, 0]]
        return made


class Pair(NamedTuple):
    scores: Tensor
    value: Tensor


class NamedOutput(nn.Module):
    def forward(self, rows: Tensor) -> Pair:
        pair = Pair(rows * 2, rows[:, 0])
        return Pair(pair.scores + pair.value[:, None], pair.value)


class Numbers(nn.Module):
    """Plain numbers in all the ways that code has them."""

    def forward(self, rows: Tensor) -> tuple[int, int, float, int, float, bool, int, float]:
        size = rows.size(0) * 3 + 1
        text = f"{size} rows"
        highest = int(rows.max().item())
        return (
            size // 4,
            -size % 7,
            size / 4,
            abs(-size),
            float(max(size, 2)) ** 0.5,
            rows.shape[1] in [2, 4] and text != "x",
            highest + len(text) - (size // -3),
            round(2.5) + 2**3,
        )


class Everything(nn.Module):
    """Many functions at once, each on its own piece of the input."""

    def forward(self, rows: Tensor) -> list[Tensor]:
        small = torch.sigmoid(rows)
        whole = (rows * 3).long()
        return [
            torch.where(rows > 0, rows, torch.zeros_like(rows)),
            rows.clamp(-1.0, 1.0).pow(2).sqrt(),
            torch.log(small) + torch.exp(-small) + small.rsqrt() + torch.log1p(small),
            rows.var(dim=1),
            rows.std(dim=1, unbiased=False),
            rows.norm(2.0, dim=-1, keepdim=True),
            nn.functional.normalize(rows, dim=-1),
            rows.max(dim=1)[0],
            rows.min(dim=1).indices,
            torch.max(rows, small),
            rows.argmax(-1),
            rows.topk(2, dim=-1)[0],
            rows.sort(dim=-1, descending=True)[1],
            rows.cumsum(1),
            rows.logsumexp(1),
            rows.prod(1),
            whole % 4,
            whole // 5,
            torch.div(whole, 2, rounding_mode="trunc"),
            whole.remainder(-3),
            nn.functional.one_hot(whole.abs() % 3, 4),
            rows.gather(1, whole.abs() % 4),
            rows.index_select(0, whole[:, 0].abs() % 6),
            torch.arange(5, dtype=torch.float32) + torch.ones(5) * torch.full([5], 2.5),
            rows.new_zeros([2, 2]) + rows.new_full([2, 2], 3.0),
            torch.tensor([[1.0, 2.0], [3.0, 4.0]]).repeat(2, 1),
            rows.expand(3, 6, 4).permute(2, 0, 1).contiguous().view(4, -1),
            rows.unsqueeze(1).repeat_interleave(2, dim=1).squeeze(-1),
            torch.stack(rows.unbind(1), dim=1).flip([0]),
            rows[1:5:2, -2:],
            rows.half() * 2,
            rows.double() / 3,
            rows.to(torch.bfloat16),
            torch.addmm(rows, rows, rows[:4], beta=0.5, alpha=2.0),
            torch.bmm(rows[:, None], rows[:, :, None]).flatten(),
            nn.functional.pad(rows, [1, 2], value=0.5),
            nn.functional.gelu(rows) + nn.functional.silu(rows) + nn.functional.elu(rows, 0.5),
            nn.functional.leaky_relu(rows, 0.1) + nn.functional.softplus(rows),
            nn.functional.hardtanh(rows) + nn.functional.mish(rows) + nn.functional.selu(rows),
            nn.functional.layer_norm(rows, [4]) + nn.functional.log_softmax(rows, dim=1),
            nn.functional.group_norm(rows[:, :, None], 2).flatten(1),
            torch.logical_and(rows > 0, rows < 1) | (rows == 0) ^ ~(rows != 1),
            torch.isfinite(rows).all(1),
            (rows / 0.0).isnan().any(),
            torch.atan2(rows, small) + torch.lerp(rows, small, 0.3),
            rows.reshape(-1).narrow(0, 2, 6).unflatten(0, [2, 3]).movedim(0, 1),
        ]


class Shapes(nn.Module):
    """Layers over pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Conv2d(3, 6, 3, stride=2, padding="valid", dilation=2, groups=3)
        self.same = nn.Conv2d(3, 4, 3, padding="same")
        self.around = nn.Conv2d(3, 4, 3, padding=1, padding_mode="circular")
        self.line = nn.Conv1d(12, 4, 3)
        self.norms = nn.Sequential(nn.InstanceNorm2d(3), nn.GroupNorm(1, 3))
        self.bends = nn.Sequential(nn.PReLU(3), nn.ReflectionPad2d(1), nn.ReplicationPad2d(1))

    def forward(self, picture: Tensor) -> list[Tensor]:
        return [
            self.wide(picture),
            self.same(picture),
            self.around(picture),
            self.line(picture[:, 0]),
            self.norms(picture),
            self.bends(picture),
            nn.functional.max_pool1d(picture[:, 0], 2),
            nn.functional.avg_pool1d(picture[:, 0], 3),
            nn.functional.adaptive_max_pool2d(picture, 3),
            nn.functional.max_pool2d(picture, 3, 2, 1, ceil_mode=True),
        ]


class Embedded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 4)

    def forward(self, rows: Tensor) -> Tensor:
        return self.table(rows.long().abs()).sum(1)


class WithoutGradients(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, rows: Tensor) -> Tensor:
        with torch.no_grad():
            found = self.layer(rows)
        return found


def before(self: Any, input: tuple[Tensor]) -> tuple[Tensor]:
    return (input[0] * 2,)


def after(self: Any, input: tuple[Tensor], output: Tensor) -> Tensor:
    return output + input[0].sum()


class Hooked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.layer.register_forward_pre_hook(before)
        self.layer.register_forward_hook(after)

    def forward(self, rows: Tensor) -> Tensor:
        return self.layer(rows)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.LayerNorm(16), nn.Linear(16, 3))


STATE = torch.linspace(-0.5, 0.5, 30).reshape(6, 5)
CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "mlp": (mlp, VECTORS),
    "double": (lambda: mlp().double(), (VECTORS[0].double(),)),
    "half": (lambda: nn.Linear(4, 3).half(), (VECTORS[0].half(),)),
    "bfloat16": (lambda: nn.Linear(4, 3).bfloat16(), (VECTORS[0].bfloat16(),)),
    "residual": (Residual, PICTURES),
    "shapes": (Shapes, PICTURES),
    "lstm by hand": (HandMadeLstm, (*VECTORS, (STATE, STATE * 2))),
    "gru by hand": (HandMadeGru, (*VECTORS, STATE)),
    "lstm": (lambda: Recurrent(nn.LSTM(4, 5, 2, batch_first=True)), SEQUENCES),
    "two-way lstm": (lambda: Recurrent(nn.LSTM(4, 5, bidirectional=True)), SEQUENCES),
    "gru": (lambda: Recurrent(nn.GRU(4, 5, bias=False)), SEQUENCES),
    "rnn": (lambda: Recurrent(nn.RNN(4, 5, nonlinearity="relu")), SEQUENCES),
    "gru cell": (lambda: nn.GRUCell(4, 5), (*VECTORS, STATE)),
    "lstm cell": (lambda: nn.LSTMCell(4, 5), (*VECTORS, (STATE, STATE))),
    "attention by hand": (MaskedAttention, SEQUENCES),
    "embedding": (Embedded, VECTORS),
    "no_grad": (WithoutGradients, VECTORS),
    "named tuple": (NamedOutput, VECTORS),
    "counter": (Counter, (*VECTORS, STATE[:, :1])),
}
SCRIPTED: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "branches": (Branches, VECTORS),
    "branches with a mask": (Branches, (*VECTORS, VECTORS[0] > 0)),
    "branches of an odd number": (Branches, (VECTORS[0][:5],)),
    "assignments": (Assignments, VECTORS),
    "numbers": (Numbers, VECTORS),
    "everything": (Everything, VECTORS),
    "hooks": (Hooked, VECTORS),
}


@pytest.mark.parametrize("name", [*CASES, *SCRIPTED])
def test_a_scripted_module_answers_as_in_torch(tmp_path: Path, name: str) -> None:
    make, inputs = {**CASES, **SCRIPTED}[name]
    compare(save(seeded(make()), tmp_path / "a.pt"), inputs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*CASES, "assignments", "everything"])
def test_a_traced_module_answers_as_in_torch(tmp_path: Path, name: str) -> None:
    make, inputs = {**CASES, **SCRIPTED}[name]
    traced: Any = torch.jit.trace(seeded(make()), copied(inputs), check_trace=False)
    traced.save(str(tmp_path / "a.pt"))
    compare(tmp_path / "a.pt", inputs)


def test_dictionaries_go_in_and_out(tmp_path: Path) -> None:
    loaded = load_module(save(Containers(), tmp_path / "a.pt"), trust=False)
    parts = {"b": torch.ones(2, 1), "a": torch.zeros(2, 2)}
    found = loaded.call({"rows": torch.eye(2), "parts": parts})
    assert {key: value.tolist() for key, value in found.items()} == {
        "both": [[1, 0, 0], [1, 0, 0]],
        "b": [[2], [2]],
        "a": [[0, 0], [0, 0]],
        "other": [[0, 1], [1, 0]],
    }


def test_another_shape_takes_another_way_through_the_code(tmp_path: Path) -> None:
    path = save(Branches(), tmp_path / "a.pt")
    for rows in (6, 5, 6, 5):
        compare(path, (VECTORS[0][:rows],))


def test_an_input_that_the_code_writes_to_stays_as_it_was(tmp_path: Path) -> None:
    loaded = load_module(save(Assignments(), tmp_path / "a.pt"), trust=False)
    rows = VECTORS[0].clone()
    loaded.call({"rows": rows})
    assert torch.equal(rows, VECTORS[0])
