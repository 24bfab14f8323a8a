"""One call of a file's code, evaluated node by node.

Python's parser made the syntax tree, but nothing of it is given to Python: every node that is not
known here is refused, every function that is called stands on the allow-list, and every node counts
as a step.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache
from math import inf, nan
from typing import Any

import torch
from torch import Tensor

from rpd_torchscript.functions.plain import PLAIN, READING, is_of, item_of, part_of, set_item
from rpd_torchscript.functions.table import MAKERS, OPERATORS, not_run
from rpd_torchscript.limits import Fault, Forbidden, Meter, contradiction
from rpd_torchscript.route import Recorder
from rpd_torchscript.syntax import Library
from rpd_torchscript.values import Module, kind_of

_MOST_CALLS = 40
_NUMBERS = {"inf": inf, "nan": nan}
_FUNCTION_OF_WORD = {
    "int": "aten::Int", "float": "aten::Float", "bool": "aten::Bool", "str": "aten::str",
    "print": "prim::Print", "fork": "prim::fork",
}  # fmt: skip
_NEW_MEANING = {"aten::div": 4, "aten::div_": 4, "aten::full": 5}
"""Functions that meant something else in files of older versions."""
_ARITHMETIC = ("aten::add", "aten::div", "aten::mul", "aten::sub")
_GRAD_MODE = "__torch__.torch.autograd.grad_mode.no_grad"
_NO_GRAD = object()
"""Stands for `torch.no_grad()`; nothing here ever follows gradients."""
_WORDS = {
    **dict.fromkeys(("annotate", "getattr", "isinstance", "unchecked_cast"), 2),
    "unchecked_unwrap_optional": 1,
}
"""Words of TorchScript itself, and how many arguments each has."""
Scope = dict[str, Any]
NOTHING: Scope = {}


@lru_cache(maxsize=10_000)
def _dotted(node: ast.expr) -> tuple[str, ...] | None:
    """Return the parts of a dotted name, or None for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *parts[::-1]) if isinstance(node, ast.Name) else None


class Evaluation:
    """Evaluates the code of a file for one call."""

    def __init__(self, library: Library, meter: Meter, recorder: Recorder | None = None) -> None:
        self.library, self.meter, self.recorder = library, meter, recorder
        self.numbers = {id(c) for c in library.constants if type(c) is Tensor and not c.dim()}
        """Constants that tracing made of plain numbers; torch treats them as numbers, too."""
        self.depth = 0

    def method(
        self, owner: Module, name: str, arguments: Sequence[Any], named: Scope = NOTHING
    ) -> Any:
        """Call a method of a module."""
        method = self.library.classes[owner.kind].methods.get(name)
        if method is None:
            raise contradiction(f"{owner.kind[:200]} has no method {name[:80]!r}")
        return self._function(method, [owner, *arguments], named)

    def _function(
        self, function: ast.FunctionDef, arguments: Sequence[Any], named: Scope = NOTHING
    ) -> Any:
        """Call one of the file's functions."""
        if self.depth >= _MOST_CALLS:
            raise contradiction(f"its functions call one another {_MOST_CALLS} deep")
        names = [argument.arg for argument in function.args.args]
        defaults = dict(zip(names[::-1], function.args.defaults[::-1], strict=False))
        scope = {**dict(zip(names, arguments, strict=False)), **named}
        missing = [name for name in names if name not in scope]
        if len(arguments) > len(names) or not scope.keys() <= set(names):
            raise contradiction(f"{function.name[:80]!r} is called with too many arguments")
        if not set(missing) <= defaults.keys():
            raise Fault(f"{function.name[:80]} takes {', '.join(names)[:200]}")
        scope.update({name: self.value(defaults[name]) for name in missing})
        self.depth += 1
        *body, last = function.body
        self._statements(body, scope)
        result = None
        if isinstance(last, ast.Return):
            result = self.value(last.value, scope) if last.value else None
        else:
            self._statements([last], scope)
        self.depth -= 1
        return result

    # ----------------------------------------------------------------- statements

    def _statements(self, statements: Sequence[ast.stmt], scope: Scope) -> None:
        for node in statements:
            self.meter.stepped()
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self._assign(node.targets[0], node.value, scope)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self._assign(node.target, node.value, scope)
            elif isinstance(node, ast.Expr):
                self.value(node.value, scope)
            elif isinstance(node, ast.If):
                chosen = node.body if self._truth(node.test, scope) else node.orelse
                self._statements(chosen, scope)
            elif isinstance(node, ast.For):
                self._for(node, scope)
            elif isinstance(node, ast.While) and not node.orelse:
                while self._truth(node.test, scope):
                    self._statements(node.body, scope)
            elif isinstance(node, ast.With):
                self._with(node, scope)
            elif not isinstance(node, ast.Pass):
                raise _strange(node)

    def _assign(self, target: ast.expr, value: ast.expr, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope[target.id] = self.value(value, scope)
        elif isinstance(target, ast.Tuple):
            items = self.value(value, scope)
            names = [name.id for name in target.elts if isinstance(name, ast.Name)]
            count = len(items) if isinstance(items, tuple | list) else -1
            if not count == len(names) == len(target.elts):
                raise Fault(f"{len(names)} values are needed where the code has {kind_of(items)}")
            scope.update(zip(names, items, strict=True))
        elif isinstance(target, ast.Attribute):
            raise Forbidden(
                f"changes itself when it is called ('prim::SetAttr' of {target.attr[:80]!r}), so "
                "that two workers would answer differently"
            )
        else:
            raise Forbidden("assigns to an item, which rpd does not run")

    def _truth(self, node: ast.expr, scope: Scope) -> bool:
        value = self.value(node, scope)
        if type(value) is not bool:
            raise Fault(f"a condition is {kind_of(value)}, not true or false")
        return value

    def _for(self, node: ast.For, scope: Scope) -> None:
        call, target = node.iter, node.target
        is_range = isinstance(call, ast.Call) and _dotted(call.func) == ("range",)
        bounds = call.args if isinstance(call, ast.Call) and is_range else []
        if len(bounds) != 1 or not isinstance(target, ast.Name) or node.orelse:
            raise Forbidden("has a 'for' in its code that does not count, which rpd does not run")
        limit = self.value(bounds[0], scope)
        if type(limit) is not int:
            raise Fault(f"a loop runs {kind_of(limit)} times")
        for number in range(limit):
            self.meter.stepped()
            scope[target.id] = number
            self._statements(node.body, scope)

    def _with(self, node: ast.With, scope: Scope) -> None:
        """Run the body of `with torch.no_grad()`."""
        manager = self.value(node.items[0].context_expr, scope)
        if manager is not _NO_GRAD or len(node.items) != 1 or node.items[0].optional_vars:
            raise _strange(node)
        self._statements(node.body, scope)

    # ---------------------------------------------------------------- expressions

    def value(self, node: ast.expr, scope: Scope = NOTHING) -> Any:
        """Return the value of an expression among the variables of a function."""
        self.meter.stepped()
        if isinstance(node, ast.Name):
            return self._name(node.id, scope)
        if isinstance(node, ast.Call):
            return self._call(node, scope)
        if isinstance(node, ast.Constant):
            return _literal(node.value)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, scope)
        if isinstance(node, ast.List):
            return [self.value(item, scope) for item in node.elts]
        if isinstance(node, ast.Tuple):
            return tuple([self.value(item, scope) for item in node.elts])
        if isinstance(node, ast.Dict):
            return self._dictionary(node, scope)
        if isinstance(node, ast.Subscript):
            return self._item(node, scope)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return PLAIN["aten::neg"](self.value(node.operand, scope))
        raise _strange(node)

    def _name(self, name: str, scope: Scope) -> Any:
        if name in scope:
            return scope[name]
        if name in _NUMBERS:
            return _NUMBERS[name]
        raise contradiction(f"its code uses {name[:80]!r} before it is made")

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        path = _dotted(node)
        if path is None or path[0] in scope:
            return self._attribute_of(self.value(node.value, scope), node.attr)
        if path[0] == "CONSTANTS" and path[-1][1:].isdecimal() and len(path[-1]) < 9:
            number = int(path[-1][1:])
            if number < len(self.library.constants):
                return self.library.constants[number]
        function = self.library.functions.get(".".join(path))
        if function is None:
            raise contradiction(f"its code uses {'.'.join(path)[:200]!r}, which it lacks")
        return function

    def _attribute_of(self, owner: Any, name: str) -> Any:
        if not isinstance(owner, Module):
            raise Forbidden(f"takes {name[:80]!r} of {kind_of(owner)}, which rpd does not run")
        if name in owner.attributes:
            return owner.attributes[name]
        constant = self.library.classes[owner.kind].constants.get(name)
        if constant is None:
            raise contradiction(f"{owner.kind[:200]} has no {name[:80]!r}")
        return self.value(constant)

    def _dictionary(self, node: ast.Dict, scope: Scope) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                raise Forbidden("spreads a dictionary, which rpd does not run")
            name, item = self.value(key, scope), self.value(value, scope)
            set_item(made, name, item)
        return made

    def _item(self, node: ast.Subscript, scope: Scope) -> Any:
        owner = self.value(node.value, scope)
        if isinstance(node.slice, ast.Slice):
            bounds = [node.slice.lower, node.slice.upper]
            places = [None if bound is None else self.value(bound, scope) for bound in bounds]
            return part_of(owner, *places)
        return item_of(owner, self.value(node.slice, scope))

    # ---------------------------------------------------------------------- calls

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        path = _dotted(node.func)
        if path is None or path[0] in scope:
            return self._call_value(node, scope)
        if len(path) == 1:
            return self._call_word(node, path[0], scope)
        if path[0] in ("torch", "ops"):
            name = f"aten::{'.'.join(path[1:])}" if path[0] == "torch" else "::".join(path[1:])
            named = {str(item.arg): self.value(item.value, scope) for item in node.keywords}
            return self.run(name, [self.value(item, scope) for item in node.args], named)
        return self._call_own(node, ".".join(path), scope)

    def run(self, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        """Call a function of the allow-list."""
        if name == "aten::device":
            return torch.device("cpu")  # whatever it was made on, it is run here
        operator = MAKERS.get(name) or OPERATORS.get(name)
        if name in PLAIN and (operator is None or Tensor not in map(type, arguments)):
            return self._run_plain(name, arguments, named)
        if operator is None:
            raise not_run(name)
        if self.library.version < _NEW_MEANING.get(name, 0):
            raise Forbidden(f"uses {name!r} as PyTorch before 1.6 meant it", "save it again")
        if name in _ARITHMETIC and len(arguments) == 2 and id(arguments[1]) in self.numbers:
            arguments = [arguments[0], arguments[1].item()]
        result, deed = operator(self.meter, arguments, named)
        if self.recorder is not None:
            self.recorder.note(name, deed, result)
        return result

    def _run_plain(self, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        """Call a function of plain values, and count the items that go in and come out."""
        if name in READING:
            arguments = [self._number_in(value) for value in arguments]
        self.meter.stepped(sum(map(_items, arguments)) // 10)
        try:
            result = PLAIN[name](*arguments, **named)
        except TypeError as error:
            raise Fault(f"{name!r} is called with the wrong arguments") from error
        self.meter.stepped(_items(result))
        return result

    def _number_in(self, value: Any) -> Any:
        """Return a number, or the only one in a tensor."""
        if type(value) is not Tensor:
            return value
        if value.numel() != 1:
            raise Fault(f"one number is needed where the code has a tensor of {value.numel()}")
        self.meter.read(value)
        return value.item()

    def _call_value(self, node: ast.Call, scope: Scope) -> Any:
        """Call a method of an object, or a function that is held in a variable."""
        if not isinstance(node.func, ast.Attribute):
            function = self.value(node.func, scope)
            if not isinstance(function, ast.FunctionDef):
                raise Forbidden("calls what is no function")
            return self._function(function, self._arguments(node, scope))
        owner = self.value(node.func.value, scope)
        if owner is _NO_GRAD:
            return None
        if not isinstance(owner, Module):
            what = f"calls {node.func.attr[:80]!r} of {kind_of(owner)}"
            raise Forbidden(f"{what}, which rpd does not run")
        return self.method(owner, node.func.attr, self._arguments(node, scope))

    def _call_own(self, node: ast.Call, name: str, scope: Scope) -> Any:
        """Call a function of the file, or make a named tuple."""
        if name in self.library.functions:
            return self._function(self.library.functions[name], self._arguments(node, scope))
        kind = self.library.classes.get(name)
        if kind is not None and kind.base == "NamedTuple":
            return tuple(self._arguments(node, scope))
        made = name.removesuffix(".__new__")
        if made == _GRAD_MODE:
            return _NO_GRAD
        if made in self.library.classes:
            raise Forbidden(
                f"makes an object of {made[:200]!r} when it is called, which rpd does not do"
            )
        raise contradiction(f"its code calls {name[:200]!r}, which it lacks")

    def _call_word(self, node: ast.Call, word: str, scope: Scope) -> Any:
        """Call one of the words of TorchScript itself."""
        if word in _FUNCTION_OF_WORD:
            return self.run(_FUNCTION_OF_WORD[word], self._arguments(node, scope), {})
        if word == "uninitialized":  # on a way that ends in an exception
            return None
        if word not in _WORDS or len(node.args) != _WORDS[word] or node.keywords:
            raise Forbidden(f"calls {word[:80]!r} in a way that rpd does not run")
        *_, last = node.args
        if word == "getattr":
            if not isinstance(last, ast.Constant):
                raise Forbidden("calls 'getattr' in a way that rpd does not run")
            return self._attribute_of(self.value(node.args[0], scope), str(last.value))
        if word == "isinstance":
            value = self.value(node.args[0], scope)
            kinds = last.elts if isinstance(last, ast.Tuple) else [last]
            return any(is_of(value, _outer_name(kind)) for kind in kinds)
        value = self.value(last, scope)
        if word == "annotate" and _outer_name(node.args[0]) in ("int", "float", "number"):
            return self.run("aten::ScalarImplicit", [value], {})
        return value

    def _arguments(self, node: ast.Call, scope: Scope) -> list[Any]:
        """Return the arguments of a call of the file's own functions, which come by place."""
        if node.keywords:
            raise Forbidden("calls a function in a way that rpd does not run")
        return [self.value(item, scope) for item in node.args]


def _items(value: Any) -> int:
    """Return how many items a value has, letters of texts in a list included."""
    if isinstance(value, list | tuple):
        return len(value) + sum(len(item) for item in value if isinstance(item, str))
    return len(value) if isinstance(value, dict | str) else 0


def _literal(value: Any) -> Any:
    if type(value) not in (int, float, bool, str, type(None)):
        raise Forbidden(f"has a {type(value).__name__} in its code")
    if type(value) is int and value > 2**63:
        raise contradiction("a number in its code is too large")
    return value


def _strange(node: ast.AST) -> Forbidden:
    return Forbidden(f"has a {type(node).__name__} in its code, which rpd does not run")


def _outer_name(kind: ast.expr) -> str:
    node = kind.value if isinstance(kind, ast.Subscript) else kind
    return node.id if isinstance(node, ast.Name) else "?"
