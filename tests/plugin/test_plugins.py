"""Faults of plugins: each is shown with its state, and everything else keeps working."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from extras import MODULES

from rpd_core.errors import ComponentError, SpecError
from rpd_core.plugin import discovery
from rpd_core.plugin.discovery import BUNDLED, find_plugins, load_plugins
from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.protocols import Component
from rpd_core.plugin.registry import Registration, Registry, check_kind

GOOD = "rpd_measures.sbfl:Tarantula"


class Point:
    """An entry point that gives a module, or does what a broken one does."""

    def __init__(self, name: str, load: Callable[[], Any], distribution: str = "stranger") -> None:
        self.name, self.load = name, load
        self.dist = SimpleNamespace(name=distribution, version="1.2")


def module(name: str = "plugin", **contents: Any) -> Callable[[], ModuleType]:
    made = ModuleType(name)
    vars(made).update(contents)
    return lambda: made


def offering(*components: Component, hook: str = "rpd_measures") -> dict[str, Any]:
    def implementation() -> list[Component]:
        return list(components)

    implementation.__name__ = hook
    return {hook: hookimpl(implementation)}


def raising(error: BaseException) -> Callable[[], Any]:
    def load() -> Any:
        raise error

    return load


def healthy(api: int = 1) -> Point:
    contents = offering(Component("fine", GOOD, "works"))
    return Point("healthy", module(RPD_API=api, **contents), "healthy-dist")


def registry_of(*points: Point, healthy_api: int = 1) -> Registry:
    return Registry(load_plugins([*points, healthy(healthy_api)]))


def entry(registry: Registry, name: str, plugin: str = "odd") -> Registration:
    (found,) = [
        one for one in registry.registrations if one.component.name == name and one.plugin == plugin
    ]
    return found


def assert_the_rest_works(registry: Registry) -> None:
    assert type(registry.make("measure", "fine")).__name__ == "Tarantula"
    assert entry(registry, "fine", "healthy").status == "ready"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ImportError("No module named 'cobol'"), "ImportError: No module named 'cobol'"),
        (SyntaxError("invalid syntax"), "SyntaxError: invalid syntax"),
        (ZeroDivisionError("division\nby zero"), "ZeroDivisionError: division by zero"),
        (SystemExit(3), "SystemExit: 3"),
    ],
)
def test_a_plugin_that_fails_to_import_is_broken(error: BaseException, reason: str) -> None:
    registry = registry_of(Point("odd", raising(error)))
    found = entry(registry, "odd")
    assert (found.kind, found.status, found.reason) == ("plugin", "broken", reason)
    assert_the_rest_works(registry)


def test_a_misspelt_hook_is_broken_with_the_nearest_name() -> None:
    points = Point("odd", module(**offering(Component("m", GOOD, ""), hook="rpd_mesures")))
    registry = registry_of(points)
    found = entry(registry, "odd")
    assert found.status == "broken"
    assert "rpd_mesures" in found.reason
    assert "rpd_measures" in found.reason
    assert_the_rest_works(registry)


def test_a_hook_without_its_mark_is_shown() -> None:
    registry = registry_of(Point("odd", module(rpd_measures=lambda: [Component("m", GOOD, "")])))
    found = entry(registry, "odd")
    assert (found.kind, found.status) == ("plugin", "note")
    assert found.reason == "rpd_measures is not decorated with @hookimpl and is ignored"
    with pytest.raises(SpecError, match="no measure is called 'm'"):
        registry.find("measure", "m")
    assert_the_rest_works(registry)


def test_a_hook_with_arguments_is_broken() -> None:
    def rpd_measures(settings: Any) -> list[Component]:
        return []

    registry = registry_of(Point("odd", module(rpd_measures=hookimpl(rpd_measures))))
    assert entry(registry, "odd").status == "broken"
    assert_the_rest_works(registry)


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        (None, None),
        ("tarantula", "rpd_measures must return a list of Component, got 'tarantula'"),
        ([("m", GOOD)], "rpd_measures must return Component records"),
        ([Component("m", GOOD, "", requires="torch")], "requires"),  # type: ignore[arg-type]
        ([Component("", GOOD, "")], "name"),
        ([Component("a b", GOOD, "")], "name"),
        ([Component(None, GOOD, "")], "name"),  # type: ignore[arg-type]
        ([Component("m", 3, "")], "target"),  # type: ignore[arg-type]
    ],
)
def test_a_hook_that_returns_something_else_is_broken(returned: Any, reason: str | None) -> None:
    def rpd_measures() -> Any:
        return returned

    registry = registry_of(Point("odd", module(rpd_measures=hookimpl(rpd_measures))))
    assert_the_rest_works(registry)
    if reason is None:  # a hook may have nothing to offer
        assert [one for one in registry.registrations if one.plugin == "odd"] == []
        return
    found = entry(registry, "odd")
    assert found.status == "broken"
    assert reason in found.reason


def test_a_hook_that_raises_is_broken() -> None:
    def rpd_measures() -> Any:
        raise RuntimeError("no licence")

    registry = registry_of(Point("odd", module(rpd_measures=hookimpl(rpd_measures))))
    assert entry(registry, "odd").reason == "RuntimeError: no licence"
    assert_the_rest_works(registry)


def test_a_plugin_for_an_older_contract_is_shown_and_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(discovery, "API_VERSION", 2)
    contents = offering(Component("m", GOOD, ""))
    registry = registry_of(Point("odd", module(RPD_API=1, **contents)), healthy_api=2)
    found = entry(registry, "odd")
    assert found.status == "wrong API"
    assert found.reason == "written for plugin API 1, this rpd has 2"
    assert_the_rest_works(registry)


@pytest.mark.parametrize("stated", [{}, {"RPD_API": 1}, {"RPD_API": 2}])
def test_a_plugin_for_this_contract_or_a_newer_one_is_used(stated: dict[str, int]) -> None:
    registry = registry_of(Point("odd", module(**stated, **offering(Component("m", GOOD, "")))))
    assert entry(registry, "m").status == "ready"
    assert [one.component.name for one in registry.registrations if one.plugin == "odd"] == ["m"]


@pytest.mark.parametrize("stated", [0, -1, "1", 1.0, None])
def test_a_version_that_is_not_one_is_broken(stated: Any) -> None:
    registry = registry_of(Point("odd", module(RPD_API=stated)))
    found = entry(registry, "odd")
    assert found.status == "broken"
    assert found.reason == f"RPD_API must be a whole number such as 1: {stated!r}"
    assert_the_rest_works(registry)


def test_an_optional_hook_that_is_not_known_leaves_the_rest_of_its_plugin_usable() -> None:
    def rpd_gauges() -> list[Component]:
        raise AssertionError("nobody calls it")

    later = {"rpd_gauges": hookimpl(optionalhook=True)(rpd_gauges)}
    registry = registry_of(Point("odd", module(**later, **offering(Component("m", GOOD, "")))))
    assert entry(registry, "m").status == "ready"
    note = entry(registry, "odd")
    assert (note.kind, note.status) == ("plugin", "note")
    assert note.reason == (
        "rpd_gauges is a hook of another version, which this rpd does not have; it is ignored"
    )
    with pytest.raises(SpecError, match=r"Known: fine, m\.$"):  # it is not called broken either
        registry.find("measure", "zzz")


def test_a_hook_of_a_newer_contract_leaves_the_rest_of_its_plugin_usable() -> None:
    contents = offering(Component("m", GOOD, "")) | offering(hook="rpd_gauges")
    registry = registry_of(Point("odd", module(RPD_API=2, **contents)))
    assert entry(registry, "m").status == "ready"
    assert registry.make("measure", "m") is not None
    note = entry(registry, "odd")
    assert (note.kind, note.status) == ("plugin", "note")
    assert note.reason == (
        "rpd_gauges is a hook of plugin API 2, which this rpd does not have; it is ignored"
    )


def test_a_missing_requirement_comes_with_its_install_command() -> None:
    component = Component("m", GOOD, "", requires=("numpy", "cobol_bridge.api"), install="cobol>=2")
    registry = registry_of(Point("odd", module(**offering(component))))
    found = entry(registry, "m")
    assert (found.status, found.reason) == ("needs cobol_bridge.api", "pip install cobol>=2")
    with pytest.raises(
        ComponentError,
        match=r"^measure 'm' \(stranger 1.2\) needs cobol_bridge.api: pip install cobol>=2$",
    ):
        registry.make("measure", "m")
    assert_the_rest_works(registry)


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("no_such_package:Thing", "there is no module 'no_such_package'"),
        ("rpd_measures.none:Thing", "there is no module 'rpd_measures.none'"),
        ("rpd_measures.sbfl:Tarantulla", "'rpd_measures.sbfl' defines no 'Tarantulla'"),
        ("rpd_measures.sbfl", "defines no ''"),
        ("", "there is no module ''"),
        ("..sbfl:Tarantula", "there is no module '..sbfl'"),
    ],
)
def test_a_missing_target_is_broken(target: str, reason: str) -> None:
    registry = registry_of(Point("odd", module(**offering(Component("m", target, "")))))
    found = entry(registry, "m")
    assert found.status == "broken"
    assert reason in found.reason
    with pytest.raises(ComponentError, match=r"measure 'm' \(stranger 1.2\) is broken"):
        registry.make("measure", "m")
    assert_the_rest_works(registry)


@pytest.fixture
def importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("odd_")]:
        del sys.modules[name]


def test_a_target_in_a_package_that_fails_to_import_is_broken(importable: Path) -> None:
    package = importable / "odd_package"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('wrong processor')")
    (package / "inner.py").write_text("class Thing: ...")
    registry = registry_of(
        Point("odd", module(**offering(Component("m", "odd_package.inner:Thing", ""))))
    )
    assert entry(registry, "m").status == "broken"
    assert_the_rest_works(registry)


def test_a_target_without_readable_source_is_broken(importable: Path) -> None:
    (importable / "odd_bytes.py").write_bytes(b"# \xff\xfe\nclass Thing: ...\n")
    registry = registry_of(Point("odd", module(**offering(Component("m", "odd_bytes:Thing", "")))))
    assert entry(registry, "m").status == "broken"
    assert_the_rest_works(registry)


def test_a_target_that_fails_when_used_is_one_line(importable: Path) -> None:
    (importable / "odd_late.py").write_text("import cobol_bridge\nclass Thing: ...\n")
    (importable / "odd_later.py").write_text("1 / 0\nclass Thing: ...\n")
    registry = registry_of(
        Point(
            "odd",
            module(
                **offering(
                    Component("late", "odd_late:Thing", ""),
                    Component("later", "odd_later:Thing", ""),
                )
            ),
        )
    )
    for name, reason in [("late", "No module named 'cobol_bridge'"), ("later", "division by zero")]:
        with pytest.raises(
            ComponentError, match=rf"{name}' of plugin 'odd' \(stranger\) is broken: .*{reason}"
        ):
            registry.make("measure", name)


def test_a_bundled_name_keeps_working_when_a_stranger_takes_it() -> None:
    mine = Point("mine", module(**offering(Component("same", GOOD, ""))), BUNDLED)
    theirs = Point("odd", module(**offering(Component("same", "rpd_measures.sbfl:Ochiai", ""))))
    for points in ([mine, theirs], [theirs, mine]):
        registry = registry_of(*points)
        assert entry(registry, "same", "mine").status == "ready"
        found = entry(registry, "same")
        assert found.status == "clash"
        assert found.reason.startswith("'mine' (ranking-policy-decisions) offers the same name")
        assert type(registry.make("measure", "same")).__name__ == "Tarantula"
        assert_the_rest_works(registry)


def test_of_several_strangers_none_wins() -> None:
    points = [
        Point(name, module(**offering(Component("same", GOOD, ""))), f"dist-{name}")
        for name in ("a", "b", "c")
    ]
    for order in (points, points[::-1]):
        registry = registry_of(*order)
        assert {entry(registry, "same", name).status for name in "abc"} == {"clash"}
        with pytest.raises(
            ComponentError,
            match=r"measure 'same' \(dist-. 1.2\) cannot be used: .* offers the same name",
        ):
            registry.make("measure", "same")
        assert_the_rest_works(registry)


def test_the_same_name_of_another_kind_is_no_clash() -> None:
    contents = offering(Component("fine", "rpd_basics.conditions:Auto", ""), hook="rpd_conditions")
    registry = registry_of(Point("odd", module(**contents)))
    assert entry(registry, "fine").status == "ready"
    assert entry(registry, "fine", "healthy").status == "ready"


def test_an_unusable_component_takes_no_name() -> None:
    lacking = Component("same", GOOD, "", requires=("cobol_bridge",))
    registry = registry_of(
        Point("odd", module(**offering(lacking))),
        Point("even", module(**offering(Component("same", GOOD, "")))),
    )
    assert entry(registry, "same", "even").status == "ready"
    assert registry.make("measure", "same") is not None


def test_an_entry_point_found_twice_counts_once() -> None:
    registry = registry_of(healthy())
    assert entry(registry, "fine", "healthy").status == "ready"


def test_an_unknown_name_offers_the_nearest_and_names_broken_plugins() -> None:
    registry = registry_of(Point("odd", raising(ImportError("x"))))
    with pytest.raises(SpecError) as caught:
        registry.find("measure", "fin")
    assert str(caught.value) == (
        "no measure is called 'fin'. Did you mean 'fine'? (plugin odd could not be loaded: "
        "rpd list-plugins)"
    )
    with pytest.raises(SpecError, match=r"no measure is called 'zzz'. Known: fine."):
        registry.find("measure", "zzz")


def test_an_unknown_kind_offers_the_nearest() -> None:
    assert check_kind("measure") == "measure"
    with pytest.raises(SpecError, match="Did you mean 'measure'"):
        check_kind("measures")


def test_a_row_holds_what_list_plugins_promises() -> None:
    row = entry(registry_of(), "fine", "healthy").as_row()
    assert row == {
        "kind": "measure",
        "name": "fine",
        "plugin": "healthy",
        "distribution": "healthy-dist",
        "version": "1.2",
        "status": "ready",
        "summary": "works",
        "reason": "",
    }


def test_strict_mode_raises_the_first_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [Point("odd", raising(ImportError("gone")))]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
    assert [plugin.status for plugin in find_plugins()] == ["broken"]
    monkeypatch.setenv("RPD_STRICT_PLUGINS", "1")
    with pytest.raises(ComponentError, match="plugin 'odd': ImportError: gone"):
        find_plugins()


def test_everything_bundled_is_ready_except_for_extras_that_are_missing(registry: Registry) -> None:
    bundled = [one for one in registry.registrations if one.distribution == BUNDLED]
    missing = {name: module for name, module in MODULES.items() if find_spec(module) is None}
    assert {one.component.name: (one.status, one.reason) for one in bundled if not one.ready} == {
        name: (f"needs {module}", f'pip install "ranking-policy-decisions[{name}]"')
        for name, module in missing.items()
    }
    kinds = {one.kind for one in bundled}
    assert kinds >= {"environment", "policy", "abstraction", "default-action", "measure"}
    assert kinds >= {"condition", "executor"}


def test_everything_that_the_protocols_offer_is_there() -> None:
    names: dict[str, object] = {}
    exec("from rpd_core.plugin.protocols import *", names)
    assert "Component" in names
