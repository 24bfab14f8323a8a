"""A run that is not finished: how far it is, and what its episodes say so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rpd_core.analysis.suite import StoredEpisodes, stored_reach
from rpd_core.analysis.verdicts import decide, rules_of
from rpd_core.config.trust import refuse_code
from rpd_core.errors import RpdError, counted, one_line
from rpd_core.plugin.registry import installed
from rpd_core.results.decisions import list_facts, ranked_rows
from rpd_core.results.records import RankedDecision
from rpd_core.results.run import Run
from rpd_core.results.sentences import list_notes
from rpd_core.results.words import few, without_folders

_SHOWN = 25
"""Decisions that are shown."""


@dataclass(frozen=True)
class _Begun:
    """What the page of an unfinished run says."""

    title: str
    """What is analysed."""
    standing: str
    """How far it is, and how to go on."""
    facts: tuple[tuple[str, str], ...]
    """Names and values."""
    rows: tuple[RankedDecision, ...]
    """The first of the list as it stands; empty where nothing can be said yet."""
    about_list: str
    """What they stand on, or why there are none."""
    commands: tuple[str, ...]
    """What goes on with the run, or asks more of it."""


def begun_run(run: Run) -> _Begun:
    """Read what there is of a run without a finished analysis; nothing is played."""
    stored = run.directory.stored()
    done, asked = run.progress
    stage = "suite" if run.missing else "pruning"
    rows, about_list = _so_far(run, done, asked)
    again = "rpd run --config RUN/run.json --out RUN"
    return _Begun(
        title=f"{without_folders(stored.policy)} on {stored.env}",
        standing=(
            f"Not finished: {done} of {asked} mutant episodes are stored; the {stage} is not "
            f"complete. Continue with: {again}"
        ),
        facts=(*_settings(run), *_played(run, done)),
        rows=rows,
        about_list=about_list,
        commands=(again, "rpd report RUN"),
    )


def _settings(run: Run) -> Iterator[tuple[str, str]]:
    stored, asked = run.directory.stored(), run.directory.question()
    settings = stored.settings.given()
    yield "task", stored.env
    yield "policy", without_folders(stored.policy)
    yield "default action", str(settings.get("default_action"))
    yield "states told apart by", " + ".join(map(str, settings.get("abstraction", ())))
    if asked is not None:
        yield "an episode passes if", asked.condition
    yield "mutation rate", str(settings.get("mutation_rate"))
    yield "seed", str(settings.get("seed"))


def _played(run: Run, done: int) -> Iterator[tuple[str, str]]:
    """Yield what the stored episodes earned."""
    held = {"mutant episodes": (run.directory.suite(), done)}
    unmutated = run.directory.unmutated()
    held["unmutated episodes"] = unmutated, unmutated.count()
    for name, (parts, count) in held.items():
        if not count:
            continue
        try:
            returns = StoredEpisodes(parts).episodes().total_return
        except RpdError as error:  # damaged files are named, and the rest is shown
            yield name, one_line(error)
            continue
        ends = f"{few(float(returns.min()))} to {few(float(returns.max()))}"
        yield name, f"{count}, mean return {few(float(returns.mean()))} ({ends})"


def _so_far(run: Run, done: int, asked: int) -> tuple[tuple[RankedDecision, ...], str]:
    """Return the list as it stands, and what it stands on; or why there is none."""
    settings = run.directory.question()
    if not done or settings is None:
        return (), ""
    try:
        found = run.analysed(settings.condition)
        named_by = repr(str(run.path))
        remedy = "Finish the run"
        recipe = refuse_code("measure", settings.list_by, installed(), named_by, remedy)
        ranking = found.rank_by(settings.list_by, recipe)
        judged = decide(found.counted, ranking, stored_reach(run.directory), rules_of(settings))
        names = run.directory.names()
        rows = ranked_rows(judged, judged.listed()[:_SHOWN], found.stored, names)
        facts = list_facts(judged, settings.evidence, settings.margin, names.note)
    except RpdError as error:
        return (), f"There is no list yet: {one_line(error)}"
    stands = f"Not final: this is the list after {counted(done, 'mutant episode')} of {asked}, "
    stands += f"by {settings.list_by}; nothing of it has been proved by pruning."
    return rows, f"{stands} {' '.join(list_notes(facts))}"
