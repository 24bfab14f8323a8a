"""What the how-to pages show is what `rpd new-plugin` lays out."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from rpd_core import PanelFacts, Text
from rpd_core.plugin.hookspecs import KINDS
from rpd_kit import check_recipe, example_view
from rpd_kit.new_plugin_command import lay_out
from rpd_pictures.checks import checked_hero

DOCS = Path(__file__).resolve().parents[2] / "docs"
HOW_TO = DOCS / "how-to"
PAGES = {
    "policy": ("write-a-policy-loader.md", "linear"),
    "abstraction": ("write-an-abstraction.md", "signs"),
    "condition": ("write-a-condition.md", "pace"),
    "default-action": ("write-a-default-action.md", "wander"),
    "executor": ("write-an-executor.md", "threads"),
    "panel": ("write-a-panel.md", "often"),
    "command": ("write-a-command.md", "lengths"),
}
EXAMPLES = {"measure": "write-a-measure.md", "environment": "write-an-environment-plugin.md"}
INNER = re.compile(r"from rpd_core\.(?!cli import\b)|import rpd_core\.")
"""What is not public; commands import from `rpd_core.cli`."""


def test_every_kind_has_a_page():
    assert {*PAGES, *EXAMPLES} == set(KINDS)


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_shows_the_component_that_new_plugin_writes(kind, tmp_path):
    page, name = PAGES[kind]
    text = (HOW_TO / page).read_text("utf-8")
    folder = lay_out(kind, name, tmp_path / f"rpd-{name}")
    (component,) = (file for file in folder.glob("rpd_*/*.py") if file.stem != "__init__")
    assert component.read_text("utf-8").strip() in text


@pytest.mark.parametrize(
    ("kind", "page"), [("condition", "write-a-plugin.md"), ("command", "write-a-command.md")]
)
def test_the_catalogues_that_are_shown_are_those_that_new_plugin_writes(kind, page, tmp_path):
    folder = lay_out(kind, PAGES[kind][1], tmp_path / "laid-out")
    (catalogue,) = folder.glob("rpd_*/__init__.py")
    assert catalogue.read_text("utf-8").strip() in (HOW_TO / page).read_text("utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_names_the_command_to_start_with(kind):
    page = PAGES[kind][0] if kind in PAGES else EXAMPLES[kind]
    assert f"rpd new-plugin {kind} " in (HOW_TO / page).read_text("utf-8")


def snippets() -> list[tuple[str, str]]:
    """Return every block of Python in the documentation, with its page."""
    pages = [*DOCS.glob("*.md"), *HOW_TO.glob("write-*.md"), *HOW_TO.glob("ask-*.md")]
    pages += [*(DOCS / "reference").glob("*.md"), DOCS.parent / "README.md"]
    found = []
    for page in pages:
        blocks = re.findall(r"^( *)```python\n(.*?)^ *```", page.read_text("utf-8"), re.M | re.S)
        found += [
            (page.name, re.sub(f"^{indent}", "", code, flags=re.M)) for indent, code in blocks
        ]
    return found


@pytest.mark.parametrize(("page", "code"), snippets())
def test_a_snippet_is_python_and_imports_public_names_only(page, code):
    ast.parse(code)
    assert INNER.search(code) is None


def test_the_panel_of_the_inventory_is_the_one_that_is_shown_and_takes_thirty_lines():
    code = (DOCS / "examples" / "inventory_panel.py").read_text("utf-8")
    assert code.strip() in (HOW_TO / "write-a-panel.md").read_text("utf-8")
    assert len(code.splitlines()) <= 30


def test_the_panel_of_the_inventory_draws_a_week(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "examples"))
    from inventory_panel import Week

    states = [[float(day % 3), 4.0, float(day)] for day in range(7)]
    about = PanelFacts("python:inventory:Inventory", shape=(3,))
    view = example_view(states, about)
    assert Week().applies(about)
    assert check_recipe("panel", Week()) == [
        "applies to none of the kit's runs, so what it shows was not checked: give it an "
        "environment, or call its methods in a test of your own"
    ]
    (drawing,) = checked_hero(Week().hero(view), view)
    assert [one.text for one in drawing.shapes if isinstance(one, Text)][:2] == ["Mon", "Tue"]
    assert len(drawing.track) == 10
