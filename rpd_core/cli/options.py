"""Options of the command line, made from the declared settings."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rpd_core.cli.completion import complete_run, specs_of
from rpd_core.cli.config_file import read_config
from rpd_core.cli.numbers import number_option, whole_option
from rpd_core.config.settings import Scope, Setting, Settings, declared
from rpd_core.errors import ConfigError
from rpd_core.plugin.registry import installed


def spec_option(flag: str, kind: str, help: str) -> Any:
    """Return an option that takes a spec of a kind, which the shell completes."""
    return typer.Option(flag, help=help, autocompletion=specs_of(kind))


Env = Annotated[
    str | None, spec_option("--env", "environment", "Environment spec, for example cartpole.")
]
Policy = Annotated[
    str | None, spec_option("--policy", "policy", "Policy spec; default: the one the task ships.")
]
Workers = Annotated[int | None, whole_option("--workers", "Worker processes; default: all cores.")]
StallTimeout = Annotated[
    float | None,
    number_option("--stall-timeout", "Seconds without progress until giving up; default 600."),
]
ExecutorName = Annotated[str, spec_option("--executor", "executor", "Executor spec.")]
TrustPolicy = Annotated[
    bool,
    typer.Option("--trust-policy", help="Let policy and run files run code of their authors'."),
]
Out = Annotated[
    Path | None, typer.Option("--out", help="Run directory; default: runs/<readable name>.")
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="Settings from a TOML file of yours, or repeat the run of this run.json.",
        callback=read_config,
        is_eager=True,
    ),
]
AnalysisName = Annotated[
    str | None, typer.Option("--analysis", help="Name of the analysis; default: the latest.")
]
Seed = Annotated[int | None, whole_option("--seed", "Seed of everything; default 0.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Yes = Annotated[
    bool, typer.Option("--yes", help="Do not ask before a run that takes long or much room.")
]
RunPath = Annotated[
    Path | None,
    typer.Argument(
        metavar="RUN",
        help="Run directory; default: the latest in runs.",
        autocompletion=complete_run,
    ),
]
Measure = Annotated[
    list[str] | None, spec_option("--measure", "measure", "Measure spec; repeatable.")
]
Condition = Annotated[
    str | None,
    spec_option("--condition", "condition", "When an episode passed: return>=200, auto, ..."),
]


def with_settings(
    *scopes: Scope, leave_out: Sequence[str] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a command with one option per setting of these scopes, which become keywords."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(command, eval_str=True)
        options = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=_option(name, setting),
            )
            for name, setting in declared().items()
            if setting.scope in scopes and setting.flag != "-" and name not in leave_out
        ]
        plain = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        named = [p.replace(kind=p.KEYWORD_ONLY) for p in plain]
        command.__signature__ = own.replace(  # type: ignore[attr-defined]
            parameters=[*named, *options]
        )
        command.__annotations__ = {p.name: p.annotation for p in (*named, *options)}
        return command

    return decorate


def with_finish(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a command with an option for each command that does something after a run."""
    own = inspect.signature(command, eval_str=True)
    options = [
        inspect.Parameter(
            f"{_FINISH}{name}",
            inspect.Parameter.KEYWORD_ONLY,
            default=True,
            annotation=Annotated[
                bool, typer.Option(f"--{name}/--no-{name}", help=f"At the end: {summary}.")
            ],
        )
        for name, summary in _finishing().items()
    ]
    command.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[
            *(p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD),
            *options,
            *(p for p in own.parameters.values() if p.kind is p.VAR_KEYWORD),
        ]
    )
    return command


def taken_finish(settings: dict[str, Any]) -> tuple[str, ...]:
    """Take what is to be done after a run out of the keywords of a command."""
    return tuple(name for name in _finishing() if settings.pop(f"{_FINISH}{name}"))


_FINISH = "finish_"


def _finishing() -> dict[str, str]:
    """Return the commands that do something after a run, each with what it does."""
    found = [one.component for one in installed().of_kind("command") if one.ready]
    return {one.name: one.summary for one in found if one.after_run}


@functools.cache
def _kinds() -> dict[str, Any]:
    """Return the type of each setting; asking for all of them takes a while."""
    return typing.get_type_hints(Settings)


def _option(name: str, setting: Setting) -> Any:
    """Return the annotation of a setting's option, repeatable where it takes several."""
    kind = _kinds()[name]
    flag = setting.flag or f"--{name.replace('_', '-')}"
    if kind in (int, int | None):
        return Annotated[int | None, whole_option(flag, setting.help)]
    if kind in (float, float | None) and not setting.words:
        return Annotated[float | None, number_option(flag, setting.help)]
    several = typing.get_origin(kind) is tuple and not setting.listed
    option_type: Any = list[str] | None if several else str | None
    completed = specs_of(setting.kind) if setting.kind else None
    return Annotated[option_type, typer.Option(flag, help=setting.help, autocompletion=completed)]


def given(settings: dict[str, Any], extra: Sequence[tuple[str, Any]] = ()) -> dict[str, Any]:
    """Return the settings that were typed, several of a kind as a tuple."""
    typed = {**settings, **dict(extra)}
    return {
        name: _value(name, value)
        for name, value in typed.items()
        if value is not None and value != []
    }


def _value(name: str, value: Any) -> Any:
    """Return a typed value, as a number where that or a word can be given."""
    setting = declared().get(name)
    numeric = setting is not None and setting.words and not setting.kind
    if setting is not None and numeric and value not in setting.words:
        try:
            return float(value)
        except ValueError:
            words = " or ".join(setting.words)
            raise ConfigError(f"{name} must be a number or {words}, got {value!r}") from None
    return tuple(value) if isinstance(value, list) else value


def known_settings() -> set[str]:
    """Return the names of all settings."""
    return {item.name for item in dataclasses.fields(Settings)}
