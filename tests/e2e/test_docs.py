"""Documentation that must not fall behind the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from rpd_core.cli.app import app
from rpd_core.plugin.kinds import KINDS

DOCS = Path(__file__).resolve().parents[2] / "docs"
COMMANDS = typer.main.get_command(app).commands


def section(text: str, heading: str) -> str:
    """Give what stands between a heading and the next of its level."""
    start = text.index(heading)
    following = text.find("\n## ", start + 1)
    return text[start : following if following > 0 else None]


@pytest.mark.parametrize("hook", [kind.hook for kind in KINDS.values()])
def test_every_hook_has_a_section(hook):
    assert f"## `{hook}`" in (DOCS / "reference" / "hooks.md").read_text()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_every_flag_is_documented(name):
    text = section((DOCS / "reference" / "cli.md").read_text(), f"## `rpd {name}")
    flags = [flag for p in COMMANDS[name].params for flag in p.opts if flag.startswith("--")]
    missing = [flag for flag in flags if flag != "--help" and flag not in text]
    assert missing == []


def test_every_link_between_pages_leads_somewhere():
    pages = [*DOCS.rglob("*.md"), DOCS.parent / "README.md"]
    broken = []
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)[^)]*\)", page.read_text()):
            if not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert broken == []


def test_the_readme_opens_with_the_two_commands_and_ci_calls_the_second():
    readme = (DOCS.parent / "README.md").read_text()
    assert "pip install -c constraints.txt -e . && rpd run --env cartpole" in readme
    assert 'pip install -c constraints.txt -e ".[dev]" && pytest' in readme
    ci = (DOCS.parent / ".ci" / "run").read_text().splitlines()
    assert "pytest" in ci


@pytest.mark.parametrize(
    ("page", "example", "files"),
    [
        ("write-a-measure.md", "rpd-measure-jaccard", "*.py"),
        ("write-an-environment-plugin.md", "rpd-environment-lake", "*.py"),
        ("write-an-environment-plugin.md", "rpd-environment-lake", "*.toml"),
    ],
)
def test_the_example_in_the_how_to_is_the_example_that_is_tested(page, example, files):
    text = (DOCS / "how-to" / page).read_text()
    found = list((DOCS / "examples" / example).rglob(files))
    assert found
    for file in found:
        assert file.read_text().strip() in text, file.name


@pytest.mark.slow
def test_the_python_example_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    readme = (DOCS.parent / "README.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    space: dict[str, object] = {}
    exec("import gymnasium\n" + block, space)
    assert len(space["table"]) == len(space["run"].suite.states)
