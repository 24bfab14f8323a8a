"""Files of plain weights: three formats, one network; and what is refused in one line."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import library_networks as nets
import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import nn
from weight_files import (
    ATARI,
    CART,
    LANES,
    PENDULUM,
    ask,
    facts,
    rows_of,
    save_npz,
    save_safetensors,
)

from rpd_core.config.objects import takers
from rpd_core.config.resolve import choose
from rpd_core.errors import ConfigError, FitError, RpdError, SpecError
from rpd_core.plugin.protocols import Facts
from rpd_core.plugin.registry import installed
from rpd_kit import check_component
from rpd_weights.loader import WeightsFile


@pytest.fixture
def module() -> nets.CleanPpo:
    torch.manual_seed(0)
    return nets.CleanPpo()


@pytest.fixture
def saved(module: nets.CleanPpo, tmp_path: Path) -> Path:
    path = tmp_path / "model.pt"
    torch.save(module.state_dict(), path)
    return path


def refusal(file: WeightsFile, world: Any = CART) -> str:
    with pytest.raises(RpdError) as caught:
        file.load(facts(world))
    line = str(caught.value)
    assert line.isprintable()
    assert len(line) <= 600
    return line


def test_three_formats_hold_one_network(module: nets.CleanPpo, saved: Path, tmp_path: Path) -> None:
    weights = module.state_dict()
    files = [
        saved,
        save_safetensors(tmp_path / "model.safetensors", weights),
        save_npz(tmp_path / "model.npz", weights),
    ]
    rows = rows_of(CART)
    shares = [ask(WeightsFile(path).load(facts(CART)), rows).probabilities for path in files]
    for one in shares[1:]:
        np.testing.assert_array_equal(one, shares[0])


def test_the_loader_conforms(saved: Path) -> None:
    assert check_component("policy", f"weights:{saved}", environment="cartpole") == []


@pytest.mark.parametrize("ending", [".pt", ".bin"])
def test_a_bare_path_finds_the_loader_by_content(
    module: nets.CleanPpo, tmp_path: Path, ending: str
) -> None:
    for number, save in enumerate((save_safetensors, _save_torch)):
        path = save(tmp_path / f"model{number}{ending}", module.state_dict())
        assert choose(installed(), "policy", path).text == f"weights:{path}"


def _save_torch(path: Path, weights: Any) -> Path:
    torch.save(weights, path)
    return path


def test_statistics_in_an_npz_are_nobodys_policy(tmp_path: Path) -> None:
    path = tmp_path / "vecnormalize.npz"
    np.savez(path, mean=np.zeros(4), var=np.ones(4))
    assert takers(installed(), path) == []


# --------------------------------------------------------------------- which network


def test_of_two_networks_that_fit_both_are_listed_with_what_to_type(tmp_path: Path) -> None:
    first, second = nets.CourseReinforce(), nets.CourseReinforce()
    torch.save({"left": first.state_dict(), "right": second.state_dict()}, tmp_path / "two.pt")
    file = WeightsFile(tmp_path / "two.pt")
    assert refusal(file) == (
        "two.pt holds 2 networks that fit: write "
        "weights:two.pt,prefix=left (left.fc1 4>16, left.fc2 16>2) or "
        "weights:two.pt,prefix=right (right.fc1 4>16, right.fc2 16>2)"
    )
    chosen = WeightsFile(tmp_path / "two.pt", prefix="right").load(facts(CART))
    rows = rows_of(CART)
    wanted = second(torch.from_numpy(rows)).softmax(1).detach().numpy()
    np.testing.assert_allclose(ask(chosen, rows).probabilities, wanted, atol=1e-6)


def test_a_prefix_reaches_what_its_name_would_rule_out(tmp_path: Path) -> None:
    net = nets.CourseReinforce()
    torch.save({"critic_target": net.state_dict()}, tmp_path / "m.pt")
    assert "no network" in refusal(WeightsFile(tmp_path / "m.pt"))
    WeightsFile(tmp_path / "m.pt", prefix="critic_target").load(facts(CART))


def test_an_unknown_prefix_is_answered_with_those_there_are(saved: Path) -> None:
    assert refusal(WeightsFile(saved, prefix="agent")) == (
        "model.pt has nothing below prefix=agent: its names begin with actor, critic"
    )


def test_a_network_for_other_spaces_is_refused_with_its_shapes(saved: Path) -> None:
    assert refusal(WeightsFile(saved), PENDULUM) == (
        "model.pt holds no network from an observation of shape (3,) to 1 or 2 numbers, as a world "
        "needs: its layers are critic.0 4>16, critic.2 16>16, critic.4 16>1, actor.0 4>16, "
        "actor.2 16>16, actor.4 16>2; options: prefix=, stack=, key=, strides="
    )


def test_a_critic_is_never_taken_for_the_policy(tmp_path: Path) -> None:
    """For one action of Pendulum a critic would have the right shapes."""
    torch.save({"actor": nets.mlp(5, 8, 1).state_dict(), "critic": nets.mlp(3, 8, 1).state_dict()},
               tmp_path / "m.pt")  # fmt: skip
    assert "holds no network" in refusal(WeightsFile(tmp_path / "m.pt"), PENDULUM)


class _Normed(nn.Module):
    """Normalisation before the activation, then behind it, as tianshou and d3rlpy have it."""

    def __init__(self, behind: bool) -> None:
        super().__init__()
        first: list[nn.Module] = [nn.BatchNorm1d(8), nn.ReLU()]
        second: list[nn.Module] = [nn.LayerNorm(8), nn.ReLU()]
        self.layers = nn.Sequential(
            nn.Linear(4, 8), *(first[::-1] if behind else first),
            nn.Linear(8, 8), *(second[::-1] if behind else second), nn.Linear(8, 2),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


@pytest.mark.parametrize("behind", [False, True])
def test_the_number_of_a_normalisation_tells_where_the_activation_is(
    behind: bool, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    net = _Normed(behind)
    for _ in range(3):
        net(torch.randn(16, 4))  # moves the means of the batch normalisation
    net.eval()
    policy = WeightsFile(_save_torch(tmp_path / "m.pt", net.state_dict())).load(facts(CART))
    rows = rows_of(CART)
    wanted = net(torch.from_numpy(rows)).softmax(1).detach().numpy()
    np.testing.assert_allclose(ask(policy, rows).probabilities, wanted, atol=1e-6)


class _Jumps(nn.Module):
    """A residual block: by its shapes alone it could be a plain network."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 2)
        self.res_block = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))


def _weight_normed() -> nn.Module:
    return nn.Sequential(
        nn.Linear(4, 4), nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)), nn.Linear(4, 2)
    )


def _pooled() -> nn.Module:
    return nn.Sequential(nn.Conv2d(4, 2, 2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(2 * 41 * 41, 6))  # fmt: skip


@pytest.mark.parametrize(
    ("module", "world"),
    [
        (_Jumps(), CART),
        (_weight_normed(), CART),
        (nn.Sequential(nn.Conv1d(4, 4, 1), nn.Linear(4, 2)), CART),
        (nn.ModuleDict({"core": nn.RNN(4, 4), "head": nn.Linear(4, 2)}), CART),
        (nets.mlp(4, 8, 2 * 51), CART),  # C51
        (_pooled(), ATARI),
    ],
    ids=["residual", "weight norm", "conv1d", "plain rnn", "c51", "pooling"],
)
def test_what_names_and_shapes_do_not_tell_is_refused(
    module: nn.Module, world: Any, tmp_path: Path
) -> None:
    path = _save_torch(tmp_path / "m.pt", module.state_dict())
    assert "holds no network from an observation" in refusal(WeightsFile(path), world)


# --------------------------------------------------------------------------- options


def test_what_the_user_says_beats_what_is_assumed(saved: Path, module: nets.CleanPpo) -> None:
    policy = WeightsFile(saved, activation="elu", output="q").load(facts(CART))
    rows = torch.from_numpy(rows_of(CART))
    for place in (1, 3):
        module.actor[place] = nn.ELU()
    wanted = module(rows).detach().numpy()
    np.testing.assert_allclose(ask(policy, rows.numpy()).action_values, wanted, atol=1e-6)
    assert policy.describe()["activation"] == "elu (said so)"
    assert policy.describe()["output"] == "q (said so)"


def test_the_note_of_describe_names_what_was_assumed(saved: Path) -> None:
    assert WeightsFile(saved).load(facts(CART)).describe() == {
        "format": "weights, torch file",
        "size": "386 numbers in 3 layers",
        "network": "actor.0 4>16, actor.2 16>16, actor.4 16>2",
        "activation": "tanh (assumed, the default of PPO with actor and critic; activation= says "
        "another)",
        "observation": "as it is",
        "output": "logits (by its name)",
        "action": "best",
    }
    assert WeightsFile(saved).describe()["layers"].startswith("critic.0 4>16, critic.2 16>16")


def test_actions_are_drawn_from_logits_if_wanted(saved: Path) -> None:
    policy = WeightsFile(saved, deterministic=False).load(facts(CART))
    rows = np.zeros((LANES, 4), np.float32)
    actions = ask(policy, rows).actions
    assert actions.tolist() == ask(policy, rows).actions.tolist()
    assert set(actions.tolist()) == {0, 1}


def test_a_discrete_observation_becomes_one_hot(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = nets.mlp(16, 8, 4)
    lake = (spaces.Discrete(16), spaces.Discrete(4))
    policy = WeightsFile(_save_torch(tmp_path / "m.pt", net.state_dict())).load(facts(lake))
    places = np.array([0, 3, 15, 7, 7])
    wanted = net(torch.eye(16)[places]).argmax(1).tolist()
    assert ask(policy, places).actions.tolist() == wanted


def test_several_whole_numbers_are_taken_group_by_group(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = nets.mlp(4, 8, 5)
    world = (CART[0], spaces.MultiDiscrete([2, 3]))
    policy = WeightsFile(_save_torch(tmp_path / "m.pt", net.state_dict())).load(facts(world))
    rows = rows_of(CART)
    numbers = net(torch.from_numpy(rows))
    wanted = torch.stack([numbers[:, :2].argmax(1), numbers[:, 2:].argmax(1)], 1)
    assert ask(policy, rows).actions.tolist() == wanted.tolist()


def test_single_frames_are_stacked_and_forgotten_where_an_episode_starts(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = nets.mlp(8, 8, 2)
    path = _save_torch(tmp_path / "m.pt", net.state_dict())
    policy = WeightsFile(path, stack=2).load(facts(CART))
    old, new = rows_of(CART, 1), rows_of(CART, 2)
    first = ask(policy, old)
    begins = np.array([True, False, False, False, False])
    second = ask(policy, new, begins, first.memory)
    seen = np.concatenate([np.where(begins[:, None], new, old), new], axis=1)
    wanted = net(torch.from_numpy(seen)).softmax(1).detach().numpy()
    np.testing.assert_allclose(second.probabilities, wanted, atol=1e-6)


def test_the_part_of_a_dict_that_fits_is_found(tmp_path: Path, saved: Path) -> None:
    other = spaces.Box(0.0, 1.0, (7,), np.float32)
    world = Facts(spaces.Dict({"goal": other, "robot": CART[0]}), CART[1], LANES)
    policy = WeightsFile(saved).load(world)
    assert policy.describe()["observation"] == "robot: as it is"
    both = Facts(spaces.Dict({"a": CART[0], "b": CART[0]}), CART[1], LANES)
    with pytest.raises(FitError, match=r"fits 'a' and 'b' of the observation: choose with key="):
        WeightsFile(saved).load(both)
    WeightsFile(saved, key="b").load(both)


def test_a_part_of_an_observation_without_parts_is_refused(saved: Path) -> None:
    assert refusal(WeightsFile(saved, key="robot")) == (
        "key=robot is for observations of several parts; drop it"
    )


def test_strides_of_a_network_without_convolutions_are_refused(saved: Path) -> None:
    assert refusal(WeightsFile(saved, strides=(4, 2))) == (
        f"strides= is for convolutions, and {saved.name} holds none: drop it"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"stack": 0}, "stack must be at least 1, got 0"),
        ({"divide": 0.0}, "divide must be a number above 0, got 0.0"),
        ({"divide": float("inf")}, "divide must be a number above 0, got inf"),
        ({"strides": (2, 0)}, "strides must be at least 1, got 0"),
    ],
)
def test_senseless_options_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        WeightsFile(Path("m.pt"), **options)
    assert str(caught.value) == said


def test_an_output_that_the_actions_cannot_be_is_refused(saved: Path) -> None:
    assert refusal(WeightsFile(saved, output="mean")) == (
        "output=mean does not suit Discrete(2): use q or logits"
    )


# ---------------------------------------------------------------------- what is refused


def _legacy(module: nn.Module) -> bytes:
    stream = io.BytesIO()
    torch.save(module.state_dict(), stream, _use_new_zipfile_serialization=False)
    return stream.getvalue()


def test_files_from_before_torch_1_6_are_refused(module: nets.CleanPpo, tmp_path: Path) -> None:
    path = tmp_path / "old.pth"
    path.write_bytes(_legacy(module))
    assert refusal(WeightsFile(path)) == (
        "old.pth is a pickle, as torch wrote before 1.6 and others still do, which is not read: "
        "load it where it was made and save its state dict with torch.save"
    )


def test_a_module_that_was_pickled_whole_is_refused(tmp_path: Path) -> None:
    torch.save(nets.mlp(4, 2), tmp_path / "whole.pt")
    assert refusal(WeightsFile(tmp_path / "whole.pt")) == (
        "whole.pt: it is more than weights, it wants torch.nn.modules.container.Sequential: save "
        "module.state_dict() with torch.save, or, if you trust whoever made it, "
        "torchscript:whole.pt,trust=true loads a whole module"
    )


def test_a_checkpoint_of_ml_agents_is_refused_for_its_onnx_file(tmp_path: Path) -> None:
    name = "network_body._body_endoder.seq_layers.0.weight"
    torch.save({"Policy": {name: torch.ones(2, 4)}}, tmp_path / "agent.pt")
    assert refusal(WeightsFile(tmp_path / "agent.pt")).endswith(
        "take the .onnx file that ML-Agents writes beside it, with onnx:"
    )


def test_weights_that_are_not_finite_are_refused_by_name(tmp_path: Path) -> None:
    net = nets.mlp(4, 8, 2)
    with torch.no_grad():
        net[2].bias[1] = float("nan")
    path = _save_torch(tmp_path / "m.pt", net.state_dict())
    assert "the weights '2.bias' are not all finite numbers" in refusal(WeightsFile(path))


def _safetensors(table: Any, numbers: bytes, length: int | None = None) -> bytes:
    header = table if isinstance(table, bytes) else json.dumps(table).encode()
    return struct.pack("<Q", len(header) if length is None else length) + header + numbers


def _entry(shape: Any = (2,), offsets: Any = (0, 8), dtype: Any = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": [*shape], "data_offsets": [*offsets]}


HOSTILE: dict[str, tuple[bytes, str]] = {
    "a table beyond the file": (_safetensors({}, b"", 10**6), "was cut short"),
    "a table of other JSON": (_safetensors(b"{]", b""), "cannot be used"),
    "a name twice": (_safetensors(b'{"a": 1, "a": 2}', b""), "names an array twice"),
    "a row that is a number": (_safetensors({"a": 5}, b""), "makes no sense"),
    "negative sizes": (_safetensors({"a": _entry((-2,))}, bytes(8)), "makes no sense"),
    "truth values as sizes": (_safetensors({"a": _entry((True,))}, bytes(8)), "makes no sense"),
    "endless sizes": (_safetensors({"a": _entry((2**50,))}, bytes(8)), "makes no sense"),
    "another type": (_safetensors({"a": _entry(dtype="F8_E5M2")}, bytes(8)), "is not read"),
    "too few bytes": (_safetensors({"a": _entry((3,))}, bytes(8)), "has 8 bytes for shape (3,)"),
    "an overlap": (
        _safetensors({"a": _entry(), "b": _entry(offsets=(4, 12))}, bytes(12)), "overlap",
    ),
    "a gap": (_safetensors({"a": _entry(offsets=(4, 12))}, bytes(12)), "overlap or leave gaps"),
    "bytes behind the end": (_safetensors({"a": _entry()}, bytes(9)), "but 9 are stored"),
    "a beginning that deceives": (_safetensors(b"{" * 4000, b""), "nested too deeply"),
    "no arrays": (_safetensors({"__metadata__": {"format": "pt"}}, b""), "no layer that is known"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_safetensors_file_is_refused(name: str, tmp_path: Path) -> None:
    raw, said = HOSTILE[name]
    path = tmp_path / "bad.safetensors"
    path.write_bytes(raw)
    assert said in refusal(WeightsFile(path))


def test_a_zip_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "nothing")
    assert "is a zip file, but not one of weights" in refusal(WeightsFile(path))
    path.write_bytes(path.read_bytes()[:40])
    assert "damaged or was cut short" in refusal(WeightsFile(path))


def test_an_array_of_objects_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    np.savez(path, **{"actor.weight": np.array([{}], dtype=object)})
    assert "only numbers are read" in refusal(WeightsFile(path))


def test_a_state_dict_that_calls_something_is_refused(tmp_path: Path) -> None:
    class Harm:
        def __reduce__(self) -> Any:
            return open, (str(tmp_path / "harm"), "w")

    torch.save({"fc.weight": torch.zeros(2, 4), "extra": Harm()}, tmp_path / "m.pt")
    assert "it wants " in refusal(WeightsFile(tmp_path / "m.pt"))
    assert not (tmp_path / "harm").exists()
    (tmp_path / "m.pt").write_bytes(pickle.dumps(Harm()))
    assert "is a pickle" in refusal(WeightsFile(tmp_path / "m.pt"))
    assert not (tmp_path / "harm").exists()


def test_a_convolution_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Conv2d(4, 2000, 1), nn.ReLU(), nn.Flatten(), nn.Linear(1, 6))
    path = _save_torch(tmp_path / "m.pt", net.state_dict())
    world = (spaces.Box(0, 255, (4, 84, 84), np.uint8), spaces.Discrete(6))
    assert "more than any policy needs: refused" in refusal(WeightsFile(path), world)


def test_many_equal_layers_do_not_take_for_ever(tmp_path: Path) -> None:
    same = {f"part{n}.fc.weight": torch.zeros(4, 4) for n in range(39)}
    path = _save_torch(tmp_path / "m.pt", same)
    assert "holds no network" in refusal(WeightsFile(path))


def test_settings_beside_the_weights_do_no_harm(tmp_path: Path, module: nets.CleanPpo) -> None:
    kept = {
        "model": module.state_dict(), "score": np.float64(3.0), "device": torch.device("cpu"),
        "kind": nn.Tanh, "sizes": torch.Size([1, 2]), "notes": ["a", {"b": None}],
    }  # fmt: skip
    path = _save_torch(tmp_path / "m.pt", kept)
    WeightsFile(path).load(facts(CART))


def test_a_missing_file_is_a_line(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"does not exist: give the \.pt, \.safetensors or \.npz"):
        WeightsFile(tmp_path / "none.pt").load(facts(CART))
