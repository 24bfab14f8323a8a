"""What people type, checked before anything heavy is imported: options, TOML files, ranges."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rpd_core.config.configuration import file_digest
from rpd_core.config.settings import Request, Settings, Values, check_value, declared
from rpd_core.errors import ConfigError, RpdError, counted
from rpd_core.plugin import specs
from rpd_core.plugin.hookspecs import KINDS
from rpd_core.plugin.registry import Registry
from rpd_core.untrusted.files import NotAFile, open_regular

_KIND_OF = {kind.protocol.__name__: kind.name for kind in KINDS.values()}
"""The kind of component that a parameter takes a spec of, by its annotation."""
_READ = {"policy": "policy", "default_action": "default-action"}
"""What may name a file, and its kind."""


def check_typed(typed: Mapping[str, object], registry: Registry) -> None:
    """Refuse wrong names, numbers and files, as far as catalogues and sources tell."""
    check_names_and_numbers(typed, registry)
    check_files(typed, registry)


def check_names_and_numbers(typed: Mapping[str, Any], registry: Registry) -> None:
    from rpd_core.config.resolve import check_names  # weight that reading a run has no use for

    check_names(Request(**{"env": None, **typed}), registry)
    for name, setting in declared().items():
        if name in typed and typed[name] not in setting.words:
            check_value(name, typed[name])


def check_files(typed: Mapping[str, Any], registry: Registry) -> None:
    """Refuse a file that is not there, unless it may be one whose ending was left out."""
    for name, kind in _READ.items():
        paths: list[Path] = []
        with suppress(RpdError, ValueError):  # what else is wrong is found when it is made
            if isinstance(typed.get(name), str):
                paths = list(_paths_in(kind, typed[name], registry))
        for path in paths:
            if not path.exists() and not glob.glob(f"{glob.escape(str(path))}.*"):
                file_digest(path)  # which says so


def _paths_in(kind: str, text: str, registry: Registry) -> Iterator[Path]:
    """Yield the files that a spec names, as far as the source of its component tells."""
    name, rest = specs.split_name(text, kind)
    parameters = {one.name: one for one in registry.describe(kind, name).parameters}
    if rest is None or not parameters:
        return
    first = next(iter(parameters.values()))
    inner = _KIND_OF.get(first.annotation)
    if inner is not None:
        yield from _paths_in(inner, rest.removeprefix(f"{first.name}="), registry)
        return
    for item in specs.split_items(rest):
        key, equals, value = item.partition("=")
        known = bool(equals) and key.strip() in parameters
        parameter, value = (parameters[key.strip()], value) if known else (first, item)
        if parameter.annotation in ("Path", "Path | None") and value.strip().lower() != "none":
            yield specs.convert(specs.unquote(value), Path, registry.make)


ANEW = "a permission is given anew each time"  # why no file grants trust
_TRUST = re.compile(r"(^|[,:'\"])\s*trust\s*=")
_LARGEST = 1_000_000  # bytes of a file


def read_table(path: Path) -> Values:
    """Return what an ordinary TOML file holds, of a size that people write; links are followed."""
    import tomllib  # most commands read no file

    try:
        with open_regular(path, "name a TOML file") as stream:
            content = stream.read(_LARGEST + 1)
    except NotAFile:
        raise ConfigError(f"{str(path)!r} is not an ordinary file: name a TOML file") from None
    except OSError as error:
        raise ConfigError(f"cannot read {str(path)!r}: {error.strerror}") from error
    if len(content) > _LARGEST:
        raise ConfigError(f"{str(path)!r} has more than {_LARGEST} bytes: name a TOML file")
    try:
        return tomllib.loads(content.decode("utf-8-sig"))  # some begin with a byte order mark
    except RecursionError:
        raise ConfigError(f"{str(path)!r} is not TOML of ours: it is nested too deeply") from None
    except ValueError as error:  # of TOML, of UTF-8, or of a number with thousands of digits
        raise ConfigError(f"{str(path)!r} is not TOML: {error}") from error


def refuse_trust(name: str, value: object) -> None:
    """Refuse a text of a file that lets a policy run code."""
    if isinstance(value, str) and _TRUST.search(value):
        raise ConfigError(f"{name} has trust=, which belongs on the command line: {ANEW}")


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
        count = -(-total // chunk)
        end = count if self.end is None else self.end
        if not 0 <= self.first < end <= count:
            raise ConfigError(
                f"there are no parts '{self}': {counted(total, 'episode')} in parts of {chunk} are "
                f"{counted(count, 'part')}, 0:{count}"
            )
        return range(self.first * chunk, min(end * chunk, total))


def parse_parts(given: object) -> PartRange:
    """Return the range behind `A:B` or a pair of numbers; either end may be left out."""
    if isinstance(given, PartRange):
        return given
    if isinstance(given, str):
        found = _WRITTEN.fullmatch(given)
        if found:
            return PartRange(int(found[1] or 0), int(found[2]) if found[2] else None)
    elif isinstance(given, tuple | list) and len(given) == 2:
        whole = [isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in given]
        if all(whole):
            return PartRange(*given)
    raise ConfigError(
        f"parts must be A:B, the parts from A on and before B, for example 0:5; got {given!r}"
    )
