"""What a component's source says about it, read without importing it."""

from __future__ import annotations

import ast
import importlib.util
import inspect
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rpd_core.errors import ComponentError


@dataclass(frozen=True)
class Parameter:
    """One field of a component that users may set."""

    name: str
    annotation: str
    default: str | None
    """Source text of the default; None if the parameter must be given."""
    help: str


@dataclass(frozen=True)
class Description:
    """What a component is for and which parameters it takes."""

    doc: str
    parameters: tuple[Parameter, ...]


def source_file(module: str) -> Path | None:
    """Find the source file of a module; imports its parent packages, but not the module."""
    try:
        found = importlib.util.find_spec(module)
    except (Exception, SystemExit):  # a parent package is a stranger's code
        return None
    return Path(found.origin) if found and found.origin and found.has_location else None


@lru_cache(maxsize=256)
def describe_target(target: str) -> Description:
    """Read docstring and parameters of a `module:attribute` target from its source."""
    module, _, attribute = target.partition(":")
    path = source_file(module)
    if path is None:
        raise ComponentError(f"no source for module {module!r} of target {target!r}")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == attribute:
            doc = inspect.cleandoc(ast.get_docstring(node) or "")
            fields = _fields(node) if isinstance(node, ast.ClassDef) else ()
            return Description(doc, fields)
    raise ComponentError(f"module {module!r} has no {attribute!r} (target {target!r})")


def _fields(node: ast.ClassDef) -> tuple[Parameter, ...]:
    found = []
    for position, statement in enumerate(node.body):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        annotation = ast.unparse(statement.annotation)
        if annotation.startswith("ClassVar") or _is_learned(statement.value):
            continue
        found.append(
            Parameter(
                name=statement.target.id,
                annotation=annotation,
                default=ast.unparse(statement.value) if statement.value else None,
                help=_string_after(node.body, position),
            )
        )
    return tuple(found)


def _is_learned(default: ast.expr | None) -> bool:
    """Tell whether a default is a call of `rpd_core.plugin.protocols.learned`."""
    if not isinstance(default, ast.Call):
        return False
    return ast.unparse(default.func).rpartition(".")[2] == "learned"


def _string_after(body: list[ast.stmt], position: int) -> str:
    if position + 1 < len(body):
        following = body[position + 1]
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            return " ".join(str(following.value.value).split())
    return ""
