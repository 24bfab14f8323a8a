"""Panels and pictures for tests of the page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import markupsafe

from rpd_core.plugin.protocols import (
    Card,
    Component,
    Drawing,
    Image,
    PanelFacts,
    PanelView,
    Polygon,
    Text,
)

HOSTILE = "\"'><img src=x onerror=window.pwned=1></script><script>window.pwned=1</script>&lt;{{1}}"
PICTURE = bytes.fromhex("524946461a000000574542505650384c0d0000002f00000010071011118888fe0700")
SQUARE = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0))


def panel(name: str, target: str) -> tuple[str, Component]:
    """Return the record of a panel of this module."""
    return "panel", Component(name, f"page_worlds:{target}", "A panel", runs_code=False)


@dataclass(frozen=True)
class Good:
    """Fills every place, all with hostile names."""

    def applies(self, about: PanelFacts) -> bool:
        return True

    def hero(self, view: PanelView) -> Sequence[Drawing]:
        shapes = (Polygon(SQUARE, "loss:0.5"), Text((1, 8), f"Text {HOSTILE}"))
        named = Drawing(9, 9, shapes, f"Label {HOSTILE}", f"Caption {HOSTILE}", f"Menu {HOSTILE}")
        return [named, Drawing(9, 9, shapes, "Another")]

    def frames(self, view: PanelView) -> Mapping[int, Image]:
        return {0: Image(PICTURE, "image/webp", f"Alt {HOSTILE}")}

    def cards(self, view: PanelView) -> Sequence[Card]:
        return [Card(f"Third party {HOSTILE}", f"Text {HOSTILE}", (view.decisions[0].key,))]


@dataclass(frozen=True)
class Raises(Good):
    """Raises while it draws."""

    def hero(self, view: PanelView) -> Sequence[Drawing]:
        raise KeyError(HOSTILE)


@dataclass(frozen=True)
class Markup(Good):
    """Hands in markup where drawings are wanted."""

    def hero(self, view: PanelView) -> Any:
        return ["<b>bold</b>"]


@dataclass(frozen=True)
class Unsure(Good):
    """Raises when it is asked whether it applies."""

    def applies(self, about: PanelFacts) -> bool:
        raise SystemExit("no idea")


@dataclass(frozen=True)
class Untrue(Good):
    """Calls something a picture that is none."""

    def frames(self, view: PanelView) -> Mapping[int, Image]:
        return {0: Image(b"<html>", "image/png", "a picture")}


@dataclass(frozen=True)
class Disguised(Good):
    """Hands in texts that say they are markup, and need no escaping."""

    def hero(self, view: PanelView) -> Sequence[Drawing]:
        says = markupsafe.Markup(HOSTILE)
        return [Drawing(9, 9, (Text((1, 1), says),), says, says, says)]


@dataclass(frozen=True)
class Vast(Good):
    """Draws beyond all paper."""

    def hero(self, view: PanelView) -> Sequence[Drawing]:
        return [Drawing(9, 9, (Polygon(((0.0, 1.7e308), *SQUARE[1:]), "ink"),), "vast")]


@dataclass(frozen=True)
class Gaudy(Good):
    """Names a colour that ends the attribute."""

    def hero(self, view: PanelView) -> Sequence[Drawing]:
        return [Drawing(9, 9, (Polygon(SQUARE, 'red" onload="x'),), "gaudy")]


@dataclass(frozen=True)
class Stranger(Good):
    """Makes a card for a decision that is none."""

    def cards(self, view: PanelView) -> Sequence[Card]:
        return [Card("a", "b", (1,))]


@dataclass(frozen=True)
class Empty:
    """Fills no place."""

    def applies(self, about: PanelFacts) -> bool:
        return True


class Endless(list[Drawing]):
    """A short list that never ends."""

    def __iter__(self) -> Iterator[Drawing]:
        while True:
            yield Drawing(9, 9, (), "again")


@dataclass(frozen=True)
class Forever(Good):
    """Hands in drawings without end."""

    def hero(self, view: PanelView) -> Sequence[Drawing]:
        return Endless()


def store_pictures(run: Path, analysis: str, keys: Sequence[int]) -> None:
    """Store a picture of some states, and clips of the first, as a run does."""
    folder = run / "pictures" / analysis
    for name in [f"states/{key}.webp" for key in keys] + ["clips/a.webp", "clips/b.webp"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(PICTURE)
    clip = {
        "key": keys[0], "episode": 17, "step": 3, "policy": "clips/a.webp",
        "default": "clips/b.webp", "policy_return": 200.0, "default_return": 31.0,
        "tried": 40, "differing": 31, "flips": True, "least": 20.0,
    }  # fmt: skip
    states = {str(key): f"states/{key}.webp" for key in keys}
    index = {"schema": 1, "states": states, "clips": [clip], "panels": {}, "missing": ""}
    (folder / "index.json").write_text(json.dumps(index))


def edit(path: Path, change: Any) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


CHOICES = ("unvisited", "sweep", "objective", "until")
"""Settings that are one of a few words: another word is refused before anything is shown."""


def spoil_everything(run: Path) -> None:
    """Put hostile names wherever a stored run holds names."""

    def everywhere(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {k: everywhere(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [everywhere(item, key) for item in value]
        kept = key in ("outcome", "kind", "folder", "analysis", "list_by", "measures", *CHOICES)
        return f"{value}{HOSTILE}" if isinstance(value, str) and not kept else value

    folder = next((run / "analyses").glob("*/summary.json")).parent
    edit(folder / "summary.json", lambda it: it.update(everywhere(it)))
    edit(run / "names.json", lambda it: it.update(everywhere(it)))

    def rename(asked: dict[str, Any]) -> None:
        names = asked["settings"]["measures"]
        asked["settings"]["measures"] = [n.replace("ochiai", HOSTILE) for n in names]
        asked["sweep"][HOSTILE] = asked["sweep"].pop("ochiai")

    edit(folder / "analysis.json", rename)
