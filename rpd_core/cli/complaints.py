"""Words on the command line that the parser refuses, with what was probably meant."""

from __future__ import annotations

import re
from typing import Any

from rpd_core.errors import RpdError

_EXTRA = re.compile(r"Got unexpected extra arguments? ?(?:\(s\) )?\((.*)\)")
_CHOICES = {"--env": "environment", "--policy": "policy"}
"""Options whose value people type without them, and the kind of component that it selects."""


def sentence(error: Any) -> str:
    """Return what is wrong with the words on a command line, in one line."""
    message = str(error.format_message())
    extra = _EXTRA.search(message)
    context = getattr(error, "ctx", None)
    if extra is None or context is None:
        return f"{message} Try --help."
    word = extra[1].split(" ")[0]
    flags = {flag for option in context.command.params for flag in option.opts}
    name = context.command_path
    meant = [f"{flag} {spec}" for flag, spec in _meant(word) if flag in flags]
    advice = f"Did you mean {name} {meant[0]}?" if meant else "Try --help."
    return f"{name} does not take {word!r} by itself. {advice}"


def _meant(word: str) -> list[tuple[str, str]]:
    """Return the options that could take a word, with the spec to give them."""
    from rpd_core.plugin.registry import installed  # not for every wrong word

    registry = installed()
    found = []
    for flag, kind in _CHOICES.items():
        try:
            registry.find(kind, registry.name_in(kind, word), word)
            found.append((flag, word))
        except RpdError as error:
            suggested = re.search(r"Did you mean '([^']+)'", str(error))
            found += [(flag, suggested[1])] if suggested else []
    exact = [one for one in found if one[1] == word]
    return exact or found
