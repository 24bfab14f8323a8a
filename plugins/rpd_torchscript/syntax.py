"""The code of a TorchScript file as syntax trees, read by Python's parser but never run by it.

torch prints a small part of Python: no operators but a minus sign, no comprehensions, no lambdas.
The text is looked over first, so that nothing reaches the parser that could nest deeply.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rpd_core.untrusted.boundary import Refused
from rpd_torchscript.limits import CODE_BYTES

_DEEPEST = 100
"""Brackets, attributes, calls and signs inside one another, or one after the other."""
_TOKEN = re.compile(
    r"(?P<space>[ \t]+)|(?P<line>\n)|(?P<comment>#[^\n]*)"
    r"|(?P<text>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<number>(?:\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)j?)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<sign>->|[()\[\]{},:.=-])",
    re.ASCII,
)
_NEVER = (
    "and as assert async await break continue del elif except finally global is lambda nonlocal "
    "not or raise try yield match case"
)
_FORBIDDEN_WORDS = frozenset(_NEVER.split())
_FIRST = "if else for while with class def return pass import from"
_STATEMENTS = frozenset(_FIRST.split())
"""Words that stand only at the start of a line: `x if y else z` would nest without brackets."""
_LONGEST_NUMBER, _LONGEST_NAME = 40, 1000


@dataclass(frozen=True)
class Class:
    """A class of the file."""

    base: str
    """`Module`, `NamedTuple`, or nothing."""
    methods: dict[str, ast.FunctionDef] = field(repr=False)
    constants: dict[str, ast.expr] = field(repr=False)
    """Values that stand in the class itself: `Final` ones, lists of parameters, hooks."""

    def names(self, constant: str) -> tuple[str, ...]:
        """Return a list of names that stands in the class, for example of its parameters."""
        value = self.constants.get(constant)
        items = value.elts if isinstance(value, ast.List) else []
        return tuple(str(item.value) for item in items if isinstance(item, ast.Constant))


@dataclass(frozen=True)
class Library:
    """All classes and functions of a file by their qualified names."""

    classes: dict[str, Class]
    functions: dict[str, ast.FunctionDef]
    version: int
    """The version of the file, on which the meaning of some functions depends."""
    constants: tuple[Any, ...] = ()
    """Values that the code names by number."""


def read_code(members: Mapping[str, bytes], version: int) -> Library:
    """Parse the members below `code/`."""
    sources = {
        name: data
        for name, data in members.items()
        if name.startswith("code/") and name.endswith(".py")
    }
    if sum(map(len, sources.values())) > CODE_BYTES:
        raise Refused(f"its code is longer than {CODE_BYTES >> 20} MB")
    library = Library({}, {}, version)
    for name, data in sources.items():
        _add(library, name.removeprefix("code/").removesuffix(".py").replace("/", "."), data)
    return library


def _add(library: Library, prefix: str, data: bytes) -> None:
    for statement in parse(data).body:
        if isinstance(statement, ast.FunctionDef):
            library.functions[f"{prefix}.{statement.name}"] = statement
        elif isinstance(statement, ast.ClassDef):
            library.classes[f"{prefix}.{statement.name}"] = _class(statement)
        elif not isinstance(statement, ast.Import | ast.ImportFrom | ast.Assign):
            raise Refused(f"a {type(statement).__name__} stands outside of functions")


def parse(data: bytes) -> ast.Module:
    """Return the syntax tree of one member."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused("its code is not UTF-8") from error
    _look_over(text)
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"its code cannot be parsed ({type(error).__name__})") from error


def _class(node: ast.ClassDef) -> Class:
    base = node.bases[0].id if node.bases and isinstance(node.bases[0], ast.Name) else ""
    made = Class(base, {}, {})
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            made.methods[part.name] = part
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and part.value:
            made.constants[part.target.id] = part.value
        elif isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
            made.constants[part.targets[0].id] = part.value
    return made


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise Refused(f"its code holds {text[place]!r}, which TorchScript does not")
        yield str(found.lastgroup), found.group()
        place = found.end()


def _look_over(text: str) -> None:
    """Refuse text that no TorchScript has, and whatever would make a deep tree."""
    runs = [0]  # for each open bracket: attributes, calls and signs since the last separator
    before, first = "line", True
    for kind, word in _tokens(text):
        if kind == "line" and len(runs) == 1:
            first = True
        elif kind not in ("space", "comment"):
            _check_token(kind, word, before, first)
            first = False
        _count(word, runs)
        if len(runs) + sum(runs) > _DEEPEST:
            raise Refused("its code is nested too deeply")
        before = kind


def _count(word: str, runs: list[int]) -> None:
    if word in (",", "=", ":") or (word == "\n" and len(runs) == 1):
        runs[-1] = 0
    elif word in (".", "-"):
        runs[-1] += 1
    elif word in ("(", "[", "{"):
        runs[-1] += 1
        runs.append(0)
    elif word in (")", "]", "}") and len(runs) > 1:
        runs.pop()


def _check_token(kind: str, word: str, before: str, first: bool) -> None:
    misplaced = not first and word in _STATEMENTS
    if kind == "name" and (word in _FORBIDDEN_WORDS or misplaced):
        raise Refused(f"its code says {word!r} where TorchScript does not")
    if kind == "name" and len(word) > _LONGEST_NAME:
        raise Refused(f"its code holds a name of {len(word)} letters")
    if kind == "number" and len(word) > _LONGEST_NUMBER:
        raise Refused(f"its code holds a number of {len(word)} digits")
    if kind == "text" and before in ("text", "name", "number"):
        raise Refused("its code holds a text where TorchScript has none")
