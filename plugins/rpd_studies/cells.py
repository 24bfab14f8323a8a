"""One cell with one seed: which run it is, and what that run finds."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rpd_core import pipeline
from rpd_core.analysis.analysis import Analysis
from rpd_core.api import Call, session_for
from rpd_core.config.configuration import short_digest
from rpd_core.config.resolve import Setup
from rpd_core.errors import RpdError
from rpd_core.plugin.protocols import Measure
from rpd_core.pruning.curves import ShownCurve
from rpd_core.pruning.evaluation import Evaluations
from rpd_core.pruning.references import References, measure_references
from rpd_core.pruning.sweep import Sweep, sweep
from rpd_core.results.run import Run
from rpd_core.run_names import base_name
from rpd_core.store.codec import from_plain, parse_object, to_bytes
from rpd_core.store.directory import PROCESS, RunDirectory
from rpd_core.store.files import read_whole, write_whole
from rpd_core.store.session import Session
from rpd_studies.plan import Finish
from rpd_studies.results import (
    SCHEMA,
    CellResult,
    Figures,
    add_answer,
    add_thresholds,
    curves_in_shares,
)

RESULTS = "cells"
"""Folder of the stored results."""
_DIGITS = 8
_LARGEST = 2**26


@dataclass(frozen=True)
class Place:
    """Where a cell with a seed belongs in the folder of its grid."""

    folder: Path
    run: str
    """Name of the run directory, which is the same for all cells with the same episodes."""
    result: str
    """Name of the file of the result, which no other question has."""

    @property
    def directory(self) -> RunDirectory:
        """The run directory."""
        return RunDirectory(self.folder / self.run)


def place_of(setup: Setup, folder: Path, finish: Finish, rankings: Sequence[str] = ()) -> Place:
    """Return where the run of a cell and its result lie."""
    config = setup.config
    identity = config.digest()
    if config.live:  # a function of this process: no other one may go on with it
        identity = short_digest([identity, PROCESS])
    asked = [
        identity, config.settings.episodes, config.settings.unmutated_episodes,
        config.analysis_json(), finish, list(rankings),
    ]  # fmt: skip
    run = f"{base_name(setup)}_{identity[:_DIGITS]}"
    return Place(folder, run, f"{RESULTS}/{short_digest(asked)}.json")


def stored_result(place: Place) -> CellResult | None:
    """Read what a cell found before; None if it was not finished, or by another rpd."""
    path = place.folder / place.result
    content = read_whole(path, place.folder, _LARGEST)
    if content is None:
        return None
    found = parse_object(content, repr(str(path)))
    if found.get("schema") != SCHEMA:
        return None
    return from_plain(CellResult, found, repr(str(path)))


def play_cell(
    call: Call, setup: Setup, place: Place, finish: Finish, rankings: Sequence[str] = ()
) -> CellResult:
    """Do what is missing of a run and store what it found, whole or not at all."""
    here = dataclasses.replace(call, out=place.directory.path)
    with session_for(here, setup) as session:
        found = _swept(session, place, rankings) if finish == "sweep" else _answered(session, place)
    write_whole(place.folder / place.result, to_bytes(found), place.folder)
    return found


def _answered(session: Session, place: Place) -> CellResult:
    """Go the whole line, as `rpd run` does."""
    answer = pipeline.run(session)
    run = Run(session.directory.path, answer.analysis, session.setup)
    found, curves, randoms = Figures(), run.curves, run.random_curves
    add_answer(found, answer)
    add_thresholds(found, curves, randoms, answer.targets)
    points = curves_in_shares(
        curves, randoms, answer.original.reference, answer.original.return_mean
    )
    return _result(session, place, found, points, answer.condition)


def _swept(session: Session, place: Place, rankings: Sequence[str]) -> CellResult:
    """Go as far as the curves; nothing is chosen or confirmed."""
    done = sweep_suite(session, rankings)
    found, references, swept = Figures(), done.references, done.sweep
    settings = session.setup.config.settings
    found.add("return", references.original_mean)
    found.add("default_everywhere", float(references.default_everywhere.total_return.mean()))
    found.add("reference", references.reference)
    found.add("passed", float(done.analysis.weights.mean()))
    found.add("states", len(done.analysis.counted.states))
    found.add("mutation_rate", settings.mutation_rate)
    targets = {f"{q:g}": references.target(q) for q in settings.target}
    add_thresholds(found, swept.curves, swept.random_curves, targets)
    points = curves_in_shares(
        swept.curves, swept.random_curves, references.reference, references.original_mean
    )
    result = _result(session, place, found, points, done.analysis.condition_text)
    return dataclasses.replace(result, ranking_seconds=done.seconds)


def _result(
    session: Session, place: Place, found: Figures, points: Mapping[str, ShownCurve], condition: str
) -> CellResult:
    return CellResult(
        session.setup.config.settings.seed,
        os.path.relpath(session.directory.path, place.folder),
        found.values,
        tuple(found.never),
        points,
        condition,
    )


@dataclass(frozen=True)
class Swept:
    """The curves of rankings of one suite: nothing is chosen or confirmed."""

    analysis: Analysis
    references: References
    sweep: Sweep
    seconds: float | None
    """What it took to play the suite and to rank its states; None: some of it was there before."""
    left_out: Mapping[str, str]
    """Measures that cannot rank this suite, and why."""


def sweep_suite(
    session: Session, names: Sequence[str] = (), others: Mapping[str, Measure] | None = None
) -> Swept:
    """Go the line up to the sweep over some measures of the settings, or over all of them.

    `others` are measures beside those of the settings; one that cannot rank the suite is left out.
    Nothing is stored as an analysis.
    """
    directory = session.directory
    session.remember_origins(directory.suite())
    pipeline.prepare_run(session)
    evaluations = Evaluations(session)
    fresh = not directory.suite().count()
    if fresh:  # first and by itself, so that the time is that of suite and rankings alone
        directory.keep_question(session.setup.config)
        measure_references(session, evaluations)
    began = time.perf_counter()
    analysis, references = pipeline.rank_suite(session, evaluations)
    seconds = time.perf_counter() - began if fresh else None
    left_out = dict(analysis.left_out)
    for name, measure in (others or {}).items():
        try:
            analysis.rank_by(name, measure)
        except RpdError as error:
            left_out[name] = str(error)
    chosen = {name: analysis.rankings[name] for name in names or analysis.rankings}
    return Swept(analysis, references, sweep(evaluations, chosen, references), seconds, left_out)
