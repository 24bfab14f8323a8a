"""Pictures of states, films of episodes, figures of runs."""

from __future__ import annotations

from rpd_core import Component, hookimpl


@hookimpl
def rpd_commands() -> list[Component]:
    return [
        Component(
            "plot",
            "rpd_pictures.plot_command:plot_command",
            "Draw a figure of a run",
            group="Look",
            runs_code=False,
        ),
        Component(
            "pictures",
            "rpd_pictures.pictures_command:pictures_command",
            "Draw the first decisions of a list",
            group="Look",
            after_run="rpd_pictures.pictures:take_after_run",
            runs_code=False,
        ),
        Component(
            "render",
            "rpd_pictures.render_command:render_command",
            "Draw an episode or a decision as a film",
            group="Look",
            runs_code=False,
        ),
    ]
