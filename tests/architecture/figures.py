"""The size and shape of the source in figures, beside those of packages that we take as models.

python -m tests.architecture.figures              # this tree, and what is installed beside it
python -m tests.architecture.figures OTHER_TREE   # another checkout, for before and after
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODELS = ("pluggy", "llm", "tox", "stable_baselines3", "gymnasium", "_pytest")
"""Those of them that are not installed are left out."""
Import = tuple[str, int]
"""Dotted module, line."""


@dataclass
class Figures:
    """What is counted of some source files."""

    lines: int = 0
    files: int = 0
    code: int = 0
    """Lines that are neither blank, nor comments, nor docstrings."""
    imports: int = 0
    """Those of them that import, at the top of a module."""
    functions: list[int] = field(default_factory=list)
    """Length of each function in lines."""
    public: int = 0
    """Classes and functions at the top of a module whose name has no underscore."""
    anys: int = 0
    """Annotations that say `Any`."""
    fan_out: list[int] = field(default_factory=list)
    """Modules of the same packages that each module imports."""

    def add(self, text: str) -> None:
        """Count one file."""
        tree = ast.parse(text)
        code = _code_lines(tree, text)
        nodes = list(ast.walk(tree))
        functions = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        importing = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
        named = [n.name for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)]
        self.lines += text.count("\n")
        self.files += 1
        self.code += len(code)
        self.imports += sum((n.end_lineno or n.lineno) - n.lineno + 1 for n in importing)
        self.functions += [(n.end_lineno or n.lineno) - n.lineno + 1 for n in functions]
        self.public += sum(not name.startswith("_") for name in named)
        self.anys += sum(isinstance(n, ast.Name) and n.id == "Any" for n in nodes)

    def rows(self) -> dict[str, str]:
        """Return the figures in words."""
        thousand = max(self.code, 1) / 1000
        return {
            "lines / files": f"{self.lines / 1000:.1f}k / {self.files}",
            "code": f"{self.code / 1000:.1f}k",
            "imports, % of code": f"{100 * self.imports / max(self.code, 1):.1f}",
            "function: mean": f"{_mean(self.functions):.1f}",
            "function: longest": f"{max(self.functions, default=0)}",
            "public names per 1000 lines of code": f"{self.public / thousand:.0f}",
            "`Any` per 1000 lines of code": f"{self.anys / thousand:.0f}",
            "modules that a module imports": f"{_mean(self.fan_out):.1f}",
        }


def _mean(numbers: list[int]) -> float:
    return sum(numbers) / max(len(numbers), 1)


def _code_lines(tree: ast.Module, text: str) -> set[int]:
    """Return the lines that are neither blank, nor comments, nor docstrings."""
    strings = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return {
        number
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#") and number not in strings
    }


def modules_of(*roots: Path) -> dict[str, Path]:
    """Return the modules below some packages by their dotted names."""
    found = {}
    for root in roots:
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(root.parent).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(path: Path, known: set[str]) -> set[str]:
    """Return the known modules that a file imports, inside functions too, for types not."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found = set()
    for node in ast.walk(tree):
        if node in typing:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inner & known) or {node.module}
    return found & known


def cycles_in(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import one another, in a circle or more than one."""
    reached = {module: _reached(graph, module) for module in graph}
    groups = {
        tuple(sorted(other for other in reached[module] if module in reached[other]))
        for module in graph
        if module in reached[module]
    }
    return sorted(map(list, groups))


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    ahead = [start]
    while ahead:
        for other in graph[ahead.pop()] - found:
            found.add(other)
            ahead.append(other)
    return found


def import_graph(*roots: Path) -> dict[str, set[str]]:
    """Return which modules of some packages import which others of them."""
    modules = modules_of(*roots)
    return {name: imports_of(path, {*modules}) - {name} for name, path in modules.items()}


def figures_of(*roots: Path) -> Figures:
    """Count all source files below some packages."""
    figures = Figures()
    for path in modules_of(*roots).values():
        figures.add(path.read_text(encoding="utf-8"))
    figures.fan_out = [len(others) for others in import_graph(*roots).values()]
    return figures


def source_packages(tree: Path) -> tuple[Path, list[Path]]:
    """Return the core and the plugins of a checkout."""
    return tree / "rpd_core", sorted(one.parent for one in tree.glob("plugins/*/__init__.py"))


def main(trees: list[Path]) -> None:
    """Print the table, and the cycles of each tree."""
    columns: dict[str, Figures] = {}
    for tree in trees:
        core, plugins = source_packages(tree)
        mark = "" if tree == ROOT else f" ({tree.name})"
        columns[f"rpd_core{mark}"] = figures_of(core)
        columns[f"plugins{mark}"] = figures_of(*plugins)
    for name in MODELS:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            columns[name.strip("_")] = figures_of(Path(spec.submodule_search_locations[0]))
    print("|  |", " | ".join(columns), "|")
    print("|---" * (len(columns) + 1) + "|")
    for row in Figures().rows():
        print("|", row, "|", " | ".join(one.rows()[row] for one in columns.values()), "|")
    for tree in trees:
        core, plugins = source_packages(tree)
        circles = cycles_in(import_graph(core, *plugins))
        sizes = ", ".join(f"{len(one)} modules" for one in circles)
        print(f"\nimport cycles in {tree.name}: {sizes or 'none'}")


if __name__ == "__main__":
    main([Path(word).resolve() for word in sys.argv[1:]] or [ROOT])
