"""A traced episode as a film, with a bar of losses running along below it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageColor, ImageDraw

from rpd_core.chance import Phase, episode_keys
from rpd_core.errors import ConfigError
from rpd_core.play.deciders import always
from rpd_core.play.loop import Plan
from rpd_core.pruning.confirm import LOOKS
from rpd_core.results.run import Run
from rpd_core.results.words import few
from rpd_pictures import files
from rpd_pictures.cards import BORDER, StepCards, Who, readable, shortened, write
from rpd_pictures.clips import END
from rpd_pictures.colours import LIGHT, named
from rpd_pictures.pages import Pages, Shown, Wanted
from rpd_pictures.panels import panel_view
from rpd_pictures.traces import read_traces
from rpd_pictures.twins import Smallest
from rpd_pictures.viewing import Viewer, Watched, watch_episodes

if TYPE_CHECKING:
    from rpd_core.play.recipe import Recipe
    from rpd_core.plugin.protocols import FloatArray, Trace, TracedEpisodes, Traces

_INK, _PAPER, _LINE = (ImageColor.getrgb(LIGHT[name]) for name in ("ink", "paper", "line"))


@dataclass(frozen=True)
class _Traced:
    """An episode that is stored step by step."""

    side: str
    """`whole` or `smallest`."""
    number: int
    trace: Trace
    losses: FloatArray
    total_return: float
    length: int
    """Steps of the whole episode, of which very long ones are stored in part."""
    largest: float
    """Loss of the decision that is worth most."""

    @classmethod
    def named(cls, run: Run, name: str) -> _Traced:
        """Return the one that is meant by `whole`, `smallest:3`, and so on."""
        traces = read_traces(run)
        if traces is None:
            raise ConfigError(
                f"{str(run.path)!r} stores no episode step by step, as no smallest policy is "
                "confirmed: draw a film of an --episode"
            )
        side, number = _asked(name, traces)
        played: TracedEpisodes = getattr(traces, side)
        view, trace, rows = panel_view(run, traces, None), played.steps(number), played.episodes
        total, length = float(rows.total_return[number]), int(rows.length[number])
        return cls(side, number, trace, view.losses(trace), total, length, view.largest)

    def window(self, frames: int) -> tuple[int, int]:
        """Return the first step that is drawn and the one behind the last.

        The step at which most is lost is among them.
        """
        count = len(self.losses)
        worst = int(self.losses.argmax()) if count else 0
        first = max(0, min(worst - frames // 2, count - frames))
        return first, min(first + frames, count)

    def words(self, step: int) -> str:
        """Return what a step is worth."""
        if not self.trace.kept[step]:
            return "default acts"
        if not self.trace.override[step]:
            return "policy acts; so would the default"
        loss = float(self.losses[step])
        return (
            f"lost without this decision: {few(loss)}"
            if loss > 0
            else "policy acts; no loss is known"
        )


def _asked(name: str, traces: Traces) -> tuple[str, int]:
    match = re.fullmatch(r"(whole|smallest)(?::(\d{1,9}))?", name.strip())
    if match is None:
        raise ConfigError(
            f"no traced episode is called {name!r}: --episode takes whole, smallest, whole:3, ..."
        )
    number = traces.typical if match[2] is None else int(match[2])
    if number >= len(traces.whole):
        raise ConfigError(f"there is no {name}: {len(traces.whole)} episodes are traced, from 0")
    return match[1], number


def traced_film(run: Run, recipe: Recipe, viewer: Viewer, wanted: Wanted) -> Pages:
    """Play a traced episode again and draw it, with what each decision is worth below."""
    one = _Traced.named(run, wanted.episode or "smallest")
    first, last = one.window(wanted.frames)
    seen = _play(run, viewer, one, first, last)
    steps, title = seen.steps[0], f"{one.side} policy"
    whole = last == one.length
    who: Who = "over" if whole else "cut"
    about = f"return {few(one.total_return)} after {one.length} steps"
    show = StepCards(recipe, run.directory.names().actions, title=title)
    cards = show.cards(steps, seen.last_frames[0] if whole else steps[-1].frame, who, about)
    bar = _Bar(one, cards[0].width)
    places = [*range(first, last), last]
    pages = [_above(card, bar.at(place)) for card, place in zip(cards, places, strict=True)]
    usual = 1000 // files.FRAMES_PER_SECOND
    durations = [usual * (1 + 4 * (one.losses[at] > 0)) for at in range(first, last)]
    shown = (Shown(title, one.total_return, one.length),)
    notes = []
    if not whole:
        drawn = f"steps {first} to {last - 1} of {one.length} are drawn"
        notes.append(f"{drawn}; --frames draws more")
    if any(step.key != int(one.trace.key[step.number]) for step in steps):
        notes.append("the episode went another way than the stored one: it does not repeat itself")
    if not one.losses.any():
        notes.append("it meets no decision of the smallest policy, so no loss is known")
    name = f"{one.side}:{one.number}"
    return Pages(name, pages, [*map(int, durations), END], shown, tuple(notes))


def _play(run: Run, viewer: Viewer, one: _Traced, first: int, last: int) -> Watched:
    policy, kept = Smallest.of(run), run.kept()
    assert kept is not None, "it has a smallest policy"
    number = np.array([one.number], dtype=np.int64)
    identity = episode_keys(policy.seed, Phase.CONFIRM, number, kept.part * LOOKS)
    keep = always if one.side == "whole" else policy.keep(1)
    plan = Plan(number, identity, np.array([last]))
    return watch_episodes(
        viewer.player, plan, keep, lambda position, number: number >= first, viewer.draws
    )


def _above(card: Image.Image, bar: Image.Image) -> Image.Image:
    page = Image.new("RGB", (card.width, card.height + bar.height), _PAPER)
    page.paste(card)
    page.paste(bar, (0, card.height))
    return page


@dataclass(frozen=True)
class _Bar:
    """The losses of an episode in a row, as high as they are large."""

    one: _Traced
    width: int

    def at(self, step: int) -> Image.Image:
        """Return it at a step: what is still to come is grey."""
        size = readable(self.width)
        high, top = 3 * size, size + 6
        page = Image.new("RGB", (self.width, top + high + 8), _PAPER)
        pen, base = ImageDraw.Draw(page), top + high
        for at, loss in enumerate(self.one.losses.tolist()):
            if loss > 0:
                left, right = self._column(at)
                share = loss / self.one.largest
                tone = ImageColor.getrgb(LIGHT[named(f"loss:{share:.3f}")])
                upper = base - max(round(share * high), 3)
                pen.rectangle((left, upper, right, base), tone if at <= step else _LINE)
        pen.line((BORDER, base + 1, self.width - BORDER, base + 1), _LINE, 1)
        over = step >= len(self.one.losses)
        left, right = self._column(min(step, len(self.one.losses) - 1))
        middle = self.width - BORDER if over else (left + right) // 2
        pen.line((middle, top, middle, base + 6), _INK, 2)
        words = "" if over else self.one.words(step)
        write(page, (BORDER, 2), shortened(words, self.width - 2 * BORDER, size), _INK, size)
        return page

    def _column(self, step: int) -> tuple[int, int]:
        """Return the first and the last pixel of a step."""
        wide = (self.width - 2 * BORDER) / len(self.one.losses)
        gap = 1 if wide >= 3 else 0
        left = BORDER + int(step * wide)
        return left, max(left, BORDER + int((step + 1) * wide) - 1 - gap)
