"""The rules of a smallest policy as one small tree: which question leads to whom."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rpd_basics.panel_cards import common_action, named_words
from rpd_core.plugin.protocols import Drawing, Entry, Line, PanelDecision, Text
from rpd_core.plugin.protocols.panel import Shape

_WIDTH, _ROW, _INDENT, _SIZE = 460.0, 18.0, 16.0, 11.0
_LETTER = 6.3
"""Width of a letter, about."""
_MOST = 12
"""Rules from which on a tree is no longer small."""

Ends = tuple[float, float]


@dataclass(frozen=True)
class _Rule:
    """A rule and what is still to be asked before it holds."""

    rank: int
    decision: PanelDecision
    asks: dict[str, Ends]

    def without(self, name: str, ends: Ends) -> _Rule:
        """Return it with other ends of one number; without it where both are open."""
        asks = {**self.asks, name: ends}
        if ends == (-math.inf, math.inf):
            del asks[name]
        return replace(self, asks=asks)


@dataclass(frozen=True)
class _Row:
    """A line of the tree."""

    depth: int
    text: str
    leaf: str = ""
    """Who acts, where nothing more is asked."""
    policy: bool = False


def with_tree(
    above: Drawing, decisions: Sequence[PanelDecision], entries: Sequence[Entry] = ()
) -> Drawing:
    """Add the rules as a tree below a drawing of as much width, if they are few and one tree.

    `entries` say how numbers are shown, by their names.
    """
    rows = _tree(decisions, {entry.name: entry for entry in entries})
    if not rows:
        return above
    shapes = [shape for place, row in enumerate(rows) for shape in _drawn(row, place, above.height)]
    told = "; ".join(f"{row.text} {row.leaf}".strip() for row in rows)
    return replace(
        above,
        height=above.height + _ROW * len(rows) + 6,
        shapes=(*above.shapes, *shapes),
        label=f"{above.label}. The rules as a tree: {told}",
    )


def _tree(decisions: Sequence[PanelDecision], known: Mapping[str, Entry]) -> list[_Row]:
    """Return the lines of the tree; none where there are no rules, too many, or no tree."""
    rules = [
        _Rule(rank, one, {bound.name: (bound.low, bound.high) for bound in one.bounds})
        for rank, one in enumerate(decisions, 1)
    ]
    if not rules or len(rules) > _MOST or not all(rule.asks for rule in rules):
        return []
    try:
        rows = [*_rows(rules, 0, {}, known), _Row(0, "everywhere else", "default acts")]
    except _NoTreeError:
        return []
    return [part for row in rows for part in _wrapped(row)]


class _NoTreeError(Exception):
    """No question tells the rules apart without cutting one of them in two."""


def _rows(
    rules: Sequence[_Rule], depth: int, before: Mapping[str, Ends], known: Mapping[str, Entry]
) -> Iterator[_Row]:
    """Yield the lines below a node; where only one answer leads to a rule, no line of its own."""
    name, cut = _question(rules)
    sides: tuple[list[_Rule], list[_Rule]] = [], []
    for rule in rules:
        low, high = rule.asks.get(name, (-math.inf, math.inf))
        lower = high <= cut
        rest = (low, math.inf if high == cut else high) if lower else (
            -math.inf if low == cut else low, high)  # fmt: skip
        sides[not lower].append(rule.without(name, rest))
    if all(sides) and before:
        yield _Row(depth, _asked(before, known))
        depth, before = depth + 1, {}
    low, high = before.get(name, (-math.inf, math.inf))
    for ends, side in zip(((low, cut), (cut, high)), sides, strict=True):
        asks = {**before, name: ends}
        if len(side) == 1 and not side[0].asks:
            action = common_action([side[0].decision.policy])
            leaf = f"policy acts: {action} ({side[0].rank})"
            yield _Row(depth, _asked(asks, known), leaf, True)
        elif side:
            yield from _rows(side, depth, asks, known)


def _asked(asks: Mapping[str, Ends], known: Mapping[str, Entry]) -> str:
    """Return what is asked of some numbers."""
    words = []
    for name, (low, high) in asks.items():
        entry = known.get(name, Entry(name))
        first, last = (f"{end:.4g}{entry.unit}" for end in (low, high))
        if entry.words:
            words.append(named_words(entry, low, high))
        elif math.isinf(low):
            words.append(f"{name} < {last}")
        else:
            words.append(
                f"{name} >= {first}" if math.isinf(high) else f"{first} <= {name} < {last}"
            )
    return " and ".join(words)


def _question(rules: Sequence[_Rule]) -> tuple[str, float]:
    """Return the number and the cut that most rules ask for, and that cuts none in two."""
    asked = Counter(
        (name, cut)
        for rule in rules
        for name, ends in rule.asks.items()
        for cut in ends
        if math.isfinite(cut)
    )
    for (name, cut), _ in sorted(asked.items(), key=lambda item: (-item[1], item[0])):
        ends = [rule.asks.get(name, (-math.inf, math.inf)) for rule in rules]
        if all(high <= cut or low >= cut for low, high in ends):
            return name, cut
    raise _NoTreeError


def _drawn(row: _Row, place: int, top: float) -> Iterator[Shape]:
    left, base = 4 + row.depth * _INDENT, top + _ROW * (place + 1) - 5
    if row.depth:
        yield Line(((left - 10, base - 16), (left - 10, base - 4), (left - 3, base - 4)), "line")
    yield Text((left, base), row.text, _SIZE)
    if row.leaf:
        after = left + _LETTER * len(row.text) + 12
        colour = "policy" if row.policy else "default"
        yield Text((after, base), f"→ {row.leaf}", _SIZE, "start", colour, row.policy)


def _wrapped(row: _Row) -> Iterator[_Row]:
    """Yield a line as lines that fit, who acts on the last."""
    room = int((_WIDTH - row.depth * _INDENT - 8) / _LETTER)
    texts = textwrap.wrap(row.text, room)
    if row.leaf and len(texts[-1]) + len(row.leaf) + 4 > room:
        texts.append("")
    for text in texts[:-1]:
        yield replace(row, text=text, leaf="")
    yield replace(row, text=texts[-1])
