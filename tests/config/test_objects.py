"""Objects of a stranger's classes are taken by the stranger's plugin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import worlds
from strangers import having, plugin

from rpd_core.config.objects import is_staged, stage
from rpd_core.config.resolve import choose
from rpd_core.errors import ComponentError
from rpd_core.plugin.protocols import Component, Facts, Policy
from rpd_kit import check_component


class Tables:
    """What strangers keep their policies in."""

    content = b"0, 1, 1"


class Deeper(Tables):
    """A table that nobody names."""


class Broken(Tables):
    """Raises when it is looked at."""

    @property
    def content(self) -> bytes:  # type: ignore[override]
        raise OSError("the table is on fire")


@dataclass(frozen=True)
class TableFile:
    """A policy in a table."""

    path: Path
    """The file."""

    @classmethod
    def from_object(cls, thing: Any, save: Callable[[str, bytes], Path]) -> TableFile:
        return cls(save("table.csv", thing.content))

    def load(self, facts: Facts) -> Policy:
        return worlds.Goes().load(facts)


NAME = f"{__name__}.Tables"
OFFER = Component("tables", f"{__name__}:TableFile", "Tables", takes=(NAME,))


@pytest.mark.parametrize("thing", [Tables(), Deeper()])
def test_a_plugin_takes_objects_of_a_class_that_it_names(thing: Tables) -> None:
    with having(plugin("d", "1", (("policy", OFFER),))) as registry:
        chosen = choose(registry, "policy", thing)
    assert isinstance(chosen.recipe, TableFile)
    assert chosen.recipe.path.read_bytes() == thing.content
    assert chosen.text == f"tables:{chosen.recipe.path}"


def test_an_object_that_cannot_be_taken_is_an_error_of_one_line() -> None:
    with (
        having(plugin("d", "1", (("policy", OFFER),))) as registry,
        pytest.raises(ComponentError, match=r"'tables' cannot take this Broken: .*on fire"),
    ):
        choose(registry, "policy", Broken())


def test_a_record_that_states_what_it_takes_needs_the_method() -> None:
    wrong = Component("goes", "worlds:Goes", "Goes", takes=(NAME,))
    with having(plugin("d", "1", (("policy", wrong),))) as registry:
        faults = check_component("policy", "goes", registry)
    assert "its Component record states takes, but its class has no from_object" in faults


def test_the_same_content_has_the_same_place() -> None:
    first, same, other = (stage("a.bin", content) for content in (b"1", b"1", b"2"))
    assert first == same != other
    assert first.name.startswith("a-")
    assert first.suffix == ".bin"
    assert is_staged(first)
    assert not is_staged(Path("a.bin"))
