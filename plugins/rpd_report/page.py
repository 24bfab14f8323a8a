"""A run -> its page: everything is read from the run directory, nothing is played."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from rpd_core.errors import ConfigError, RpdError, one_line
from rpd_core.plugin.protocols import Image, Paragraph
from rpd_core.plugin.registry import installed
from rpd_core.pruning.curves import RANDOM, ShownCurve, shown_curves
from rpd_core.results.pictures import Pictures, data_uri, read_pictures
from rpd_core.results.records import Decision, Summary, further_columns
from rpd_core.results.run import Run
from rpd_core.results.sentences import advice_on, headline
from rpd_core.results.words import most_often, reached_words
from rpd_core.store.codec import to_plain
from rpd_core.store.files import write_whole
from rpd_pictures.panels import Gathered, panel_view
from rpd_report import sentences
from rpd_report.blocks import ShownPlane
from rpd_report.decisions import MOST_ROWS, Listed, read_list
from rpd_report.drawings import (
    DASHES,
    colours_of,
    curve_drawing,
    interval_drawing,
    plane_drawings,
    scale_of,
)
from rpd_report.gallery import Gallery, open_gallery
from rpd_report.markup import codes, inline_json, packed, render, rounded
from rpd_report.panels import ShownPanel, draw_panels
from rpd_report.progress import begun_run
from rpd_report.validation import Validation, read_validation

FILE = "report.html"
LARGEST = 5_000_000
"""Bytes of a page that can still be mailed."""
_BASELINES = ("freqvis", "differ", "default-gap")
"""Rankings that know nothing of outcomes."""
_STATIC = 25
"""Rows that stand in the page before any script runs."""
_ROOMS = (1.0, 0.5, 0.25, 0.05)
"""Shares of the usual room for rows and pictures, tried until the page is small enough."""
_BLANK = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
_COLUMNS = (
    ("rank", "#", "n"), ("state", "state", ""), ("policy", "policy", ""),
    ("default", "default", ""), ("mutated", "risk mutated", "n"), ("risk", "risk kept", "n"),
    ("effect", "effect", ""), ("verdict", "verdict", ""), ("reached", "reached", "n"),
    ("episodes", "episodes", "n"), ("kept", "kept", ""),
)  # fmt: skip


def write_page(run: Run, out: Path | None = None) -> Path:
    """Write the page of a run, into its directory or elsewhere, and return where it is."""
    content = build_page(run)
    target = out if out is not None else run.path / FILE
    if target.is_dir():
        raise ConfigError(f"{str(target)!r} is a folder: name a file, for example report.html")
    write_whole(target, content, run.path if out is None else None)
    return target


def build_page(run: Run) -> bytes:
    """Return the page of a run, which is small enough to be mailed."""
    if run.name is None:
        return render({**_nothing(), **_unfinished(run)})
    content = b""
    for room in _ROOMS:
        content = render(_finished(run, room))
        if len(content) <= LARGEST:
            break
    return content


@dataclass(frozen=True)
class _Read:
    """What was read of a finished analysis."""

    summary: Summary
    lines: tuple[ShownCurve, ...]
    listed: Listed
    gallery: Gallery
    panels: tuple[ShownPanel, ...]
    validation: Validation | None
    notes: tuple[str, ...]
    """What could not be read, and why."""


def _finished(run: Run, room: float) -> dict[str, Any]:
    read = _read(run, room)
    return {
        **_nothing(),
        **_summary_parts(read),
        **_curve_parts(run, read),
        **_list_parts(read),
        **_panel_parts(read),
        **_repeat_parts(read),
    }


def _nothing() -> dict[str, Any]:
    """Return a page without content; every part of the template has its value."""
    return {
        "summary": None, "chosen": None, "lines": (), "rows": (), "clips": (), "panels": (),
        "advice": (), "facts": (), "versions": (), "table_data": "",
        "list_notes": (), "rules": (), "table_notes": (), "verdicts": (), "pictures": {},
        "kept": (), "list_about": "", "validation": None, "meaning": "",
        "outcomes": sentences.OUTCOMES, "data": inline_json({}), "blank": _BLANK,
    }  # fmt: skip


# ---------------------------------------------------------------------- reading


def _read(run: Run, room: float) -> _Read:
    summary, notes = run.summary, []
    try:
        lines = curves_in_order(run)
    except RpdError as error:  # a sweep that is damaged leaves the rest of the page as it is
        lines = ()
        notes.append(f"The pruning curves cannot be shown: {one_line(error)}")
    listed = read_list(run, [line.measure for line in lines], int(MOST_ROWS * room))
    try:
        pictures = read_pictures(run.path, str(run.name))
        gallery = open_gallery(pictures, listed.rows, run.path, room)
    except RpdError as error:
        pictures, gallery = None, Gallery(note=f"The pictures cannot be read: {one_line(error)}")
    panels = _panels(run, listed, gallery, pictures, room)
    return _Read(summary, lines, listed, gallery, panels, read_validation(run), tuple(notes))


def curves_in_order(run: Run) -> tuple[ShownCurve, ...]:
    """Return the curves of all measures, that of the list first, baselines and random last."""
    found = shown_curves(run.curves, run.random_curves)
    list_by = run.asked.settings.list_by

    def place(name: str) -> tuple[bool, bool, bool]:
        return name == RANDOM, name in _BASELINES and name != list_by, name != list_by

    return tuple(found[name] for name in sorted(found, key=place))


def _panels(
    run: Run, listed: Listed, gallery: Gallery, pictures: Pictures | None, room: float
) -> tuple[ShownPanel, ...]:
    if listed.judged is None:  # the states are not at hand
        return ()
    view = panel_view(run, listed.judged, listed.rows, gallery.states)
    gathered = Gathered(run, pictures.panels if pictures is not None else {})
    return draw_panels(installed(), view, gathered, room)


# ------------------------------------------------------------------------ parts


def _summary_parts(read: _Read) -> dict[str, Any]:
    summary = read.summary
    return {
        "summary": summary,
        "title": sentences.title_of(summary),
        "headline": headline(summary, failures=False),
        "chosen": summary.policy,
        "confirmed": "" if summary.policy is None else sentences.confirmed(summary.policy),
        "meaning": _meaning(summary),
        "facts": list(sentences.about(summary, installed())),
        "advice": [*advice_on(summary), *read.notes],
        "health": list(sentences.health(summary)),
        "validation": read.validation,
        "validation_lines": read.validation.sentences if read.validation else (),
    }


def _meaning(summary: Summary) -> str:
    if summary.policy is None:
        return ""
    settings = summary.configuration.get("suite", {}).get("settings", {})
    default_action = str(settings.get("default_action", "unknown"))
    return sentences.meaning(
        summary.policy, sentences.in_words(installed(), "default-action", default_action)
    )


def _curve_parts(run: Run, read: _Read) -> dict[str, Any]:
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
        "ranked": set(read.listed.ranks),
    }
    for axis in ("states", "steps") if lines else ():
        marked = None if point is None else (getattr(point, axis), point.return_mean)
        parts[f"drawing_{axis}"] = curve_drawing(lines, axis, summary.list.measure, target, marked)
    scale = scale_of(read.listed.rows)
    parts["data"] = inline_json(
        {
            "lines": [_plain_line(line) for line in lines],
            "target": target,
            "original": summary.original.return_mean,
            "reference": summary.original.reference,
            "scale": [scale.low, scale.high],
            "pictures": {
                f"{key:016x}": data_uri(content) for key, content in read.gallery.states.items()
            },
            "clips": [[clip.policy, clip.default] for clip in read.gallery.clips],
        }
    )
    return parts


def _episodes_behind(lines: Sequence[ShownCurve]) -> dict[str, Any]:
    """Return how many test episodes stand behind the points, and whether these differ."""
    counts = [count for line in lines for count in line.episodes] or [0]
    fewest, most = min(counts), max(counts)
    text = str(most) if fewest == most else f"{fewest} to {most}"
    return {"behind": text, "stopped": fewest < most}


def _plain_line(line: ShownCurve) -> dict[str, Any]:
    names = ("states", "steps", "returns", "low", "high")
    numbers = {name: rounded(getattr(line, name), 5) for name in names}
    return {"measure": line.measure, "kept": line.kept, "episodes": line.episodes, **numbers}


def _list_parts(read: _Read) -> dict[str, Any]:
    summary, listed = read.summary, read.listed
    rows, scale = listed.rows[:_STATIC], scale_of(listed.rows)
    first = {row.key for row in rows} | {clip.decision.key for clip in read.gallery.clips}
    states = read.gallery.states
    return {
        "rows": rows,
        "columns": (*_COLUMNS, *((one.name, one.heading, "") for one in further_columns())),
        "further": _further(rows),
        "intervals": [interval_drawing(scale, row.low, row.effect, row.high) for row in rows],
        "reached": [reached_words(row.reached) for row in rows],
        "kept": listed.kept,
        "pictures": {key: data_uri(states[key]) for key in sorted(first) if key in states},
        "verdicts": list(summary.list.verdicts.items()),
        "list_about": sentences.list_about(summary),
        "list_notes": list(sentences.notes_on_list(summary)),
        "rules": sentences.rules(summary),
        "table_notes": list(sentences.table_notes(listed, read.gallery.note)),
        "table_data": Markup(packed(_columns(listed))) if listed.rows else "",
        "clips": read.gallery.clips,
    }


def _further(rows: Sequence[Decision]) -> list[list[tuple[str, str, str]]]:
    """Return name, heading and words of the columns that are appended to each row as they are."""
    return [
        [(one.name, one.heading, one.words(getattr(row, one.name))) for one in further_columns()]
        for row in rows
    ]


def _columns(listed: Listed) -> dict[str, Any]:
    """Return the table as columns, which take less room and less time than rows."""
    rows = listed.rows

    def numbers(name: str) -> list[float | None]:
        return rounded(getattr(row, name) for row in rows)

    def texts(name: str) -> dict[str, Any]:
        return codes([_cut(str(getattr(row, name))) for row in rows])

    def actions(name: str) -> dict[str, Any]:
        return codes([_cut(most_often(getattr(row, name))) for row in rows])

    return {
        "key": [f"{row.key:016x}" for row in rows],
        "state": texts("state"),
        "policy": actions("policy_action"),
        "default": actions("default_action"),
        "verdict": texts("verdict"),
        "mutated": numbers("risk_mutated"),
        "risk": numbers("risk_kept"),
        "effect": numbers("effect"),
        "low": numbers("low"),
        "high": numbers("high"),
        "reached": numbers("reached"),
        "episodesMutated": [row.episodes_mutated for row in rows],
        "episodesKept": [row.episodes_kept for row in rows],
        "kept": [int(row.key in listed.kept) for row in rows],
        "ranks": {name: list(places) for name, places in listed.ranks.items()},
        "further": [
            {
                "name": one.name,
                "heading": one.heading,
                **codes([_cut(one.words(getattr(row, one.name))) for row in rows]),
            }
            for one in further_columns()
        ],
    }


def _cut(text: str, longest: int = 400) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"


def _panel_parts(read: _Read) -> dict[str, Any]:
    shown = [
        {"title": panel.title, "name": panel.name, "fault": panel.fault,
         "groups": list(_groups(panel.blocks))}
        for panel in read.panels
    ]  # fmt: skip
    return {"panels": shown}


def _groups(blocks: Sequence[Any]) -> Iterable[dict[str, Any]]:
    """Yield what a panel shows, images that follow one another together."""
    images: list[dict[str, str]] = []
    for block in [*blocks, None]:
        if isinstance(block, Image):
            src = data_uri(block.data, block.media_type)
            images.append({"src": src, "alt": block.alt, "caption": block.caption})
            continue
        if images:
            yield {"kind": "images", "block": None, "images": images}
            images = []
        if isinstance(block, Paragraph):
            yield {"kind": "text", "block": block}
        elif isinstance(block, ShownPlane):
            yield {"kind": "plane", "block": block, "drawings": plane_drawings(block)}


def _repeat_parts(read: _Read) -> dict[str, Any]:
    summary = read.summary
    return {
        "commands": sentences.commands(summary.analysis),
        "versions": list(sentences.versions(summary)),
        "configuration": _configuration(summary.configuration),
    }


def _configuration(value: Any) -> str:
    return json.dumps(to_plain(value), indent=2, ensure_ascii=False)


def _unfinished(run: Run) -> dict[str, Any]:
    """Return what there is to say about a run without a finished analysis."""
    begun = begun_run(run)
    scale = scale_of(begun.rows)
    return {
        "title": begun.title,
        "unfinished": begun.standing,
        "facts": begun.facts,
        "rows": begun.rows,
        "columns": (*_COLUMNS, *((one.name, one.heading, "") for one in further_columns())),
        "further": _further(begun.rows),
        "intervals": [interval_drawing(scale, row.low, row.effect, row.high) for row in begun.rows],
        "reached": [reached_words(row.reached) for row in begun.rows],
        "list_about": begun.about_list,
        "commands": begun.commands,
        "configuration": _configuration(run.directory.read_json("run.json")),
    }
