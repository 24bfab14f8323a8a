"""Commands of strangers that are named oddly, or fail: each costs itself only."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from rpd_core import api
from rpd_core.cli import app, options
from rpd_core.errors import ComponentError
from rpd_core.plugin.discovery import Plugin, load_plugins
from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.protocols import Component
from rpd_core.plugin.registry import Registry, finishing


def leaves(session: Any, run: Any) -> None:
    """End Python, as a careless function does."""
    raise SystemExit(4)


def writes(session: Any, run: Any) -> Path:
    """Make a file to look at."""
    return Path("summary.txt")


def strangers(*components: Component) -> list[Plugin]:
    """Return what discovery says of a plugin that offers these commands."""

    def rpd_commands() -> list[Component]:
        return list(components)

    module = ModuleType("strange")
    module.rpd_commands = hookimpl(rpd_commands)  # type: ignore[attr-defined]
    dist = SimpleNamespace(name="strange", version="1")
    return load_plugins([SimpleNamespace(name="strange", dist=dist, load=lambda: module)])


def offered(name: str, function: Callable[..., Any] = writes, **more: Any) -> Component:
    """Return the record of a command with work of its own after a run."""
    target = f"{__name__}:{function.__name__}"
    return Component(name, target, "Does something", after_run=target, **more)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"requires": (3,)}, "requires of 'odd' must be a tuple of import names, got (3,)"),
        ({"requires": ("",)}, "requires of 'odd' must be a tuple of import names, got ('',)"),
        ({"takes": "numpy.ndarray"}, "takes of 'odd' must be a tuple of import names"),
        ({"group": "two\nlines"}, "group of 'odd' must be one line of plain text"),
    ],
)
def test_a_record_that_could_do_harm_is_refused(change: dict[str, Any], told: str) -> None:
    (plugin,) = strangers(offered("odd", **change))
    assert plugin.status == "broken"
    assert told in plugin.fault


def test_a_catalogue_that_raises_anything_is_a_record() -> None:
    def load() -> Any:
        raise GeneratorExit("out of here")

    dist = SimpleNamespace(name="strange", version="1")
    (plugin,) = load_plugins([SimpleNamespace(name="strange", dist=dist, load=load)])
    assert plugin.status == "broken"


def test_any_name_becomes_an_option_that_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Registry(strangers(offered("my-summary"), offered("env"), offered("a.b")))
    monkeypatch.setattr(options, "installed", lambda: found)

    @options.with_finish
    def command(*, env: options.Env = None, **finish: Any) -> tuple[str, ...]:
        return options.taken_finish(finish)

    annotated = [p.annotation for p in command.__signature__.parameters.values()]
    flags = [one.__metadata__[0].default for one in annotated if hasattr(one, "__metadata__")]
    assert flags[1:] == [
        "--my-summary/--no-my-summary", "--after-env/--no-after-env", "--a.b/--no-a.b",
    ]  # fmt: skip
    assert command(finish_0=True, finish_1=False, finish_2=True) == ("my-summary", "a.b")


def test_work_after_a_run_that_ends_python_is_a_note() -> None:
    found, notes = Registry(strangers(offered("leaving", leaves), offered("writing"))), []
    session: Any = SimpleNamespace(
        registry=found, stage=lambda name: nullcontext(), note=notes.append
    )
    run: Any = None
    assert finishing(found) == ["leaving", "writing"]
    made = api._finish_run(session, run, ("leaving", "writing"))
    assert made == {"writing": Path("summary.txt")}
    assert [note.partition(":")[0] for note in notes] == [
        "the run has its answer, but rpd leaving failed"
    ]


def test_completion_goes_on_without_a_broken_command(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Registry(strangers(Component("broken", "no_such_module:command", "Breaks")))
    monkeypatch.setattr(app, "installed", lambda: found)
    commands = app.Commands(name="rpd")
    with pytest.raises(ComponentError):
        commands.get_command(SimpleNamespace(resilient_parsing=False), "broken")
    stub = commands.get_command(SimpleNamespace(resilient_parsing=True), "broken")
    assert stub is not None
    assert stub.name == "broken"
