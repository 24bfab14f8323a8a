"""A TOML file of one's own as `--config`: settings by their long option names.

What it holds takes the place of defaults, so that the command line wins. It is read before the
other options, because the parser must know it by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from rpd_core.cli.shared import reporting
from rpd_core.config.typed import ANEW, read_table, refuse_trust
from rpd_core.errors import ConfigError, nearest

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
        context.default_map = dict(_settings(path, _options(context)))
    return path


def _options(context: typer.Context) -> dict[str, Any]:
    """Return the options of a command by their long names."""
    options = [one for one in context.command.params if one.param_type_name == "option"]
    return {flag: one for one in options for flag in one.opts if flag.startswith("--")}


def _settings(path: Path, options: Mapping[str, Any]) -> dict[str, Any]:
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
            values[options[flag].name] = _value(f"{str(path)!r}: {key}", value, options[flag])
        except ValueError as error:  # in base 16, a number may have more digits than can be shown
            raise ConfigError(f"{str(path)!r}: {key} has a number with too many digits") from error
    return values


def _value(name: str, value: Any, option: Any) -> Any:
    """Return a value as the parser takes it from a command line, or refuse its kind."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise ConfigError(f"{name} must be true or false, got {value!r:.80}")
        return value
    several = value if isinstance(value, list) else [value]
    if any(isinstance(one, bool) or not isinstance(one, str | int | float) for one in several):
        raise ConfigError(f"{name} must be text or a number, got {value!r:.80}")
    for one in several:
        refuse_trust(name, one)
    if option.multiple:
        return [str(one) for one in several]
    if isinstance(value, list):
        raise ConfigError(f"{name} takes one value, got {len(value)}")
    return str(value)
