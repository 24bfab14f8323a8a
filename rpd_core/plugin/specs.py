"""Spec strings: `round:digits=1` <-> Spec <-> the fields of a component, read off its class.

The grammar is `name`, `name:value` or `name:value,key=value,...`, split at the first colon.
An item is a parameter only if its key is a field of the component; anything else is the value of
the first field, so that paths with an equals sign stay paths. Quotes protect commas. Where a field
is declared with `further`, it takes the later items whose keys are no fields.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from rpd_core.errors import SpecError, nearest
from rpd_core.plugin.hookspecs import KIND_OF_PROTOCOL

NAME = re.compile(r"[A-Za-z][\w.-]*")  # what a component may be called
HUB = "hf:"  # how a path begins that is a file of the Hugging Face hub
_COMPARISON = re.compile(r"([A-Za-z]\w*)\s*(>=|<=|>|<)\s*(.*)", re.DOTALL)
_QUOTES = "'\""
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_PLUS = re.compile(r"(?<![0-9.][eE])\+")  # not the plus of 1e+3


@dataclass(frozen=True)
class Spec:
    """A component chosen by name, with the text of the parameters that were given."""

    name: str
    values: Mapping[str, str] = field(default_factory=dict)
    """Field name to text, in the order of the component's fields; then further keys, sorted."""
    first: str = ""
    """Name of the component's first field, whose value may stand without its name."""
    nested: bool = False
    """The first field takes a spec itself, and with it everything after the colon."""
    comparison: bool = False
    """Written in the short form of conditions, `return>=200`."""

    def __str__(self) -> str:
        if self.comparison:
            return f"{self.name}{self.values['op']}{self.values['bound']}"
        if self.nested and set(self.values) == {self.first} and self.values[self.first]:
            return f"{self.name}:{self.values[self.first]}"
        items = []
        for key, text in self.values.items():
            bare = key == self.first and "=" not in text
            quoted = quote(text, always=self.nested and key == self.first)
            items.append(quoted if bare else f"{key}={quoted}")
        return f"{self.name}:{','.join(items)}" if items else self.name

    def __hash__(self) -> int:
        return hash(str(self))


def split_name(text: str, kind: str) -> tuple[str, str | None]:
    name, colon, rest = text.strip().partition(":")
    if not NAME.fullmatch(name):
        meant = text.replace("=>", ">=").replace("=<", "<=")
        hint = "" if meant == text else f" Did you mean {meant!r}?"
        article = "an" if kind[0] in "aeiou" else "a"
        raise SpecError(
            f"{text!r} is not {article} {kind} spec: expected name, name:value or "
            f"name:key=value,...{hint}"
        )
    if colon and not rest.strip():
        raise SpecError(f"{text!r} ends after the colon: give a value or leave the colon out")
    return name, rest if colon else None


def expand_comparison(text: str) -> str:
    """Turn the short form `return>=200` into `return:op=>=,bound=200`; leave others alone."""
    match = _COMPARISON.fullmatch(text.strip())
    if match is None:
        return text
    name, op, bound = match.groups()
    return f"{name}:op={op},bound={bound.strip()}"


def is_comparison(spec: Spec) -> bool:
    """Return whether a condition can be written in the short form and read again."""
    values = spec.values
    if set(values) != {"op", "bound"} or quote(values["bound"]) != values["bound"]:
        return False
    match = _COMPARISON.fullmatch(f"{spec.name}{values['op']}{values['bound']}")
    return match is not None and match.groups() == (spec.name, values["op"], values["bound"])


@dataclass(frozen=True)
class Field:
    """A parameter of a component, as its class declares it."""

    name: str
    annotation: object
    """The type, resolved."""
    required: bool = False
    permission: bool = False
    """Permitted by the user each time anew: never part of what is stored."""
    further: bool = False
    """Takes, as `key=value`, every item whose key is the name of no field."""


def parse(
    name: str, rest: str | None, fields: Sequence[Field], learned: Collection[str] = ()
) -> Spec:
    """Read the items after the colon with the component's fields at hand."""
    names = [field.name for field in fields]
    if rest is None:
        return Spec(name, {}, names[0] if names else "")
    if not fields and not learned:
        raise SpecError(f"{name!r} takes no parameters, got {rest!r}")
    nested = bool(fields) and bool(nested_kind(fields[0].annotation))
    if nested and rest.removeprefix(f"{names[0]}=")[:1] not in tuple(_QUOTES):
        return Spec(name, {names[0]: rest.removeprefix(f"{names[0]}=").strip()}, names[0], True)
    open_ended = bool(further_field(fields))
    given: dict[str, str] = {}
    for position, item in enumerate(split_items(rest)):
        key, equals, text = item.partition("=")
        key = key.strip()
        if equals and key in learned:
            raise SpecError(_learned(name, key))
        named = key in names or (open_ended and position > 0 and key.isidentifier())
        if not (equals and named):
            key, text = _positional(name, item, position, names), item
        if key in given:
            raise SpecError(f"{name!r} got {key!r} twice in {rest!r}")
        given[key] = unquote(text)
    order = [*names, *sorted(given.keys() - {*names})]
    values = {key: given[key] for key in order if key in given}
    return Spec(name, values, names[0] if names else "", nested)


def further_field(fields: Iterable[Field]) -> str:
    """Return the name of the field that takes what has no field of its own; empty if none does."""
    return next((field.name for field in fields if field.further), "")


def is_on_hub(text: str) -> bool:
    return text.startswith(HUB)


def check_keys(spec: Spec, fields: Mapping[str, Field], learned: Collection[str]) -> None:
    """Refuse a spec, maybe one made in Python, that gives what its component does not take."""
    names, open_ended = list(fields), bool(further_field(fields.values()))
    for key in spec.values:
        if key in learned:
            raise SpecError(_learned(spec.name, key))
        if key not in names and not (open_ended and key.isidentifier()):
            hint = nearest(key, names) or f" It takes {', '.join(names) or 'none'}."
            raise SpecError(f"{key!r} is not a parameter of {spec.name!r}.{hint}")


def _learned(name: str, key: str) -> str:
    return f"{name!r}: {key!r} is learned from episodes and is not a parameter: leave it out"


def nested_kind(annotation: object) -> str:
    """Return the kind of component that a field takes a spec of; empty if none."""
    for one in (annotation, *get_args(annotation)):
        if isinstance(one, type) and one in KIND_OF_PROTOCOL:
            return KIND_OF_PROTOCOL[one].name
    return ""


def _positional(name: str, item: str, position: int, names: list[str]) -> str:
    if position == 0 and names:
        return names[0]
    if not names:  # all it has is learned
        raise SpecError(f"{name!r} takes no parameters, got {item!r}")
    key = item.partition("=")[0].strip()
    hint = nearest(key, names) or f" It takes {', '.join(names)}."
    raise SpecError(
        f"{item!r} is not a parameter of {name!r}.{hint} Quote a value that contains a comma."
    )


def split_items(text: str) -> list[str]:
    """Split at commas outside quotes."""
    items, current, mark = [], "", ""
    for character in text:
        if mark:
            mark = "" if character == mark else mark
        elif character in _QUOTES and (not current or current.endswith("=")):
            mark = character
        elif character == ",":
            items.append(current)
            current = ""
            continue
        current += character
    if mark:
        raise SpecError(f"a quote is not closed in {text!r}")
    return [*items, current]


def quote(text: str, always: bool = False) -> str:
    """Put a value in quotes if it would not survive on its own."""
    if text and not always and not {*_QUOTES, ","} & set(text) and text == text.strip():
        return text
    mark = '"' if '"' not in text else "'"
    if mark in text:
        raise SpecError(f"{text!r} contains both kinds of quotes and cannot be written as a spec")
    return f"{mark}{text}{mark}"


def unquote(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in _QUOTES:
        return text[1:-1]
    return text


Nested = Callable[[str, str], object]
"""Builds the component of a nested spec: (kind, text) -> recipe."""


def convert(text: str, annotation: object, nested: Nested) -> Any:
    """Convert the text of a parameter to what its field is annotated with."""
    origin, members = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _convert_union(text, members, nested)
    if origin is Literal:
        options = {str(option): option for option in members}
        if text in options:
            return options[text]
        raise ValueError(
            f"must be one of {', '.join(options)}, got {text!r}.{nearest(text, options)}"
        )
    if origin in (tuple, list):
        parts = [part for part in _PLUS.split(text) if part != ""]
        return tuple(convert(part, members[0], nested) for part in parts)
    if isinstance(annotation, type) and annotation in KIND_OF_PROTOCOL:
        return nested(KIND_OF_PROTOCOL[annotation].name, text)
    if annotation is str or annotation is Any:
        return text
    if annotation is bool and text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    if annotation is bool:
        raise ValueError(f"must be true or false, got {text!r}")
    for kind, read in ((Path, _convert_path), (int, whole_number), (float, number)):
        if annotation is kind:
            return read(text)
    raise ValueError(f"cannot be set in a spec: {annotation} has no text form")


def whole_number(text: str) -> int:
    """Read a whole number, also one written as 1e4."""
    try:
        return int(text)
    except ValueError:  # also of digits beyond Python's limit
        pass
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if abs(value) < 2.0**53 and value.is_integer():  # beyond, floats skip numbers
        return int(value)
    raise ValueError(f"must be a whole number, got {shortened(text)!r}")


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"must be a number, got {shortened(text)!r}") from None


def shortened(text: str, longest: int = 80) -> str:
    """Return a text that fits on a line, cut where it is longer."""
    return text if len(text) <= longest else f"{text[:longest]}..."


def _convert_path(text: str) -> Path:
    if is_on_hub(text):
        from rpd_core.plugin import hub  # few specs name a file of the hub

        return hub.local(text)
    if "\0" in text:
        raise ValueError(f"must be a path, got {text!r}")
    try:
        return Path(text).expanduser().absolute()  # a worker may have another working directory
    except RuntimeError:  # ~nosuchuser
        raise ValueError(f"must be a path, and {text.split('/')[0]!r} is nobody's home") from None


def _convert_union(text: str, members: tuple[object, ...], nested: Nested) -> Any:
    if type(None) in members and text.lower() == "none":
        return None
    failure: ValueError | None = None
    for member in members:
        try:
            if member is not type(None):
                return convert(text, member, nested)
        except ValueError as error:
            failure = failure or error
    raise failure or ValueError(f"cannot read {text!r}")


def fields_of(target: Callable[..., object]) -> tuple[Field, ...]:
    """Return the parameters of a recipe's class, or of a function that builds one."""
    if not dataclasses.is_dataclass(target):
        return _arguments_of(target)
    hints = typing.get_type_hints(target)
    return tuple(
        Field(
            item.name,
            hints[item.name],
            item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING,
            bool(item.metadata.get("not_identity")) and hints[item.name] is bool,
            bool(item.metadata.get("further")),
        )
        for item in dataclasses.fields(target)
        if item.init and not item.metadata.get("learned")
    )


def learned_names(target: object) -> set[str]:
    """Return the names of the fields that only `fit` sets."""
    if not dataclasses.is_dataclass(target):
        return set()
    return {item.name for item in dataclasses.fields(target) if item.metadata.get("learned")}


def _arguments_of(function: Callable[..., object]) -> tuple[Field, ...]:
    hints = typing.get_type_hints(function)
    return tuple(
        Field(name, hints.get(name, str), one.default is inspect.Parameter.empty)
        for name, one in inspect.signature(function).parameters.items()
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    )


def spec_of(
    name: str, recipe: Any, fields: Sequence[Field], nested: Callable[[str, Any], str]
) -> Spec | None:
    """Return the spec of a recipe, without what is left at its default; None: it has no text."""
    defaults = {item.name: item.default for item in dataclasses.fields(recipe)}
    values = {}
    for one in fields:
        value = getattr(recipe, one.name)
        if one.permission or value == defaults[one.name]:
            continue
        kind = nested_kind(one.annotation)
        text = nested(kind, value) if kind and not isinstance(value, str) else _written(value)
        if text is None:
            return None
        values[one.name] = text
    first = fields[0] if fields else None
    within = first is not None and bool(nested_kind(first.annotation))
    return Spec(name, values, first.name if first else "", within)


def _written(value: object) -> str | None:
    """Return a parameter as a spec string has it; None where it has no text."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float | Path):
        return str(value)
    if isinstance(value, tuple | list):
        parts = [_written(one) for one in value]
        return None if None in parts else "+".join(str(part) for part in parts)
    if callable(value):
        named = value if hasattr(value, "__qualname__") else type(value)
        return f"{named.__module__}:{named.__qualname__}"
    return None


def nested_components(recipe: object) -> Iterator[tuple[str, object]]:
    """Yield (kind, recipe) of the components among a recipe's fields, at any depth."""
    if not dataclasses.is_dataclass(recipe):
        return
    hints = type_hints(recipe.__class__)
    for item in dataclasses.fields(recipe):
        value = getattr(recipe, item.name)
        kind = nested_kind(hints.get(item.name))
        if kind and value is not None and not isinstance(value, str):
            yield kind, value
            yield from nested_components(value)


@functools.lru_cache(maxsize=256)
def type_hints(target: Hashable) -> dict[str, object]:
    """Return the annotations of a class, resolved; none where they cannot be."""
    try:
        return typing.get_type_hints(target)
    except Exception:  # annotations of a stranger's class; then nothing in it is nested
        return {}
