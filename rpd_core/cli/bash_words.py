"""Completion in bash, which takes words apart at colons and equals signs.

`sb3:mo` arrives as three words, and only what follows the last sign is replaced by an offer. The
words are put together before the parser sees them, and offers lose what stands before that sign.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterator

_SIGNS = re.compile(r"[:=]+")
VARIABLE = "_RPD_COMPLETE"
"""Set by the script that a shell runs for an offer."""


def joined(words: list[str], current: int) -> tuple[list[str], int]:
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
    whole, place = joined(words, current)
    split = len(words[: current + 1]) > len(whole)
    before = max(whole[place].rfind(sign) for sign in ":=") + 1 if split else 0
    # an empty word would get lost on the way; what lies before the cursor is enough
    os.environ["COMP_WORDS"] = "\n".join(word for word in whole if word)
    os.environ["COMP_CWORD"] = str(place)
    with _lines_changed(lambda line: line[before:]):
        yield


@contextlib.contextmanager
def _lines_changed(change: Callable[[str], str]) -> Iterator[None]:
    """Print what is printed meanwhile with every line changed."""
    kept = io.StringIO()
    try:
        with contextlib.redirect_stdout(kept):
            yield
    finally:
        lines = kept.getvalue().splitlines()
        sys.stdout.write("".join(f"{change(line)}\n" for line in lines))
