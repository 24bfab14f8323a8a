"""Code of strangers runs only if the user says so, each time anew."""

from __future__ import annotations

import importlib
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import worlds

from rpd_basics.export import FORMAT
from rpd_basics.pruned import PrunedFile
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.config.trust import refuse_code, runs_code, with_trust
from rpd_core.errors import ConfigError, SpecError
from rpd_core.plugin import registry as registries
from rpd_core.plugin.discovery import find_plugins, load_plugins
from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.protocols import Component
from rpd_core.plugin.registry import Registry
from rpd_core.results.requests import stored_request
from rpd_core.store.directory import RunDirectory

LOADERS = '''
from dataclasses import dataclass
import numpy as np
from rpd_core import Choice, PolicyLoader, permission

@dataclass(frozen=True)
class Safe:
    """Declared to run no code, but with some parameters."""

    level: int = 0
    """At which level code runs."""
    trust: bool = permission()
    """Whether it may."""

    @property
    def runs_code(self):
        return self.level > 1

    def load(self, facts):
        return lambda seen: Choice(np.ones(facts.lanes, dtype=int))


class Plain(Safe):
    """Declares nothing in the catalogue."""


@dataclass(frozen=True)
class Around:
    """Another policy inside, which counts."""

    inner: PolicyLoader
    """The policy."""

    def load(self, facts):
        return self.inner.load(facts)
'''
CATALOGUE = (
    Component("safe", "odd_loaders:Safe", "", runs_code=False),
    Component("plain", "odd_loaders:Plain", ""),
    Component("around", "odd_loaders:Around", "", runs_code=False),
)


@pytest.fixture
def strangers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """Install a plugin beside the bundled ones."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "odd_loaders.py").write_text(LOADERS)
    monkeypatch.syspath_prepend(folder)
    plugin = ModuleType("odd")
    plugin.rpd_policy_loaders = hookimpl(lambda: list(CATALOGUE))  # type: ignore[attr-defined]
    corridor = Component("corridor", "worlds:Corridor", "", runs_code=False)
    plugin.rpd_environments = hookimpl(lambda: [corridor])  # type: ignore[attr-defined]
    point = SimpleNamespace(
        name="odd", dist=SimpleNamespace(name="odd", version="1"), load=lambda: plugin
    )
    found = Registry([*find_plugins(), *load_plugins([point])])
    monkeypatch.setattr(registries, "installed", lambda: found)
    for module in ("rpd_core.results.requests", "rpd_basics.pruned"):
        monkeypatch.setattr(f"{module}.installed", lambda: found)
    yield found
    sys.modules.pop("odd_loaders", None)


def refusal(kind: str, text: str, named_by: str) -> str:
    return (
        f"{named_by} names the {kind} {text!r}, which may run code that came with it: refused. If "
        "you trust whoever made it, add --trust-policy"
    )


@pytest.mark.parametrize(
    "text", ["plain", "safe:2", "around:plain", "around:safe:2", "around:around:safe:2"]
)
def test_a_component_that_may_run_code_is_refused_when_a_file_names_it(
    text: str, strangers: Registry
) -> None:
    with pytest.raises(SpecError) as caught:
        refuse_code("policy", text, strangers, "a.pruned")
    assert str(caught.value) == refusal("policy", text, "a.pruned")


@pytest.mark.parametrize("text", ["safe", "safe:1", "around:safe", "around:around:safe:1"])
def test_a_component_that_declares_to_run_none_is_used(text: str, strangers: Registry) -> None:
    made = refuse_code("policy", text, strangers, "a.pruned")
    assert made == strangers.make("policy", text)
    assert not runs_code("policy", made, strangers)


def test_what_declares_nothing_is_refused_before_its_module_is_imported(
    strangers: Registry,
) -> None:
    with pytest.raises(SpecError, match="refused"):
        refuse_code("policy", "plain", strangers, "a.pruned")
    assert "odd_loaders" not in sys.modules


def test_a_recipe_that_nobody_registered_may_run_code(strangers: Registry) -> None:
    assert runs_code("policy", worlds.Goes(), strangers)


# --------------------------------------------------------------- runs and exported policies


def stored_run(path: Path, policy: str, strangers: Registry) -> RunDirectory:
    wanted = Request("corridor", policy, abstraction=(worlds.Itself(),))
    directory = RunDirectory(path)
    directory.create(resolve(wanted, strangers, trust=True).config)
    return directory


TYPED = {"abstraction": "identity", "default_action": "constant:0", "condition": "return>=1"}
"""What is typed for everything but the policy."""


def test_a_stored_run_with_a_component_that_declares_nothing_needs_trust(
    tmp_path: Path, strangers: Registry
) -> None:
    directory = stored_run(tmp_path / "run", "plain", strangers)
    with pytest.raises(SpecError) as caught:
        stored_request(directory, None, trust=False, typed=TYPED)
    assert str(caught.value) == refusal("policy", "plain", repr(str(directory.path)))
    request = stored_request(directory, None, trust=True, typed=TYPED)
    assert request["policy"] == "plain"


def test_what_is_typed_needs_no_flag(tmp_path: Path, strangers: Registry) -> None:
    directory = stored_run(tmp_path / "run", "plain", strangers)
    typed = {**TYPED, "policy": "safe:2"}
    assert stored_request(directory, None, trust=False, typed=typed)["policy"] == "safe:2"
    setup = resolve(Request("corridor", "plain"), strangers)
    assert type(setup.policy).__name__ == "Plain"


def test_a_stored_run_of_components_that_run_none_needs_no_flag(
    tmp_path: Path, strangers: Registry
) -> None:
    directory = stored_run(tmp_path / "run", "safe:1", strangers)
    request = stored_request(directory, None, trust=False, typed=TYPED)
    setup = resolve(Request(**request), strangers)
    assert (setup.config.env, setup.config.policy) == ("corridor", "safe:1")


def exported(path: Path, **changes: Any) -> PrunedFile:
    about = {
        "format": FORMAT, "env": "corridor", "policy": "safe", "default_action": "plain",
        "inputs": {}, "abstraction": [], "fitted": [], **changes,
    }  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("pruned.json", json.dumps(about))
    return PrunedFile(path)


def test_an_exported_policy_with_a_component_that_declares_nothing_needs_trust(
    tmp_path: Path, strangers: Registry
) -> None:
    file = exported(tmp_path / "a.pruned", policy="plain")
    with pytest.raises(SpecError) as caught:
        file._made("policy", file.about()["policy"])
    assert str(caught.value) == refusal("policy", "plain", "a.pruned")
    made = with_trust(file)._made("policy", "plain")
    assert (type(made).__name__, made.trust) == ("Plain", True)
    assert isinstance(file.environment(), worlds.Corridor)


# --------------------------------------------------------------------------------- a yes or a no


@pytest.mark.parametrize("trust", ["false", "", None, 1, 0])
def test_only_true_and_false_are_answers(tmp_path: Path, strangers: Registry, trust: Any) -> None:
    told = "^trust_policy must be True or False, got "
    with pytest.raises(ConfigError, match=told):
        resolve(Request("corridor", "safe:1"), strangers, trust)
    directory = stored_run(tmp_path / "run", "plain", strangers)
    with pytest.raises(ConfigError, match=told):
        stored_request(directory, None, trust, TYPED)


def test_a_recipe_inside_another_is_trusted_plainly_or_not(strangers: Registry) -> None:
    loaders = importlib.import_module("odd_loaders")
    inner = loaders.Safe(1, trust="false")
    for policy in (inner, loaders.Around(inner)):
        with pytest.raises(ConfigError, match=r"^trust of Safe must be True or False, got"):
            resolve(Request("corridor", policy), strangers)


# ------------------------------------------------------------------------------- never stored


def test_trust_changes_no_identity_and_is_never_stored(tmp_path: Path, strangers: Registry) -> None:
    plain = resolve(Request("corridor", "safe:1"), strangers)
    trusted = resolve(Request("corridor", "safe:1"), strangers, trust=True)
    typed = resolve(Request("corridor", "safe:1,trust=yes"), strangers)
    nested = resolve(Request("corridor", "around:safe:1,trust=yes"), strangers)
    assert [one.policy.trust for one in (plain, trusted, typed)] == [False, True, True]
    assert nested.policy.inner.trust
    assert plain.config == trusted.config == typed.config
    assert plain.config.digest() == trusted.config.digest()
    assert (typed.config.policy, nested.config.policy) == ("safe:1", "around:safe:1")
    for number, setup in enumerate((trusted, typed, nested)):
        directory = RunDirectory(tmp_path / str(number))
        directory.create(setup.config)
        assert "trust" not in (directory.path / "run.json").read_text()


def test_trust_reaches_a_loader_inside_a_default_action(strangers: Registry) -> None:
    request = Request("corridor", worlds.Goes(), default_action="policy:safe")
    assert resolve(request, strangers, trust=True).default_action.policy.trust
    assert not resolve(request, strangers).default_action.policy.trust
