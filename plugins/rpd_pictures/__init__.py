"""Pictures of states, films of episodes, figures of runs."""

from __future__ import annotations

from rpd_core import Component, hookimpl


@hookimpl
def rpd_commands() -> list[Component]:
    return [
        Component(
            "draw",
            "rpd_pictures.command:draw_command",
            "Draw figures, films and pictures of a run",
            requires=("PIL",),
            install="pillow",
            group="Look",
            after_run="rpd_pictures.after_run:after_run",
            runs_code=False,
        ),
    ]
