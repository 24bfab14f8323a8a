"""A run -> its page: everything is read from the run directory, nothing is played."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rpd_core.errors import ConfigError, RpdError, one_line
from rpd_core.plugin.registry import installed
from rpd_core.pruning.curves import RANDOM, ShownCurve, shown_curves
from rpd_core.results.records import FrontPoint, Summary
from rpd_core.results.run import Run
from rpd_core.results.sentences import (
    advice_on,
    fewer_steps_words,
    headline,
    noun_for,
    recurrence_words,
    suite_words,
    sureness_words,
    tried_in_vain,
    what_would_help,
)
from rpd_core.results.words import few, part_of, percent, without_folders
from rpd_core.store.codec import to_plain
from rpd_core.store.files import write_whole
from rpd_report import sentences
from rpd_report.decisions import MOST_ROWS, Listed, read_list
from rpd_report.drawings import DASHES, colours_of, curve_drawing
from rpd_report.markup import inline_json, render, without_paths
from rpd_report.progress import begun_run
from rpd_report.tables import ShownTable, decision_table, effect_table
from rpd_report.top import Top, read_top
from rpd_report.validation import Validation, read_validation

FILE = "report.html"
LARGEST = 3_000_000
"""Bytes of a page that can still be mailed."""
_BASELINES = ("freqvis", "differ", "default-gap")
"""Rankings that know nothing of outcomes."""
_STATIC = 25
"""Rows that stand in the page before any script runs."""
_ROOMS = (1.0, 0.25, 0.05)
"""Shares of the usual room for rows, tried until the page is small enough."""


def write_page(run: Run, out: Path | None = None) -> Path:
    """Write the page of a run, into its directory or elsewhere, and return where it is."""
    content = build_page(run)
    target = out if out is not None else run.path / FILE
    if target.is_dir():
        raise ConfigError(f"{str(target)!r} is a folder: name a file, for example report.html")
    write_whole(target, content, run.path if out is None else None)
    return target


def _sure(summary: Summary) -> tuple[str, ...]:
    """Return how sure the answer is, and what it stands on."""
    return sureness_words(summary), recurrence_words(summary.policy), suite_words(summary)


def build_page(run: Run) -> bytes:
    """Return the page of a run, which is small enough to be mailed."""
    if run.name is None:
        return render({**_nothing(), **_unfinished(run)}, run.path)
    top, content = read_top(run), b""
    for room in _ROOMS:
        content = render(_finished(run, top, room), run.path)
        if len(content) <= LARGEST:
            break
    return content


@dataclass(frozen=True)
class _Read:
    """What was read of a finished analysis, for the folds."""

    summary: Summary
    lines: tuple[ShownCurve, ...]
    listed: Listed
    validation: Validation | None
    notes: tuple[str, ...]
    """What could not be read, and why."""


def _finished(run: Run, top: Top, room: float) -> dict[str, Any]:
    read = _read(run, room)
    parts = {
        **_nothing(),
        "top": top,
        **_summary_parts(read, top),
        **_curve_parts(read),
        **_list_parts(read),
        **_repeat_parts(read),
    }
    data = {
        "front": parts["front"],
        "clips": [] if top.film is None else [top.film.policy, top.film.default],
        "frames": top.frames,
        "steps": top.steps,
    }
    return {**parts, "data": inline_json(data)}


def _nothing() -> dict[str, Any]:
    """Return a page without content; every part of the template has its value."""
    return {
        "summary": None, "chosen": None, "top": None, "lines": (), "tables": {}, "advice": (),
        "facts": (), "versions": (), "baselines": (), "front": (), "effects_about": "",
        "effects_notes": (), "validation": None, "kicker": "", "tried": (), "sure": (),
        "scale": "", "fewer_steps": "",
        "data": inline_json({}), "static": _STATIC,
    }  # fmt: skip


# ---------------------------------------------------------------------- reading


def _read(run: Run, room: float) -> _Read:
    notes = []
    try:
        lines = curves_in_order(run)
    except RpdError as error:  # a sweep that is damaged leaves the rest of the page as it is
        lines = ()
        notes.append(f"The pruning curves cannot be shown: {one_line(error)}")
    listed = read_list(run, int(MOST_ROWS * room))
    return _Read(run.summary, lines, listed, read_validation(run), tuple(notes))


def curves_in_order(run: Run) -> tuple[ShownCurve, ...]:
    """Return the curves of all measures, that of the list first, baselines and random last."""
    found = shown_curves(run.curves, run.random_curves)
    list_by = run.asked.settings.list_by

    def place(name: str) -> tuple[bool, bool, bool]:
        return name == RANDOM, name in _BASELINES and name != list_by, name != list_by

    return tuple(found[name] for name in sorted(found, key=place))


# ------------------------------------------------------------------------ parts


def _summary_parts(read: _Read, top: Top) -> dict[str, Any]:
    summary = read.summary
    policy = summary.policy
    proven = policy is not None and policy.met
    notes = [*advice_on(summary), *dict.fromkeys((*top.notes, *read.notes))]
    return {
        "summary": summary,
        "page_title": sentences.title_of(summary),
        "title": top.title,
        "kicker": sentences.kicker(summary, installed()),
        "headline": headline(summary),
        "chosen": policy,
        "proven": proven,
        "tried": () if proven else _tried(summary),
        "sure": [line for line in _sure(summary) if line],
        "scale": sentences.scale(summary),
        "fewer_steps": fewer_steps_words(policy) if policy is not None and proven else "",
        "baselines": (
            list(sentences.baselines(policy, noun_for(summary))) if policy is not None else ()
        ),
        "front": [_front_words(one) for one in policy.front] if policy and proven else (),
        "facts": list(sentences.about(summary, installed())),
        "advice": notes,
        "health": list(sentences.health(summary)),
        "validation": read.validation,
        "validation_lines": read.validation.sentences if read.validation else (),
    }


def _tried(summary: Summary) -> list[str]:
    """Return what was tried where nothing is proven, and what to do."""
    told = (tried_in_vain(summary.policy), suite_words(summary))
    return [*filter(None, told), what_would_help(summary)]


def _front_words(point: FrontPoint) -> dict[str, Any]:
    """Return what the slider shows of a pruned policy that minimising went through."""
    return {
        "kept": point.decisions,
        "states": part_of(point.states),
        "steps": percent(point.steps),
        "overrides": percent(point.overrides),
        "share": percent(point.share),
        "return": few(point.return_mean),
        "episodes": point.episodes,
    }


def _curve_parts(read: _Read) -> dict[str, Any]:
    summary, lines = read.summary, read.lines
    fraction = next(iter(summary.thresholds), "0.9")
    target, point = summary.targets.get(fraction), summary.policy
    parts: dict[str, Any] = {
        "lines": lines,
        "fraction": float(fraction),
        **_episodes_behind(lines),
        "thresholds": list(summary.thresholds.get(fraction, {}).items()),
        "colours": colours_of(lines),
        "list_by": summary.list.measure,
        "dashes": DASHES,
    }
    for axis in ("states", "steps") if lines else ():
        marked = None if point is None else (getattr(point, axis), point.return_mean)
        parts[f"drawing_{axis}"] = curve_drawing(lines, axis, summary.list.measure, target, marked)
    return parts


def _episodes_behind(lines: Sequence[ShownCurve]) -> dict[str, Any]:
    """Return how many test episodes stand behind the points, and whether these differ."""
    counts = [count for line in lines for count in line.episodes] or [0]
    fewest, most = min(counts), max(counts)
    text = str(most) if fewest == most else f"{fewest} to {most}"
    return {"behind": text, "stopped": fewest < most}


def _list_parts(read: _Read) -> dict[str, Any]:
    summary, listed = read.summary, read.listed
    tables = decision_table(summary.decisions), effect_table(listed.rows)
    return {
        "tables": {one.name: one for one in tables if one.keys},
        "effects_about": sentences.effects_about(summary),
        "effects_notes": [
            *sentences.notes_on_effects(summary),
            *sentences.table_notes(listed),
        ],
    }


def _repeat_parts(read: _Read) -> dict[str, Any]:
    summary = read.summary
    return {
        "commands": sentences.commands(),
        "versions": list(sentences.versions(summary)),
        "configuration": _configuration(summary.configuration),
    }


def _configuration(value: Any) -> str:
    """Return a configuration as JSON, in which files have no folders."""

    def plain(one: Any) -> Any:
        if isinstance(one, str):
            return without_paths(without_folders(one) if "/" in one else one)
        if isinstance(one, dict):
            return {name: plain(inner) for name, inner in one.items()}
        return [plain(inner) for inner in one] if isinstance(one, list) else one

    return json.dumps(plain(to_plain(value)), indent=2, ensure_ascii=False)


def _unfinished(run: Run) -> dict[str, Any]:
    """Return what there is to say about a run without a finished analysis."""
    begun = begun_run(run)
    table: ShownTable = effect_table(begun.rows)
    return {
        "page_title": begun.title,
        "title": begun.title,
        "unfinished": begun.standing,
        "facts": begun.facts,
        "tables": {"effects": table} if begun.rows else {},
        "effects_about": begun.about_list,
        "commands": begun.commands,
        "configuration": _configuration(run.directory.read_json("run.json")),
    }
