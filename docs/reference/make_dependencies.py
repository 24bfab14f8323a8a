"""List what rpd depends on, with licences: `python docs/reference/make_dependencies.py`.

Names come from `pyproject.toml`, versions and licences from the metadata of what is installed. The
table lands in `dependencies.csv` beside this script.
"""

from __future__ import annotations

import csv
import re
import tomllib
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1] / "pyproject.toml"
LONG = 60
"""Characters of a licence field that is a name and not the text."""


def main() -> None:
    """Write the table."""
    rows = [("package", "needed for", "version tried", "licence"), *sorted(set(dependencies()))]
    with (HERE / "dependencies.csv").open("w", encoding="utf-8", newline="") as target:
        csv.writer(target, lineterminator="\n").writerows(rows)


def dependencies() -> list[tuple[str, str, str, str]]:
    """Return a row for each package that the project names, by what it is needed for."""
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    own = project["name"]
    named = {"rpd": project["dependencies"], **project.get("optional-dependencies", {})}
    found = []
    for purpose, requirements in named.items():
        for text in requirements:
            name = re.split(r"[\s\[<>=!~;]", text)[0]
            if name != own:
                found.append(
                    (name, purpose if purpose == "rpd" else f"extra {purpose}", *known(name))
                )
    return found


def known(name: str) -> tuple[str, str]:
    """Return version and licence of an installed distribution."""
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return "not installed", "see the package"
    return about["Version"], licence(about)


def licence(about: metadata.PackageMetadata) -> str:
    """Return the licence that a distribution declares: an expression, a classifier or a name."""
    expression = about.get("License-Expression")
    if expression:
        return str(expression)
    classifiers = about.get_all("Classifier") or []
    said = [one.rpartition(" :: ")[2] for one in classifiers if one.startswith("License ::")]
    said = [one for one in said if one != "OSI Approved"]
    plain = str(about.get("License") or "").strip().splitlines()
    return "; ".join(said) or (plain[0][:LONG] if plain else "not declared")


if __name__ == "__main__":
    main()
