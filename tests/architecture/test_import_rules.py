"""Who may import whom, read from the source; and that answers come without heavy imports."""

from __future__ import annotations

import ast
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "rpd_core"
PLUGINS = sorted(path for path in (ROOT / "plugins").iterdir() if (path / "__init__.py").exists())
HEAVY = {"torch", "stable_baselines3", "sb3_contrib", "minigrid", "ale_py", "dask", "distributed"}
HEAVY |= {"ray"}
NUMERICAL = HEAVY | {"numpy", "gymnasium", "pandas", "pyarrow", "scipy"}
LIGHT_CORE = (
    "__init__",
    "components",
    "hookspecs",
    "plugins",
    "registry",
    "specs",
    "source",
    "errors",
)
"""Modules of the core that listing and describing plugins import."""


def imports(path: Path, at_run_time: bool = True) -> Iterator[tuple[str, int]]:
    """Give (module, line) of every import; with `at_run_time` not those for type checkers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if at_run_time and node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            yield str(node.module), node.lineno


def offenders(paths: list[Path], forbidden: set[str], at_run_time: bool = False) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in paths
        for module, line in imports(path, at_run_time)
        if module.partition(".")[0] in forbidden
    ]


def sources(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def test_there_is_something_to_check() -> None:
    assert len(sources(CORE)) > 20
    assert {path.name for path in PLUGINS} >= {"rpd_basics", "rpd_gym", "rpd_measures"}


def test_the_core_never_imports_a_plugin() -> None:
    assert offenders(sources(CORE), {path.name for path in PLUGINS}) == []


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda path: path.name)
def test_a_plugin_never_imports_another(plugin: Path) -> None:
    others = {path.name for path in PLUGINS} - {plugin.name}
    assert offenders(sources(plugin), others) == []


def test_the_core_never_imports_heavy_libraries() -> None:
    assert offenders(sources(CORE), HEAVY) == []


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda path: path.name)
def test_the_catalogue_of_a_plugin_imports_nothing_heavy(plugin: Path) -> None:
    assert offenders([plugin / "__init__.py"], NUMERICAL, at_run_time=True) == []
    inner = [
        f"line {line} imports {module}"
        for module, line in imports(plugin / "__init__.py")
        if module.partition(".")[0] == plugin.name
    ]
    assert inner == []


def test_the_modules_behind_listing_import_nothing_numerical() -> None:
    paths = [CORE / f"{name}.py" for name in LIGHT_CORE]
    assert offenders(paths, NUMERICAL, at_run_time=True) == []


KEEPS_IT_APART = ROOT / "plugins" / "rpd_gym" / "chance.py"
"""Saves and restores global randomness for environments that use it; draws nothing itself."""


def test_nothing_uses_global_randomness() -> None:
    """Chance comes from keyed hashes or from a generator that was handed in."""
    found = []
    paths = [*sources(CORE), *(file for plugin in PLUGINS for file in sources(plugin))]
    assert KEEPS_IT_APART in paths
    for path in paths:
        if path == KEEPS_IT_APART:
            continue
        found += offenders([path], {"random"})
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Attribute) or ast.unparse(node.value) != "np.random":
                continue
            if node.attr not in ("Generator", "PCG64", "default_rng", "SeedSequence"):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno} uses {node.attr}")
    assert found == []


# ------------------------------------------------------------------------- start-up

PROGRAM = """
import json, sys
from rpd_core.cli.app import app
try:
    app(sys.argv[1:])
except SystemExit as end:
    code = end.code
heavy = ("torch", "gymnasium", "numpy", "pyarrow", "stable_baselines3", "minigrid", "ale_py")
print(json.dumps({"code": code, "loaded": [name for name in heavy if name in sys.modules]}))
"""


@pytest.mark.parametrize(
    "command",
    [
        ["--help"],
        ["list-plugins"],
        ["list-plugins", "--json"],
        ["describe", "measure", "tarantula"],
    ],
    ids=" ".join,
)
def test_an_answer_about_plugins_is_quick_and_light(command: list[str]) -> None:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    run = [sys.executable, "-c", PROGRAM, *command]
    subprocess.run(
        run, capture_output=True, check=True, env=environment
    )  # fills the bytecode cache
    seconds = []
    for _ in range(6):  # a busy machine costs CPU time, too; once quick is enough
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(run, capture_output=True, text=True, check=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
        if seconds[-1] < 0.5:
            break
    told = json.loads(done.stdout.strip().splitlines()[-1])
    assert told == {"code": 0, "loaded": []}
    assert len(done.stdout) > 200
    assert min(seconds) < 0.5
