"""The lists of a mutated policy: made by any measure, and as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rpd_core.analysis.analysis import Analysis, weigh
from rpd_core.analysis.ranking import Ranking
from rpd_core.analysis.recurrence import Recurrence
from rpd_core.analysis.suite import Reach, StoredEpisodes, stored_reach
from rpd_core.analysis.verdicts import Rules, decide
from rpd_core.cli import shared
from rpd_core.cli.text import can_draw, print_question, say, short_action, widths_of
from rpd_core.config.resolve import Selection, choose
from rpd_core.config.settings import check_value
from rpd_core.config.trust import refuse_code
from rpd_core.errors import ConfigError, EvidenceError, StoreError, counted, shell_word
from rpd_core.plugin.registry import installed
from rpd_core.results.decisions import list_facts, ranked_rows
from rpd_core.results.records import TOO_FEW, ListFacts, RankedDecision, further_columns
from rpd_core.results.run import Run, incomplete
from rpd_core.results.sentences import (
    few_digits,
    list_notes,
    mutated_words,
    noun_of,
    on_condition,
    stability_words,
    whole_pass_rate,
)
from rpd_core.results.tables import ranking_table
from rpd_core.results.words import cut, percent, reached_words, shortened_states, signed


@dataclass(frozen=True)
class Asked:
    """Which rows of a list are shown, and how states are judged; null: as in the analysis."""

    top: int
    everything: bool
    only_reached: bool
    evidence: int | None
    margin: float | None


@dataclass(frozen=True)
class _List:
    facts: ListFacts
    rows: tuple[RankedDecision, ...]
    """Those that are shown."""
    unreached: int
    """Decisions left out because the unmutated policy never reaches them."""


def show_lists(
    opened: Run,
    measures: Sequence[str],
    condition: str | None,
    asked: Asked,
    export: Path | None,
    as_json: bool,
) -> None:
    """Print a list by each measure, and whether it is stable; write the first, if asked to."""
    chosen = [choose(installed(), "measure", one) for one in measures]
    if not chosen:
        own, remedy = opened.setting("list_by"), "name a measure yourself, with --measure"
        named_by = f"analysis {opened.name!r} of {str(opened.path)!r}"
        chosen = [Selection(refuse_code("measure", own, installed(), named_by, remedy), own)]
    rules = _rules_for(opened, asked)
    found = _analysed(opened, condition)
    rankings = [found.rank_by(one.text, one.recipe) for one in chosen]
    if export is not None:
        table = ranking_table(rankings[0], found.counted, _for_readers(opened, found))
        {".csv": table.to_csv, ".parquet": table.to_parquet}[export.suffix](export)
        told = f"rpd: wrote {counted(len(table), 'state')} to {export}"
        shared.errors().print(told, markup=False)
    reach = _reach_in(opened, asked.only_reached)
    lists = {one.name: _made_list(opened, found, one, rules, asked, reach) for one in rankings}
    stability = {}
    if not asked.everything:  # states without evidence have no place that could come back
        keys = found.counted.states.key
        only = reach.share_of_episodes(keys) > 0 if asked.only_reached else None
        stability = {
            one.text: Recurrence(
                found, one.recipe, rules.evidence, only=only, streamed=True
            ).stability()
            for one in chosen
        }
    if as_json:
        rows = {name: one.rows for name, one in lists.items()}
        told_of = {"condition": found.condition_text, "rankings": rows, "stability": stability}
        shared.print_json(told_of)
        return
    console, question = shared.answers(), opened.directory.configuration().suite_json()
    say(console, mutated_words(question["settings"]["mutation_rate"]), style="bold")
    print_question(console, question, f"passed means {few_digits(found.condition_text)}")
    for advice in _advice_on_condition(opened, found, condition is None):
        say(console, f"Advice: {advice}")
    for name, one in lists.items():
        noun = noun_of(question["settings"]["abstraction"])
        _show_list(console, name, one, found.condition_text, noun)
        if one.rows and name in stability:
            facts = replace(one.facts, listed=one.facts.listed - one.unreached)
            say(console, stability_words(stability[name], facts))


def _for_readers(opened: Run, found: Analysis) -> dict[str, dict[int, Any]]:
    """Return what people want to know of each state, by its key."""
    keys, stored = found.counted.states.key, opened.kept() if opened.name else None
    words, inside = found.stored.words(keys), {*(stored.keys if stored else ())}
    known = {key: words.get(key, f"{key:016x}") for key in keys.tolist()}
    return {"in_policy": {key: key in inside for key in known}, "state": known}


def _analysed(opened: Run, condition: str | None) -> Analysis:
    """Analyse the stored suite; first show on how much of it the answer stands."""
    if condition is not None:
        if told := incomplete(opened):
            shared.show_note(told)
        return opened.analysed(condition, typed=True)
    if opened.name is None:
        raise ConfigError(f"{str(opened.path)!r} has no finished analysis: give --condition")
    if opened.standing:
        shared.show_note(opened.standing)
    return opened.analysis


def _rules_for(opened: Run, asked: Asked) -> Rules:
    """Return how states are judged: as asked, else as in the analysis."""
    at_least, width = (
        check_value(name, opened.setting(name) if value is None else value)
        for name, value in (("evidence", asked.evidence), ("margin", asked.margin))
    )
    return Rules(at_least, width, opened.setting("confidence"))


def _reach_in(opened: Run, needed: bool) -> Reach:
    """Return what the unmutated policy reaches; refuse where that is asked for and not known."""
    reach = stored_reach(opened.directory)
    if not reach.total_episodes:
        unknown = (
            f"{str(opened.path)!r} holds no unmutated episodes, so that it is not known what the "
            f"policy reaches: rpd prune {shell_word(opened.path)} plays them"
        )
        if needed:
            raise StoreError(f"{unknown}; or leave --reached out")
        shared.show_note(unknown)
    return reach


def _made_list(
    opened: Run, found: Analysis, ranking: Ranking, rules: Rules, asked: Asked, reach: Reach
) -> _List:
    names, stored = opened.directory.names(), opened.kept() if opened.name else None
    judged = decide(found.counted, ranking, reach, rules)
    whole = judged.listed(asked.everything, asked.only_reached)
    facts = list_facts(judged, rules.evidence, rules.margin, names.note)
    kept = None if stored is None else stored.array
    rows = ranked_rows(judged, whole[: asked.top], found.stored, names, kept)
    return _List(facts, rows, len(judged.listed(asked.everything)) - len(whole))


def _advice_on_condition(opened: Run, found: Analysis, own: bool) -> list[str]:
    """Return advice where the unmutated policy fails the condition about as often as mutants.

    For the analysis's own condition, in the figures that the answer has.
    """
    mutated = float(found.weights.mean())
    if own:
        return on_condition(found.condition_text, whole_pass_rate(opened.summary), mutated)
    parts = opened.directory.unmutated()
    if not parts.covered():
        return []
    try:
        whole = float(weigh(found.condition, StoredEpisodes(parts).episodes()).mean())
    except EvidenceError:  # it asks for what only mutants left behind
        return []
    return on_condition(found.condition_text, whole, mutated)


def _show_list(console: Console, name: str, listed: _List, condition: str, noun: str) -> None:
    console.print()
    notes = list_notes(listed.facts)
    if listed.rows:
        print_list(console, f"Decisions by {name}", listed.rows, noun)
        found = {row.verdict for row in listed.rows}
        marks = (words for verdict, words in _LEGEND.items() if verdict in found)
        notes = [f"{', '.join(marks)}.", *notes]
    else:
        say(console, f"Nothing to list by {name} under {condition}: try --all or less --evidence")
    if listed.unreached:
        never = "that the unmutated policy never reaches"
        notes.append(f"Left out: {counted(listed.unreached, 'decision')} {never}.")
    say(console, " ".join(notes))


# --------------------------------------------------------------------------------- the table


_MARKS = {"matters": "*", "default-better": "!", "harmless": "=", "undecided": "?"}
_LEGEND = {
    "matters": "* matters",
    "default-better": "! the default is better",
    "harmless": "= harmless",
    "undecided": "? undecided",
    TOO_FEW: f"no mark: {TOO_FEW}",
}
_STYLES = {"matters": "bold", "default-better": "yellow"}
_WIDTH = 8
"""Characters of a drawn interval."""
_LEAST_STATE = 20
"""Characters that a state gets, however narrow the screen is."""
_LONGEST = 1000
"""Characters beyond which the length of a state does not matter: no screen is as wide."""
_ENOUGH = 27
"""Characters of a state for which the default action is left out."""
_MUTATED, _KEPT = "episodes\nmutated", "episodes\nkept"
_SPARE = {
    _MUTATED: "episodes mutated",
    _KEPT: "episodes kept",
    "interval": "the interval of the effect",
    "default": "what the default action does",
}
"""Columns that a narrow screen can do without."""
_STATE_LINES = {"state": 2, "rule": 20}
"""Lines that a state takes at most: no condition of a rule is left out."""


def print_list(
    console: Console, title: str, rows: Sequence[RankedDecision], noun: str = "state"
) -> None:
    """Print the list of a mutated policy with its effects drawn; long states get more lines."""
    lines, whole = _STATE_LINES[noun], noun == "rule"
    plain = not can_draw(console)
    scale = scale_for([row.low for row in rows], [row.high for row in rows], _WIDTH)
    ends = f"{scale.low:z.1f}", f"{scale.high:z.1f}"  # z: no -0.0
    columns = {
        "": [str(row.rank) for row in rows],
        "state": [cut(row.state, _LONGEST) for row in rows],
        "policy": [short_action(row.policy_action, whole) for row in rows],
        "default": [short_action(row.default_action, whole) for row in rows],
        "fails\nmutated": [percent(row.risk_mutated) for row in rows],
        "fails\nkept": [percent(row.risk_kept) for row in rows],
        "effect": [f"{signed(row.effect)}{_MARKS.get(row.verdict, ' ')}" for row in rows],
        "interval": [bar(scale, row.low, row.effect, row.high, plain) for row in rows],
        "score": [f"{row.score:.2g}" for row in rows],
        "reach": [reached_words(row.reached) for row in rows],
        _MUTATED: [str(row.episodes_mutated) for row in rows],
        _KEPT: [str(row.episodes_kept) for row in rows],
        "in the\nanswer": ["yes" if row.in_policy else "no" for row in rows],
    }
    for one in further_columns():
        columns[one.heading] = [one.words(getattr(row, one.name)) for row in rows]
    say(console, title, style="bold")
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    widths = widths_of(columns)
    left_out = _fit(widths, console.width)
    columns["state"] = shortened_states(columns["state"], widths["state"], lines)
    headings = {"interval": f"{ends[0]}{ends[1]:>{_WIDTH - len(ends[0])}}"}
    for name, width in widths.items():
        left = name in ("state", "policy", "default", "interval")
        table.add_column(headings.get(name, name), justify="left" if left else "right",
                         no_wrap=True, overflow="ellipsis", width=width)  # fmt: skip
    shown = [columns[name] for name in widths]
    for row, *texts in zip(rows, *shown, strict=True):
        table.add_row(*map(escape, texts), style=_STYLES.get(row.verdict))
    console.print(table)
    if left_out:
        say(console, f"Left out on this narrow screen: {', '.join(left_out)}.")


def _fit(widths: dict[str, int], screen: int) -> list[str]:
    """Make columns fit the screen: the state gives way first; return columns that had to go."""
    needed, left_out = widths["state"], []

    def room() -> int:
        return screen - sum(widths.values()) - len(widths) + 1 + widths["state"]

    for column, words in _SPARE.items():
        enough = min(needed, _ENOUGH) if column == "default" else needed
        if room() < enough or (column == _KEPT and _MUTATED not in widths):
            del widths[column]
            left_out.append(words)
    widths["state"] = min(needed, max(room(), _LEAST_STATE))
    return left_out


_FINE = {"axis": "│", "low": "├", "line": "─", "high": "┤", "point": "●"}
_PLAIN = {"axis": "|", "low": "[", "line": "-", "high": "]", "point": "o"}


@dataclass(frozen=True)
class BarScale:
    """Where values from `low` to `high`, between which 0 lies, fall in a row of cells."""

    low: float
    high: float
    width: int = 12

    def cell(self, value: float) -> int:
        """Return the cell of a value; those beyond the ends fall in the outermost."""
        span = max(self.high - self.low, 1e-12)
        place = round((value - self.low) / span * (self.width - 1))
        return min(max(place, 0), self.width - 1)


def scale_for(lows: list[float], highs: list[float], width: int = 12) -> BarScale:
    return BarScale(min([0.0, *lows]), max([0.0, *highs]), width)


def bar(scale: BarScale, low: float, estimate: float, high: float, plain: bool = False) -> str:
    """Draw an interval and what it is for, with a mark at 0."""
    marks = _PLAIN if plain else _FINE
    cells = [" "] * scale.width
    cells[scale.cell(0.0)] = marks["axis"]
    first, last = scale.cell(low), scale.cell(high)
    cells[first : last + 1] = marks["line"] * (last - first + 1)
    cells[first], cells[last] = marks["low"], marks["high"]
    cells[scale.cell(estimate)] = marks["point"]
    return "".join(cells)
