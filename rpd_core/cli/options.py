"""Options of the command line: those that commands share, and those made from settings."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from rpd_core.cli.completion import complete_run, specs_of
from rpd_core.cli.shared import reporting
from rpd_core.config.settings import USED, Group, Scope, Setting, Settings, declared
from rpd_core.config.typed import ANEW, read_table, refuse_trust
from rpd_core.errors import ConfigError, nearest
from rpd_core.plugin.registry import finishing, installed
from rpd_core.plugin.specs import number, whole_number

T = TypeVar("T", int, float)
WHERE: Group = "Where to run"
WHAT: Group = "What to analyse"


def option(flag: str, help: str, group: Group | None = None, **more: Any) -> Any:
    """Return an option under one of the headings of a command's help."""
    return typer.Option(flag, help=help, rich_help_panel=group, **more)


def spec_option(flag: str, kind: str, help: str, group: Group | None = None) -> Any:
    """Return an option that takes a spec of a kind, which the shell completes."""
    return option(flag, help, group, metavar="SPEC", autocompletion=specs_of(kind))


def whole_option(flag: str, help: str, group: Group | None = None, least: int = 0) -> Any:
    """Return an option for a whole number, 1e4 included; of `least`, if that is given."""
    read = _parser(flag, whole_number, least)
    return option(flag, help, group, metavar="N", parser=read)


def number_option(flag: str, help: str, group: Group | None = None) -> Any:
    """Return an option for a number."""
    read = _parser(flag, number)
    return option(flag, help, group, metavar="X", parser=read)


def _parser(flag: str, read: Callable[[str], T], least: int = 0) -> Callable[[Any], T]:
    """Return a reader that names the option, prints its complaint and ends the program."""

    def parse(value: Any) -> T:
        if isinstance(value, bool):  # out of a file
            raise ConfigError(f"{flag} must be a number, got {value!r}")
        try:
            found = read(str(value))
        except ValueError as error:
            raise ConfigError(f"{flag} {error}") from None
        if least and found < least:
            raise ConfigError(f"{flag.strip('-')} must be at least {least}, got {found}")
        return found

    return reporting(parse)


# ------------------------------------------------------------------------------ files of settings


_NOT_IN_FILES = {
    "--trust-policy": ANEW,
    "--config": "a file names no other",
    "--help": "it asks for help",
}
"""Options that only the command line takes, and why."""


def is_toml(path: Path | None) -> bool:
    """Return whether a configuration is a TOML file of the user's, not the `run.json` of a run."""
    return path is not None and path.suffix.lower() == ".toml"


@reporting
def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make what a TOML file holds the defaults of a command; leave other files to the command."""
    if path is not None and is_toml(path) and not context.resilient_parsing:
        options = [one for one in context.command.params if one.param_type_name == "option"]
        flags = {flag: one for one in options for flag in one.opts if flag.startswith("--")}
        context.default_map = _settings_in(path, flags)
    return path


def _settings_in(path: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a file by the names of the parameters that they are for."""
    values: dict[str, Any] = {}
    for key, value in read_table(path).items():
        flag = f"--{key.replace('_', '-')}"
        if flag not in options:
            known = [one.removeprefix("--") for one in options if one not in _NOT_IN_FILES]
            hint = nearest(flag.removeprefix("--"), known) or " See --help for the options."
            raise ConfigError(f"{str(path)!r}: {key!r} is not an option.{hint}")
        if flag in _NOT_IN_FILES:
            raise ConfigError(
                f"{str(path)!r}: {key!r} belongs on the command line: {_NOT_IN_FILES[flag]}"
            )
        if options[flag].name in values:
            raise ConfigError(f"{str(path)!r}: {key!r} is there twice, spelt differently: keep one")
        try:
            values[options[flag].name] = _from_file(f"{str(path)!r}: {key}", value, options[flag])
        except ValueError as error:  # in base 16, a number may have more digits than can be shown
            raise ConfigError(f"{str(path)!r}: {key} has a number with too many digits") from error
    return values


def _from_file(name: str, value: Any, known: Any) -> Any:
    """Return a value as the parser takes it from a command line, or refuse its kind."""
    if known.is_flag:
        if not isinstance(value, bool):
            raise ConfigError(f"{name} must be true or false, got {value!r:.80}")
        return value
    several = value if isinstance(value, list) else [value]
    if any(isinstance(one, bool) or not isinstance(one, str | int | float) for one in several):
        raise ConfigError(f"{name} must be text or a number, got {value!r:.80}")
    for one in several:
        refuse_trust(name, one)
    if known.multiple:
        return [str(one) for one in several]
    if isinstance(value, list):
        raise ConfigError(f"{name} takes one value, got {len(value)}")
    return str(value)


# ------------------------------------------------------------------- what commands share


Env = Annotated[
    str | None, spec_option("--env", "environment", "Environment spec, for example cartpole.", USED)
]
Policy = Annotated[
    str | None,
    spec_option("--policy", "policy", "Policy spec; default: the one the task ships.", USED),
]
Workers = Annotated[
    int | None, whole_option("--workers", "Worker processes; default: all cores.", WHERE, least=1)
]
StallTimeout = Annotated[
    float | None,
    number_option(
        "--stall-timeout", "Seconds without progress until giving up; default 600.", WHERE
    ),
]
_LOADING = declared()["load_timeout"]
LoadTimeout = Annotated[
    float | None, number_option("--load-timeout", _LOADING.help, _LOADING.group)
]
ExecutorName = Annotated[str, spec_option("--executor", "executor", "Executor spec.", WHERE)]
TrustPolicy = Annotated[
    bool,
    option("--trust-policy", "Let policy and run files run code of their authors'.", WHERE),
]
Out = Annotated[Path | None, option("--out", "Run directory; default: runs/<readable name>.", USED)]
_FROM = "Settings from a TOML file of yours, or repeat the run of this run.json."
Config = Annotated[
    Path | None, option("--config", _FROM, WHAT, callback=read_config, is_eager=True)
]
AnalysisName = Annotated[
    str | None,
    option("--analysis", "Name of the analysis; default: the latest.", metavar="NAME"),
]
NewAnalysisName = Annotated[
    str | None,
    option("--analysis", "Name of the new analysis; default: readable.", WHERE, metavar="NAME"),
]
Seed = Annotated[int | None, whole_option("--seed", "Seed of everything; default 0.")]
Json = Annotated[bool, option("--json", "Print JSON on standard output.")]
Yes = Annotated[
    bool, option("--yes", "Do not ask before a run that takes long or much room.", WHERE)
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

Command = Callable[..., Any]


def set_parameters(
    function: Command,
    command: Command,
    own: Iterable[inspect.Parameter],
    added: Iterable[inspect.Parameter],
) -> None:
    """Give a function what Typer reads of a command: its own parameters, but for `**rest`, which
    takes them, and further ones."""
    plain = [p.replace(kind=p.KEYWORD_ONLY) for p in own if p.kind is not p.VAR_KEYWORD]
    named = [*plain, *added]
    functools.update_wrapper(function, command, updated=())
    vars(function).pop("__wrapped__", None)  # its signature would be read instead
    function.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    function.__annotations__ = {p.name: p.annotation for p in named}


def with_settings(*scopes: Scope, leave_out: Sequence[str] = ()) -> Callable[[Command], Command]:
    """Decorate a command with one option per setting of these scopes, which become keywords.

    A setting that the command has a parameter for is its own affair.
    """

    def decorate(command: Command) -> Command:
        own = list(inspect.signature(command, eval_str=True).parameters.values())
        taken = {*leave_out, *(one.name for one in own)}
        added = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_option(name, one)
            )
            for name, one in declared().items()
            if one.scope in scopes and one.flag != "-" and name not in taken
        ]
        set_parameters(command, command, own, added)
        return command

    return decorate


_FINISH, _AT_THE_END = "finish_", "At the end of the run, do the work of"


def with_finish(command: Command) -> Command:
    """Decorate a command with an option for each command that does something after a run."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())
    about = [one for p in own for one in getattr(p.annotation, "__metadata__", ())]
    written = [word for one in about for word in (one.default, *(one.param_decls or ()))]
    taken = {one.flag or f"--{name.replace('_', '-')}" for name, one in declared().items()}
    taken |= {"--help", "--json", *(word for word in written if isinstance(word, str))}

    def switch(name: str) -> str:  # under a name that is free
        free = name if f"--{name}" not in taken else f"after-{name}"
        return f"--{free}/--no-{free}"

    added = [
        inspect.Parameter(
            f"{_FINISH}{number}",
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                bool | None,
                option(switch(name), f"{_AT_THE_END} rpd {name} as well.", WHERE),
            ],
        )
        for number, name in enumerate(finishing(installed()))
    ]
    set_parameters(command, command, own, added)
    return command


def taken_finish(settings: dict[str, Any]) -> tuple[str, ...]:
    """Take what is to be done after a run out of the keywords of a command; nothing if quick."""
    typed = {
        name: settings.pop(f"{_FINISH}{number}")
        for number, name in enumerate(finishing(installed()))
    }
    usual = not settings.get("quick")
    return tuple(name for name, wanted in typed.items() if (usual if wanted is None else wanted))


@functools.cache
def _kinds() -> dict[str, Any]:
    """Return the type of each setting; asking for all of them takes a while."""
    return typing.get_type_hints(Settings)


def _option(name: str, setting: Setting) -> Any:
    """Return the annotation of a setting's option, repeatable where it takes several."""
    kind = _kinds()[name]
    flag = setting.flag or f"--{name.replace('_', '-')}"
    if kind is bool:
        return Annotated[bool | None, option(flag, setting.help, setting.group)]
    if kind in (int, int | None):
        return Annotated[int | None, whole_option(flag, setting.help, setting.group)]
    if kind in (float, float | None) and not setting.words:
        return Annotated[float | None, number_option(flag, setting.help, setting.group)]
    several = typing.get_origin(kind) is tuple and not setting.listed
    option_type: Any = list[str] | None if several else str | None
    if setting.kind:
        return Annotated[option_type, spec_option(flag, setting.kind, setting.help, setting.group)]
    words = "|".join(typing.get_args(kind) if typing.get_origin(kind) is typing.Literal else ())
    listed = "X,..." if setting.listed is float else "NAMES"
    metavar = words or ("X|" + "|".join(setting.words) if setting.words else listed)
    return Annotated[option_type, option(flag, setting.help, setting.group, metavar=metavar)]


def given(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that were typed, several of a kind as a tuple."""
    return {
        name: _value(name, value)
        for name, value in settings.items()
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
