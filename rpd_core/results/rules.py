"""Rules over the entries of states, as sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rpd_core.errors import counted
from rpd_core.play.names import Names
from rpd_core.plugin.protocols import Entry
from rpd_core.plugin.wording import edge_texts
from rpd_core.results.records import FoundRule, FoundRules
from rpd_core.results.words import cut

if TYPE_CHECKING:
    from rpd_core.analysis.decisions import Decisions
    from rpd_core.analysis.rules import Bound, Rule
    from rpd_core.analysis.suite import StoredEpisodes
    from rpd_core.plugin.protocols import States

_SHOWN = 6
"""Entries that a sentence names."""
_DECIMALS = 15
"""Decimals of a number, at most; those asked for stand in a file that anyone may have written."""


def rules_in_words(found: Decisions, stored: StoredEpisodes, names: Names) -> FoundRules:
    """Return the decisions that matter as a few sentences, or why there are none."""
    from rpd_core.analysis.rules import find_rules  # what is found is told without NumPy

    entries = _entries_of(found.counted.states, names)
    rules = find_rules(found, bool(entries))
    keys = [int(found.counted.states.key[rule.row]) for rule in rules.rules if rule.row is not None]
    words = stored.words(keys) if keys else {}
    texts = [
        bounds_words(rule.bounds, entries)
        if rule.row is None
        else words.get(key := int(found.counted.states.key[rule.row]), f"{key:016x}")
        for rule in rules.rules
    ]
    rows = tuple(map(lambda rule, text: _row(rule, text, rules.total), rules.rules, texts))
    return FoundRules(rows, rules.kind, rules.total, rules.covered, rules.reason)


def _entries_of(states: States, names: Names) -> tuple[Entry, ...]:
    """Return what the entries of states are called; none where that is not known of all."""
    size = states.value[0].size if len(states) else 0
    return names.state_entries if len(names.state_entries) == size else ()


def _row(rule: Rule, text: str, total: int) -> FoundRule:
    return FoundRule(
        text, rule.matter, rule.states, rule.purity, rule.matter / total, rule.undecided
    )


def bounds_words(bounds: Sequence[Bound], entries: Sequence[Entry]) -> str:
    """Return what a rule asks, entry by entry."""
    named = [(entries[one.entry] if entries else Entry(f"x{one.entry}"), one) for one in bounds]
    words = [bound_words(entry, one) for entry, one in named]
    rest = len(words) - _SHOWN
    words = words[:_SHOWN] + ([f"{counted(rest, 'entry', 'entries')} more"] if rest > 0 else [])
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def bound_words(entry: Entry, bound: Bound) -> str:
    """Return what is asked of one entry: `pole tilt at least 7°`."""
    low, high = bound.low, bound.high
    if entry.edges:
        return _bin_words(entry, low, high)
    if low is not None and low == high:
        return f"{entry.name} {_number(entry, low)}"
    if low is None:
        return f"{entry.name} up to {_number(entry, high)}"
    if high is None:
        return f"{entry.name} at least {_number(entry, low)}"
    return f"{entry.name} {_number(entry, low, bare=True)} to {_number(entry, high)}"


def _bin_words(entry: Entry, first: float | None, last: float | None) -> str:
    """Return between which edges some bins lie."""
    texts, count = edge_texts(entry), len(entry.edges)
    low = None if first is None or first < 1 else texts[min(int(first), count) - 1]
    high = None if last is None or last >= count else texts[max(int(last), 0)]
    if low is None and high is None:
        return f"{entry.name} anything"
    if low is None:
        return f"{entry.name} below {high}{entry.unit}"
    if high is None:
        return f"{entry.name} at least {low}{entry.unit}"
    return f"{entry.name} {low} to below {high}{entry.unit}"


def _number(entry: Entry, value: float | None, bare: bool = False) -> str:
    shown = 0.0 if value is None else value * entry.factor
    number = f"{shown:g}"
    if entry.digits is not None:
        number = f"{shown:.{min(max(entry.digits, 0), _DECIMALS)}f}"
    return number if bare else f"{number}{entry.unit}"


def _rule_sentence(rule: FoundRule, kind: str = "rules") -> str:
    """Return a rule with what it holds: `pole tilt at least 7°: 23 (92% of 25)`."""
    if kind == "states":
        return rule.text
    return f"{rule.text}: {rule.matter} ({rule.purity:.0%} of {rule.states})"


def rule_lines(found: FoundRules, most: int, width: int) -> list[str]:
    """Return a summary of what matters in at most so many lines of a screen."""
    if not found.matter:
        return []  # the notes on the list say so
    if not found.rules:
        return [f"{found.note[0].upper()}{found.note[1:]}."]
    lines = [_heading(found)]
    for rule in found.rules:
        lines.append(f"  {cut(_rule_sentence(rule, found.kind), 2 * width - 8)}")
        if sum(-(-len(line) // width) for line in lines) > most:
            return lines[:-1] if len(lines) > 2 else lines
    return lines


def _heading(found: FoundRules) -> str:
    if found.kind == "states":
        return f"{found.matter} matter, each a rule of its own; the first:"
    many = len(found.rules) > 1
    what, of = ("group", " of neighbours") if found.kind == "groups" else ("rule", "")
    text = f"{len(found.rules)} {what}s{of} hold" if many else f"One {what}{of} holds"
    others = {rule.states - rule.matter - rule.undecided for rule in found.rules}
    open_ = any(rule.undecided for rule in found.rules) and others == {0}
    rest = "; others undecided" if open_ else ""
    share = f"(share of those judged there{rest})"
    return f"{text} {found.covered} of the {found.matter} that matter {share}:"
