"""Two runs side by side: where their policies agree, and which decisions gained or lost."""

from __future__ import annotations

from rpd_core import Component, hookimpl


@hookimpl
def rpd_commands() -> list[Component]:
    return [
        Component(
            "compare",
            "rpd_compare.command:compare_command",
            "Compare the policies of two runs",
            group="Compare and study",
            runs_code=False,
        ),
    ]
