"""Keys that are no fields reach the field that takes them; values that are no specs are known."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpd_core.config.configuration import file_digest
from rpd_core.errors import SpecError
from rpd_core.plugin.discovery import load_plugin
from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.importing import describe_target
from rpd_core.plugin.protocols import Component, further
from rpd_core.plugin.registry import Registry, installed
from rpd_core.plugin.specs import Field, Spec, parse, split_name

FIELDS = (Field("id", str), Field("kwargs", tuple[str, ...], further=True), Field("cap", int))


@dataclass(frozen=True)
class Place:
    """A place."""

    id: str
    """Which."""
    kwargs: tuple[str, ...] = further()
    """What it is made with."""


def read(text: str) -> Spec:
    return parse(*split_name(text, "environment"), FIELDS)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("gym:A-v0,use_lidar=false", {"id": "A-v0", "use_lidar": "false"}),
        ("gym:A-v0,z=1,cap=3,a=2", {"id": "A-v0", "cap": "3", "a": "2", "z": "1"}),
        ("gym:A-v0,sizes='[1,2]'", {"id": "A-v0", "sizes": "[1,2]"}),
        ("gym:A-v0,kwargs=a=1+b=2,c=3", {"id": "A-v0", "kwargs": "a=1+b=2", "c": "3"}),
        ("gym:lr=3e-4/a", {"id": "lr=3e-4/a"}),
    ],
)
def test_a_later_key_that_is_no_field_is_kept_beside_the_fields(
    text: str, values: dict[str, str]
) -> None:
    assert read(text).values == values
    assert read(str(read(text))) == read(text)


def test_a_key_that_is_no_name_is_refused_as_before() -> None:
    with pytest.raises(SpecError, match=r"'a\.b=1' is not a parameter of 'gym'"):
        read("gym:A-v0,a.b=1")
    with pytest.raises(SpecError, match="got 'x' twice"):
        read("gym:A-v0,x=1,x=2")


@given(st.dictionaries(st.from_regex(r"\A[a-z]{1,5}\Z"), st.text("a1,+= ", max_size=5), max_size=3))
def test_whatever_is_written_is_read_again(values: dict[str, str]) -> None:
    spec = Spec("gym", {"id": "A-v0", **{f"x{key}": values[key] for key in sorted(values)}}, "id")
    assert read(str(spec)) == spec


def test_the_order_of_further_keys_and_the_long_form_make_no_difference() -> None:
    make = installed().make
    made = make("environment", "gym:FrozenLake-v1,map_name=a+b,is_slippery=false")
    assert made.kwargs == ("is_slippery=false", "map_name=a+b")
    assert made == make("environment", "gym:FrozenLake-v1,is_slippery=false,map_name=a+b")
    short = make("environment", "gym:FrozenLake-v1,is_slippery=false")
    assert short == make("environment", "gym:FrozenLake-v1,kwargs=is_slippery=false")
    chosen = installed().parse("environment", "gym:FrozenLake-v1,is_slippery=false")
    assert installed().text("environment", chosen) == "gym:FrozenLake-v1,is_slippery=false"


def test_a_component_without_such_a_field_refuses_the_key() -> None:
    with pytest.raises(SpecError, match="'speed=2' is not a parameter of 'minigrid'"):
        installed().make("environment", "minigrid:Empty-8x8,speed=2")


def test_the_field_is_described_with_its_default() -> None:
    (which, arguments) = describe_target(f"{__name__}:Place").parameters
    assert (which.default, arguments.default) == (None, "()")


@pytest.mark.parametrize(
    ("kind", "text", "meant"),
    [
        ("policy", "dqn.zip", "'sb3:dqn.zip'"),
        ("policy", "runs/dqn.zip,deterministic=false", "'sb3:runs/dqn.zip,deterministic=false'"),
        ("policy", "./a.pt", "'torchscript:./a.pt'"),
        ("policy", "a.pth", "'torchscript:a.pth'"),
        ("policy", "a.ts", "'torchscript:a.ts'"),
        ("policy", "pong.pb", "'atari-zoo:pong.pb'"),
        ("environment", "CartPole-v1", "'gym:CartPole-v1'"),
        ("environment", "ALE/Pong-v5", "'gym:ALE/Pong-v5'"),
        ("environment", "mine:Walk-v0", "'gym:mine:Walk-v0'"),
        ("environment", "MiniGrid-Empty-8x8-v0", "'minigrid:MiniGrid-Empty-8x8-v0'"),
        ("environment", "cartpool", "'cartpole'"),
        ("policy", "sb4:a.zip", "'sb3'"),
    ],
)
def test_what_is_no_spec_is_refused_with_the_spec_that_was_meant(
    kind: str, text: str, meant: str
) -> None:
    with pytest.raises(SpecError) as caught:
        installed().parse(kind, text)
    gone = " There is no such file." if kind == "policy" and text != "sb4:a.zip" else ""
    assert str(caught.value).endswith(f" Did you mean {meant}?{gone}")


def test_a_file_that_is_there_and_not_recognised_is_not_called_absent(tmp_path: Path) -> None:
    (tmp_path / "empty.onnx").touch()
    with pytest.raises(SpecError) as caught:
        installed().parse("policy", f"{tmp_path}/empty.onnx")
    assert str(caught.value).endswith(f" Did you mean 'onnx:{tmp_path}/empty.onnx'?")


class Offers:
    """An entry point of a stranger's."""

    name, dist = "stranger", None

    def __init__(self, *components: Component) -> None:
        self.components = components

    def load(self) -> ModuleType:
        module = ModuleType("stranger")

        @hookimpl
        def rpd_policy_loaders() -> list[Component]:
            return list(self.components)

        module.rpd_policy_loaders = rpd_policy_loaders  # type: ignore[attr-defined]
        return module


def test_a_strangers_loader_is_suggested_for_its_own_files() -> None:
    offered = Component("onnx", f"{__name__}:Place", "A file", looks_like=r".+\.onnx")
    registry = Registry([load_plugin(Offers(offered))])
    assert __name__ in sys.modules
    with pytest.raises(SpecError, match=r"Did you mean 'onnx:a\.onnx'\? There is no such file"):
        registry.parse("policy", "a.onnx")


def test_a_plugin_whose_pattern_is_none_is_broken_and_says_so() -> None:
    plugin = load_plugin(Offers(Component("onnx", f"{__name__}:Place", "A file", looks_like="(")))
    assert plugin.status == "broken"
    assert "looks_like of 'onnx' is not a regular expression" in plugin.fault


def test_a_name_without_its_ending_finds_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    for name in ("mine.zip", "mine.txt", "models/other.pt"):
        (tmp_path / name).touch()
    told = {}
    for text in ("mine", "mine,deterministic=false", "./models/other", "nobody"):
        with pytest.raises(SpecError) as caught:
            installed().parse("policy", text)
        told[text] = str(caught.value).partition(" Did you mean ")[2]
    assert told == {
        "mine": "'sb3:mine.zip'?",
        "mine,deterministic=false": "'sb3:mine.zip,deterministic=false'?",
        "./models/other": "'torchscript:./models/other.pt'?",
        "nobody": "",
    }


def test_a_missing_file_is_told_from_the_one_beside_it(tmp_path: Path) -> None:
    (tmp_path / "cart_ppo.zip").touch()
    with pytest.raises(SpecError, match=r"check the path\. Did you mean 'cart_ppo\.zip'\?$"):
        file_digest(tmp_path / "cart_pop.zip")
    with pytest.raises(SpecError, match=r"check the path$"):
        file_digest(tmp_path / "elsewhere" / "cart_pop.zip")
