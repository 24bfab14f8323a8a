"""What a component's source says about it, read without importing it: for listing, describing."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rpd_core.errors import ComponentError

_FARTHEST = 8  # imports and base classes that are followed from a target


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
        spec = importlib.util.find_spec(module)
    except (Exception, SystemExit):  # a parent package is a stranger's code
        return None
    return Path(spec.origin) if spec and spec.origin and spec.has_location else None


@lru_cache(maxsize=256)
def describe_target(target: str) -> Description:
    """Read docstring and parameters of a `module:attribute` target from its source."""
    module, _, attribute = target.partition(":")
    found = _find(module, attribute)
    if found is None:
        raise ComponentError(f"the source of {module!r} defines no {attribute!r}")
    home, node = found
    doc = inspect.cleandoc(ast.get_docstring(node) or "")
    fields = _all_fields(home, node) if isinstance(node, ast.ClassDef) else {}
    return Description(doc, tuple(fields.values()))


def defines(module: str, attribute: str) -> str:
    """Return why a module cannot offer an attribute, judged from its source; empty if it can."""
    path = source_file(module)
    if path is None:
        return f"there is no module {module!r}"
    try:
        if attribute and _is_compiled(path) and _defined_at_the_top(path, attribute):
            return ""
        body = _body(module)
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError) as error:
        return f"the source of {module!r} cannot be read ({error})"
    return "" if attribute in _bound_names(body) else f"{module!r} defines no {attribute!r}"


def _is_compiled(path: Path) -> bool:
    """Return whether Python, or pip, has compiled a source file since it was last changed."""
    try:
        return Path(importlib.util.cache_from_source(path)).stat().st_mtime >= path.stat().st_mtime
    except (OSError, NotImplementedError):
        return False


def _defined_at_the_top(path: Path, attribute: str) -> bool:
    """Return whether a definition begins a line; reading dozens of sources in full takes long."""
    definition = rf"^(?:class|def) {re.escape(attribute)}\b"
    return re.search(definition, path.read_text(encoding="utf-8"), re.MULTILINE) is not None


@lru_cache(maxsize=256)
def _body(module: str) -> list[ast.stmt]:
    path = source_file(module)
    if path is None:
        return []
    return ast.parse(path.read_text(encoding="utf-8")).body


def _bound_names(body: list[ast.stmt]) -> set[str]:
    names: set[str] = set()
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.If | ast.Try):  # definitions that depend on what is installed
            names |= _bound_names([*node.body, *node.orelse])
            names |= _bound_names([s for h in getattr(node, "handlers", ()) for s in h.body])
    return names


def _find(
    module: str, attribute: str, farthest: int = _FARTHEST
) -> tuple[str, ast.ClassDef | ast.FunctionDef] | None:
    """Find where a class or function is defined, following re-exports and plain aliases."""
    if not farthest:
        return None
    for node in _body(module):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == attribute:
            return module, node
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == attribute:
                    return _find(_absolute(module, node), alias.name, farthest - 1)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            targets = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if attribute in targets:
                return _find(module, node.value.id, farthest - 1)
    return None


def _absolute(module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    path = source_file(module)
    keep = len(parts) - node.level + (path is not None and path.name == "__init__.py")
    return ".".join([*parts[:keep], *([node.module] if node.module else [])])


def _all_fields(module: str, node: ast.ClassDef, farthest: int = _FARTHEST) -> dict[str, Parameter]:
    """Return the fields of a class, those of its bases first, as dataclasses order them."""
    fields: dict[str, Parameter] = {}
    for base in node.bases if farthest else ():
        plain = base.value if isinstance(base, ast.Subscript) else base
        found = _find(module, plain.id) if isinstance(plain, ast.Name) else None
        if found is not None and isinstance(found[1], ast.ClassDef):
            fields |= _all_fields(found[0], found[1], farthest - 1)
    for name, parameter in _own_fields(module, node).items():
        if parameter is None:
            fields.pop(name, None)
        else:
            fields[name] = parameter
    return fields


def _own_fields(module: str, node: ast.ClassDef) -> dict[str, Parameter | None]:
    """Return the fields that a class states; None for those that are not parameters."""
    fields: dict[str, Parameter | None] = {}
    for position, statement in enumerate(node.body):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        name, annotation = statement.target.id, ast.unparse(statement.annotation)
        class_variable = annotation.split("[")[0].rpartition(".")[2] == "ClassVar"
        if class_variable or not _can_be_set(statement.value):
            fields[name] = None
            continue
        help_text = _string_after(node.body, position)
        fields[name] = Parameter(name, annotation, _default(module, statement.value), help_text)
    return fields


def _can_be_set(value: ast.expr | None) -> bool:
    """Return whether a field with this default is a parameter: `fit` sets those of `learned`."""
    called, keywords = _call(value)
    init = keywords.get("init")
    hidden = isinstance(init, ast.Constant) and init.value is False
    return called != "learned" and not (called == "field" and hidden)


def _default(module: str, value: ast.expr | None) -> str | None:
    """Return the source text of a default, also of one inside `field`; None if there is none."""
    called, keywords = _call(value)
    if called == "permission":
        return "False"
    if called == "further":
        return "()"
    if called == "field":
        factory = keywords.get("default_factory")
        if factory is not None:
            return f"{ast.unparse(factory)}()"
        value = keywords.get("default")
    if isinstance(value, ast.Name):
        value = _constant(module, value.id) or value
    return None if value is None else ast.unparse(value)


def _constant(module: str, name: str, farthest: int = _FARTHEST) -> ast.expr | None:
    """Return what a name stands for where that is written out, here or where it comes from."""
    for node in _body(module) if farthest else ():
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _constant(_absolute(module, node), alias.name, farthest - 1)
        targets = node.targets if isinstance(node, ast.Assign) else ()
        if isinstance(node, ast.Assign) and name in {ast.unparse(one) for one in targets}:
            return node.value
    return None


def _call(value: ast.expr | None) -> tuple[str, dict[str, ast.expr]]:
    """Return the plain name and the keywords of a call; nothing of another expression."""
    if not isinstance(value, ast.Call):
        return "", {}
    name = ast.unparse(value.func).rpartition(".")[2]
    return name, {one.arg: one.value for one in value.keywords if one.arg}


def _string_after(body: list[ast.stmt], position: int) -> str:
    if position + 1 < len(body):
        following = body[position + 1]
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            return " ".join(str(following.value.value).split())
    return ""
