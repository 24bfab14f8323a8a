"""Options that take a number: 1e4 is one, and what is none is refused in one line of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import typer

from rpd_core.cli.shared import reporting
from rpd_core.errors import ConfigError
from rpd_core.plugin.specs import number, whole_number

T = TypeVar("T", int, float)


def whole_option(flag: str, help: str) -> Any:
    """Return an option for a whole number."""
    return typer.Option(flag, help=help, metavar="N", parser=_parser(flag, whole_number))


def number_option(flag: str, help: str) -> Any:
    """Return an option for a number."""
    return typer.Option(flag, help=help, metavar="X", parser=_parser(flag, number))


def _parser(flag: str, read: Callable[[str], T]) -> Callable[[Any], T]:
    """Return a reader that names the option, prints its complaint and ends the program."""

    def parse(value: Any) -> T:
        if isinstance(value, bool):  # out of a file
            raise ConfigError(f"{flag} must be a number, got {value!r}")
        try:
            return read(str(value))
        except ValueError as error:
            raise ConfigError(f"{flag} {error}") from None

    return reporting(parse)
