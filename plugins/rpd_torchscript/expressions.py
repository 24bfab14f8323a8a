"""Compiles the expressions of TorchScript's code."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING, Any

import torch

from rpd_torchscript.builder import Binding, Known
from rpd_torchscript.functions.table import Function, Table
from rpd_torchscript.limits import damaged
from rpd_torchscript.syntax import Library
from rpd_torchscript.values import Module, StoredDict, StoredList, Uninitialized

if TYPE_CHECKING:
    from rpd_torchscript.compiler import Compiler

_NUMBERS = {"inf": inf, "nan": nan}
_SAME_VALUE = ("unchecked_cast", "unchecked_unwrap_optional")
_OPERATOR_OF_WORD = {
    "int": "aten::Int", "float": "aten::Float", "bool": "aten::Bool", "str": "aten::str",
    "sorted": "aten::sorted", "print": "prim::Print", "fork": "prim::fork",
}  # fmt: skip
_GRAD_MODES = ("__torch__.torch.autograd.grad_mode.no_grad",)


class GradMode:
    """Stands for `torch.no_grad()`."""


@dataclass(frozen=True)
class FunctionNote:
    """A function of the file as a value."""

    node: ast.FunctionDef


def dotted(node: ast.expr) -> list[str] | None:
    """Return the parts of a dotted name, or None for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *parts[::-1]] if isinstance(node, ast.Name) else None


class Expressions:
    """Compiles expressions in the scope of a compiler."""

    def __init__(
        self, compiler: Compiler, library: Library, constants: Sequence[Any], table: Table
    ) -> None:
        self.compiler, self.library, self.table = compiler, library, table
        self.constants = constants
        self.words: dict[str, Callable[[ast.Call], Binding]] = {
            "annotate": self._annotate,
            "getattr": self._getattr,
            "isinstance": self._isinstance,
            "uninitialized": lambda node: Known(Uninitialized()),
            **dict.fromkeys(_SAME_VALUE, self._same_value),
        }

    def compile(self, node: ast.expr) -> Binding:
        """Return what an expression stands for, after adding the steps that make it."""
        self.compiler.visit()
        if isinstance(node, ast.Constant):
            return Known(self._literal(node))
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Tuple | ast.List | ast.Dict):
            return self._container(node)
        if isinstance(node, ast.Subscript):
            return self._item(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.compile(node.operand)
            if isinstance(value, Known) and type(value.value) in (int, float):
                return Known(-value.value)
        raise self.compiler.strange(
            f"has a {type(node).__name__} in its code, which rpd does not run"
        )

    def _literal(self, node: ast.Constant) -> Any:
        value = node.value
        if type(value) not in (int, float, bool, str, type(None)):
            raise self.compiler.strange(f"has a {type(value).__name__} in its code")
        if type(value) is int and value > 2**63:
            raise damaged(self.compiler.path, "a number in its code is too large")
        return value

    def _name(self, node: ast.Name) -> Binding:
        if node.id in self.compiler.scope:
            return self.compiler.scope[node.id]
        if node.id in _NUMBERS:
            return Known(_NUMBERS[node.id])
        raise damaged(self.compiler.path, f"its code uses {node.id[:80]!r} before it is made")

    def _attribute(self, node: ast.Attribute) -> Binding:
        path = dotted(node)
        if path is not None and path[0] not in self.compiler.scope:
            return Known(self._constant(path))
        return self._attribute_of(self.compile(node.value), node.attr)

    def _constant(self, path: list[str]) -> Any:
        name = ".".join(path)
        if path[0] == "CONSTANTS" and path[-1][1:].isdecimal() and len(path[-1]) < 9:
            number = int(path[-1][1:])
            if number < len(self.constants):
                return self.constants[number]
        function = self.library.functions.get(name)
        if function is None:
            raise damaged(self.compiler.path, f"its code uses {name[:200]!r}, which it lacks")
        return FunctionNote(function)

    def _attribute_of(self, owner: Binding, name: str) -> Binding:
        if not isinstance(owner, Known) or not isinstance(owner.value, Module):
            raise self.compiler.strange(
                f"takes {name[:80]!r} of what is known only at play time, which rpd does not run"
            )
        if name in owner.value.attributes:
            return Known(owner.value.attributes[name])
        constant = self.library.classes[owner.value.kind].constants.get(name)
        if constant is None:
            raise damaged(self.compiler.path, f"{owner.value.kind[:200]} has no {name[:80]!r}")
        return self.compile(constant)

    # ----------------------------------------------------------------- containers

    def _container(self, node: ast.Tuple | ast.List | ast.Dict) -> Binding:
        if isinstance(node, ast.Dict):
            if None in node.keys:
                raise self.compiler.strange("spreads a dictionary, which rpd does not run")
            keys = [self.compile(key) for key in node.keys if key is not None]
            return self._add("prim::DictConstruct", [*keys, *map(self.compile, node.values)])
        items = [self.compile(item) for item in node.elts]
        known = all(isinstance(item, Known) for item in items)
        values = [item.value for item in items if isinstance(item, Known)]
        if isinstance(node, ast.List):
            if known and not self.library.changes_lists:
                return Known(StoredList(values))
            return self._add("prim::ListConstruct", items)
        return Known(tuple(values)) if known else self._add("prim::TupleConstruct", items)

    def _item(self, node: ast.Subscript) -> Binding:
        owner = self.compile(node.value)
        if isinstance(node.slice, ast.Slice):
            bounds = [node.slice.lower, node.slice.upper]
            places = [Known(None) if b is None else self.compile(b) for b in bounds]
            return self._add("prim::TupleSlice", [owner, *places])
        key = self.compile(node.slice)
        items = owner.value if isinstance(owner, Known) else None
        if isinstance(key, Known) and isinstance(items, tuple | StoredList | StoredDict):
            try:
                return Known(items[key.value])
            except (LookupError, TypeError):
                pass  # the place may never be reached: let the call fail there
        return self._add("aten::__getitem__", [owner, key])

    # ---------------------------------------------------------------------- calls

    def _call(self, node: ast.Call) -> Binding:
        path = dotted(node.func)
        if path is None or path[0] in self.compiler.scope:
            return self._call_value(node)
        if len(path) == 1:
            return self._call_word(node, path[0])
        if path[0] == "torch":
            return self._operator(node, f"aten::{'.'.join(path[1:])}")
        if path[0] == "ops":
            return self._operator(node, "::".join(path[1:]))
        return self._call_own(node, ".".join(path))

    def _call_value(self, node: ast.Call) -> Binding:
        """Call a method of an object, or a function that is held in a variable."""
        if isinstance(node.func, ast.Attribute):
            owner = self.compile(node.func.value)
            if isinstance(owner, Known) and isinstance(owner.value, Module):
                return self._call_method(node, owner.value)
            if isinstance(owner, Known) and isinstance(owner.value, GradMode):
                return Known(None)
            if node.func.attr == "tolist" and not node.args:
                return self._add("prim::tolist", [owner])
            raise self.compiler.strange(
                f"calls {node.func.attr[:80]!r} of what is known only at play time, which rpd "
                "does not run"
            )
        function = self.compile(node.func)
        if not isinstance(function, Known) or not isinstance(function.value, FunctionNote):
            raise self.compiler.strange("calls what is no function")
        return self.compiler.inline(function.value.node, self._arguments(node))

    def _call_method(self, node: ast.Call, owner: Module) -> Binding:
        assert isinstance(node.func, ast.Attribute)
        method = self.library.classes[owner.kind].methods.get(node.func.attr)
        if method is None:
            raise damaged(
                self.compiler.path, f"{owner.kind[:200]} has no method {node.func.attr[:80]!r}"
            )
        return self.compiler.inline(method, [Known(owner), *self._arguments(node)])

    def _call_own(self, node: ast.Call, name: str) -> Binding:
        """Call a function of the file, or make a named tuple."""
        if name in self.library.functions:
            return self.compiler.inline(self.library.functions[name], self._arguments(node))
        kind = self.library.classes.get(name)
        if kind is not None and kind.base == "NamedTuple":
            return self._add("prim::TupleConstruct", self._arguments(node))
        made = name.removesuffix(".__new__")
        if made in _GRAD_MODES:
            return Known(GradMode())
        if made in self.library.classes:
            raise self.compiler.strange(
                f"makes an object of {made[:200]!r} when it is called, which rpd does not do"
            )
        raise damaged(self.compiler.path, f"its code calls {name[:200]!r}, which it lacks")

    def _call_word(self, node: ast.Call, word: str) -> Binding:
        if word in self.words:
            return self.words[word](node)
        if word in _OPERATOR_OF_WORD:
            return self._operator(node, _OPERATOR_OF_WORD[word])
        raise self.compiler.strange(f"calls {word[:80]!r}, which rpd does not run")

    def _arguments(self, node: ast.Call) -> list[Binding]:
        if node.keywords or any(isinstance(item, ast.Starred) for item in node.args):
            raise self.compiler.strange("calls a function in a way that rpd does not run")
        return [self.compile(item) for item in node.args]

    def _operator(self, node: ast.Call, name: str) -> Binding:
        if name == "aten::device":
            return Known(torch.device("cpu"))  # whatever it was made on, it is run here
        function = self.table.get(name)
        if any(isinstance(item, ast.Starred) for item in node.args):
            raise self.compiler.strange("calls an operator in a way that rpd does not run")
        arguments = [self._argument(item, function) for item in node.args]
        named = {str(item.arg): self._argument(item.value, function) for item in node.keywords}
        return self.compiler.builder.call(name, function, arguments, named)

    def _argument(self, node: ast.expr, function: Function) -> Binding:
        """Compile an argument; a list of known values is made once where nobody keeps it."""
        if isinstance(node, ast.List) and not function.keeps:
            self.compiler.visit()
            items = [self.compile(item) for item in node.elts]
            if all(isinstance(item, Known) for item in items):
                return Known(StoredList(item.value for item in items if isinstance(item, Known)))
            return self._add("prim::ListConstruct", items)
        return self.compile(node)

    def _add(self, name: str, arguments: Sequence[Binding]) -> Binding:
        return self.compiler.builder.call(name, self.table.get(name), arguments)

    # ---------------------------------------------------------------------- words

    def _two(self, node: ast.Call) -> tuple[ast.expr, ast.expr]:
        if len(node.args) != 2 or node.keywords:
            raise damaged(self.compiler.path, "its code has a call with the wrong arguments")
        return node.args[0], node.args[1]

    def _annotate(self, node: ast.Call) -> Binding:
        kind, value = self._two(node)
        made = self.compile(value)
        if isinstance(kind, ast.Name) and kind.id in ("int", "float", "number"):
            return self._add("aten::ScalarImplicit", [made])
        return made

    def _same_value(self, node: ast.Call) -> Binding:
        if not node.args:
            raise damaged(self.compiler.path, "its code has a call with the wrong arguments")
        return self.compile(node.args[-1])

    def _getattr(self, node: ast.Call) -> Binding:
        owner, name = self._two(node)
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            raise self.compiler.strange("calls 'getattr' in a way that rpd does not run")
        return self._attribute_of(self.compile(owner), name.value)

    def _isinstance(self, node: ast.Call) -> Binding:
        value, kinds = self._two(node)
        listed = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
        names = tuple(_outer_name(kind) for kind in listed)
        return self._add("prim::isinstance", [self.compile(value), Known(names)])


def _outer_name(kind: ast.expr) -> str:
    node = kind.value if isinstance(kind, ast.Subscript) else kind
    return node.id if isinstance(node, ast.Name) else "?"
