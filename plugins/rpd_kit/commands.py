"""Checks of commands: functions that Typer can turn into a command, in modules that are light."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

from rpd_core.cli.app import as_typer_command
from rpd_core.errors import one_line
from rpd_core.plugin.protocols import Component
from rpd_core.plugin.registry import Registration, Registry
from rpd_kit.faults import Unchecked

HEAVY = ("torch", "gymnasium", "numpy", "pyarrow", "pandas", "matplotlib", "sklearn")
"""What takes so long to import that `--help` and completion would be felt to wait."""

_IMPORT = """
import importlib, json, sys
importlib.import_module(sys.argv[1])
print(json.dumps([name for name in json.loads(sys.argv[2]) if name in sys.modules]))
"""


def check_command(registry: Registry, registration: Registration) -> Iterator[str]:
    """Check a command without calling it: its record, its module, and what Typer makes of it."""
    component = registration.component
    if not component.group:
        yield Unchecked(
            "its Component record names no group, so rpd --help lists it under Other: group=..., "
            f"for example {_groups(registry)}"
        )
    yield from _check_weight(component.target.partition(":")[0])
    if component.after_run and not callable(registry.after_run(component.name)):
        yield f"its after_run, {component.after_run}, is not a function"
    yield from check_function(component, registry.resolve("command", component.name))


def check_function(component: Component, function: object) -> Iterator[str]:
    """Check that every parameter is typed, and that the help of the command can be shown."""
    if not callable(function) or isinstance(function, type):
        yield f"its target, {component.target}, is not a function"
        return
    untold = list(_check_parameters(function))
    yield from untold
    if untold:
        return
    try:
        command = as_typer_command(component, function)
        command.get_help(command.context_class(command, info_name=component.name))
    except Exception as error:  # a stranger's function may have any parameters
        yield f"its help cannot be shown: {one_line(error)}"
        return
    for option in command.params:
        if not getattr(option, "help", "") and option.name != "help":
            yield f"parameter {option.name!r} has no help: Annotated[..., typer.Option(help=...)]"


def _check_parameters(function: Callable[..., Any]) -> Iterator[str]:
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            yield f"takes *{parameter.name}, of which Typer can make no option: name each one"
        elif parameter.annotation is parameter.empty:
            yield f"parameter {parameter.name!r} has no type, so Typer takes it for text"


def _check_weight(module: str) -> Iterator[str]:
    """Check in a fresh process what importing a module brings along."""
    words = [sys.executable, "-c", _IMPORT, module, json.dumps(HEAVY)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        told = done.stderr.strip().splitlines()[-1]
        yield f"its module {module} cannot be imported in a fresh process: {told}"
        return
    heavy = json.loads(done.stdout.splitlines()[-1])
    if heavy:
        yield (
            f"its module {module} imports {', '.join(heavy)}, and --help and completion import it: "
            "import them inside the function"
        )


def _groups(registry: Registry) -> str:
    groups = dict.fromkeys(one.component.group for one in registry.of_kind("command"))
    return ", ".join(repr(group) for group in groups if group)
