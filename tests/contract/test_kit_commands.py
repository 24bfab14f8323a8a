"""The kit over commands with faults."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Annotated

import pytest
import typer

from rpd_core import Component
from rpd_core.plugin.discovery import Plugin
from rpd_core.plugin.registry import Registry
from rpd_kit import check_component, check_registration
from rpd_kit.commands import check_function

SOURCE = """
    import numpy
    def heavy():
        \"""Weigh much.\"""
    def undocumented():
        pass
    def fine():
        \"""Do nothing.\"""
    after = 3
"""


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """The commands of a stranger, whose modules every process finds."""
    (tmp_path / "odd_commands.py").write_text(dedent(SOURCE))
    (tmp_path / "odd_light.py").write_text(dedent(SOURCE.replace("import numpy", "")))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    offered = (
        Component("heavy", "odd_commands:heavy", "Weigh", group="Look"),
        Component("undocumented", "odd_light:undocumented", "Say nothing", group="Look"),
        Component("homeless", "odd_light:fine", "Live nowhere"),
        Component("after", "odd_light:fine", "Do it", group="Look", after_run="odd_light:after"),
    )
    yield Registry([Plugin("odd", "odd", "1", tuple(("command", one) for one in offered))])
    for module in ("odd_commands", "odd_light"):
        sys.modules.pop(module, None)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("heavy", "its module odd_commands imports numpy, and --help and completion import it"),
        ("undocumented", "its function has no docstring"),
        ("after", "its after_run, odd_light:after, is not a function"),
    ],
)
def test_the_kit_finds_faulty_commands(registry: Registry, name: str, fault: str) -> None:
    (found,) = check_component("command", name, registry)
    assert found.startswith(fault)


def test_a_command_without_a_group_is_noted(registry: Registry) -> None:
    homeless = registry.find("command", "homeless")
    report = check_registration(registry, homeless)
    assert report.faults == []
    (note,) = report.notes
    assert note.endswith("lists it under Other: group=..., for example 'Look'")
    assert check_component("command", "homeless", registry) == []


def untyped(name) -> None:  # type: ignore[no-untyped-def]
    """Take anything."""


def everything(**options: str) -> None:
    """Take everything."""


def unhelpful(name: Annotated[str, typer.Argument()]) -> None:
    """Take a name."""


def impossible(odd: Annotated[int | str, typer.Option(help="What?")]) -> None:
    """Take what cannot be typed."""


class Thing:
    """No function."""


@pytest.mark.parametrize(
    ("function", "faults"),
    [
        (untyped, ["parameter 'name' has no type, so Typer takes it for text"]),
        (everything, ["takes *options, of which Typer can make no option"]),
        (unhelpful, ["parameter 'name' has no help: "]),
        (impossible, ["its help cannot be shown: AssertionError: Typer currently doesn't"]),
        (Thing, ["its target, odd:odd, is not a function"]),
    ],
)
def test_the_kit_reads_the_parameters_of_a_command(function, faults) -> None:  # type: ignore[no-untyped-def]
    found = list(check_function(Component("odd", "odd:odd", "Odd", group="Look"), function))
    assert len(found) == len(faults), found
    for line, start in zip(found, faults, strict=True):
        assert line.startswith(start)
