"""What is imported by name, and what sources say of components without importing them."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any

from rpd_core.errors import ComponentError, SpecError, one_line

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
    at_the_top = rf"^(?:class|def) {re.escape(attribute)}\b"
    try:
        text = path.read_text("utf-8") if attribute and _is_compiled(path) else ""
        if text and re.search(at_the_top, text, re.MULTILINE):  # to parse dozens takes long
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
    for statement, following in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        name, annotation = statement.target.id, ast.unparse(statement.annotation)
        class_variable = annotation.split("[")[0].rpartition(".")[2] == "ClassVar"
        called, keywords = _call(statement.value)
        init = keywords.get("init")
        hidden = called == "field" and isinstance(init, ast.Constant) and init.value is False
        if class_variable or called == "learned" or hidden:  # `fit` sets those of `learned`
            fields[name] = None
            continue
        told = following.value if isinstance(following, ast.Expr) else None
        help_text = " ".join(str(told.value).split()) if isinstance(told, ast.Constant) else ""
        fields[name] = Parameter(name, annotation, _default(module, statement.value), help_text)
    return fields


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
    if not isinstance(value, ast.Call):
        return "", {}
    name = ast.unparse(value.func).rpartition(".")[2]
    return name, {one.arg: one.value for one in value.keywords if one.arg}


_IMPORTING = ("importlib", "_frozen_importlib", "_frozen_importlib_external")
_PATIENCE = 120  # seconds that an import may take


@contextmanager
def working_directory_searched() -> Iterator[None]:
    """Meanwhile let imports look in the working directory, too, after everything else."""
    here = str(Path.cwd())
    if here in sys.path:
        yield
        return
    sys.path.append(here)
    try:
        yield
    finally:
        if here in sys.path:  # the module may have tidied up by itself
            sys.path.remove(here)


def import_attribute(target: str) -> Any:
    """Import `module:attribute`, looking in the working directory, too."""
    module, colon, attribute = target.partition(":")
    if not colon or not module or not attribute:
        raise SpecError(f"{target!r} must be written module:attribute")
    try:
        with working_directory_searched():
            return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise SpecError(f"cannot import {target!r}: {one_line(error)}") from error


def import_wanted(package: str) -> Any:
    """Import a package that rpd does not depend on, for those who have it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise ComponentError(
            f"this needs {package}, which is not installed: pip install {package}"
        ) from error


def source_of(target: str | object) -> tuple[Path, ...]:
    """Return the file that `module:attribute` is written in, if there is one; imports parents."""
    if not isinstance(target, str):
        return ()
    with working_directory_searched():
        path = source_file(target.partition(":")[0])
    return (path,) if path is not None and path.is_file() else ()


def is_installed(module: str) -> bool:
    """Return whether there is a module, without importing it or anything heavy."""
    # Folders without code, as an interrupted uninstallation leaves them, are no packages, but may
    # hold one, as `google` holds `google.protobuf`.
    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        try:
            spec = importlib.util.find_spec(".".join(parts[:length]))
        except ImportError:
            return False
        except ValueError:  # something without a record of where it is from stands in for it
            return True
        if spec is None or spec.origin is not None:
            return spec is not None
    return False


def failed_import(error: BaseException) -> str:
    """Return the package of others whose import raised an error; empty if none did."""
    # An import leaves its mark in the traceback: a line of importlib, or one of a module itself.
    if isinstance(error, ModuleNotFoundError) and error.name:
        return _not_ours(error.name)
    for frame in _below_ours(error):
        module = str(frame.f_globals.get("__name__", ""))
        asked = frame.f_locals.get("name") if _root(module) in _IMPORTING else None
        if isinstance(asked, str):
            return _not_ours(asked)
        if frame.f_code.co_name == "<module>":
            return _not_ours(module)
    if isinstance(error, SyntaxError):  # Python leaves no line of importlib for one
        return _not_ours(_package_of(Path(error.filename or "")))
    return _not_ours(error.name or "") if isinstance(error, ImportError) else ""


def _package_of(path: Path) -> str:
    """Return the package that a file is imported as; empty if it is nowhere on the path."""
    for folder in filter(None, sys.path):
        if path.is_relative_to(folder):
            return path.relative_to(folder).with_suffix("").parts[0]
    return ""


def import_faults(modules: Sequence[str]) -> dict[str, str]:
    """Import modules, each in a process of its own, and return why some cannot be."""
    import subprocess  # takes a while to import, and is hardly ever wanted

    faults = {}
    for module in modules:
        command = [sys.executable, "-P", "-c", f"import {module}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            faults[module] = f"its import takes more than {_PATIENCE} seconds"
            continue
        if done.returncode:
            said = done.stderr.strip().splitlines()
            faults[module] = (said or [f"its import ends Python with {done.returncode}"])[-1]
    return faults


def _below_ours(error: BaseException) -> Iterator[FrameType]:
    """Yield what ran between the last line of rpd and the error, outermost first."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    names = [str(frame.f_globals.get("__name__", "")) for frame in frames]
    ours = [place for place, name in enumerate(names) if not _not_ours(name)]
    yield from frames[ours[-1] + 1 :] if ours else ()


def _not_ours(module: str) -> str:
    """Return the package of a module; nothing for one of rpd's."""
    root = _root(module)
    return "" if root == "rpd" or root.startswith("rpd_") else root


def _root(module: str) -> str:
    return module.partition(".")[0]
