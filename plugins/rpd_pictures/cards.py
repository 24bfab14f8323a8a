"""Frames as cards: the picture in the colour of who decides, with what happens in words."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rpd_core.play.recipe import Recipe
from rpd_core.play.replay import ReplayedStep
from rpd_core.plugin.chain import Chain
from rpd_core.results.words import few
from rpd_pictures.files import reduced, same_size
from rpd_pictures.viewing import drawing_of, picture_fault

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array

Who = Literal["policy", "default", "over", "cut"]

COLOURS: dict[Who, tuple[int, int, int]] = {
    "policy": (198, 40, 40),
    "default": (21, 101, 192),
    "over": (97, 97, 97),
    "cut": (97, 97, 97),
}
"""Red where the policy decides, blue where the default action does; the words say it, too."""
BORDER = 4
"""Pixels of colour around a picture."""
_TEXT = 12
"""Height of letters in pixels."""
_READ_AT = 600
"""Width of a film at which its letters are still that high."""
_BAND, _LINE = 8, 4
"""Pixels by which the coloured band, and a line of text, are higher than letters."""
_MARK = (255, 193, 7)
"""Colour around the picture at the step that a film is about."""
NARROWEST = 260
"""Width of a card whose picture is narrower."""
SMALLEST = 160
"""Longest side below which pictures are enlarged, each pixel to a square."""
_PAPER, _INK = (255, 255, 255), (33, 33, 33)
_KNOWN = "°·…"
"""Signs beyond ASCII that the font has."""
_MARGIN = 4
"""Pixels by which a letter may reach beyond its own width."""


@dataclass(frozen=True)
class Card:
    """What stands on a card besides the picture."""

    who: Who
    """Who decides; `over` after the last step, `cut` where the film is broken off before."""
    action: str
    """What is done."""
    step: int
    """Number of the step, from 0."""
    lines: tuple[str, ...] = ()
    """Below the picture, a line each."""
    title: str = ""
    """Above everything; none if empty."""
    text: int = _TEXT
    """Height of letters in pixels."""
    marked: bool = False
    """Whether this is the step that the film is about."""


def draw_card(frame: Array, card: Card) -> Image.Image:
    """Return a picture as a card."""
    picture = Image.fromarray(enlarged(frame))
    width, size = max(picture.width + 2 * BORDER, NARROWEST), card.text
    band, line, top = size + _BAND, size + _LINE, _top(size) if card.title else 0
    height = top + band + picture.height + BORDER + len(card.lines) * line + 4
    page = Image.new("RGB", (width, height), _PAPER)
    if card.title:
        write(page, (BORDER, 1), shortened(card.title, width - 2 * BORDER, size), _INK, size)
    pen, colour = ImageDraw.Draw(page), COLOURS[card.who]
    left, below = (width - picture.width) // 2, top + band + picture.height + BORDER
    around = (left - BORDER, top + band, left + picture.width + BORDER - 1, below - 1)
    pen.rectangle((0, top, width - 1, top + band - 1), colour)
    pen.rectangle(around, _MARK if card.marked else colour)
    number = "this decision" if card.marked else f"step {card.step}"
    room = width - 4 * BORDER - _width(number, size)
    text = f"{card.who}: {card.action}" if card.action else card.who
    write(page, (BORDER, top + 2), shortened(text, room, size), _PAPER, size)
    write(page, (width - 2 * BORDER - _width(number, size), top + 2), number, _PAPER, size)
    page.paste(picture, (left, top + band))
    for place, words in enumerate(card.lines):
        words = shortened(words, width - 2 * BORDER, size)
        write(page, (BORDER, below + 1 + place * line), words, _INK, size)
    return page


def readable(width: int) -> int:
    """Return how high letters are in a film of this width, so that one of 600 pixels is read."""
    return max(_TEXT, -(-_TEXT * width // _READ_AT))


def _top(size: int) -> int:
    """Return the height of a title."""
    return size + _LINE + 2


def picture_in(card: Image.Image, shape: Sequence[int], title: bool, beside: int = 1) -> Array:
    """Return the picture of a card, pixel by pixel; `shape` is that of the frame it shows."""
    scale, size = _scale(shape), readable(beside * card.width)
    height, width = shape[0] * scale, shape[1] * scale
    left, top = (card.width - width) // 2, (_top(size) if title else 0) + size + _BAND
    return np.asarray(card.crop((left, top, left + width, top + height)))[::scale, ::scale]


def word_frame(text: str) -> Array:
    """Return words as a picture, for what has no other."""
    page = Image.new("RGB", (NARROWEST - 2 * BORDER, SMALLEST), (238, 238, 238))
    high = _TEXT + _LINE
    for place, line in enumerate(wrapped(text, page.width - 16, (SMALLEST - 16) // high)):
        write(page, (8, 8 + place * high), line, _INK)
    return np.asarray(page)


def write(
    page: Image.Image,
    at: tuple[int, int],
    text: str,
    colour: tuple[int, ...],
    size: int = _TEXT,
) -> None:
    """Write a line of text; `at` is where its first letter begins."""
    if text:
        page.paste(colour, (at[0] - _MARGIN, at[1]), _letters(text, size))


@functools.lru_cache(maxsize=4096)
def _letters(text: str, size: int) -> Image.Image:
    """Return where a text has ink: frame after frame says the same."""
    mask = Image.new("1", (_width(text, size) + 2 * _MARGIN, 2 * size))
    pen = ImageDraw.Draw(mask)  # letters without grey edges: half the bytes in a lossless film
    pen.text((_MARGIN, 0), text, 1, _font(size))
    return mask


def enlarged(frame: Array) -> Array:
    """Return a small picture with each pixel as a square; others as they are."""
    scale = _scale(frame.shape)
    if scale > 1:
        frame = frame.repeat(scale, axis=0).repeat(scale, axis=1)
    return np.ascontiguousarray(frame)


def _scale(shape: Sequence[int]) -> int:
    return max(1, -(-SMALLEST // max(shape[0], shape[1])))


# --------------------------------------------------------------------------- words


@functools.cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)  # comes with Pillow, so that it is the same everywhere


@functools.lru_cache(maxsize=4096)
def _width(text: str, size: int) -> int:
    return int(_font(size).getlength(text, mode="1"))


@functools.lru_cache(maxsize=4096)
def writable(text: str) -> str:
    """Return a text in signs that the font has; letters lose their accents, others become `?`."""
    plain = (
        " "
        if sign.isspace()
        else sign
        if sign in _KNOWN or (sign.isascii() and sign.isprintable())
        else unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode() or "?"
        for sign in text
    )
    return "".join(plain)


def shortened(text: str, width: int, size: int = _TEXT) -> str:
    """Return as much of a text as fits on a line."""
    text = writable(text)
    if _width(text, size) <= width:
        return text
    while text and _width(f"{text}…", size) > width:
        text = text[: len(text) * 9 // 10] if _width(text, size) > 2 * width else text[:-1]
    return f"{text.rstrip()}…"


@functools.lru_cache(maxsize=4096)
def wrapped(text: str, width: int, lines: int, size: int = _TEXT) -> tuple[str, ...]:
    """Return a text in at most so many lines; always that many, empty ones behind it."""
    found: list[str] = []
    words = writable(text).split()
    while words and len(found) < lines - 1:
        count = 1
        while count < len(words) and _width(" ".join(words[: count + 1]), size) <= width:
            count += 1
        found.append(shortened(" ".join(words[:count]), width, size))
        words = words[count:]
    if words:
        found.append(shortened(" ".join(words), width, size))
    return (*found, *[""] * (lines - len(found)))


# --------------------------------------------------------------------------- steps


@dataclass(frozen=True)
class StepCards:
    """Puts the steps of an episode on cards."""

    recipe: Recipe
    """What is played; its abstraction has the words."""
    actions: tuple[str, ...]
    """Names of the actions."""
    longest: int | None = None
    """Longest side of the picture; None: as it is."""
    title: str = ""
    """Above each card."""
    beside: int = 1
    """Cards that stand side by side: the wider the film, the higher its letters."""
    marked: int = -1
    """Step that the film is about."""

    def cards(
        self, steps: Sequence[ReplayedStep], last: Array | None, who: Who, about: str
    ) -> list[Image.Image]:
        """Return steps as cards of one size, and behind them what is seen after the last."""
        frame = self._frame(steps[-1], last)
        end = Card(who, "", steps[-1].number + 1, (about, "", ""), self.title, self._text(frame))
        ended = draw_card(frame, end)
        return same_size([*map(self._card, steps), ended])

    def _card(self, step: ReplayedStep) -> Image.Image:
        """Return a step as a card."""
        who: Who = "policy" if step.policy_decided else "default"
        other = step.default_action if step.policy_decided else step.policy_action
        whose = "default" if step.policy_decided else "policy"
        about = f"return so far {few(step.return_before)}; the {whose} would: {self._name(other)}"
        frame = self._frame(step, step.frame)
        size, room = self._text(frame), max(frame.shape[1], NARROWEST - 2 * BORDER)
        lines = about, *wrapped(self._words(step).partition("  [")[0], room, 2, size)
        marked, action = step.number == self.marked, self._name(step.action)
        return draw_card(frame, Card(who, action, step.number, lines, self.title, size, marked))

    def _text(self, frame: Array) -> int:
        """Return how high letters are beside a picture."""
        width = frame.shape[1] * _scale(frame.shape) + 2 * BORDER
        return readable(self.beside * max(width, NARROWEST))

    def _words(self, step: ReplayedStep) -> str:
        """Return the state of a step in words."""
        return Chain(self.recipe.links).show(step.value)

    def _frame(self, step: ReplayedStep, frame: Array | None) -> Array:
        """Return the picture of a step: the environment's, the abstraction's own, or its words."""
        if frame is None or picture_fault(frame):
            frame = drawing_of(self.recipe, step.value)
        if frame is None:
            frame = word_frame(self._words(step))
        return frame if self.longest is None else reduced(frame, self.longest)

    def _name(self, action: Any) -> str:
        known = isinstance(action, int) and 0 <= action < len(self.actions)
        return self.actions[action] if known else str(action)
