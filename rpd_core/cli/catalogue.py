"""The commands of the frame, offered through the same hook as everybody's."""

from __future__ import annotations

from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.protocols import Component

ANALYSE, LOOK, STUDY, RUNS, PLUGINS = "Analyse", "Look", "Compare and study", "Runs", "Plugins"
GROUPS = (ANALYSE, LOOK, STUDY, RUNS, PLUGINS)
"""Headings of `rpd --help`, in order; others follow."""


def _command(name: str, target: str, summary: str, group: str) -> Component:
    return Component(name, f"rpd_core.cli.{target}", summary, group=group, runs_code=False)


@hookimpl
def rpd_commands() -> list[Component]:
    return [
        _command("run", "run:run_command", "Find the decisions that a policy needs", ANALYSE),
        _command("prune", "run:prune_command", "Ask something else of a stored suite", ANALYSE),
        _command("suite", "run:suite_command", "Play mutant episodes and nothing else", ANALYSE),
        _command("show", "show:show_command", "Print the answer of a run again", LOOK),
        _command("rank", "show:rank_command", "List effects among mutants by any measure", LOOK),
        _command("replay", "show:replay_command", "Play a stored episode step by step", LOOK),
        _command("runs", "runs:runs_command", "List runs and what differs between them", RUNS),
        _command("merge", "runs:merge_command", "Join parts of a suite built elsewhere", RUNS),
        _command("verify", "runs:verify_command", "Check every file of a run", RUNS),
        _command(
            *("list-plugins", "plugins:list_plugins_command"),
            *("List every component, and whether it can be used", PLUGINS),
        ),
        _command(
            *("describe", "plugins:describe_command"),
            *("Show a component, or what a policy file holds", PLUGINS),
        ),
    ]
