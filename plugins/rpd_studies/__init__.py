"""Many runs: lists checked, measures compared, grids of settings, the paper's evaluation."""

from __future__ import annotations

from rpd_core import Component, hookimpl


@hookimpl
def rpd_commands() -> list[Component]:
    return [
        Component(
            "validate",
            "rpd_studies.validate_command:validate_command",
            "Check a list: decisions mutated alone, other rates",
            group="Compare and study",
            runs_code=False,
        ),
        Component(
            "bench",
            "rpd_studies.bench_command:bench_command",
            "Compare measures on the same suites, over seeds",
            group="Compare and study",
            runs_code=False,
        ),
        Component(
            "grid",
            "rpd_studies.grid_command:grid_command",
            "Play a grid of settings and seeds into one table",
            group="Compare and study",
            runs_code=False,
        ),
        Component(
            "reproduce",
            "rpd_studies.reproduce_command:reproduce_command",
            "Play the paper's evaluation again",
            group="Compare and study",
            runs_code=False,
        ),
    ]
