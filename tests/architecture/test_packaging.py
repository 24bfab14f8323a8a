"""That every bundled plugin is named wherever it has to be, and typed."""

from __future__ import annotations

import tomllib
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


def test_every_exception_of_repo_review_is_argued(project: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "contributing.md").read_text()
    assert [name for name in project["tool"]["repo-review"]["ignore"] if name not in page] == []
