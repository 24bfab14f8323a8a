"""TOML files that people write: read whole, of a sensible size, and refused in one line."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from rpd_core.config.settings import Values
from rpd_core.errors import ConfigError

ANEW = "a permission is given anew each time"
"""Why no file grants trust."""
_TRUST = re.compile(r"(^|[,:'\"])\s*trust\s*=")
_LARGEST = 1_000_000
"""Bytes of a file."""


def read_table(path: Path) -> Values:
    """Return what a TOML file holds."""
    import tomllib  # most commands read no file

    text = _content(path)
    try:
        return tomllib.loads(text.decode("utf-8-sig"))  # some editors begin with a byte order mark
    except RecursionError:
        raise ConfigError(f"{str(path)!r} is not TOML of ours: it is nested too deeply") from None
    except ValueError as error:  # of TOML, of UTF-8, or of a number with thousands of digits
        raise ConfigError(f"{str(path)!r} is not TOML: {error}") from error


def _content(path: Path) -> bytes:
    """Read an ordinary file of a size that people write; wherever it lies, links are followed."""
    try:
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)  # opening a pipe would wait for ever
        with os.fdopen(os.open(path, flags), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise ConfigError(f"{str(path)!r} is not an ordinary file: name a TOML file")
            content = stream.read(_LARGEST + 1)
    except OSError as error:
        raise ConfigError(f"cannot read {str(path)!r}: {error.strerror}") from error
    if len(content) > _LARGEST:
        raise ConfigError(f"{str(path)!r} has more than {_LARGEST} bytes: name a TOML file")
    return content


def refuse_trust(name: str, value: object) -> None:
    """Refuse a text of a file that lets a policy run code."""
    if isinstance(value, str) and _TRUST.search(value):
        raise ConfigError(f"{name} has trust=, which belongs on the command line: {ANEW}")
