"""Panels and pictures for tests of the page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import markupsafe
import numpy as np

from rpd_core.plugin.protocols import (
    Axis,
    Block,
    Component,
    Image,
    Layer,
    PanelFacts,
    PanelView,
    Paragraph,
    Plane,
)

HOSTILE = "\"'><img src=x onerror=window.pwned=1></script><script>window.pwned=1</script>&lt;{{1}}"
PICTURE = bytes.fromhex("524946461a000000574542505650384c0d0000002f00000010071011118888fe0700")


def panel(name: str, target: str) -> tuple[str, Component]:
    """Return the record of a panel of this module."""
    return "panel", Component(name, f"page_worlds:{target}", "A panel", runs_code=False)


@dataclass(frozen=True)
class Good:
    """Draws one block of each kind, all with hostile names."""

    title: ClassVar[str] = f"Third party {HOSTILE}"

    def applies(self, about: PanelFacts) -> bool:
        return True

    def draw(self, view: PanelView) -> Sequence[Block]:
        place = np.arange(len(view.keys), dtype=np.float64)
        script = b"<script>window.pwned = 1</script>"
        svg = b"<svg xmlns='http://www.w3.org/2000/svg'>" + script + b"</svg>"
        return [
            Paragraph(f"Words {HOSTILE}"),
            Image(svg, "image/svg+xml", f"Alt {HOSTILE}", f"Caption {HOSTILE}"),
            Plane(
                (Axis(f"across {HOSTILE}", place, HOSTILE), Axis("up", place % 3)),
                (Layer(f"layer {HOSTILE}", view.scores), Layer("steps", view.visits, "sum")),
            ),
        ]


@dataclass(frozen=True)
class Raises(Good):
    """Raises while it draws."""

    title: ClassVar[str] = "Never seen"

    def draw(self, view: PanelView) -> Sequence[Block]:
        raise KeyError(HOSTILE)


@dataclass(frozen=True)
class Plots(Good):
    """Draws a figure for papers."""

    def plot(self, view: PanelView, figure: Any) -> bool:
        figure.subplots().set_title(f"{len(view.keys)} states")
        return True


@dataclass(frozen=True)
class PlotsNot(Good):
    """Raises when it is to draw a figure."""

    def plot(self, view: PanelView, figure: Any) -> bool:
        raise KeyError("no map")


@dataclass(frozen=True)
class Markup(Good):
    """Hands in markup where blocks are wanted."""

    def draw(self, view: PanelView) -> Any:
        return ["<b>bold</b>"]


@dataclass(frozen=True)
class Unsure(Good):
    """Raises when it is asked whether it applies."""

    def applies(self, about: PanelFacts) -> bool:
        raise SystemExit("no idea")


@dataclass(frozen=True)
class Untrue(Good):
    """Calls something a picture that is none."""

    def draw(self, view: PanelView) -> Sequence[Block]:
        return [Image(b"<html>", "image/png", "a picture")]


@dataclass(frozen=True)
class Disguised(Good):
    """Hands in texts that say they are markup, and need no escaping."""

    title: ClassVar[str] = markupsafe.Markup(f"Title {HOSTILE}")

    def draw(self, view: PanelView) -> Sequence[Block]:
        says, place = markupsafe.Markup(HOSTILE), np.arange(len(view.keys), dtype=np.float64)
        return [
            Paragraph(says),
            Image(PICTURE, "image/webp", says, says),
            Plane((Axis(says, place, says), Axis(says, place)), (Layer(says, place),)),
        ]


@dataclass(frozen=True)
class Between(Good):
    """Shows an axis between two others."""

    def draw(self, view: PanelView) -> Sequence[Block]:
        place = np.zeros(len(view.keys))
        axes = (Axis("a", place), Axis("b", place))
        return [Plane(axes, (Layer("c", place),), x=0.5)]  # type: ignore[arg-type]


@dataclass(frozen=True)
class Vast(Good):
    """Shows numbers whose sum is not one."""

    def draw(self, view: PanelView) -> Sequence[Block]:
        place = np.full(len(view.keys), 1.7e308)
        axes = (Axis("a", np.zeros(len(place))), Axis("b", np.zeros(len(place))))
        return [Plane(axes, (Layer("c", place, "sum"),))]


class Endless(list[Block]):
    """A short list that never ends."""

    def __iter__(self) -> Iterator[Block]:
        while True:
            yield Paragraph("again")


@dataclass(frozen=True)
class Forever(Good):
    """Draws blocks without end."""

    def draw(self, view: PanelView) -> Sequence[Block]:
        return Endless()


@dataclass(frozen=True)
class Wallpaper(Good):
    """Draws more planes than anybody looks at."""

    def draw(self, view: PanelView) -> Sequence[Block]:
        place = np.zeros(len(view.keys))
        return [Plane((Axis("a", place), Axis("b", place)), (Layer("c", place),))] * 21


def store_pictures(run: Path, analysis: str, keys: Sequence[int]) -> None:
    """Store a picture of some states, and clips of the first, as a run does."""
    folder = run / "pictures" / analysis
    for name in [f"states/{key}.webp" for key in keys] + ["clips/a.webp", "clips/b.webp"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(PICTURE)
    clip = {
        "key": keys[0], "episode": 17, "step": 3, "policy": "clips/a.webp",
        "default": "clips/b.webp", "policy_return": 200.0, "default_return": 31.0,
        "tried": 40, "differing": 31,
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
