"""What a component imports of other people's packages is what its catalogue says, or always there.

A component whose need is not declared counts as ready where it cannot work.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from figures import import_graph, modules_of
from test_import_rules import CORE, FACE, PLUGINS, imports

from rpd_core.plugin.discovery import BUNDLED
from rpd_core.plugin.protocols import Component
from rpd_core.plugin.registry import Registration, installed

ALWAYS = {
    *("pluggy", "typer", "rich", "numpy", "scipy", "gymnasium", "pyarrow"),
    *("cloudpickle", "threadpoolctl"),
}
"""What nothing works without: not declared by anybody."""
IN_PART = {
    "compare": {"jinja2", "matplotlib"},  # --page alone
    "draw": {"matplotlib", "imageio_ffmpeg"},  # figures; mp4
    "vectors": {"PIL"},  # the filmstrip beside it
    "cartpole": {"pygame"},  # pictures; gymnasium says what to install
    "minigrid": {"minigrid"},  # pages of stored runs show the map without it
}
"""By component, what only a part of it needs, which says so when it is asked for."""
COMES_WITH = {"markupsafe": "jinja2"}
"""Packages that others cannot do without."""


def bundled() -> list[Registration]:
    return [one for one in installed().registrations if one.distribution == BUNDLED]


def entrances(component: Component) -> set[str]:
    targets = component.target, component.after_run, component.recognises
    return {target.partition(":")[0] for target in targets if target}


def reached(start: set[str], graph: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    ahead = list(start)
    while ahead:
        module = ahead.pop()
        if module not in seen and module in graph:
            seen.add(module)
            ahead += graph[module]
    return seen


def others_in(path: Path) -> set[str]:
    """Return the packages of others that a module imports, inside functions, too."""
    roots = {module.partition(".")[0] for module, _ in imports(path)}
    ours = {root for root in roots if root == "rpd" or root.startswith("rpd_")}
    return roots - ours - set(sys.stdlib_module_names)


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    return import_graph(FACE, *PLUGINS)


def test_what_a_component_needs_is_declared(graph: dict[str, set[str]]) -> None:
    files = modules_of(FACE, *PLUGINS)
    imported = {module: others_in(path) for module, path in files.items()}
    undeclared = {}
    for one in bundled():
        component = one.component
        found = {name for inner in reached(entrances(component), graph) for name in imported[inner]}
        found = {COMES_WITH.get(name, name) for name in found} - ALWAYS
        found -= {module.partition(".")[0] for module in component.requires}
        if found - IN_PART.get(component.name, set()):
            undeclared[f"{one.kind} {component.name}"] = found
    assert undeclared == {}


def test_the_core_needs_nothing_that_may_be_missing() -> None:
    found = {name for path in CORE.rglob("*.py") for name in others_in(path)}
    assert found == ALWAYS


def test_what_is_declared_says_what_to_install() -> None:
    declared = [one.component for one in bundled() if one.component.requires]
    assert [one.name for one in declared if not one.install] == []
