"""Template, style, script and data -> one file that needs nothing and lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import zlib
from collections.abc import Iterable, Sequence
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from rpd_core.results.words import few, most_often, part_of, percent, signed
from rpd_pictures.colours import DARK, LIGHT

_LONGEST = 4000
"""Characters of a text from outside that are shown."""
_LONG = 50
"""Characters of a state that do not fit beside its picture; the script has the same number."""

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""Signs that could end a script, and how JSON writes them."""


def render(content: dict[str, Any], run: Path) -> bytes:
    """Return the page; only the script that it carries may run in it, and nothing is loaded.

    Nothing in it tells where the run, or anything else, lies on the disk.
    """
    script = _piece("page.js")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; media-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    made = _environment()
    made.finalize = partial(_shown, _hidden_names(run))
    text = made.from_string(_piece("page.html")).render(
        **content,
        policy=Markup(policy),  # quotes in it are those of the policy
        style=Markup(f"{_colours()}{_piece('page.css')}"),
        script=Markup(script),
    )  # fmt: skip
    return text.encode("utf-8", errors="replace")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _piece(name: str) -> str:
    return (files("rpd_report") / "template" / name).read_text(encoding="utf-8")


def _colours() -> str:
    """Return the colours of drawings, on light and on dark paper."""
    light, dark = (
        "".join(f"--{name}:{colour};" for name, colour in table.items()) for table in (LIGHT, DARK)
    )
    return f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"


def _hidden_names(run: Path) -> tuple[str, ...]:
    """Return how the place of a run may be written."""
    return tuple(dict.fromkeys(str(one) for one in (run.absolute(), run.resolve())))


def _environment() -> Environment:
    made = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["signed"] = signed
    made.filters["percent"] = percent
    made.filters["part"] = part_of
    made.filters["few"] = few
    made.filters["bold"] = _bold
    made.filters["parts"] = _parts
    made.filters["long"] = _is_long
    made.filters["most_often"] = most_often
    return made


def _bold(text: str) -> Markup:
    """Return a sentence of ours in which what stands between two pairs of stars is bold."""
    parts = text.split("**")
    return Markup("").join(
        Markup("<b>{}</b>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def _is_long(state: str) -> bool:
    """Return whether the words of a state want the whole width of its cell."""
    return "\n" not in state and len(_parts(state)[0]) > _LONG


def _parts(state: str) -> tuple[str, str]:
    """Return a state's words and what draws it in signs, in brackets behind them, if anything."""
    words, bracket, drawn = state.partition("  [")
    return (words, f"[{drawn}") if bracket and drawn.endswith("]") else (state, "")


def _shown(hidden: Sequence[str], value: Any) -> Any:
    """Return what an expression writes: texts from outside in printable signs, and not too long.

    Paths in them are written without their folders.
    """
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    if not value.startswith("data:image/"):
        value = without_paths(value, hidden)
    text = value if len(value) <= _LONGEST or value.startswith("data:image/") else (
        f"{value[:_LONGEST]}…"
    )  # fmt: skip
    return "".join(sign if sign.isprintable() or sign == "\n" else "\ufffd" for sign in text)


_PATH = re.compile(
    r"(?:(?<=^)|(?<=[\s:=,'\"(]))(?:[A-Za-z]:\\|~?/)(?:[\w.@+ -]+[/\\])+(?=[\w.@+-])"
)
"""The folders of an absolute path."""


def without_paths(text: str, hidden: Sequence[str] = ()) -> str:
    """Return a text in which no absolute path is left; `hidden` are places that are called RUN."""
    for name in hidden:
        if len(name) > 1:
            text = text.replace(name, "RUN")
    return _PATH.sub("", text)


# ------------------------------------------------------------------- data in the page


def inline_json(value: Any) -> Markup:
    """Return JSON that no parser of HTML finds an end of the script in."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign, escaped in _UNSAFE.items():
        text = text.replace(sign, escaped)
    return Markup(text)  # nothing in it can leave the script any more


def packed(value: Any) -> str:
    """Return JSON, compressed, in letters that need no escaping; browsers unpack it at once."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    squeezed = squeezer.compress(text.encode(errors="replace")) + squeezer.flush()
    return base64.b64encode(squeezed).decode()


def rounded(values: Iterable[float | None], digits: int = 4) -> list[float | None]:
    """Return numbers with so many significant digits; what is not a number becomes null."""
    return [
        None if value is None or not math.isfinite(value) else float(f"{value:.{digits}g}")
        for value in values
    ]


def codes(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Return texts as a list of different ones and where each stands."""
    different = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return {"texts": list(different), "at": [different[text] for text in texts]}
