"""Many runs: lists checked, measures compared, grids of settings, the paper's evaluation."""

from __future__ import annotations

from typing import Any

from rpd_core import Component, hookimpl


def _command(name: str, summary: str, **needs: Any) -> Component:
    target = f"rpd_studies.{name}_command:{name}_command"
    return Component(name, target, summary, group="Compare and study", runs_code=False, **needs)


_WITH_PAGES = {"requires": ("jinja2", "matplotlib"), "install": "jinja2 matplotlib"}


@hookimpl
def rpd_commands() -> list[Component]:
    return [
        _command("validate", "Check a list: decisions mutated alone, other rates"),
        _command("bench", "Compare measures on the same suites, over seeds"),
        _command("grid", "Play a grid of settings and seeds into one table", **_WITH_PAGES),
        _command("reproduce", "Play the paper's evaluation again", **_WITH_PAGES),
    ]
