"""Spec strings: `round:digits=1` <-> Spec -> the values of a component's fields.

The grammar is `name`, `name:value` or `name:value,key=value,...`, split at the first colon.
An item is a parameter only if its key is a field of the component; anything else is the value of
the first field, so that paths with an equals sign stay paths. Quotes protect commas. Where a field
is declared with `further`, it takes the later items whose keys are no fields.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from rpd_core.errors import SpecError, nearest
from rpd_core.plugin.hookspecs import KIND_OF_PROTOCOL

NAME = re.compile(r"[A-Za-z][\w.-]*")
"""What a component may be called."""
HUB = "hf:"
"""How a path begins that is a file of the Hugging Face hub."""
_COMPARISON = re.compile(r"([A-Za-z]\w*)\s*(>=|<=|>|<)\s*(.*)", re.DOTALL)
_QUOTES = "'\""
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


def pinned(spec: Spec, fields: Iterable[Field], looks_like: str) -> Spec:
    """Return a spec whose files on the hub are named with their commits."""
    paths = {
        field.name for field in fields if Path in (field.annotation, *get_args(field.annotation))
    }
    there = {key: text for key, text in spec.values.items() if key in paths and is_on_hub(text)}
    if not there:
        return spec
    from rpd_core.plugin import hub  # few specs name a file of the hub

    known = {key: hub.pinned(text, looks_like) for key, text in there.items()}
    return replace(spec, values={**spec.values, **known})


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
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return _convert_union(text, get_args(annotation), nested)
    if origin is Literal:
        return _convert_literal(text, get_args(annotation))
    if origin in (tuple, list):
        element = get_args(annotation)[0]
        return tuple(convert(part, element, nested) for part in _PLUS.split(text) if part != "")
    if isinstance(annotation, type) and annotation in KIND_OF_PROTOCOL:
        return nested(KIND_OF_PROTOCOL[annotation].name, text)
    if annotation is str or annotation is Any:
        return text
    readers = (bool, _convert_bool), (Path, _convert_path), (int, whole_number), (float, number)
    for kind, read in readers:
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


def _convert_bool(text: str) -> bool:
    known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in known:
        raise ValueError(f"must be true or false, got {text!r}")
    return known[text.lower()]


def _convert_literal(text: str, options: tuple[object, ...]) -> object:
    for option in options:
        if text == str(option):
            return option
    listed = ", ".join(map(str, options))
    raise ValueError(f"must be one of {listed}, got {text!r}.{nearest(text, map(str, options))}")


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
