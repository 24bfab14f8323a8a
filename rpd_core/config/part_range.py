"""Which parts of a suite are to be built: a range that any machine can be given."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rpd_core.config.settings import Settings
from rpd_core.errors import ConfigError, counted

_WRITTEN = re.compile(r"\s*(\d{0,12})\s*:\s*(\d{0,12})\s*")


@dataclass(frozen=True)
class PartRange:
    """Parts from `first` on and before `end`, counted from 0, as in a slice of Python."""

    first: int = 0
    end: int | None = None
    """None: up to the last."""

    def __str__(self) -> str:
        return f"{self.first}:{'' if self.end is None else self.end}"

    def episodes(self, settings: Settings) -> range:
        """Return the episodes of these parts; refuse parts that the suite does not have."""
        total, chunk = settings.episodes, settings.chunk
        count = _number_of_parts(settings)
        end = count if self.end is None else self.end
        if not 0 <= self.first < end <= count:
            raise ConfigError(
                f"there are no parts '{self}': {counted(total, 'episode')} in parts of {chunk} are "
                f"{counted(count, 'part')}, 0:{count}"
            )
        return range(self.first * chunk, min(end * chunk, total))


def _number_of_parts(settings: Settings) -> int:
    """Return how many parts a suite has."""
    return -(-settings.episodes // settings.chunk)


def parse_parts(given: object) -> PartRange:
    """Return the range behind `A:B` or a pair of numbers; either end may be left out."""
    if isinstance(given, PartRange):
        return given
    if isinstance(given, str):
        found = _WRITTEN.fullmatch(given)
        if found:
            return PartRange(int(found[1] or 0), int(found[2]) if found[2] else None)
    elif isinstance(given, tuple | list) and len(given) == 2 and all(map(_is_count, given)):
        return PartRange(*given)
    raise ConfigError(
        f"parts must be A:B, the parts from A on and before B, for example 0:5; got {given!r}"
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
