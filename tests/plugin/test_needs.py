"""Packages that are missing or broken: what needs them says so, and everything else works."""

from __future__ import annotations

import importlib.util
import json
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from absent import rpd_without
from typer.testing import CliRunner

import rpd_gym
from rpd_core.cli.app import app
from rpd_core.errors import ComponentError
from rpd_core.plugin.blame import unmet
from rpd_core.plugin.discovery import Plugin, find_plugins
from rpd_core.plugin.importing import failed_import, import_attribute, import_faults, is_installed
from rpd_core.plugin.registry import Registry, installed

FOR_THE_FIRST_COMMAND = (
    *("torch", "stable_baselines3", "ale_py", "minigrid"),
    *("sklearn", "matplotlib", "PIL", "google.protobuf"),
)
"""What `rpd run --env cartpole` does without."""


def needed() -> list[str]:
    every = [one.component.requires for one in installed().registrations]
    return sorted({module for requires in every for module in requires})


@pytest.fixture(scope="module")
def plugins() -> list[Plugin]:
    return find_plugins()


@pytest.mark.parametrize("module", needed())
def test_what_needs_a_missing_package_says_so_and_the_rest_is_as_before(
    module: str, plugins: list[Plugin], monkeypatch: pytest.MonkeyPatch
) -> None:
    really = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == module else really(name, package)

    before = {(one.kind, one.component.name): one for one in installed().registrations}
    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    for one in Registry(plugins).registrations:
        known = before[one.kind, one.component.name]
        if module not in one.component.requires or known.lacking:
            assert one == known
        else:
            assert one.status == f"needs {module}"
            assert one.reason == f"pip install {one.component.install}"


def test_folders_without_code_are_no_package_but_may_hold_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "remnant" / "data").mkdir(parents=True)
    (tmp_path / "shelf" / "book").mkdir(parents=True)
    (tmp_path / "shelf" / "book" / "__init__.py").write_text("raise ValueError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert not is_installed("remnant")
    assert not is_installed("remnant.data")
    assert is_installed("shelf.book")
    assert is_installed("shelf.book.chapter")  # nothing with code in it is imported to look
    assert not is_installed("shelf.other")


def raised_by_importing(folder: Path, content: str) -> BaseException:
    (folder / "ill.py").write_text(content)
    with pytest.raises(ZeroDivisionError) as caught:
        import_attribute("ill:thing")()
    return caught.value


def test_an_error_while_a_module_is_imported_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    assert failed_import(raised_by_importing(tmp_path, "1 / 0")) == "ill"


def test_an_error_of_syntax_names_the_package_that_it_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "garbled").mkdir()
    (tmp_path / "garbled" / "__init__.py").write_text("no python")
    with pytest.raises(SyntaxError) as caught:
        import_attribute("garbled:thing")
    assert failed_import(caught.value) == "garbled"


def test_an_error_of_an_imported_function_is_no_failed_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    assert failed_import(raised_by_importing(tmp_path, "def thing():\n    1 / 0")) == ""


def test_a_module_of_the_users_own_keeps_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    assert unmet(raised_by_importing(tmp_path, "1 / 0")) == ""


def test_a_missing_package_is_called_by_what_has_to_be_installed() -> None:
    assert unmet(ModuleNotFoundError(name="absent_package.part")) == (
        "needs absent_package, which is not installed: pip install absent_package"
    )
    assert unmet(ModuleNotFoundError(name="rpd_core.nowhere")) == ""
    assert unmet(ZeroDivisionError("1 / 0")) == ""


def test_the_first_command_runs_without_what_other_policies_need(tmp_path: Path) -> None:
    small = ("--episodes", "60", "--unmutated-episodes", "10", "--test-episodes", "10")
    smaller = ("--confirm-episodes", "10", "--minimise-steps", "2000", "--measure", "ochiai")
    done = rpd_without(
        tmp_path,
        *("run", "--env", "cartpole", "--quick", "--draw", "--report", "--workers", "1"),
        *(*small, *smaller, "--confirm-tries", "1"),
        missing=FOR_THE_FIRST_COMMAND,
    )
    assert done.returncode == 0, done.stderr
    notes = [line for line in done.stderr.splitlines() if line.startswith("rpd: note: ")]
    assert notes == [
        "rpd: note: the run has its answer, but rpd draw failed: command 'draw' needs PIL: "
        "pip install pillow"
    ]


SHIPPED = Path(rpd_gym.__file__).parent / "policies" / "cartpole_good.npz"
BROKEN = {
    "torch": ("run", "--env", "cartpole", "--policy", f"weights:{SHIPPED}", "--workers", "1"),
    "minigrid": ("describe", "policy", "random", "--env", "minigrid"),
    "sklearn": ("run", "--env", "cartpole", "--abstraction", "rules", "--quick"),
    "pyarrow": ("run", "--env", "cartpole", "--workers", "1"),
}
"""What has a package imported: in this process, by a command, in a worker, by the core."""


@pytest.mark.parametrize("package", BROKEN)
def test_a_package_whose_import_fails_is_one_line(package: str, tmp_path: Path) -> None:
    done = rpd_without(tmp_path, *BROKEN[package], broken=[package])
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    named = {"sklearn": "scikit-learn"}.get(package, package)
    assert line.endswith(
        f" needs {package}, which is installed but cannot be imported (OSError: lib{package}.so: "
        f"cannot open shared object file): pip install --force-reinstall {named}"
    )


def test_imports_are_tried_if_that_is_asked_for(tmp_path: Path) -> None:
    words = ("list-plugins", "--kind", "panel")
    told = "needs PIL: pip install --force-reinstall pillow (OSError: libPIL.so: cannot open "
    shown = rpd_without(tmp_path, *words, "--imports", broken=["PIL"]).stdout
    assert told in " ".join(shown.split())
    listed = CliRunner().invoke(app, words, env={"COLUMNS": "80"})
    assert listed.stdout.endswith(" --imports tries\n")
    piped = CliRunner().invoke(app, words, env={"COLUMNS": ""})
    assert "--imports" not in piped.stdout
    assert listed.stderr == piped.stderr == ""
    plain, tried = (
        rpd_without(tmp_path, *words, "--json", *more, broken=["PIL"]).stdout
        for more in ((), ("--imports",))
    )
    ready = [
        {one["name"] for one in json.loads(listed) if one["status"] == "ready"}
        for listed in (plain, tried)
    ]
    assert ready[0] - ready[1] == {"filmstrip"}


def test_a_registration_without_a_package_that_it_does_not_need_stays_ready() -> None:
    for one in installed().registrations:
        assert one.without({"absent_package": "gone"}) is one
    assert import_faults(["json", "absent_package"]) == {
        "absent_package": "ModuleNotFoundError: No module named 'absent_package'"
    }


def test_a_component_that_lacks_a_package_is_refused_with_what_to_install(
    plugins: list[Plugin], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rpd_core.plugin.registry.is_installed", lambda name: name != "sklearn")
    with pytest.raises(ComponentError) as caught:
        Registry(plugins).make("abstraction", "rules")
    assert str(caught.value) == "abstraction 'rules' needs sklearn: pip install scikit-learn"
