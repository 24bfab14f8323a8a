"""The table of kinds, and what follows from it."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from rpd_core.plugin import discovery, hookspecs, kinds, registry
from rpd_core.plugin.discovery import load_plugins
from rpd_core.plugin.hookspecs import hookimpl, specifications
from rpd_core.plugin.kinds import KIND_OF_PROTOCOL, KINDS, Kind
from rpd_core.plugin.protocols import Component
from rpd_core.plugin.registry import Registry


def test_the_kinds_are_these() -> None:
    assert {kind.name: kind.hook for kind in KINDS.values()} == {
        "environment": "rpd_environments",
        "policy": "rpd_policy_loaders",
        "abstraction": "rpd_abstractions",
        "default-action": "rpd_default_actions",
        "measure": "rpd_measures",
        "condition": "rpd_conditions",
        "executor": "rpd_executors",
        "panel": "rpd_panels",
    }
    assert [name for name, kind in KINDS.items() if kind.short_form] == ["condition"]


def test_every_kind_is_found_by_its_name_its_protocol_and_its_hook() -> None:
    assert all(name == kind.name for name, kind in KINDS.items())
    assert all(protocol is kind.protocol for protocol, kind in KIND_OF_PROTOCOL.items())
    assert len(KIND_OF_PROTOCOL) == len(KINDS) == len({kind.hook for kind in KINDS.values()})


def test_each_hook_is_specified_once_and_takes_nothing() -> None:
    hooks = {name for name in vars(specifications()) if name.startswith("rpd_")}
    assert hooks == {kind.hook for kind in KINDS.values()}
    for name in hooks:
        hook = getattr(specifications(), name)
        assert hook() == []
        assert hook.__name__ == name
        assert hook.__doc__ == "Return the components that the plugin offers."


def test_every_hook_of_the_table_has_its_section_in_the_reference() -> None:
    reference = Path(__file__).parents[2] / "docs" / "reference" / "hooks.md"
    sections = re.findall(r"^## `(rpd_\w+)`", reference.read_text(), re.MULTILINE)
    assert sorted(sections) == sorted(kind.hook for kind in KINDS.values())


class Gauge:
    """What a kind of component that does not exist yet would have to do."""

    def read(self) -> str: ...


def test_one_row_more_is_a_kind_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hook, discovery, registry and messages all follow from the table."""
    gauge = Kind("gauge", "rpd_gauges", Gauge, "read()")
    more = {**KINDS, "gauge": gauge}
    for module in (kinds, hookspecs, discovery, registry):
        monkeypatch.setattr(module, "KINDS", more)

    def rpd_gauges() -> list[Component]:
        return [Component("plain", f"{__name__}:Gauge", "a gauge")]

    plugin = ModuleType("plugin")
    plugin.rpd_gauges = hookimpl(rpd_gauges)  # type: ignore[attr-defined]
    point = SimpleNamespace(
        name="odd", dist=SimpleNamespace(name="odd", version="1"), load=lambda: plugin
    )
    found = Registry(load_plugins([point]))
    assert [(one.kind, one.status) for one in found.registrations] == [("gauge", "ready")]
    assert isinstance(found.make("gauge", "plain"), Gauge)
    assert registry.check_kind("gauge") == "gauge"
