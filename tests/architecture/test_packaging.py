"""That every bundled plugin is named wherever it has to be, and typed."""

from __future__ import annotations

import email
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FACE = ROOT / "plugins" / "rpd"
"""What `import rpd` imports: not a plugin, but installed like one."""
PLUGINS = sorted(path.parent for path in (ROOT / "plugins").glob("rpd_*/__init__.py"))


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_plugin_is_an_entry_point_a_package_and_covered(project: dict[str, Any]) -> None:
    names = [path.name for path in PLUGINS]
    offered = {"rpd_core": "rpd_core.cli.catalogue", **{name: name for name in names}}
    assert project["project"]["entry-points"]["rpd"] == offered
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert wheel == ["rpd_core", "plugins/rpd", *(f"plugins/{name}" for name in names)]
    assert project["tool"]["coverage"]["run"]["source_pkgs"] == ["rpd_core", "rpd", *names]


def test_what_lies_beside_the_plugins_is_the_face_alone() -> None:
    folders = {path.parent for path in (ROOT / "plugins").glob("*/__init__.py")}
    assert folders - {*PLUGINS} == {FACE}


@pytest.mark.parametrize("package", [ROOT / "rpd_core", FACE, *PLUGINS], ids=lambda path: path.name)
def test_every_package_is_marked_as_typed(package: Path) -> None:
    assert (package / "py.typed").exists()


def test_the_citation_names_the_version_of_the_project(project: dict[str, Any]) -> None:
    citation = (ROOT / "CITATION.cff").read_text().splitlines()
    assert f"version: {project['project']['version']}" in citation


@pytest.mark.parametrize("tool", ["repo-review", "check-wheel-contents"])
def test_every_exception_of_a_check_is_argued(tool: str, project: dict[str, Any]) -> None:
    part = (ROOT / "pyproject.toml").read_text("utf-8").partition(f"[tool.{tool}]\n")[2]
    argued = [line for line in part.partition("\n[")[0].splitlines() if "  # " in line]
    ignored = project["tool"][tool]["ignore"]
    assert [name for name in ignored if not any(f'"{name}"' in line for line in argued)] == []


SOURCES = ("pyproject.toml", "README.md", "LICENSE", ".gitignore", "rpd_core", "plugins")


def wheel_of(tree: Path, out: Path) -> Path:
    """Build a wheel of a checkout, as `python -m build --wheel` does, and return its file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)
    (wheel,) = out.glob("*.whl")
    return wheel


def test_a_copy_of_the_sources_gives_the_same_wheel_byte_for_byte(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in SOURCES:
        whole = (ROOT / name).is_dir()
        (shutil.copytree if whole else shutil.copyfile)(ROOT / name, copy / name)
        (copy / name).touch()
    wheels = wheel_of(ROOT, tmp_path / "a"), wheel_of(copy, tmp_path / "b")
    assert wheels[0].read_bytes() == wheels[1].read_bytes()
    with zipfile.ZipFile(wheels[0]) as opened:
        names = opened.namelist()
        (metadata,) = (name for name in names if name.endswith("/METADATA"))
        about = email.message_from_bytes(opened.read(metadata))
    assert about["Author"] == "The rpd authors"
    assert about.get_all("Project-URL") is None
    roots = {name.partition("/")[0] for name in names}
    packages = {"rpd_core", "rpd", *(path.name for path in PLUGINS)}
    assert {root for root in roots if not root.endswith(".dist-info")} == packages
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_authors_are_those_of_the_citation(project: dict[str, Any]) -> None:
    citation = (ROOT / "CITATION.cff").read_text().splitlines()
    names = [one["name"] for one in project["project"]["authors"]]
    assert [name for name in names if f"  - name: {name}" not in citation] == []


ELSEWHERE = {"torch": "pytorch", "matplotlib": "matplotlib-base"}
"""What conda calls a package, where that is not its name."""


def test_the_recipe_for_conda_asks_for_what_the_project_asks_for(project: dict[str, Any]) -> None:
    recipe = (ROOT / ".ci" / "conda" / "recipe.yaml").read_text("utf-8")
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    asked = {line.strip("- ") for line in run.splitlines()} - {"pygame >=2.1.3"}  # of an extra
    wanted = {f"python {project['project']['requires-python']}"}
    for line in project["project"]["dependencies"]:
        name, _, version = line.partition(">=")
        name = name.partition("[")[0]
        wanted.add(f"{ELSEWHERE.get(name, name)} >={version}")
    assert asked == wanted
    assert f'version: "{project["project"]["version"]}"' in recipe


def test_the_wheel_does_the_first_command_in_ci() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert script.index('"${commands[1]}"') < script.index("pip wheel") < script.index("ruff check")
