"""Names that users give to the entries of observations."""

from __future__ import annotations

from typing import Any

from rpd_core.errors import ConfigError

_LONGEST_NAME = 100
"""Characters of a name."""


def check_names(name: str, value: object) -> None:
    """Refuse names that do not tell entries apart, or that no line can hold."""
    value = split(value)
    given = value if isinstance(value, tuple) else ()
    for one in given:
        if not isinstance(one, str) or not one.isprintable() or not 0 < len(one) <= _LONGEST_NAME:
            raise ConfigError(
                f"{name} must be texts of one line, parted by commas, got {one!r:.60}"
            )
    twice = [one for place, one in enumerate(given) if one in given[:place]]
    if twice or not isinstance(value, tuple):
        what = f"{twice[0]!r} twice" if twice else f"{value!r:.60}"
        raise ConfigError(f"{name} must tell entries apart, got {what}")


def split(value: object) -> Any:
    """Return several values that one text holds, parted by commas; others as a tuple."""
    if isinstance(value, str):
        return tuple(one.strip() for one in value.split(",")) if value.strip() else ()
    return tuple(value) if isinstance(value, list) else value
