"""Names of run directories: what was changed from the task's defaults, and no more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rpd_core.config.configuration import Json, component_identity
from rpd_core.config.resolve import Setup, choose
from rpd_core.config.settings import AUTO, Settings, as_tuple, recommended
from rpd_core.errors import RpdError, StoreError
from rpd_core.pilot import known_rate
from rpd_core.plugin.registry import installed
from rpd_core.results.runs import RUNS
from rpd_core.store.directory import RunDirectory

LONGEST = 80
"""Characters of a name without its digest."""
_LONGEST_WORD = 32
_DIGITS = 6
_FOLDERS = re.compile(r"[^:,=]*/")
_ENDING = re.compile(r"\.(zip|pt|pth|pb|ts)\b")


def default_directory(setup: Setup) -> Path:
    """Return the directory of a run that was given none: the same for the same settings.

    A digest is added where the name does not say it all, because a file or a module decides, the
    name would be too long, or its directory holds something else.
    """
    words = [(text, identity) for text, identity in _changed(setup) if text]
    name = base_name(setup)
    told_apart = RUNS / f"{name}_{setup.config.digest()[:_DIGITS]}"
    cut = "_".join(_cleaned(text) for text, _ in words) != name
    content = any("sha256:" in repr(identity) for _, identity in words)
    if cut or content or setup.config.live or told_apart.exists():
        return told_apart
    return told_apart if _is_taken(RUNS / name, setup) else RUNS / name


def base_name(setup: Setup) -> str:
    """Return what a run is called, without a digest."""
    words = (_cleaned(text)[:_LONGEST_WORD].strip("-.") for text, _ in _changed(setup))
    return "_".join(filter(None, words))[:LONGEST].rstrip("-_.")


def _changed(setup: Setup) -> Iterator[tuple[str, object]]:
    """Yield the environment and what its task does not recommend, and what components are."""
    config, task = setup.config, setup.task
    settings, usual = config.settings, recommended(task, Settings())
    known = config.components
    yield config.env, known["env"]
    if [known["policy"]] != _identities("policy", task.policy):
        yield config.policy, known["policy"]
    if known["abstraction"] != _identities("abstraction", usual["abstraction"]):
        yield "-".join(map(str, settings.abstraction)), known["abstraction"]
    if [known["default_action"]] != _identities("default-action", usual["default_action"]):
        yield str(settings.default_action), known["default_action"]
    if config.open_rate:
        yield f"rate-{AUTO}", None
    elif settings.mutation_rate != usual["mutation_rate"]:
        yield f"rate{settings.mutation_rate:g}", None
    for name in ("seed", "lanes"):
        value = getattr(settings, name)
        yield f"{name}{value}" if value != usual[name] else "", None


def _identities(kind: str, usual: object) -> list[Json]:
    """Return what the components are that a task recommends, however they are written."""
    registry = installed()
    try:
        return [
            component_identity(kind, choose(registry, kind, one).recipe, registry)
            for one in as_tuple(usual)
            if one is not None
        ]
    except RpdError:  # the usual one is not installed
        return []


def _cleaned(text: str) -> str:
    """Return a text with nothing but letters, digits, dots and dashes, and without folders."""
    text = _ENDING.sub("", _FOLDERS.sub("", text.replace("\\", "/")))
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")


def _is_taken(path: Path, setup: Setup) -> bool:
    """Return whether a directory holds something else than this run."""
    directory = RunDirectory(path)
    try:
        directory.check(known_rate(setup, directory).config)
    except StoreError:
        return True
    return False
