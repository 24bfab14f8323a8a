"""Files from strangers: each would write a file if it could."""

from __future__ import annotations

import pickle
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from script_files import Linear, facts, loaded, save, seen, vectors
from torch import Tensor, nn

from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.protocols import Contents
from rpd_torchscript.archive import read_archive
from rpd_torchscript.functions.table import ALLOWED, RANDOM
from rpd_torchscript.recognise import is_torchscript


class Writes(Linear):
    """Writes a file when it is called."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self.target: str = target

    def forward(self, observation: Tensor) -> Tensor:
        torch.save(observation, self.target)  # type: ignore[no-untyped-call]
        return self.layer(observation)


class WritesDeepInside(nn.Module):
    """Writes from a submodule, inside a branch, inside a loop."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self.inner = Writes(target)

    def forward(self, observation: Tensor) -> Tensor:
        result = observation[:, :3]
        for _ in range(2):
            if observation.sum() < 1e9:
                result = result + self.inner(observation)
        return result


class WritesElsewhere(Linear):
    """Harmless when called; another method writes."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self.target: str = target

    @torch.jit.export
    def goodbye(self, observation: Tensor) -> Tensor:
        torch.save(observation, self.target)  # type: ignore[no-untyped-call]
        return observation


class WritesWhenLoaded(Linear):
    """Writes while the file is loaded, before anybody calls it."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self.target: str = target

    @torch.jit.export
    def __getstate__(self) -> tuple[str, bool]:
        return self.target, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[str, bool]) -> None:
        self.target = state[0]
        self.training = state[1]
        torch.save(torch.zeros(1), self.target)  # type: ignore[no-untyped-call]


class MapsAFile(Linear):
    """Maps a file into memory, which creates it."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self.target: str = target

    def forward(self, observation: Tensor) -> Tensor:
        return self.layer(observation) + torch.from_file(self.target, True, 3)


class WritesFromAHook(Linear):
    """Writes from a hook in front of its layer."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self.layer.target = target
        self.layer.register_forward_pre_hook(write_first)


def write_first(self, input: tuple[Tensor]) -> None:  # type: ignore[no-untyped-def]
    torch.save(input[0], self.target)  # type: ignore[no-untyped-call]


HOSTILE = [
    (WritesFromAHook, "aten::save"),
    (Writes, "aten::save"),
    (WritesDeepInside, "aten::save"),
    (WritesWhenLoaded, "__setstate__"),
    (MapsAFile, "aten::from_file"),
]


@pytest.mark.parametrize(("kind", "name"), HOSTILE)
def test_a_hostile_module_is_refused_and_writes_nothing(
    tmp_path: Path, kind: Any, name: str
) -> None:
    target = tmp_path / "written"
    path = save(kind(str(target)), tmp_path / "hostile.pt")
    target.unlink(missing_ok=True)
    with pytest.raises(FitError, match=rf"hostile\.pt .*{name}.*trust=true"):
        loaded(path)
    assert not target.exists()


def test_a_method_that_is_never_called_does_no_harm(tmp_path: Path) -> None:
    target = tmp_path / "written"
    path = save(WritesElsewhere(str(target)), tmp_path / "a.pt")
    loaded(path)(seen(vectors()))
    assert not target.exists()


@pytest.mark.parametrize("kind", [Writes, WritesDeepInside, MapsAFile])
def test_with_trust_the_same_module_is_loaded_in_full(tmp_path: Path, kind: Any) -> None:
    target = tmp_path / "written"
    path = save(kind(str(target)), tmp_path / "trusted.pt")
    target.unlink(missing_ok=True)
    loaded(path, trust=True)(seen(vectors()))
    assert target.exists()  # so the refusals above are worth something


class Payload:
    """A pickle that writes a file when it is read."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (self.target, "written")


def test_a_pickled_payload_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "written"
    path = tmp_path / "policy.pt"
    torch.save({"weights": torch.zeros(2), "extra": Payload(target)}, path)
    with pytest.raises(FitError, match=r"pickled Python object that needs 'pathlib\..*trust=true"):
        loaded(path)
    assert not target.exists()


def test_a_bare_pickle_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "written"
    path = tmp_path / "policy.pt"
    path.write_bytes(pickle.dumps(Payload(target)))
    with pytest.raises(FitError, match="is a bare pickle, not TorchScript"):
        loaded(path)
    assert not target.exists()


@pytest.mark.parametrize(("protocol", "name"), [(2, "__builtin__.getattr"), (4, "pathlib.*_text")])
def test_a_payload_among_the_members_of_a_script_is_refused(
    tmp_path: Path, protocol: int, name: str
) -> None:
    target = tmp_path / "written"
    path = save(Linear(), tmp_path / "good.pt")
    bad = tmp_path / "bad.pt"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(bad, "w") as copy:
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename.endswith("/data.pkl"):
                data = pickle.dumps(Payload(target), protocol)
            copy.writestr(entry.filename, data)
    with pytest.raises(FitError, match=rf"bad\.pt .*{name}.*refused"):
        loaded(bad)
    assert not target.exists()


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    path = save(Linear(), tmp_path / "good.pt")
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr(archive.namelist()[0], b"another")
    with pytest.raises(FitError, match="two members of one name"):
        loaded(path)


def test_a_module_that_draws_at_random_is_told_to_return_logits(tmp_path: Path) -> None:
    class Draws(Linear):
        def forward(self, observation: Tensor) -> Tensor:
            return torch.multinomial(self.layer(observation).softmax(-1), 1)

    with pytest.raises(FitError, match=r"draws its actions itself \('aten::multinomial'\)"):
        loaded(save(Draws(), tmp_path / "a.pt"))


def test_a_module_that_changes_itself_is_refused(tmp_path: Path) -> None:
    class Remembers(Linear):
        def __init__(self) -> None:
            super().__init__()
            self.calls: int = 0

        def forward(self, observation: Tensor) -> Tensor:
            self.calls += 1
            return self.layer(observation) * self.calls

    with pytest.raises(FitError, match="prim::SetAttr"):
        loaded(save(Remembers(), tmp_path / "a.pt"))


def test_the_allow_list_names_operators_that_exist_and_none_that_act() -> None:
    schemas = torch._C._jit_get_all_schemas()
    known = {schema.name for schema in schemas}
    assert {name for name in ALLOWED if name.startswith("aten")} <= known
    assert not ALLOWED & RANDOM
    touchy = ("file", "save", "load", "print", "fork", "Call", "Python", "seed", "SetAttr")
    assert not [name for name in ALLOWED if any(word in name for word in touchy)]


# ------------------------------------------------------------------- bad files


def look_first(self, input: tuple[Tensor]) -> None:  # type: ignore[no-untyped-def]
    """Do nothing; what counts is that somebody wanted it done."""


def test_a_hook_that_would_silently_not_run_is_named(tmp_path: Path) -> None:
    module = Linear()
    module.register_forward_pre_hook(look_first)
    with pytest.raises(FitError, match="hooks on its outermost module"):
        loaded(save(module, tmp_path / "a.pt"))


def test_a_state_dict_is_recognised_and_the_way_out_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    torch.save(Linear().state_dict(), path)
    with pytest.raises(FitError, match=r"weights only.*\(layer.weight, layer.bias, \.\.\.\)") as it:
        loaded(path)
    assert "use weights:weights.pt, or build the module" in str(it.value)
    assert "load_state_dict, then torch.jit.script(module).save('policy.pt')" in str(it.value)
    with pytest.raises(FitError, match="weights only"):
        loaded(path, trust=True)


def test_a_whole_pickled_module_is_refused_unless_trusted(tmp_path: Path) -> None:
    path = tmp_path / "module.pt"
    torch.save(Linear(), path)
    with pytest.raises(FitError, match=r"needs 'script_files.Linear', and reading it may run code"):
        loaded(path)
    policy = loaded(path, trust=True)
    assert policy(seen(vectors())).probabilities.shape == (6, 3)


def test_an_exported_program_needs_trust(tmp_path: Path) -> None:
    path = tmp_path / "program.pt2"
    rows = torch.export.Dim("rows", min=1, max=1024)
    program = torch.export.export(
        Linear(), (torch.zeros(2, 4),), dynamic_shapes={"observation": {0: rows}}
    )
    torch.export.save(program, path)
    assert read_archive(path).kind == "export"
    with pytest.raises(FitError, match=r"torch\.export program.*trust=true"):
        loaded(path)
    policy = loaded(path, trust=True, output="q")
    with torch.inference_mode():
        expected = Linear()(torch.from_numpy(vectors())).numpy()
    assert abs(policy(seen(vectors())).action_values - expected).max() < 1e-6


def test_half_a_file_is_called_damaged(tmp_path: Path) -> None:
    path = save(Linear(), tmp_path / "a.pt")
    path.write_bytes(path.read_bytes()[:1500])
    with pytest.raises(FitError, match=r"damaged or truncated zip file: copy it again"):
        loaded(path)


def test_a_file_that_is_no_zip_is_named(tmp_path: Path) -> None:
    path = tmp_path / "policy.pt"
    path.write_text("not a policy")
    with pytest.raises(FitError, match=r"policy\.pt' is no zip file"):
        loaded(path)


def test_a_zip_without_torchscript_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", "{}")
        archive.writestr("policy.pth", "")
    with pytest.raises(FitError, match=r"without TorchScript in it.*sb3:model\.zip"):
        loaded(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"nowhere\.pt.*does not exist: give the \.pt file"):
        loaded(tmp_path / "nowhere.pt")


def test_weights_saved_on_a_graphics_card_are_read_on_the_processor(tmp_path: Path) -> None:
    path, moved = save(Linear(), tmp_path / "a.pt"), tmp_path / "cuda.pt"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(moved, "w") as copy:
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename.endswith("/data.pkl"):
                assert b"X\x03\x00\x00\x00cpu" in data
                data = data.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
            copy.writestr(entry.filename, data)
    before, after = (loaded(p)(seen(vectors())).probabilities for p in (path, moved))
    assert (before == after).all()


def test_a_graph_that_asks_for_a_graphics_card_runs_on_the_processor(tmp_path: Path) -> None:
    class OnCard(Linear):
        def forward(self, observation: Tensor) -> Tensor:
            return self.layer(observation.to("cuda:0"))

    before, after = (
        loaded(save(kind(), tmp_path / "a.pt"))(seen(vectors())).probabilities
        for kind in (Linear, OnCard)
    )
    assert (before == after).all()


def test_a_model_for_another_environment_says_both_sides(tmp_path: Path) -> None:
    path = save(Linear(8, 4), tmp_path / "lander.pt")
    with pytest.raises(FitError, match=r"does not take what a world gives \(float32 \(4,\)\)"):
        loaded(path, facts(actions=4))


def rewritten(source: Path, target: Path, change: Any) -> Path:
    """Copy a zip with each (name, content) changed."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            for changed, content in change(name, old.read(name)):
                new.writestr(changed, content)
    return target


def test_code_hidden_behind_capital_letters_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "written"
    path = save(WritesWhenLoaded(str(target)), tmp_path / "a.pt")
    target.unlink(missing_ok=True)

    def shout(name: str, content: bytes) -> list[tuple[str, bytes]]:
        decoy = [(name, b"")] if "/code/" in name else []
        return [*decoy, (name.replace("/code/", "/CODE/"), content)]

    with pytest.raises(FitError, match=r"a member named '.*/CODE/"):
        loaded(rewritten(path, tmp_path / "b.pt", shout))
    assert not target.exists()


@pytest.mark.parametrize(
    ("member", "words"), [("data/0", "need 48 bytes, but 4"), ("data.pkl", "only 12 numbers")]
)
def test_a_tensor_larger_than_its_bytes_is_refused(tmp_path: Path, member: str, words: str) -> None:
    path = save(Linear(), tmp_path / "a.pt")

    def lie(name: str, content: bytes) -> list[tuple[str, bytes]]:
        if name.endswith("/data/0") and member == "data/0":
            return [(name, content[:4])]
        if name.endswith("/data.pkl") and member == "data.pkl":  # 3 rows become 7
            return [(name, content.replace(b"(K\x03K\x04t", b"(K\x07K\x04t"))]
        return [(name, content)]

    with pytest.raises(FitError, match=rf"^b\.pt: the weights in it .*{words}.*copy it again$"):
        loaded(rewritten(path, tmp_path / "b.pt", lie))


@pytest.mark.parametrize("name", ["program/archive_format", "serialized_exported_program.json"])
def test_an_exported_program_is_known_whichever_torch_wrote_it(name: str) -> None:
    assert is_torchscript(Contents(b"PK", ("version", name)))
    assert not is_torchscript(Contents(b"PK", ("version", f"{name}.txt")))
