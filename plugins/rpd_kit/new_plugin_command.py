"""`rpd new-plugin`: a distribution to start from."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from rpd_core.cli import shared
from rpd_core.cli.completion import complete_kind
from rpd_core.errors import ConfigError, SpecError
from rpd_core.plugin.hookspecs import KINDS
from rpd_core.plugin.registry import check_kind, installed
from rpd_core.plugin.specs import NAME


def new_plugin_command(
    kind: Annotated[
        str,
        typer.Argument(help=f"One of: {', '.join(KINDS)}.", autocompletion=complete_kind),
    ],
    name: Annotated[str, typer.Argument(help="What users will type, for example lift.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder to make; default: rpd-NAME.")
    ] = None,
) -> None:
    """Lay out a plugin distribution whose test passes, ready to be changed."""
    folder = lay_out(kind, name, out)
    shared.errors().print(
        f"rpd: wrote {folder}\nInstall it: pip install -e {folder} pytest\n"
        f"Check it: rpd check-plugin {folder.name}\nTest it: pytest {folder}",
        markup=False,
    )


def lay_out(kind: str, name: str, out: Path | None = None) -> Path:
    """Write a distribution with one component of a kind, and a test that it passes."""
    check_kind(kind)
    if not NAME.fullmatch(name) or not name.isascii():
        raise SpecError(
            f"a component cannot be called {name!r}: use letters, digits, '-', '_' and '.', with a "
            "letter first"
        )
    taken = [one for one in installed().of_kind(kind) if one.component.name == name]
    if taken:
        raise ConfigError(
            f"there is a {kind} {name!r} already, of {taken[0].plugin!r}: choose another name"
        )
    folder = out or Path(f"rpd-{name}".replace("_", "-").replace(".", "-").lower())
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{str(folder)!r} is there already: choose another --out")
    words = _words(kind, name, folder)
    package = words["package"]
    catalogue = "catalogue-command.py.txt" if kind == "command" else "catalogue.py.txt"
    contents = {
        "pyproject.toml": "pyproject.toml.txt",
        "README.md": "README.md.txt",
        f"{package}/__init__.py": catalogue,
        f"{package}/{words['module']}.py": f"{kind}.py.txt",
        f"tests/test_{words['word']}.py": f"test-{kind}.py.txt",
    }
    for path, template in contents.items():
        target = folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_filled(template, words), encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"cannot write {str(target)!r}: {error.strerror}") from error
    return folder


def _words(kind: str, name: str, folder: Path) -> dict[str, str]:
    word = "".join(c if c.isalnum() else "_" for c in name).lower()
    return {
        "name": name,
        "kind": kind,
        "word": word,
        "hook": KINDS[kind].hook,
        "distribution": folder.name,
        "package": f"rpd_{word}",
        "module": kind.replace("-", "_"),
        "class_name": "".join(part.capitalize() for part in word.split("_") if part),
    }


def _filled(template: str, words: dict[str, str]) -> str:
    text = (files("rpd_kit") / "templates" / template).read_text(encoding="utf-8")
    return Template(text).substitute(words)
