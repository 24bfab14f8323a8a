"""As far as the curves: rankings of one suite swept, nothing chosen, confirmed or refined."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rpd_core.analysis.analysis import Analysis
from rpd_core.analysis.recurrence import Recurrence, counted_visits
from rpd_core.analysis.stability import Stability
from rpd_core.errors import RpdError
from rpd_core.pipeline import prepare_run, rank_suite
from rpd_core.plugin.protocols import Measure
from rpd_core.pruning.evaluation import Evaluations
from rpd_core.pruning.references import References, measure_references
from rpd_core.pruning.sweep import Sweep, sweep
from rpd_core.store.prepared import prepared_digest
from rpd_core.store.session import Session
from rpd_studies.lists import Lists, lists_of


@dataclass(frozen=True)
class Swept:
    """The curves of all measures on one suite, and whether the list of each comes back."""

    analysis: Analysis
    references: References
    sweep: Sweep
    stability: Mapping[str, Stability | None]
    lists: Lists
    """The first states by every measure, to be looked up in other suites."""
    left_out: Mapping[str, str]
    """Measures that cannot rank this suite, and why."""


def sweep_measures(session: Session, others: Mapping[str, Measure]) -> Swept:
    """Go the line up to the sweep; nothing is chosen, confirmed or stored as an analysis.

    `others` are measures beside those of the settings; one that cannot rank the suite is left out.
    """
    session.remember_origins(session.directory.suite())
    prepare_run(session)
    evaluations = Evaluations(session)
    analysis, references = rank_suite(session, evaluations, grow=False)
    left_out = {}
    for name, measure in others.items():
        try:
            analysis.rank_by(name, measure)
        except RpdError as error:
            left_out[name] = str(error)
    swept = sweep(evaluations, analysis.rankings, references)
    visits, evidence = counted_visits(analysis), session.setup.config.settings.evidence
    measures = {**session.setup.measures, **others}
    stability = {
        name: Recurrence(analysis, measures[name], evidence, visits).stability()
        for name in analysis.rankings
    }
    lists = lists_of(analysis, evidence, prepared_digest(session.directory))
    return Swept(analysis, references, swept, stability, lists, left_out)


@dataclass(frozen=True)
class SweptRankings:
    """The curves of some rankings on one suite."""

    analysis: Analysis
    references: References
    sweep: Sweep
    seconds: float | None
    """What it took to play the suite and to rank its states; None: some of it was there before."""


def sweep_rankings(session: Session, names: Sequence[str] = ()) -> SweptRankings:
    """Go the line up to the sweep over some measures of the settings, or over all of them."""
    directory = session.directory
    session.remember_origins(directory.suite())
    prepare_run(session)
    evaluations = Evaluations(session)
    fresh = not directory.suite().count()
    if fresh:  # first and by itself, so that the time is that of suite and rankings alone
        directory.keep_question(session.setup.config)
        measure_references(session, evaluations)
    began = time.perf_counter()
    analysis, references = rank_suite(session, evaluations, grow=False)
    seconds = time.perf_counter() - began if fresh else None
    chosen = {name: analysis.rankings[name] for name in names or analysis.rankings}
    swept = sweep(evaluations, chosen, references)
    return SweptRankings(analysis, references, swept, seconds)
