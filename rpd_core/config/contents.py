"""Which loader a policy file is for, by its content."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rpd_core.errors import RpdError, SpecError
from rpd_core.plugin.protocols import Contents
from rpd_core.plugin.registry import Registration, Registry, installed
from rpd_core.plugin.specs import is_on_hub, split_items, unquote
from rpd_core.untrusted.files import open_regular

_START = 4096
_MEMBER = 2**24
"""Bytes of all members that may be looked into."""


def spelled_out(registry: Registry, kind: str, text: str) -> str:
    """Return a spec as it was typed, or, of a bare path, with the loader that its content tells."""
    if kind != "policy" or _is_named(registry, text):
        return text
    path = _path_in(text)
    names = [one.component.name for one in takers(registry, path)] if path else []
    return f"{_only(names, path)}:{text}" if path and names else text


def _path_in(text: str) -> Path | None:
    """Return the file that a text begins with, if there is one."""
    if is_on_hub(text):
        from rpd_core.plugin import hub  # few specs name a file of the hub

        return hub.local(split_items(text)[0])
    with suppress(OSError, ValueError, RuntimeError, SpecError):
        path = Path(unquote(split_items(text)[0])).expanduser()
        return path if path.is_file() else None
    return None


def _is_named(registry: Registry, text: str) -> bool:
    name = text.partition(":")[0].strip()
    return any(one.component.name == name for one in registry.of_kind("policy"))


def _only(names: list[str], path: Path) -> str:
    if len(names) > 1:
        specs = " or ".join(f"{name}:{path}" for name in names)
        raise SpecError(f"{path.name!r} is a file for several loaders: write {specs}")
    return names[0]


def takers(registry: Registry, path: Path) -> list[Registration]:
    """Return the loaders that a file's content is made for, also those that lack a package."""
    usable = [one for one in registry.of_kind("policy") if one.wanted]
    contents = look_into(path)
    found = []
    for one in usable:
        with suppress(Exception):  # a stranger's function may raise anything
            found += [one] if registry.recognises(one, contents) else []
    return found


def look_into(path: Path) -> Contents:
    """Return how a file begins and, if it is a zip, what it holds; little of it is read."""
    with open_regular(path, "name a file") as stream:
        start = stream.read(_START)
    return (
        dataclasses.replace(_zipped(path), start=start) if start[:2] == b"PK" else Contents(start)
    )


def _zipped(path: Path) -> Contents:
    from rpd_core.untrusted.budget import Budget
    from rpd_core.untrusted.zips import BoundedZip  # whoever only looks at a run needs no zipfile

    try:
        with open_regular(path, "name a file") as stream:
            members = tuple(BoundedZip(stream, Budget(0)).names)
    except Exception:  # a damaged zip makes zipfile raise anything; its loader says what is wrong
        return Contents(b"")

    def read(name: str) -> bytes:
        with suppress(Exception), open_regular(path, "name a file") as stream:
            return BoundedZip(stream, Budget(_MEMBER)).read(name)
        return b""

    return Contents(b"", members, read)


@contextmanager
def advised(loader: object) -> Iterator[None]:
    """Where a loader cannot use a file that is made for another one, name that one instead."""
    try:
        yield
    except RpdError as error:
        advice = _advice(loader)
        if not advice:
            raise
        raise type(error)(advice) from error


def _advice(loader: object) -> str:
    registry = installed()
    own = registry.registration_of("policy", loader)
    path = getattr(loader, "path", None)
    if own is None or not own.component.recognises or not isinstance(path, Path):
        return ""
    with suppress(OSError):
        others = takers(registry, path) if path.is_file() else []  # a pipe never ends
        if others and own not in others:
            specs = " or ".join(f"{one.component.name}:{path}" for one in others)
            summary = others[0].component.summary
            return (
                f"{path.name!r} is not a file for {own.component.name!r}: by its content it is "
                f"for {others[0].component.name!r} ({summary}). Write {specs}"
            )
    return ""
