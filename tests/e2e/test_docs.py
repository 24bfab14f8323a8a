"""Documentation that must not fall behind the code."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import subprocess
from contextlib import suppress
from pathlib import Path
from textwrap import dedent

import pytest

from rpd_core.plugin.hookspecs import KINDS

DOCS = Path(__file__).resolve().parents[2] / "docs"
CI = DOCS.parent / ".ci" / "run"


@pytest.mark.parametrize("hook", [kind.hook for kind in KINDS.values()])
def test_every_hook_has_a_section(hook):
    assert f"## `{hook}`" in (DOCS / "reference" / "hooks.md").read_text()


PAGES = [
    DOCS.parent / "README.md",
    *sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts),
]
LONGEST = 45_000
"""Words of all pages together, as `wc -w README.md $(find docs -name '*.md')` counts them."""


def test_all_pages_together_can_be_read_in_an_evening():
    assert sum(len(page.read_text("utf-8").split()) for page in PAGES) <= LONGEST


def links(page: Path) -> list[tuple[Path, str]]:
    """Return the file and the anchor of every link to a page of the project."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)
    found = re.findall(r"\]\(([^):\s#]*)#?([^):\s]*)\)", text)
    return [(page.parent / file if file else page, anchor) for file, anchor in found]


def anchors(page: Path) -> set[str]:
    """Return what a link can name on a page: its headings, as GitHub and MyST spell them."""
    text = page.read_text("utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    plain = [re.sub(r"[^\w\- ]", "", one.lower()).strip() for one in headings]
    return {*(one.replace(" ", "-") for one in plain), *re.findall(r"^\((.*)\)=$", text, re.M)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS.parent)))
def test_every_link_leads_to_a_file_and_to_a_heading_in_it(page):
    broken = [(str(to), anchor) for to, anchor in links(page) if not to.exists()]
    broken += [
        (str(to), anchor)
        for to, anchor in links(page)
        if anchor and to.suffix == ".md" and anchor not in anchors(to)
    ]
    assert broken == []


def test_ci_begins_with_the_two_commands_that_open_the_readme():
    readme = (DOCS.parent / "README.md").read_text()
    opening = re.findall(r"^```sh\n(.*?)\n```$", readme, re.M | re.S)[:2]
    assert opening == [
        "pip install -c constraints.txt -e . && rpd run --env cartpole",
        'pip install -c constraints.txt -e ".[dev]" && pytest',
    ]
    before, reading, after = re.split(r"^(mapfile .*)$", CI.read_text(), flags=re.M)
    assert "pip install" not in before
    shown = ["bash", "-c", f"{reading}; printf '%s\\n' \"${{commands[@]}}\""]
    found = subprocess.run(shown, cwd=DOCS.parent, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == opening
    steps = re.findall(r"python -m venv|bash -c .*|pip install", after)
    anew = "python -m venv"
    first, second = ('bash -c "${commands[0]}")', 'bash -c "${commands[1]}"')
    assert steps[:5] == [anew, first, anew, second, "pip install"]


def test_ci_calls_every_command_that_contributors_are_told_of():
    page = (DOCS / "contributing.md").read_text()
    table = page.partition("The commands of CI")[2].partition("\n## ")[0]
    told = re.findall(r"`([^`]+)`(?= and |\s\|)", "\n".join(re.findall(r"^\| `.*?\|", table, re.M)))
    called = [line.removeprefix("RPD_CHROMIUM=needed ") for line in CI.read_text().splitlines()]
    assert len(told) == 8
    assert [one for one in told if one != "pytest" and one not in called] == []


@pytest.mark.parametrize(
    ("page", "example", "files"),
    [
        ("write-a-measure.md", "rpd-measure-lift", "*.py"),
        ("write-an-environment-plugin.md", "rpd-environment-lake", "*.py"),
        ("write-an-environment-plugin.md", "rpd-environment-lake", "*.toml"),
    ],
)
def test_the_example_in_the_how_to_is_the_example_that_is_tested(page, example, files):
    text = (DOCS / "how-to" / page).read_text()
    found = list((DOCS / "examples" / example).rglob(files))
    assert found
    for file in found:
        included = f"{{literalinclude}} ../{file.relative_to(DOCS)}\n"
        assert included in text or file.read_text().strip() in text, file.name


_PYTHON = r"^ *```python\n(.*?)^ *```"
PUBLIC = {"rpd", "rpd_core", "rpd_core.cli", "rpd_kit"}


def snippets(page: Path) -> list[str]:
    """Return the pieces of Python in a page."""
    return [
        dedent(code) for code in re.findall(_PYTHON, page.read_text(), re.DOTALL | re.MULTILINE)
    ]


def names_from_rpd(code: str) -> list[tuple[str, str]]:
    """Return (module, name) of everything that a piece of Python imports from rpd."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rpd_core"):
            found += [(str(node.module), alias.name) for alias in node.names]
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            found += [(name, "") for name in names if name.partition(".")[0] in ("rpd", "rpd_core")]
    return found


def test_there_are_pieces_of_python_in_the_documentation():
    assert sum(len(names_from_rpd(code)) for page in PAGES for code in snippets(page)) >= 8


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_imports_is_public_and_there(page):
    for code in snippets(page):
        for module, name in names_from_rpd(code):
            assert module in PUBLIC, f"{page.name} imports {name} from {module}"
            assert not name or is_there(module, name), f"{module}.{name}"


def is_there(module, name):
    """Return whether a module has a name, or a module of its own that nobody has imported yet."""
    there = importlib.import_module(module)
    return hasattr(there, name) or importlib.util.find_spec(f"{module}.{name}") is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_of_rpd_is_there(page):
    """In running text: `rpd_core.run`, `rpd_kit.check_component`."""
    if "decisions" in page.parts:
        return  # written once, of the code as it was
    for dotted in re.findall(r"`(rpd_core(?:\.\w+)+)", page.read_text()):
        target = importlib.import_module("rpd_core")
        for place, name in enumerate(dotted.split(".")[1:], 2):
            with suppress(ModuleNotFoundError):
                importlib.import_module(".".join(dotted.split(".")[:place]))
            assert hasattr(target, name), f"{page.name} names {dotted}"
            target = getattr(target, name)


def test_the_examples_import_from_rpd_itself():
    files = [file for file in (DOCS / "examples").rglob("*.py") if "test" not in file.name]
    found = {pair for file in files for pair in names_from_rpd(file.read_text())}
    assert {module for module, _ in found} == {"rpd_core"}


@pytest.mark.slow
def test_the_python_example_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    readme = (DOCS.parent / "README.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    space: dict[str, object] = {}
    exec(block, space)
    assert len(space["table"]) == len(space["run"].suite.states)


def test_the_words_that_contributors_are_to_use_are_in_the_glossary():
    style = (DOCS / "contributing.md").read_text()
    (words,) = re.findall(r"One word for one idea, the same in .*?: (.*)\.", style)
    glossary = (DOCS / "reference" / "glossary.md").read_text().splitlines()
    missing = [word for word in words.split(", ") if word not in glossary]
    assert missing == ["episode"]  # which everybody knows
