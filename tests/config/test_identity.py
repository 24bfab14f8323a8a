"""What a component is: kind, registered name and parameters; files count by content."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import worlds

from rpd_basics.policies import PythonPolicy
from rpd_core.config.configuration import (
    component_identity,
    differences,
    file_digest,
    holds_functions,
    input_paths,
    short_digest,
)
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.errors import SpecError
from rpd_core.plugin.discovery import load_plugins
from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.protocols import Component, PolicyLoader
from rpd_core.plugin.registry import Registry

LOADER = """
from dataclasses import dataclass
from pathlib import Path
from rpd_core.plugin.protocols import Facts, Policy

@dataclass(frozen=True)
class Tablet:
    path: Path
    power: float = 1.5

    def load(self, facts: Facts) -> Policy:
        raise NotImplementedError
"""


@pytest.fixture
def importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("odd_")]:
        del sys.modules[name]


def offering(name: str, target: str, hook: str = "rpd_policy_loaders") -> Registry:
    """Return the registry of a plugin with one component."""
    plugin = ModuleType("plugin")
    vars(plugin)[hook] = hookimpl(lambda: [Component(name, target, "")])
    point = SimpleNamespace(
        name="odd", dist=SimpleNamespace(name="odd", version="1"), load=lambda: plugin
    )
    return Registry(load_plugins([point]))


def test_a_class_that_moves_to_another_module_is_the_same_component(importable: Path) -> None:
    (importable / "weights").write_bytes(b"weights")
    identities = []
    for module in ("odd_before", "odd_after"):
        (importable / f"{module}.py").write_text(LOADER)
        registry = offering("tablet", f"{module}:Tablet")
        made = registry.make("policy", f"tablet:{importable / 'weights'}")
        assert type(made).__module__ == module
        identities.append(component_identity("policy", made, registry))
    assert identities[0] == identities[1]
    assert identities[0] == {
        "kind": "policy",
        "name": "tablet",
        "parameters": {"path": file_digest(importable / "weights"), "power": 1.5},
    }
    assert short_digest(identities[0]) == short_digest(identities[1])


def test_another_name_another_kind_or_another_parameter_is_another_component(
    importable: Path,
) -> None:
    (importable / "odd_loader.py").write_text(LOADER)
    (importable / "weights").write_bytes(b"weights")
    spec = f"tablet:{importable / 'weights'}"
    registry = offering("tablet", "odd_loader:Tablet")
    renamed = offering("slate", "odd_loader:Tablet")
    one = component_identity("policy", registry.make("policy", spec), registry)
    others = [
        component_identity("policy", registry.make("policy", f"{spec},power=2"), registry),
        component_identity("policy", renamed.make("policy", f"slate{spec[6:]}"), renamed),
        component_identity("measure", registry.make("policy", spec), registry),
    ]
    assert all(other != one for other in others)


def test_a_recipe_that_nobody_registered_is_known_by_its_class(registry: Registry) -> None:
    assert component_identity("policy", worlds.Goes(), registry) == {
        "kind": "policy",
        "name": "worlds.Goes",
        "parameters": {"action": 1},
    }


def test_a_component_inside_another_has_an_identity_of_its_own(registry: Registry) -> None:
    made = registry.make("default-action", "policy:random")
    assert component_identity("default-action", made, registry) == {
        "kind": "default-action",
        "name": "policy",
        "parameters": {"policy": {"kind": "policy", "name": "random"}},
    }


# ------------------------------------------------------------------------- files


@dataclass(frozen=True)
class FromFile:
    path: Path
    note: str = field(default="", metadata={"not_identity": True})


def test_an_input_file_counts_by_its_content(tmp_path: Path, registry: Registry) -> None:
    def identity(path: Path, note: str = "") -> Any:
        return component_identity("policy", FromFile(path, note), registry)

    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    one.write_bytes(b"weights")
    two.write_bytes(b"weights")
    three.write_bytes(b"Weights")
    assert identity(one, "a") == identity(two, "b")
    assert identity(one) != identity(three)
    digest = hashlib.sha256(b"weights").hexdigest()
    assert identity(one)["parameters"] == {"path": f"sha256:{digest}"}


def test_files_that_a_loader_names_count_too(tmp_path: Path, registry: Registry) -> None:
    class Loader:
        def inputs(self) -> tuple[Path, ...]:
            return (tmp_path / "extra",)

    (tmp_path / "extra").write_bytes(b"1")
    before = component_identity("policy", Loader(), registry)
    (tmp_path / "extra").write_bytes(b"2")
    assert component_identity("policy", Loader(), registry) != before
    assert input_paths(Loader(), "policy") == {"policy.inputs.0": tmp_path / "extra"}


def test_a_file_inside_a_nested_component_is_an_input(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Around:
        inner: PolicyLoader

    found = input_paths(Around(FromFile(tmp_path / "a")), "policy")  # type: ignore[arg-type]
    assert found == {"policy.inner.path": tmp_path / "a"}


def test_a_missing_or_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="does not exist: check the path"):
        file_digest(tmp_path / "none.zip")
    with pytest.raises(SpecError, match="is a directory, not a file"):
        file_digest(tmp_path)
    (tmp_path / "empty.zip").touch()
    with pytest.raises(SpecError, match="is empty: save the file again"):
        file_digest(tmp_path / "empty.zip")


def test_a_difference_of_content_is_put_into_words() -> None:
    stored = {"policy": {"sources": ["sha256:1"], "parameters": {"a": 1}}}
    asked = {"policy": {"sources": ["sha256:2"], "parameters": {"a": 2}}}
    assert differences(stored, asked) == [
        "policy.parameters.a: stored 1, asked 2",
        "policy: the text of its module has changed",
    ]


# ------------------------------------------------------------------------- functions


def halves(observations: Any) -> Any:
    return observations / 2


class Threshold:
    """A policy object."""

    def __init__(self, at: float) -> None:
        self.at = at

    def __call__(self, observations: Any) -> Any:
        return observations > self.at


def test_a_function_counts_by_module_and_name(registry: Registry) -> None:
    def named(function: Callable[..., Any]) -> str:
        parameters = component_identity("policy", PythonPolicy(function), registry)["parameters"]
        return str(parameters["function"])

    here = __name__
    assert named(halves) == f"{here}.halves"
    assert named(functools.partial(halves)) == f"{here}.halves"
    assert named(Threshold(0.5)) == f"{here}.Threshold"
    place = "test_a_function_counts_by_module_and_name.<locals>.<lambda>"
    assert named(lambda o: o) == named(lambda o: o + 1) == f"{here}.{place}"


def test_a_run_of_functions_is_live(registry: Registry) -> None:
    assert holds_functions(PythonPolicy(halves))
    assert not holds_functions(PythonPolicy("module:halves"))
    assert not holds_functions(worlds.Goes())
    assert holds_functions(halves)
    nested = registry.resolve("default-action", "policy")(PythonPolicy(halves))
    assert holds_functions(nested)
    live = resolve(Request(worlds.Corridor(), halves), registry).config
    assert (live.live, live.policy) == (True, f"python:{__name__}:halves")
    assert not resolve(Request(worlds.Corridor(), worlds.Goes()), registry).config.live
