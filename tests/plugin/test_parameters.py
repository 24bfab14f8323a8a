"""The parameters of a class, however it is written: typed, made, and described alike."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from rpd_core.errors import ComponentError, SpecError
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.discovery import load_plugins
from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.importing import describe_target
from rpd_core.plugin.protocols import Component
from rpd_core.plugin.registry import Registry, installed
from rpd_core.plugin.specs import nested_components

BASE = '''
import typing
from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, TypeVar

Digits = int
Reading = Literal["published", "mutation"]
Numbers = tuple[int, ...]
Maybe = float | None
T = TypeVar("T")


class Plain(Generic[T]):
    """Has no fields."""


@dataclass(frozen=True)
class Base(Plain[int]):
    """A measure with a parameter."""

    digits: Digits = 2
    """How many."""
    needs: typing.ClassVar[tuple[str, ...]] = ("suite",)
    """Not a parameter."""
    counted: ClassVar[int] = 7
    """Not one either."""

    def __call__(self, evidence):
        return evidence
'''
INNER = '''
import dataclasses
from dataclasses import dataclass, field
from odd_base import Base, Maybe, Numbers, Reading
from rpd_core import permission

@dataclass(frozen=True)
class Derived(Base):
    """A measure with more parameters."""

    reading: Reading = "published"
    """Which cell is which."""
    places: Numbers = (1,)
    """Where."""
    level: Maybe = None
    """How sure."""
    digits: int = 3
    """How many, after all."""
    hidden: int = field(default=0, init=False)
    note: str = dataclasses.field(default="none", metadata={"not_identity": True})
    """What to remember."""
    trust: bool = permission()
    """Whether code may run."""


Alias = Derived
'''
FACE = "from odd_inner import Alias as Offered\nfrom odd_base import Base\n"


@pytest.fixture
def offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in (("odd_base", BASE), ("odd_inner", INNER), ("odd_face", FACE)):
        (tmp_path / f"{name}.py").write_text(text)
    yield registry_of(
        Component("m", "odd_face:Offered", ""),
        Component("base", "odd_face:Base", ""),
    )
    for name in [name for name in sys.modules if name.startswith("odd_")]:
        del sys.modules[name]


def registry_of(*components: Component) -> Registry:
    plugin = ModuleType("plugin")
    plugin.rpd_measures = hookimpl(lambda: list(components))  # type: ignore[attr-defined]
    point = SimpleNamespace(
        name="odd", dist=SimpleNamespace(name="odd", version="1"), load=lambda: plugin
    )
    return Registry(load_plugins([point]))


def test_a_dataclass_that_is_imported_from_elsewhere_is_ready_and_described(
    offered: Registry,
) -> None:
    assert [one.status for one in offered.registrations] == ["ready", "ready"]
    described = offered.describe("measure", "base")
    assert described.doc == "A measure with a parameter."
    (digits,) = described.parameters
    assert (digits.name, digits.annotation, digits.default) == ("digits", "Digits", "2")
    assert digits.help == "How many."


def test_inherited_fields_are_described_in_the_order_of_the_dataclass(offered: Registry) -> None:
    described = offered.describe("measure", "m")
    assert "odd_inner" not in sys.modules, "describing imports nothing"
    assert described.doc == "A measure with more parameters."
    shown = [(one.name, one.default, one.help) for one in described.parameters]
    assert shown == [
        ("digits", "3", "How many, after all."),
        ("reading", "'published'", "Which cell is which."),
        ("places", "(1,)", "Where."),
        ("level", "None", "How sure."),
        ("note", "'none'", "What to remember."),
        ("trust", "False", "Whether code may run."),
    ]
    names = [field.name for field in offered.fields("measure", "m")]
    assert names == [one.name for one in described.parameters]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("m", (3, "published", (1,), None)),
        ("m:4", (4, "published", (1,), None)),
        ("m:4,reading=mutation,places=0+2,level=0.5", (4, "mutation", (0, 2), 0.5)),
        ("m:level=none", (3, "published", (1,), None)),
    ],
)
def test_types_behind_aliases_are_converted(
    offered: Registry, text: str, values: tuple[Any, ...]
) -> None:
    made = offered.make("measure", text)
    assert (made.digits, made.reading, made.places, made.level) == values
    assert str(offered.parse("measure", text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m:reading=mutated", "measure 'm': reading must be one of published, mutation"),
        ("m:4,needs=none", "'needs=none' is not a parameter of 'm'. It takes digits, reading"),
        ("m:4,counted=8", "'counted=8' is not a parameter of 'm'"),
        ("m:4,hidden=8", "'hidden=8' is not a parameter of 'm'"),
        ("base:many", "measure 'base': digits must be a whole number, got 'many'"),
    ],
)
def test_what_is_not_a_parameter_or_not_of_its_type_is_refused(
    offered: Registry, text: str, message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        offered.make("measure", text)
    assert str(caught.value).startswith(message)


def test_annotations_that_cannot_be_read_are_one_line(tmp_path: Path, offered: Registry) -> None:
    (tmp_path / "odd_vague.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "@dataclass(frozen=True)\n"
        "class Vague:\n"
        "    digits: Digitz = 2\n"
    )
    found = registry_of(Component("vague", "odd_vague:Vague", ""))
    with pytest.raises(ComponentError) as caught:
        found.make("measure", "vague")
    assert str(caught.value) == (
        "measure 'vague' of plugin 'odd' (odd) is broken: its annotations cannot be read "
        "(NameError: name 'Digitz' is not defined)"
    )


def test_a_function_that_builds_a_recipe_has_its_arguments_as_parameters(
    tmp_path: Path, offered: Registry
) -> None:
    (tmp_path / "odd_factory.py").write_text(
        "from odd_base import Base\n"
        "def build(digits: int, twice: bool = False) -> Base:\n"
        '    """Build a measure."""\n'
        "    return Base(2 * digits if twice else digits)\n"
    )
    found = registry_of(Component("built", "odd_factory:build", ""))
    assert found.make("measure", "built:3,twice=yes").digits == 6
    with pytest.raises(SpecError, match="measure 'built' needs 'digits': write built:<digits>"):
        found.make("measure", "built")
    assert found.describe("measure", "built").doc == "Build a measure."


def test_every_bundled_component_is_described_as_its_class_declares(registry: Registry) -> None:
    describe_target.cache_clear()
    compared = 0
    for one in registry.registrations:
        if one.ready and not one.component.requires and one.kind not in ("plugin", "command"):
            named = one.kind, one.component.name
            described = [parameter.name for parameter in registry.describe(*named).parameters]
            assert described == [field.name for field in registry.fields(*named)], named
            compared += 1
    assert compared > 30


def test_a_command_is_described_by_its_docstring_and_has_no_parameters_of_a_spec(
    registry: Registry,
) -> None:
    named = [one.component.name for one in registry.of_kind("command") if one.ready]
    described = {name: registry.describe("command", name) for name in named}
    assert [name for name, one in described.items() if not one.doc or one.parameters] == []
    assert described["list-plugins"].doc.startswith("List ")


def test_a_default_that_has_a_name_is_shown_as_what_it_stands_for() -> None:
    found = {one.name: one.default for one in describe_target("rpd_dask.executor:Dask").parameters}
    assert found["stall_timeout"] == "600.0"  # imported from where it is written


def test_the_links_of_a_chain_are_no_component_of_a_component() -> None:
    link = installed().make("abstraction", "round:digits=1")
    assert list(nested_components(Chain((link,)))) == []
