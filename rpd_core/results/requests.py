"""From a run directory back to a request: a stranger's file like any other."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from rpd_core.config.resolve import Selection
from rpd_core.config.settings import Values, as_tuple, declared
from rpd_core.config.trust import check_trust, refuse_code
from rpd_core.errors import SpecError, StoreError
from rpd_core.plugin.registry import Registry, installed
from rpd_core.store.directory import OBJECTS, RunDirectory


def stored_request(
    directory: RunDirectory, analysis: str | None, trust: bool, typed: Values
) -> Values:
    """Return the arguments of a call that continues a stored run.

    What was typed comes first, then the analysis, or what was asked last. Components among the
    rest that may run code are refused unless trusted: whoever made the directory chose them.
    """
    check_trust(trust)
    stored = directory.stored()
    if stored.live and not {"env", "policy"} & typed.keys():
        raise StoreError(
            f"{str(directory.path)!r} was made from functions or objects of a Python process, "
            "which are not stored: it can be read; to play on, call rpd.run again there, or hand "
            "its Run over instead of its path"
        )
    asked = directory.analysis(analysis).settings if analysis else directory.question()
    values: Values = {"env": stored.env, "policy": stored.policy}
    if "policy" not in typed:
        values["policy"] = _found_again(stored.policy, directory, installed())
    values |= {**stored.settings.given(), **(asked.given() if asked is not None else {})}
    named_by = repr(str(directory.path))
    kinds = {
        name: one.kind
        for name, one in declared().items()
        if one.kind and values.get(name) not in one.words
    }
    kept = values.keys() - typed.keys()
    hidden = [one for one in kinds if one in kept and declared()[one].flag == "-"]
    for name in [one for one in hidden if _unknown(one, values[one])]:
        del values[name], kinds[name]  # nobody can name another: the usual one takes its place
    _refuse_unknown({name: values[name] for name in kinds if name in kept}, directory)
    for name, kind in {"env": "environment", "policy": "policy", **kinds}.items():
        if name in values and name not in typed and not trust:
            values[name] = _checked(kind, values[name], named_by)
    return {**values, **typed}


def _unknown(name: str, value: Any) -> SpecError | None:
    """Return what is wrong with a setting that names a component which nobody offers any more."""
    registry, kind = installed(), declared()[name].kind
    try:
        registry.find(kind, registry.name_in(kind, value))
    except SpecError as error:
        return error
    return None


def _refuse_unknown(values: Values, directory: RunDirectory) -> None:
    """Refuse components that nobody offers any more, with what may be given instead."""
    found = [(name, _unknown(name, one)) for name, some in values.items() for one in as_tuple(some)]
    lacking = [(name, error) for name, error in found if error is not None]
    if lacking:
        first, known = lacking[0][1], declared()
        flags = [known[name].flag or f"--{name.replace('_', '-')}" for name, _ in lacking]
        *others, last = dict.fromkeys(flags)
        options = f"{', '.join(others)} and {last}" if others else last
        raise SpecError(
            f"{first} The latest analysis of {str(directory.path)!r} used it: install the plugin "
            f"that offers it, or name others with {options}"
        ) from first


def _checked(kind: str, value: Any, named_by: str) -> Any:
    if isinstance(value, tuple):
        return tuple(_checked(kind, one, named_by) for one in value)
    return Selection(refuse_code(kind, value, installed(), named_by), value)


def _found_again(policy: str, directory: RunDirectory, registry: Registry) -> str:
    """Return the spec of a policy with its files where the run directory is now."""
    folder = directory.path / OBJECTS
    if not folder.is_dir():
        return policy
    spec = registry.parse("policy", policy)
    held = {
        name: str(folder / Path(value).name)
        for name, value in spec.values.items()
        if Path(value).parent.name == OBJECTS and (folder / Path(value).name).is_file()
    }
    return registry.text("policy", dataclasses.replace(spec, values={**spec.values, **held}))
