"""Who may import whom, read from the source; and that answers come without heavy imports."""

from __future__ import annotations

import ast
import compileall
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from figures import cycles_in, import_graph

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "rpd_core"
PLUGINS = sorted(path.parent for path in (ROOT / "plugins").glob("rpd_*/__init__.py"))
FACE = ROOT / "plugins" / "rpd"
"""What `import rpd` imports."""
HEAVY = {"torch", "stable_baselines3", "sb3_contrib", "minigrid", "ale_py", "dask", "distributed"}
HEAVY |= {"ray", "sklearn"}
NUMERICAL = HEAVY | {"numpy", "gymnasium", "pandas", "pyarrow", "scipy", "matplotlib", "jinja2"}
LAYERS = (
    *(
        "plugin",
        "chance",
        "untrusted",
        "config",
        "play",
        "execute",
        "store",
        "analysis",
        "pruning",
        "results",
    ),
    *("pilot", "pipeline", "run_names", "api", "cli"),
)
"""What `rpd_core` is made of; each may use those before it, and `errors`."""
APPLICATIONS = {
    "rpd_compare": {"rpd_pictures"},
    "rpd_kit": {"rpd_pictures", "rpd_report"},
    "rpd_report": {"rpd_pictures"},
    "rpd_studies": {"rpd_pictures"},
    "rpd_work": {"rpd_compare"},
}
"""Packages that bring commands, and which others each may use."""
ANYWHERE = {"errors"}
FIXED = {
    *("pyproject.toml", "README.md", "rpd_core", "plugins", "tests", "docs"),
    *("LICENSE", "constraints.txt", "CITATION.cff"),
}
"""All that the top level of the repository may hold, besides files whose name begins with a dot."""
MADE_BY_TOOLS = {"runs", "dist", "build"}


def imports(path: Path, at_run_time: bool = True) -> Iterator[tuple[str, int]]:
    """Yield (module, line) of every import; with `at_run_time` not those for type checkers."""
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
            if node.module == "rpd_core":  # `from rpd_core import pipeline` imports the module
                yield from ((f"rpd_core.{alias.name}", node.lineno) for alias in node.names)
            else:
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
    assert offenders(sources(CORE), {path.name for path in (*PLUGINS, FACE)}) == []


def test_importing_the_face_imports_the_core_and_nothing_else() -> None:
    names = {module for module, _ in imports(FACE / "__init__.py")}
    assert names == {"__future__", "importlib", "typing", "rpd_core"}


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda path: path.name)
def test_a_plugin_imports_only_the_others_it_may(plugin: Path) -> None:
    mine = {plugin.name, *APPLICATIONS.get(plugin.name, ())}
    others = {path.name for path in (*PLUGINS, FACE)} - mine
    assert offenders(sources(plugin), others, at_run_time=True) == []


def test_the_core_never_imports_heavy_libraries() -> None:
    assert offenders(sources(CORE), HEAVY) == []


def test_the_core_draws_nothing_and_writes_no_page() -> None:
    assert offenders(sources(CORE), {"matplotlib", "PIL", "jinja2", "markupsafe"}) == []


def test_no_figure_is_kept_in_global_state() -> None:
    found = [
        module for plugin in PLUGINS for path in sources(plugin) for module, _ in imports(path)
    ]
    assert "matplotlib.figure" in found
    assert "matplotlib.pyplot" not in found


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda path: path.name)
def test_the_catalogue_of_a_plugin_imports_nothing_heavy(plugin: Path) -> None:
    assert offenders([plugin / "__init__.py"], NUMERICAL, at_run_time=True) == []
    inner = [
        f"line {line} imports {module}"
        for module, line in imports(plugin / "__init__.py")
        if module.partition(".")[0] == plugin.name
    ]
    assert inner == []


def test_the_contract_and_the_settings_import_nothing_numerical() -> None:
    """Listing and describing plugins, and `rpd run --help`, import no more than these."""
    paths = [CORE / "__init__.py", CORE / "errors.py", CORE / "config" / "settings.py"]
    paths += sources(CORE / "plugin")
    assert offenders(paths, NUMERICAL, at_run_time=True) == []


# ----------------------------------------------------------------------------- layers


def layer_of(module: str) -> str:
    """Return the package or module of the core that a dotted name belongs to."""
    return module.split(".")[1] if "." in module else ""


def test_every_part_of_the_core_has_its_place_in_the_line() -> None:
    parts = {path.stem for path in CORE.glob("*.py")} | {
        path.parent.name for path in CORE.glob("*/__init__.py")
    }
    assert parts == {*LAYERS, *ANYWHERE, "__init__"}


@pytest.mark.parametrize("layer", LAYERS)
def test_a_part_of_the_core_imports_only_those_before_it(layer: str) -> None:
    allowed = {*LAYERS[: LAYERS.index(layer) + 1], *ANYWHERE}
    paths = sources(CORE / layer) or [CORE / f"{layer}.py"]
    found = []
    for path in paths:
        name = path.relative_to(ROOT).as_posix()
        for module, line in imports(path):
            if module.partition(".")[0] != "rpd_core" or layer_of(module) in allowed:
                continue
            found.append(f"{name}:{line} imports {module}")
    assert found == []


def module_name(path: Path) -> str:
    root = ROOT if CORE in path.parents else ROOT / "plugins"
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def test_cycles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"a"}}
    assert cycles_in(graph) == [["a", "b", "c"]]


def test_no_module_imports_one_that_imports_it() -> None:
    """Imports inside functions count: a deferred import is for weight, never for order."""
    assert cycles_in(import_graph(CORE, FACE, *PLUGINS)) == []


def test_errors_import_nothing_of_the_core() -> None:
    assert offenders([CORE / "errors.py"], {"rpd_core"}, at_run_time=True) == []


def test_the_top_level_of_the_repository_holds_only_the_fixed_names() -> None:
    names = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    assert {name for name in names if not name.endswith(".egg-info")} - MADE_BY_TOOLS <= FIXED


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
heavy = ("torch", "gymnasium", "numpy", "pyarrow", "stable_baselines3", "minigrid", "ale_py",
         "matplotlib", "jinja2")
print(json.dumps({"code": code, "loaded": [name for name in heavy if name in sys.modules]}))
"""


@pytest.mark.parametrize(
    "command",
    [
        ["--help"],
        ["-h"],
        ["--version"],
        ["run", "--help"],
        ["draw", "--help"],
        ["list-plugins"],
        ["list-plugins", "--json"],
        ["describe", "measure", "tarantula"],
    ],
    ids=" ".join,
)
def test_an_answer_about_plugins_is_quick_and_light(command: list[str]) -> None:
    for folder in (CORE, ROOT / "plugins"):  # as pip does when it installs them
        compileall.compile_dir(folder, quiet=1)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    run = [sys.executable, "-c", PROGRAM, *command]
    seconds = []
    for _ in range(10):  # a busy machine costs CPU time, too; once quick is enough
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(run, capture_output=True, text=True, check=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
        if seconds[-1] < 0.5:
            break
    told = json.loads(done.stdout.strip().splitlines()[-1])
    assert told == {"code": 0, "loaded": []}
    assert len(done.stdout) > (200 if command != ["--version"] else 30)
    assert min(seconds) < 0.5
