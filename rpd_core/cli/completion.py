"""What the shell offers after Tab: specs, names of components, run directories.

All of it is read from catalogues and sources, so that nothing heavy is imported.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from rpd_core.errors import RpdError
from rpd_core.plugin.hookspecs import KINDS
from rpd_core.plugin.importing import Parameter
from rpd_core.plugin.registry import installed

Offer = tuple[str, str]
"""A word, and what it means."""
_LITERAL = re.compile(r"Literal\[(.*)\]")
_MOST = 200
"""Files that are offered."""


def specs_of(kind: str) -> Callable[[str], list[Offer]]:
    """Return what completes a spec of one kind."""

    def complete(incomplete: str) -> list[Offer]:
        try:
            return list(_specs(kind, incomplete))
        except RpdError:  # a name that nothing has, half a quote: there is nothing to offer
            return []

    return complete


def _specs(kind: str, text: str) -> Iterator[Offer]:
    name, colon, rest = text.partition(":")
    if not colon:
        for one in installed().of_kind(kind):
            if one.ready:
                asked = installed().describe(kind, one.component.name).parameters
                needs = any(parameter.default is None for parameter in asked)
                yield f"{one.component.name}{':' * needs}", one.component.summary
        return
    parameters = installed().describe(kind, name).parameters
    given, comma, last = rest.rpartition(",")
    before = f"{name}:{given}{comma}"
    key, equals, value = last.partition("=")
    named = [one for one in parameters if one.name == key] if equals else []
    if named:
        yield from _values(named[0], f"{before}{key}=", value)
        return
    if not given and parameters:
        yield from _values(parameters[0], before, last)
    taken = {item.partition("=")[0] for item in given.split(",")}
    left = (parameter for parameter in parameters if parameter.name not in taken)
    yield from ((f"{before}{parameter.name}=", parameter.help) for parameter in left)


def _values(parameter: Parameter, before: str, value: str) -> Iterator[Offer]:
    """Yield what a parameter may be, as far as its annotation tells."""
    annotation = parameter.annotation
    literal = _LITERAL.search(annotation)
    protocols = {kind.protocol.__name__: kind.name for kind in KINDS.values()}
    nested = [protocols[word] for word in re.findall(r"\w+", annotation) if word in protocols]
    if literal:
        for word in literal[1].split(","):
            yield f"{before}{word.strip().strip(chr(39) + chr(34))}", parameter.help
    elif nested:
        yield from ((f"{before}{spec}", about) for spec, about in _specs(nested[0], value))
    elif "Path" in annotation:
        yield from ((f"{before}{path}", "") for path in _paths(value))
    elif annotation.startswith("bool"):
        yield from ((f"{before}{word}", parameter.help) for word in ("true", "false"))


def _paths(text: str) -> Iterator[str]:
    folder = text[: text.rfind("/") + 1]
    try:
        entries = sorted(os.scandir(folder or "."), key=lambda one: one.name)
    except OSError:
        return
    for one in entries[:_MOST]:
        if not one.name.startswith(".") or text[len(folder) :].startswith("."):
            yield f"{folder}{one.name}{'/' * one.is_dir()}"


def complete_run(incomplete: str) -> list[str]:
    """Offer run directories and the folders on the way to them; those in `runs` at once."""
    folders = [path for path in _paths(incomplete) if path.endswith("/")]
    offered = [path.rstrip("/") if _is_run(path) else path for path in folders]
    if not incomplete:
        inner = [path.rstrip("/") for path in _paths("runs/") if _is_run(path)]
        offered = [*inner, *(path for path in offered if path != "runs/" or not inner)]
    return offered


def _is_run(path: str) -> bool:
    return Path(path, "run.json").is_file()


def complete_kind(incomplete: str) -> list[str]:
    """Offer the kinds of component."""
    return [kind for kind in KINDS if kind.startswith(incomplete)]


def complete_name(kind: str) -> list[Offer]:
    """Offer the names of the components of a kind."""
    return [(one.component.name, one.component.summary) for one in installed().of_kind(kind)]


_SIGNS = re.compile(r"[:=]+")
VARIABLE = "_RPD_COMPLETE"
"""Set by the script that a shell runs for an offer."""


def whole_line(words: list[str], current: int) -> tuple[list[str], int]:
    """Return the words as they were typed, and which of them the cursor is in."""
    whole: list[str] = []
    place = current
    glued = False
    for position, word in enumerate(words[: current + 1]):
        sign = bool(_SIGNS.fullmatch(word))
        if whole[1:] and (sign or glued):
            whole[-1] += word
        else:
            whole.append(word)
        glued = sign
        if position == current:
            place = len(whole) - 1
    return whole, place


@contextlib.contextmanager
def whole_words() -> Iterator[None]:
    """Meanwhile let a request of bash for offers hold words as they were typed."""
    if os.environ.get(VARIABLE) != "complete_bash" or "COMP_WORDS" not in os.environ:
        yield
        return
    words, current = os.environ["COMP_WORDS"].split("\n"), int(os.environ["COMP_CWORD"])
    words += [""] * (current + 1 - len(words))
    whole, place = whole_line(words, current)
    split = len(words[: current + 1]) > len(whole)
    before = max(whole[place].rfind(sign) for sign in ":=") + 1 if split else 0
    # an empty word would get lost on the way; what lies before the cursor is enough
    os.environ["COMP_WORDS"] = "\n".join(word for word in whole if word)
    os.environ["COMP_CWORD"] = str(place)
    kept = io.StringIO()
    try:
        with contextlib.redirect_stdout(kept):
            yield
    finally:
        lines = kept.getvalue().splitlines()
        sys.stdout.write("".join(f"{line[before:]}\n" for line in lines))
