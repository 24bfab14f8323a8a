"""Data and pictures inside the page: compressed, bounded, and harmless whatever they say."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from rpd_core.store.files import read_whole

_LARGEST_FILE = 2**22
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


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


def webp(path: Path, root: Path) -> bytes | None:
    """Read a stored picture; None where there is none, or where it is something else."""
    content = read_whole(path, root, _LARGEST_FILE)
    return content if content is not None and is_image(content, "image/webp") else None


_SIGNATURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
    "image/svg+xml": (b"<svg", b"<?xml"),
}


def is_image(content: bytes, media_type: str) -> bool:
    """Return whether content begins as images of this type do."""
    begins = content.startswith(_SIGNATURES.get(media_type, ()))
    return begins and (media_type != "image/webp" or content[8:12] == b"WEBP")


def data_uri(content: bytes, media_type: str) -> str:
    """Return an image as an address that holds it."""
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"
