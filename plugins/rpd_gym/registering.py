"""Which installed package registers an id when it is imported, judged from its text alone."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions

_MOST_FILES = 200
"""Files of a package that are read."""


@functools.lru_cache(maxsize=16)
def module_that_registers(name: str) -> str:
    """Return the module of a package that depends on Gymnasium and has the id in its text.

    Nothing is imported: that is for the user to say, with `gym:module:id`. Empty if there is none.
    """
    quoted = re.compile(rf"""["']{re.escape(name)}["']""")
    for distribution in distributions():
        requires = distribution.requires or ()
        if not any(re.match(r"gym(nasium)?\b", one) for one in requires):
            continue
        for file, text in _sources(distribution):
            if quoted.search(text) and "register" in text:
                return file.partition("/")[0].removesuffix(".py")
    return ""


def _sources(distribution: Distribution) -> Iterator[tuple[str, str]]:
    """Yield path and text of the modules of a distribution, those near its top first."""
    files = [one for one in distribution.files or () if one.suffix == ".py"]
    for file in sorted(files, key=lambda one: len(one.parts))[:_MOST_FILES]:
        try:
            yield file.as_posix(), file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
