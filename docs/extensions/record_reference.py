"""Fill tables of fields, arguments and members from docstrings, so that each is told once.

A mark `<!-- fields: Task -->` becomes the table of a public record, `<!-- members: Lanes -->`
that of a class or protocol, and `<!-- arguments: rpd:run -->` that of `run`. How the docstring
under a field becomes a row: a shape or a batch before its first colon is what the array looks like,
and what follows `At the first step:` gets a column of its own.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, ForwardRef

from program_reference import cell
from sphinx.util.inspect import stringify_signature

from rpd.parameters import EnvironmentParameters, PolicyParameters
from rpd_core import api
from rpd_core.config.settings import declared
from rpd_core.plugin.importing import Parameter, describe_target
from rpd_pictures.subjects import DrawOptions
from rpd_studies.grid import PlayingGrid
from rpd_work.options import TrackerOptions

PAGES = ("reference/hooks", "reference/python")
MARK = re.compile(r"<!-- (fields|members|arguments): ([\w.:]+) -->")
ROWS = {
    "StepResult": "lanes", "PolicyInput": "lanes", "Choice": "lanes", "Moment": "lanes",
    "FitSample": "steps", "Episodes": "episodes", "Visits": "visits", "States": "states",
    "Spectrum": "states", "Returns": "states", "Evidence": "states", "Scores": "states",
}  # fmt: skip
"""What the arrays of a record have a row for, where a field says nothing else."""
DTYPES = {"FloatArray": "float64", "IntArray": "int64", "BoolArray": "bool", "KeyArray": "uint64"}
_SHAPED = re.compile(r"(`\([^`]*\)`[^:]*|A batch[^:]*): (.*)")
_FIRST = "At the first step:"
_PLAIN = {None, "None", "''", '""', "()", "False", "dict()", "_logged", "nullcontext"}
"""Defaults that need not be told."""


def filled_records(text: str) -> str:
    """Return a page with a table in place of each mark."""
    return MARK.sub(lambda found: _TABLES[found[1]](found[2]), text)


def _named(name: str) -> Any:
    """Return a public thing: of `rpd_core` where no module is named."""
    module, _, attribute = name.rpartition(":")
    return getattr(importlib.import_module(module or "rpd_core"), attribute)


def _table(headings: list[str], rows: list[list[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


# ---------------------------------------------------------------------- fields


def _fields(name: str) -> str:
    """Return the table of a dataclass: field, type or shape, meaning."""
    record = _named(name)
    found = describe_target(f"{record.__module__}:{record.__qualname__}").parameters
    rows = [_field_row(one, ROWS.get(record.__name__, "")) for one in found]
    shaped = record.__name__ in ROWS
    headings = ["field", "shape, dtype" if shaped else "type", "meaning"]
    if any(row[3] for row in rows):
        return _table([*headings, "at the first step of an episode"], rows)
    return _table(headings, [row[:3] for row in rows])


def _field_row(one: Parameter, rows: str) -> list[str]:
    meaning, _, at_first = one.help.partition(_FIRST)
    kind, meaning = _kind_of(one.annotation, meaning.strip(), rows)
    if one.default not in _PLAIN:
        meaning = f"{meaning.rstrip('.')}. Default `{one.default}`."
    return [f"`{one.name}`", kind, cell(meaning), cell(at_first.strip().rstrip("."))]


def _kind_of(annotation: str, meaning: str, rows: str) -> tuple[str, str]:
    """Return what a field holds, as its docstring says or else by its annotation."""
    plain, optional, _ = annotation.partition(" | None")
    or_none = ", or None" if optional else ""
    said = _SHAPED.match(meaning)
    if said:
        kind = said[1][0].lower() + said[1][1:]
        dtype = "" if not kind.endswith("`") else f" {DTYPES[plain]}"
        return f"{kind}{dtype}{or_none}", said[2][0].upper() + said[2][1:]
    if plain in DTYPES:
        return f"`({rows},)` {DTYPES[plain]}{or_none}", meaning
    named = re.fullmatch(r"(?:Mapping|dict)\[str, (\w*Array)\]", plain)
    if named:
        shape = f"`({rows},)` {DTYPES[named[1]]}" if named[1] in DTYPES else f"`({rows}, ...)`"
        return f"name to {shape}", meaning
    return ("anything" if plain == "Any" else f"`{cell(plain)}`") + or_none, meaning


# --------------------------------------------------------------------- members


def _members(name: str) -> str:
    """Return the table of the members of a class, those of its bases first."""
    kind = _named(name)
    rows = {}
    for base in reversed(kind.__mro__):
        for member, text in _own_members(base):
            rows[member.partition("(")[0]] = [f"`{member}`", cell(text)]
    return _table(["member", "what it is"], list(rows.values()))


def _own_members(kind: type) -> Iterator[tuple[str, str]]:
    """Yield fields, properties and methods of a class with what their docstrings say."""
    if kind.__module__ in ("builtins", "typing"):
        return
    for one in describe_target(f"{kind.__module__}:{kind.__qualname__}").parameters:
        yield one.name, one.help
    for name, value in vars(kind).items():
        function = getattr(value, "fget", None) or getattr(value, "func", None) or value
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        yield (f"{name}({_arguments_of(value)})" if function is value else name), _doc(function)


def _doc(function: Callable[..., Any]) -> str:
    text = " ".join((function.__doc__ or "").split())
    assert text, f"{function.__qualname__} has no docstring"
    return text


def _arguments_of(function: Callable[..., Any]) -> str:
    _, *parameters = inspect.signature(function).parameters.values()
    return ", ".join(_argument(one) for one in parameters)


def _argument(one: inspect.Parameter) -> str:
    if one.kind is one.VAR_KEYWORD:
        return f"**{one.name}"
    return one.name if one.default is one.empty else f"{one.name}={one.default!r}"


# ------------------------------------------------------------------- arguments


def _arguments(name: str) -> str:
    """Return the table of the arguments of a function whose signature is that of a record."""
    settings = declared()
    told = {one.name: one.help for one in describe_target("rpd_core.api:Call").parameters}
    told |= {key: one.help for key, one in settings.items()}
    names = inspect.signature(_named(name)).parameters
    rows = [[f"`{key}`", cell(_with_default(told[key], names[key].default))] for key in names]
    return _table(["argument", "meaning"], rows)


def _with_default(text: str, default: object) -> str:
    """Return a sentence with a default that it does not name."""
    shown = isinstance(default, int | float | str) and default is not False and default != ""
    return f"{text.rstrip('.')}. Default {default}." if shown and "efault" not in text else text


_TABLES = {"fields": _fields, "members": _members, "arguments": _arguments}


# ------------------------------------------------------------------ signatures


class _Ellipsis:
    """What stands for a default that is code, whose address means nothing."""

    def __repr__(self) -> str:
        return "..."


def _is_code(default: object) -> bool:
    return callable(default) and default is not inspect.Parameter.empty


def shown_signature(function: Callable[..., Any]) -> str:
    """Return a signature with the keywords that stand behind `Unpack`, without addresses."""
    signature = inspect.signature(function)
    parameters = [
        one.replace(default=_Ellipsis()) if _is_code(one.default) else one
        for own in signature.parameters.values()
        for one in _spread(own)
    ]
    return stringify_signature(
        signature.replace(parameters=parameters), show_return_annotation=False
    )


_KEYWORDS = {
    kind.__name__: kind
    for kind in (
        *(api.Playing, PlayingGrid, PolicyParameters, EnvironmentParameters),
        *(DrawOptions, TrackerOptions),
    )
}
"""The dicts of keywords that stand behind `Unpack`."""


def _spread(one: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """Yield a parameter, or those that a dict of keywords names, as `run` has them if it does."""
    spread = re.fullmatch(r"Unpack\[(\w+)\]", str(one.annotation))
    if not spread:
        yield one
        return
    call = inspect.signature(api.Call).parameters
    for name, kind in inspect.get_annotations(_KEYWORDS[spread[1]]).items():
        annotation = kind.__forward_arg__ if isinstance(kind, ForwardRef) else kind
        own = one.replace(
            name=name, kind=one.KEYWORD_ONLY, default=_Ellipsis(), annotation=annotation
        )
        yield call.get(name, own) if spread[1] in ("Playing", "PlayingGrid") else own


def _sign(
    sphinx: Any, what: str, name: str, thing: Any, options: Any, signature: str, returned: str
) -> tuple[str, str] | None:
    return (shown_signature(thing), returned) if what == "function" else None


def _fill(sphinx: Any, page: str, source: list[str]) -> None:
    if page in PAGES:
        source[0] = filled_records(source[0])


def setup(sphinx: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    sphinx.connect("source-read", _fill)
    sphinx.connect("autodoc-process-signature", _sign)
    return {"parallel_read_safe": True}
