"""Executors whose extra is not installed: listed with what to install, refused in one line."""

from __future__ import annotations

import importlib.util

import pytest

from rpd_core.errors import ComponentError
from rpd_core.plugin.discovery import find_plugins
from rpd_core.plugin.registry import Registry

real = importlib.util.find_spec


@pytest.mark.parametrize(("name", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_an_executor_without_its_extra_says_what_to_install(name, package, monkeypatch):
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda module, *rest: None if module == package else real(module, *rest),
    )
    registry = Registry(find_plugins())
    (row,) = [one for one in registry.of_kind("executor") if one.component.name == name]
    assert (row.status, row.reason) == (
        f"needs {package}",
        f'pip install "ranking-policy-decisions[{name}]"',
    )
    with pytest.raises(ComponentError) as caught:
        registry.make("executor", f"{name}:HOST:8786")
    assert str(caught.value) == f"executor {name!r} needs {package}: {row.reason}"
