"""Executors with and without their extra: ready, or listed with what to install and refused."""

from __future__ import annotations

import importlib.util

import pytest
from extras import MODULES, extras

from rpd_core.errors import ComponentError
from rpd_core.plugin.registry import Registry, installed


@pytest.mark.parametrize("name", MODULES)
def test_an_executor_without_its_extra_says_what_to_install(name: str) -> None:
    with extras(False):
        registry = installed()
    (row,) = [one for one in registry.of_kind("executor") if one.component.name == name]
    assert (row.status, row.reason) == (
        f"needs {MODULES[name]}",
        f'pip install "ranking-policy-decisions[{name}]"',
    )
    with pytest.raises(ComponentError) as caught:
        registry.make("executor", f"{name}:HOST:8786")
    assert str(caught.value) == f"executor {name!r} needs {MODULES[name]}: {row.reason}"


@pytest.mark.extras
@pytest.mark.parametrize("name", MODULES)
def test_an_executor_with_its_extra_is_ready(registry: Registry, name: str) -> None:
    if importlib.util.find_spec(MODULES[name]) is None:  # Ray is not imported without its token
        pytest.skip(f"needs the extra {name}")
    assert registry.find("executor", name).status == "ready"
    assert type(registry.make("executor", name)).__name__.lower() == name
