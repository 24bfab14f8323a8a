"""`rpd list-plugins` and `rpd describe`: components, their parameters, what policy files hold."""

from __future__ import annotations

import os
import textwrap
from typing import Annotated, Any

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.completion import complete_kind, complete_name
from rpd_core.cli.console import asked_width, without_controls
from rpd_core.cli.streams import output_for_the_answer
from rpd_core.cli.work import guarded, loading_seconds
from rpd_core.errors import ConfigError
from rpd_core.plugin.discovery import BUNDLED
from rpd_core.plugin.hookspecs import KINDS
from rpd_core.plugin.registry import check_kind, installed


def list_plugins_command(
    kind: Annotated[
        str | None,
        typer.Option("--kind", help="Only this kind.", autocompletion=complete_kind),
    ] = None,
    imports: Annotated[
        bool,
        typer.Option("--imports", help="Import what components need, too, which takes a while."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """List every component of every installed plugin, with its state."""
    found = installed().registrations
    if kind is not None:
        found = [one for one in found if one.kind == check_kind(kind)]
    if imports:
        from rpd_core.plugin.importing import import_faults

        asked = {module for one in found if one.ready for module in one.component.requires}
        faults = import_faults(sorted(asked))
        found = [one.without(faults) for one in found]
    rows = [one.as_row() for one in found]
    if as_json:
        shared.print_json(rows)
        return
    told = [
        {**row, "status": f"{row['status']}: {row['reason']}" if row["reason"] else row["status"]}
        for row in rows
    ]
    table = [_HEADINGS, *(tuple(str(row[name]) for name in _HEADINGS) for row in told)]
    width = asked_width()
    if width is None or max(map(len, _columns_of(table))) <= width:
        _print_lines(_columns_of(table))
    else:
        _print_lines(blocks_of(rows, width))
    if width is not None and not imports:
        _print_lines(["", *textwrap.wrap(_NOT_TRIED, width)])


_NOT_TRIED = "ready: all it needs is installed; whether that can be imported, --imports tries"
_HEADINGS = ("kind", "name", "status", "summary", "plugin", "distribution", "version")


def _columns_of(rows: list[tuple[str, ...]]) -> list[str]:
    """Return rows as aligned columns; rich's tables take as long as all the rest of the command."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def blocks_of(rows: list[dict[str, str]], width: int) -> list[str]:
    """Return the same for a narrow screen: a block per kind, a name, what it is, what is wrong."""
    lines: list[str] = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        mine = [row for row in rows if row["kind"] == kind]
        indent = min(max(len(row["name"]) for row in mine) + 4, width // 3)
        lines += ["", kind] if lines else [kind]
        for row in mine:
            lines += _block(row, indent, width)
    return lines


def _block(row: dict[str, str], indent: int, width: int) -> list[str]:
    """Return the lines of one component: its name, and beside or below it what it is."""
    name, room = f"  {row['name']}", " " * indent
    beside = len(name) < indent
    first = name.ljust(indent) if beside else room
    about = textwrap.wrap(_about(row), width, initial_indent=first, subsequent_indent=room)
    return about if beside else [name, *about]


def _about(row: dict[str, str]) -> str:
    """Return what a component is, with whose it is and what is wrong where that is not usual."""
    usual = row["status"] in ("ready", "note")  # the summary of a note is its reason
    wrong = "" if usual else f" [{row['status']}: {row['reason']}]"
    bundled = row["distribution"] == BUNDLED
    whose = "" if bundled else f" ({row['distribution'] or row['plugin']} {row['version']})"
    return f"{row['summary']}{whose}{wrong}"


def _print_lines(lines: list[str]) -> None:
    shared.answers().file.write("".join(f"{without_controls(line)}\n" for line in lines))


# --------------------------------------------------------------------------------- describe


def _names_of_the_kind(ctx: typer.Context) -> list[tuple[str, str]]:
    return complete_name(str(ctx.params.get("kind") or ""))


def describe_command(
    kind: Annotated[
        str,
        typer.Argument(help=f"One of: {', '.join(KINDS)}.", autocompletion=complete_kind),
    ],
    name: Annotated[
        str,
        typer.Argument(
            help="Its name, for example tarantula; a policy's whole spec: sb3:path.zip.",
            autocompletion=_names_of_the_kind,
        ),
    ],
    env: options.Env = None,
    episodes: Annotated[
        int, options.whole_option("--episodes", "Of a policy: episodes to play.", least=1)
    ] = 10,
    seed: Annotated[int, options.whole_option("--seed", "Of a policy: seed of these.")] = 0,
    trust_policy: options.TrustPolicy = False,
    stall_timeout: options.StallTimeout = None,
    load_timeout: options.LoadTimeout = None,
    as_json: options.Json = False,
) -> None:
    """Show a component's documentation and parameters, or what a policy file holds and earns."""
    offered = {one.component.name for one in installed().of_kind("policy")}
    is_path = name not in offered and os.path.isfile(name.partition(",")[0])
    if kind == "policy" and (":" in name or env is not None or is_path):
        with output_for_the_answer(), guarded(name, stall_timeout):
            seconds = loading_seconds(load_timeout)
            about = _about_policy(name, env, (episodes, seed), trust_policy, seconds)
        if as_json:
            shared.print_json(about)
            return
        from rich.table import Table  # `rpd list-plugins` does not need it

        table = Table(box=None, pad_edge=False, show_header=False)
        for what, value in about.items():
            table.add_row(what, f"{value:.4g}" if isinstance(value, float) else str(value))
        shared.answers().print(table, markup=False)
    elif env is not None:
        raise ConfigError(f"--env is for policies, not for kind {kind!r}: leave it out")
    else:
        _show_component(kind, name, as_json)


def _show_component(kind: str, name: str, as_json: bool) -> None:
    """Print what the source of a component says about it."""
    from rich.table import Table  # `rpd list-plugins` does not need it

    registry = installed()
    first, colon, _ = name.partition(":")
    if colon and first in {one.component.name for one in registry.of_kind(check_kind(kind))}:
        raise ConfigError(
            f"{name!r} is a whole spec, which describe takes of a policy only: rpd describe {kind} "
            f"{first}"
        )
    found = registry.find_described(check_kind(kind), name)
    description = registry.describe(kind, name)
    if as_json:
        parameters = [vars(parameter) for parameter in description.parameters]
        shared.print_json({**found.as_row(), "doc": description.doc, "parameters": parameters})
        return
    console = shared.answers()
    console.print(f"{kind} {name}", style="bold", markup=False)
    console.print(f"from {found.plugin} ({found.distribution} {found.version})", markup=False)
    if found.lacking:
        console.print(f"{found.status}: {found.reason}", markup=False)
    console.print(f"\n{description.doc}\n", markup=False)
    if kind == "command":
        console.print(f"Its arguments and options: rpd {name} --help", markup=False)
        return
    if not description.parameters:
        console.print("It takes no parameters.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("parameter", "type", "default", "meaning"):
        table.add_column(heading, overflow="fold")
    for parameter in description.parameters:
        default = "(required)" if parameter.default is None else parameter.default
        table.add_row(parameter.name, parameter.annotation, default, parameter.help)
    console.print(table, markup=False)


def _about_policy(
    text: str, env: str | None, play_what: tuple[int, int], trust: bool, seconds: float
) -> dict[str, Any]:
    """Return what a policy file holds; with an environment, how it is fitted and what it earns."""
    from rpd_core.config.objects import advised
    from rpd_core.config.resolve import choose, say_which
    from rpd_core.config.trust import permitted
    from rpd_core.play.heartbeat import loading
    from rpd_core.plugin.protocols.optional import DescribesItself

    registry = installed()
    episodes, seed = play_what
    if seed < 0:
        raise ConfigError(f"seed must not be negative, got {seed}")
    chosen = permitted(choose(registry, "policy", text), trust)
    say_which(registry, text, chosen.text)
    loader = chosen.recipe
    if env is None:
        with loading(seconds), advised(loader):
            if not isinstance(loader, DescribesItself):
                raise ConfigError(
                    "this policy can only be described with an environment: give --env"
                )
            return {**loader.describe()}
    return play(registry.make("environment", env), loader, episodes, seed, seconds)


def play(
    environment: Any, loader: Any, episodes: int, seed: int, load_timeout: float
) -> dict[str, Any]:
    """Load the policy for an environment and play it."""
    from dataclasses import replace

    import numpy as np

    from rpd_core.chance import Phase, episode_keys
    from rpd_core.play.deciders import always
    from rpd_core.play.loop import Plan, Player
    from rpd_core.play.recipe import policy_alone

    task = environment.task()
    for note in task.notes:
        shared.show_note(note)
    lanes = min(episodes, task.lanes)
    recipe = policy_alone(environment, loader, lanes)
    player = Player(replace(recipe, load_timeout=load_timeout))
    index = np.arange(episodes)
    plan = Plan(index, episode_keys(seed, Phase.PROBE, index))
    try:
        played = player.play(plan, always)
    finally:
        player.close()
    returns = played.total_return
    return {
        "environment": player.facts.description,
        "environment's observations": str(player.facts.observation_space),
        "environment's actions": str(player.facts.action_space),
        **getattr(player.policy, "describe", dict)(),
        "episodes": episodes,
        "return_mean": float(returns.mean()),
        "return_std": float(returns.std(ddof=1)) if episodes > 1 else 0.0,
        "length_mean": float(played.length.mean()),
    }
