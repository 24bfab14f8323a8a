"""Reference pages that are made from the program when the site is built."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from extras import BOTH_WAYS, extras

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS / "extensions"))

import component_reference  # noqa: E402
import program_reference  # noqa: E402

from rpd_core.plugin.registry import installed  # noqa: E402

WRITTEN = (DOCS / "reference" / "cli.md").read_text("utf-8")
FILLED = program_reference.filled_commands(WRITTEN)


def section(heading: str) -> str:
    """Return what stands between a heading of the filled page and the next of its level."""
    return FILLED.partition(f"{heading}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("name", program_reference.COMMANDS)
def test_a_command_has_one_section_with_all_its_options_and_what_they_mean(name):
    command = program_reference.COMMANDS[name]
    assert FILLED.count(f"## `rpd {name}`\n") == 1
    text = section(f"## `rpd {name}`")
    assert program_reference.usage(name) in text
    shown = re.findall(r"^\| `(--[\w-]+)", text, re.MULTILINE)
    assert sorted(shown) == sorted(program_reference.flags_of(command))
    helps = [p.help for p in command.params if p.name != "help"]
    assert [p for p in helps if program_reference.cell(p) not in text] == []


def test_a_command_without_a_section_gets_one():
    filled = program_reference.filled_commands("# Command line\n")
    assert re.findall("^## `rpd (.*)`$", filled, re.M) == list(program_reference.COMMANDS)


def test_options_are_not_kept_by_hand():
    """The program says what an option means; the page says what takes more than a line."""
    assert re.findall(r"^\| `--.*", WRITTEN, re.MULTILINE) == []


def test_every_section_that_a_person_wrote_is_about_a_command():
    named = re.findall(r"^## `rpd ([\w-]+)`$", WRITTEN, re.MULTILINE)
    assert len(named) == WRITTEN.count("\n## ")
    assert set(named) <= set(program_reference.COMMANDS)


def test_the_default_of_an_option_is_shown():
    assert "| `--top N` | Decisions to show. Default: 10. |" in FILLED


@BOTH_WAYS
def test_every_component_that_comes_with_rpd_is_shown_with_its_parameters(present):
    text = (DOCS / "reference" / "components.md").read_text("utf-8")
    with extras(present):
        filled = component_reference.filled_components(text)
        registry = installed()
    rows = [r.as_row() for kind in component_reference.KINDS for r in registry.of_kind(kind)]
    own = [row for row in rows if row["distribution"] == component_reference.DISTRIBUTION]
    assert [r for r in own if f"### `{r['name']}` ({r['kind']})" not in filled] == []
    assert {"dask", "ray"} <= {row["name"] for row in own}
    assert "| `digits` |" in filled.partition("### `round` (abstraction)")[2].partition("###")[0]
