"""The cards of the page: in which situations the policy matters, and how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rpd_core.errors import counted
from rpd_core.plugin.protocols import Card, Drawing, Image
from rpd_core.results.records import Decision, Summary
from rpd_core.results.sentences import with_and_without
from rpd_core.results.words import reached_words
from rpd_pictures.stored import data_uri
from rpd_pictures.svg import inline_svg

_LONGEST = 160
"""Characters of a title."""


@dataclass(frozen=True)
class ShownCard:
    """A situation as the page shows it."""

    title: str
    text: str
    drawing: Markup
    """A drawing; empty where there is none."""
    wide: bool
    """Whether the drawing is broader than high, so that it stands above the words."""
    image: str
    """Address of a picture; empty likewise."""
    alt: str
    kept: str
    """Mean return where the policy acts there, in words."""
    lost: str
    """The same where the default acts."""
    kept_share: float
    """From 0 to 100: length of the bar."""
    lost_share: float
    about: str
    """How many decisions and steps there are."""
    example: str
    """What the bars are of; empty: of the one decision."""
    rows: str
    """Ranks of its decisions, for the table."""


@dataclass(frozen=True)
class Situations:
    """All cards, and what they cover."""

    cards: tuple[ShownCard, ...]
    heading: str
    left_out: str
    """What they leave out; empty if nothing."""
    names: str = ""
    """What the names of actions mean, where they are relative to the state."""
    limits: str = ""
    """What "or less" means, where it is said."""


_AT_LEAST = "Or less: without the policy there, episodes ran into the limit of steps."


def shown_situations(
    summary: Summary, cards: Sequence[Card], pictures: dict[int, bytes]
) -> Situations:
    """Return cards with their figures."""
    known = {row.key: row for row in summary.decisions}
    shown = tuple(
        _shown(summary, card, [known[key] for key in card.keys], pictures) for card in cards
    )
    covered = {key for card in cards for key in card.keys}
    total = len(summary.decisions)
    many = "One situation covers" if len(shown) == 1 else f"{_word(len(shown))} situations cover"
    return Situations(
        shown,
        f"{many} {len(covered)} of {counted(total, 'decision')}",
        _left_out([row for row in summary.decisions if row.key not in covered]),
        summary.list.note,
        _AT_LEAST if any(known[key].at_least for key in covered) else "",
    )


def _word(count: int) -> str:
    return ("No", "One", "Two", "Three", "Four", "Five", "Six")[count]


def _left_out(rows: Sequence[Decision]) -> str:
    """Return what no card stands for."""
    unsure = [row for row in rows if not row.needed]
    parts = []
    if len(unsure) < len(rows):
        parts.append(f"{counted(len(rows) - len(unsure), 'further needed decision')}")
    if unsure:
        parts.append(f"{counted(len(unsure), 'decision')} not shown to be needed alone")
    return f"Left out: {' and '.join(parts)}." if parts else ""


def _shown(
    summary: Summary, card: Card, rows: list[Decision], pictures: dict[int, bytes]
) -> ShownCard:
    worst = max(rows, key=lambda row: row.loss)
    before, after = with_and_without(worst)
    drawing, image, alt = _picture(card, worst, pictures)
    steps = sum(row.overrides for row in rows)
    return ShownCard(
        title=_cut(card.title.partition("  [")[0]),
        text=card.text,
        drawing=drawing,
        wide=isinstance(card.picture, Drawing) and card.picture.width > card.picture.height,
        image=image,
        alt=alt,
        kept=before,
        lost=after,
        kept_share=_share(summary, worst.return_without + worst.loss),
        lost_share=_share(summary, worst.return_without),
        about=f"{counted(len(rows), 'decision')} · {reached_words(steps)} of all steps",
        example="" if len(rows) == 1 else "in the one that is worth most",
        rows=",".join(str(row.rank) for row in rows),
    )


def _picture(card: Card, row: Decision, pictures: dict[int, bytes]) -> tuple[Markup, str, str]:
    if isinstance(card.picture, Drawing):
        return Markup(inline_svg(card.picture)), "", ""
    if isinstance(card.picture, Image):
        data = card.picture
        return Markup(), data_uri(data.data, data.media_type), data.alt
    stored = [pictures[key] for key in (row.key, *card.keys) if key in pictures]
    return Markup(), data_uri(stored[0]) if stored else "", "A typical one" if stored else ""


def _share(summary: Summary, value: float) -> float:
    """Return a return as a part, in percent, of the way from the reference to the policy's own."""
    low = min(summary.original.reference, *(row.return_without for row in summary.decisions))
    span = max(summary.original.return_mean - low, 1e-12)
    return round(min(max(100 * (value - low) / span, 0.0), 100.0), 1)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
