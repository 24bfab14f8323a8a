"""From the syntax trees of a file to a flat program: calls are put in place, known values folded.

A module never changes, so every submodule, weight and setting is known beforehand. What remains is
the list of tensor functions that one call goes through, with the branches and loops that depend on
the input.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rpd_torchscript import blocks
from rpd_torchscript.blocks import Block, Choice
from rpd_torchscript.builder import Binding, Builder, Known
from rpd_torchscript.expressions import Expressions, GradMode
from rpd_torchscript.functions.table import Table
from rpd_torchscript.limits import Refused, damaged, refused
from rpd_torchscript.program import Program
from rpd_torchscript.syntax import Library
from rpd_torchscript.values import Module

_MOST_NODES = 300_000
_MOST_CALLS = 40
Scope = dict[str, Binding]


def compile_method(
    path: Path, library: Library, constants: Sequence[Any], table: Table, module: Module
) -> Program:
    """Compile the method `forward` of a module."""
    try:
        return Compiler(path, library, constants, table).program(module)
    except RecursionError as error:
        raise damaged(path, "its code is nested too deeply") from error


class Compiler:
    """Compiles one method and everything that it calls."""

    def __init__(
        self, path: Path, library: Library, constants: Sequence[Any], table: Table
    ) -> None:
        self.path, self.library = path, library
        self.builder = Builder()
        self.expressions = Expressions(self, library, constants, table)
        self.scope: Scope = {}
        self.depth = 0

    def program(self, module: Module) -> Program:
        """Compile `forward`; its arguments become the inputs of the program."""
        method = self.library.classes[module.kind].methods["forward"]
        names = [argument.arg for argument in method.args.args][1:]
        places: dict[str, int] = {name: self.builder.place() for name in names}
        required = set(names[: len(names) - len(method.args.defaults)])
        optional = names[len(required) :]
        for name, default in zip(optional, method.args.defaults, strict=True):
            value = self.expressions.compile(default)
            self.builder.start[places[name]] = value.value if isinstance(value, Known) else None
        result = self._body(method, [Known(module), *places.values()])
        out = self.builder.place_of(result)
        kept = frozenset({0, out, *self.builder.constants.values()})
        return Program(
            self.builder.block,
            tuple(self.builder.start),
            places,
            frozenset(required),
            out,
            kept,
            self.builder.writes,
            self.builder.reads,
            self.builder.last_operators(result),
        )

    def visit(self) -> None:
        """Count a node of code."""
        self.builder.nodes += 1
        if self.builder.nodes > _MOST_NODES:
            raise refused(self.path, f"calls its parts more than {_MOST_NODES} times over")

    def strange(self, what: str) -> Refused:
        """Return the error for code that is not run."""
        return refused(self.path, what)

    # ------------------------------------------------------------------ functions

    def inline(self, function: ast.FunctionDef, arguments: Sequence[Binding]) -> Binding:
        """Put a call of one of the file's functions in place."""
        if self.depth >= _MOST_CALLS:
            raise damaged(self.path, f"its functions call one another {_MOST_CALLS} deep")
        missing = len(function.args.args) - len(arguments)
        defaults = function.args.defaults
        if not 0 <= missing <= len(defaults):
            raise damaged(self.path, f"{function.name[:80]!r} is called with the wrong arguments")
        given = [*arguments]
        if missing:
            given += [self.expressions.compile(default) for default in defaults[-missing:]]
        return self._body(function, given)

    def _body(self, function: ast.FunctionDef, arguments: Sequence[Binding]) -> Binding:
        outer = self.scope
        names = [argument.arg for argument in function.args.args]
        self.scope = dict(zip(names, arguments, strict=True))
        self.depth += 1
        *body, last = function.body
        self._statements(body)
        result: Binding = Known(None)
        if isinstance(last, ast.Return):
            result = self.expressions.compile(last.value) if last.value else result
        else:
            self._statement(last)
        self.depth -= 1
        self.scope = outer
        return result

    # ----------------------------------------------------------------- statements

    def _statements(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        self.visit()
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            self._assign(node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node.target, node.value)
        elif isinstance(node, ast.Expr):
            self.expressions.compile(node.value)
        elif isinstance(node, ast.If):
            self._if(node)
        elif isinstance(node, ast.For):
            self._for(node)
        elif isinstance(node, ast.While):
            self._while(node)
        elif isinstance(node, ast.With):
            self._with(node)
        elif not isinstance(node, ast.Pass):
            raise self.strange(f"has a {type(node).__name__} in its code, which rpd does not run")

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.scope[target.id] = self.expressions.compile(value)
        elif isinstance(target, ast.Tuple):
            self._assign_several(target.elts, value)
        elif isinstance(target, ast.Attribute):
            raise self.strange(
                f"changes itself when it is called ('prim::SetAttr' of {target.attr[:80]!r}), so "
                "that two workers would answer differently"
            )
        else:
            raise self.strange("assigns to an item, which rpd does not run")

    def _assign_several(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if len(names) != len(targets):
            raise self.strange("assigns to what is no variable, which rpd does not run")
        if isinstance(value, ast.Tuple) and len(value.elts) == len(names):
            bindings = [self.expressions.compile(item) for item in value.elts]
        else:
            bindings = self.builder.unpack(self.expressions.compile(value), len(names))
        self.scope.update(zip(names, bindings, strict=True))

    def _with(self, node: ast.With) -> None:
        """Run the body of `with torch.no_grad()`; nothing here ever follows gradients."""
        item = node.items[0]
        manager = self.expressions.compile(item.context_expr)
        is_grad_mode = isinstance(manager, Known) and isinstance(manager.value, GradMode)
        if not is_grad_mode or len(node.items) != 1 or item.optional_vars is not None:
            raise self.strange("has a 'with' in its code, which rpd does not run")
        self._statements(node.body)

    def _if(self, node: ast.If) -> None:
        condition = self.expressions.compile(node.test)
        if isinstance(condition, Known) and type(condition.value) is bool:
            self._statements(node.body if condition.value else node.orelse)
            return
        yes, after_yes = self._branch(node.body)
        no, after_no = self._branch(node.orelse)
        self.scope, joined = {}, []
        for name in [name for name in after_yes if name in after_no]:
            first, second = after_yes[name], after_no[name]
            if first == second or (isinstance(first, Known) and first.same(second)):
                self.scope[name] = first
            else:
                self.scope[name] = self.builder.place()
                joined.append(name)
        outs = [place for name in joined if isinstance(place := self.scope[name], int)]
        for block, after in ((yes, after_yes), (no, after_no)):
            with self.builder.writing(block):
                self.builder.copy([after[name] for name in joined], outs)
        place = self.builder.place_of(condition)
        self.builder.block.add(
            blocks.choose(place, yes, no),
            [place, *yes.reads, *no.reads],
            [*yes.writes, *no.writes],
            Choice(place, yes, no),
        )

    def _branch(self, statements: Sequence[ast.stmt]) -> tuple[Block, Scope]:
        before = self.scope
        self.scope = dict(before)
        with self.builder.writing(Block()) as block:
            self._statements(statements)
        after, self.scope = self.scope, before
        return block, after

    def _for(self, node: ast.For) -> None:
        call, target = node.iter, node.target
        is_range = (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == "range"
            and len(call.args) == 1
        )
        if not is_range or not isinstance(target, ast.Name) or node.orelse:
            raise self.strange(
                "has a 'for' in its code that does not count, which rpd does not run"
            )
        assert isinstance(call, ast.Call)
        times = self.builder.place_of(self.expressions.compile(call.args[0]))
        carried = self._carry(node.body)
        index = self.builder.place()
        with self.builder.writing(Block()) as body:
            before, self.scope = self.scope, {**self.scope, target.id: index}
            self._loop_body(node.body, carried)
            self.scope = before
        self._add_loop(blocks.count_loop(times, index, body), body, [times, index])

    def _while(self, node: ast.While) -> None:
        if node.orelse:
            raise self.strange("has a 'while' with an 'else', which rpd does not run")
        carried = self._carry(node.body)
        again = self.builder.place()
        self.builder.copy([self.expressions.compile(node.test)], [again])
        with self.builder.writing(Block()) as body:
            before, self.scope = self.scope, dict(self.scope)
            self._loop_body(node.body, carried)
            self.scope = before
            self.builder.copy([self.expressions.compile(node.test)], [again])
        self._add_loop(blocks.while_loop(again, body), body, [again])

    def _add_loop(self, run: blocks.Run, body: Block, places: list[int]) -> None:
        self.builder.block.add(run, [*places, *body.reads], [*places, *body.writes])

    def _carry(self, statements: Sequence[ast.stmt]) -> dict[str, int]:
        """Make places of their own to the variables that a loop takes from turn to turn."""
        assigned = {
            node.id
            for statement in statements
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        carried = {name: self.builder.place() for name in sorted(assigned) if name in self.scope}
        self.builder.copy([self.scope[name] for name in carried], list(carried.values()))
        self.scope = {**self.scope, **carried}
        return carried

    def _loop_body(self, statements: Sequence[ast.stmt], carried: dict[str, int]) -> None:
        self._statements(statements)
        self.builder.copy([self.scope[name] for name in carried], list(carried.values()))
