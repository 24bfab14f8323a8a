"""Small distributions of strangers, to be installed for real."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

HEAD = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "{name}"
version = "0.5"
[tool.hatch.build.targets.wheel]
include = ["*.py"]
"""


def write_distribution(
    folder: Path,
    name: str,
    modules: Mapping[str, str],
    entries: Mapping[str, Mapping[str, str]],
) -> Path:
    """Write modules and a pyproject.toml that declares entry points by group and name."""
    folder.mkdir()
    lines = [HEAD.format(name=name)]
    for group, points in entries.items():
        lines.append(f'[project.entry-points."{group}"]')
        lines += [f'{point} = "{target}"' for point, target in points.items()]
    (folder / "pyproject.toml").write_text("\n".join(lines) + "\n")
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(dedent(text))
    return folder
