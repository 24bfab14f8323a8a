"""The page of a run, and everything known about one decision."""

from __future__ import annotations

from rpd_core import Component, hookimpl


@hookimpl
def rpd_commands() -> list[Component]:
    return [
        Component(
            "report",
            "rpd_report.commands:report_command",
            "Write the page of a run: one file to mail",
            requires=("jinja2",),
            install="jinja2",
            group="Look",
            after_run="rpd_report.commands:write_after_run",
            runs_code=False,
        ),
        Component(
            "explain",
            "rpd_report.commands:explain_command",
            "Show everything known about one decision",
            requires=("jinja2",),
            install="jinja2",
            group="Look",
            runs_code=False,
        ),
    ]
