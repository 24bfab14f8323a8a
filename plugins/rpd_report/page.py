"""A run -> its page: everything is read from the run directory, nothing is played."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rpd_core.errors import ConfigError, RpdError, one_line
from rpd_core.plugin.protocols import Image, Paragraph
from rpd_core.plugin.registry import installed
from rpd_core.pruning.curves import RANDOM, ShownCurve, shown_curves
from rpd_core.results.pictures import Pictures, data_uri, read_pictures
from rpd_core.results.records import FrontPoint, Summary
from rpd_core.results.run import Run
from rpd_core.results.sentences import advice_on, headline, noun_for
from rpd_core.results.words import few, percent
from rpd_core.store.codec import to_plain
from rpd_core.store.files import write_whole
from rpd_pictures.panels import Gathered, panel_view
from rpd_report import sentences
from rpd_report.blocks import ShownPlane
from rpd_report.decisions import MOST_ROWS, Listed, read_list
from rpd_report.drawings import DASHES, colours_of, curve_drawing, plane_drawings
from rpd_report.gallery import Gallery, open_gallery
from rpd_report.markup import inline_json, render
from rpd_report.panels import ShownPanel, draw_panels
from rpd_report.progress import begun_run
from rpd_report.tables import ShownTable, decision_table, effect_table
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
    parts = {
        **_nothing(),
        **_summary_parts(read),
        **_curve_parts(read),
        **_list_parts(read),
        **_panel_parts(read),
        **_repeat_parts(read),
    }
    data = {
        "front": parts["front"],
        "pictures": {f"{key:016x}": data_uri(one) for key, one in read.gallery.states.items()},
        "clips": [[clip.policy, clip.default] for clip in read.gallery.clips],
    }
    return {**parts, "data": inline_json(data)}


def _nothing() -> dict[str, Any]:
    """Return a page without content; every part of the template has its value."""
    return {
        "summary": None, "chosen": None, "lines": (), "tables": {}, "clips": (), "panels": (),
        "advice": (), "facts": (), "versions": (), "figures": (), "baselines": (), "front": (),
        "decisions_about": "", "effects_about": "", "effects_notes": (), "pictures_note": "",
        "pictures": {}, "validation": None, "meaning": "", "data": inline_json({}),
        "blank": _BLANK, "static": _STATIC,
    }  # fmt: skip


# ---------------------------------------------------------------------- reading


def _read(run: Run, room: float) -> _Read:
    summary, notes = run.summary, []
    try:
        lines = curves_in_order(run)
    except RpdError as error:  # a sweep that is damaged leaves the rest of the page as it is
        lines = ()
        notes.append(f"The pruning curves cannot be shown: {one_line(error)}")
    listed = read_list(run, int(MOST_ROWS * room))
    try:
        pictures = read_pictures(run.path, str(run.name))
        gallery = open_gallery(pictures, summary.decisions, run.path, room)
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
        "headline": headline(summary),
        **_policy_parts(summary),
        "meaning": _meaning(summary),
        "facts": list(sentences.about(summary, installed())),
        "advice": [*advice_on(summary), *read.notes],
        "health": list(sentences.health(summary)),
        "validation": read.validation,
        "validation_lines": read.validation.sentences if read.validation else (),
    }


def _policy_parts(summary: Summary) -> dict[str, Any]:
    """Return what is said of the smallest policy, or of what came nearest to it."""
    policy = summary.policy
    if policy is None:
        return {}
    return {
        "chosen": policy,
        "figures": list(sentences.figures(summary, policy)),
        "sure": list(sentences.sure(summary)),
        "baselines": list(sentences.baselines(policy, noun_for(summary))),
        "front": [_front_words(one) for one in policy.front] if policy.met else (),
    }


def _front_words(point: FrontPoint) -> dict[str, Any]:
    """Return what the slider shows of a pruned policy that minimising went through."""
    return {
        "kept": point.decisions,
        "states": f"{point.states:.1%}",
        "steps": percent(point.steps),
        "overrides": percent(point.overrides),
        "share": percent(point.share),
        "return": few(point.return_mean),
        "episodes": point.episodes,
    }


def _meaning(summary: Summary) -> str:
    if summary.policy is None:
        return ""
    settings = summary.configuration.get("suite", {}).get("settings", {})
    default_action = str(settings.get("default_action", "unknown"))
    told = sentences.in_words(installed(), "default-action", default_action)
    return sentences.meaning(summary.policy, noun_for(summary), told)


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
    summary, listed, states = read.summary, read.listed, read.gallery.states
    tables = decision_table(summary.decisions), effect_table(listed.rows)
    first = [row.key for row in summary.decisions[:_STATIC]]
    first += [clip.decision.key for clip in read.gallery.clips]
    return {
        "tables": {one.name: one for one in tables if one.keys},
        "pictures": {key: data_uri(states[key]) for key in first if key in states},
        "decisions_about": sentences.decisions_about(summary),
        "effects_about": sentences.effects_about(summary),
        "effects_notes": [
            *sentences.notes_on_effects(summary),
            *sentences.table_notes(listed),
        ],
        "pictures_note": read.gallery.note if summary.decisions else "",
        "clips": read.gallery.clips,
    }


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
    table: ShownTable = effect_table(begun.rows)
    return {
        "title": begun.title,
        "unfinished": begun.standing,
        "facts": begun.facts,
        "tables": {"effects": table} if begun.rows else {},
        "effects_about": begun.about_list,
        "commands": begun.commands,
        "configuration": _configuration(run.directory.read_json("run.json")),
    }
