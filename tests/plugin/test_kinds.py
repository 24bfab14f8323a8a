"""The table of kinds, and what follows from it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_type_hints

from rpd_core.plugin import hookspecs
from rpd_core.plugin.hookspecs import KIND_OF_PROTOCOL, KINDS
from rpd_core.plugin.protocols import Component


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
        "command": "rpd_commands",
    }
    assert [name for name, kind in KINDS.items() if kind.short_form] == ["condition"]


def test_every_kind_is_found_by_its_name_its_protocol_and_its_hook() -> None:
    assert all(name == kind.name for name, kind in KINDS.items())
    assert all(protocol is kind.protocol for protocol, kind in KIND_OF_PROTOCOL.items())
    assert len(KIND_OF_PROTOCOL) == len(KINDS) == len({kind.hook for kind in KINDS.values()})


def test_each_hook_is_written_out_once_and_takes_nothing() -> None:
    hooks = {name: hook for name, hook in vars(hookspecs).items() if name.startswith("rpd_")}
    assert list(hooks) == [kind.hook for kind in KINDS.values()]
    for kind in KINDS.values():
        hook = hooks[kind.hook]
        assert hook() == []
        assert get_type_hints(hook) == {"return": list[Component]}
        assert hook.__doc__.startswith("Return ")
        assert f"(`{kind.protocol.__name__}`)" in hook.__doc__


def test_the_page_of_hooks_can_be_read_at_once() -> None:
    assert len(Path(hookspecs.__file__).read_text().splitlines()) <= 120


def test_every_hook_of_the_table_has_its_section_in_the_reference() -> None:
    reference = Path(__file__).parents[2] / "docs" / "reference" / "hooks.md"
    sections = re.findall(r"^## `(rpd_\w+)`", reference.read_text(), re.MULTILINE)
    assert sorted(sections) == sorted(kind.hook for kind in KINDS.values())
