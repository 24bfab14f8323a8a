"""The straight line: prepare -> suite -> spectrum -> rankings -> sweep -> minimise -> confirm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rpd_core.analysis.analysis import Analysis, analyse, keep_condition
from rpd_core.analysis.recurrence import Recurrence
from rpd_core.analysis.spectrum import tally
from rpd_core.analysis.suite import StoredEpisodes, stored_reach
from rpd_core.analysis.verdicts import decide, rules_of
from rpd_core.chance import Phase
from rpd_core.config.configuration import plain
from rpd_core.config.settings import ASKED, STANDARD_MEASURES, Settings, recommended
from rpd_core.config.typed import PartRange
from rpd_core.execute.items import run_items
from rpd_core.play import prepare
from rpd_core.play.chunks import SuiteChunk
from rpd_core.plugin.protocols import WorkItem
from rpd_core.pruning.evaluation import Evaluations
from rpd_core.pruning.growing import grow_links
from rpd_core.pruning.imitation import measure_imitation
from rpd_core.pruning.references import References, measure_references
from rpd_core.pruning.smallest import Smallest, allowed_steps, find_smallest
from rpd_core.pruning.sweep import Sweep, sweep
from rpd_core.results.kept import KeptRule, KeptStates, write_kept
from rpd_core.results.records import SuiteFacts, Summary
from rpd_core.results.summary import Told, suite_facts, summarise
from rpd_core.results.tables import ranking_table
from rpd_core.store.codec import to_plain
from rpd_core.store.directory import RunDirectory
from rpd_core.store.files import file_stem
from rpd_core.store.prepared import fit_item, keep_prepared, prepared_setup, with_learned
from rpd_core.store.session import Session, play_parts, say_what_differs


def run(session: Session, name: str | None = None) -> Summary:
    """Do it all; whatever the directory already holds is not done again."""
    if name is not None:
        session.directory.refuse_taken(name, session.setup.config)
    session.remember_origins(session.directory.suite())
    prepare_run(session)
    evaluations = Evaluations(session)
    analysis, references = rank_suite(session, evaluations)
    for why in analysis.left_out.values():
        session.note(f"{why.partition(': ')[0]}: it is left out")
    swept = sweep(evaluations, analysis.rankings, references)
    settings = session.setup.config.settings
    budget = allowed_steps(settings, analysis.episodes.length, swept.steps)
    smallest = find_smallest(evaluations, analysis.rankings, swept, references, budget)
    directory = session.directory
    targets = {fraction: references.target(fraction) for fraction in settings.target}
    told = Told(
        analysis, references, swept, evaluations, stored_reach(directory), directory.names(),
        measure_imitation(evaluations, targets),
    )  # fmt: skip
    with session.stage("ranking"):
        measure, ranking = session.setup.measures[settings.list_by], analysis.rankings
        recurrence = Recurrence(analysis, measure, settings.evidence)
        judged = decide(analysis.counted, ranking[settings.list_by], told.reach, rules_of(settings))
        played = map(directory.evaluation, evaluations.folders.values())
        stood_on = (directory.suite(), directory.unmutated(), *played)
        answer = summarise(
            name or analysis_name(session), session.setup.config, told, smallest,
            judged, recurrence, (one.origin for parts in stood_on for one in parts.records()),
        )  # fmt: skip
    with session.stage("storing"):
        _store_answer(session, answer, analysis, evaluations, swept)
        _store_kept(directory, answer.analysis, smallest)
        directory.write_json(f"analyses/{answer.analysis}/summary.json", answer)  # last of all
        directory.write_json("analyses/latest.json", {"analysis": answer.analysis})
    return answer


def rank_suite(session: Session, evaluations: Evaluations) -> tuple[Analysis, References]:
    """Rank the states of the suite, played where it is missing, and measure what to compare to."""
    settings, directory = session.setup.config.settings, session.directory
    missing = directory.unmutated().gaps(settings.unmutated_episodes, settings.chunk)
    if not missing and not directory.suite().gaps(settings.episodes, settings.chunk):
        # a question that the suite cannot answer is refused before playing
        analysis = _analyse_suite(session)
        with directory.asking(session.setup.config):
            references = measure_references(session, evaluations)
    else:  # and a policy that is no good before the long work
        with directory.asking(session.setup.config):
            references = measure_references(session, evaluations)
        analysis = _analyse_suite(session)
    keep_condition(directory, settings.condition, analysis)
    return analysis, references


def _analyse_suite(session: Session) -> Analysis:
    """Play the mutant episodes that are missing and rank their states."""
    build_parts(session)
    setup = session.setup
    settings = setup.config.settings
    with session.stage("ranking"):
        return analyse(
            session.directory, setup.condition, settings.condition, setup.measures,
            settings.episodes, {*STANDARD_MEASURES} - {settings.headline, settings.list_by},
        )  # fmt: skip


def prepare_run(session: Session) -> None:
    """Fit what must be fitted before the first episode, or take up what was fitted before."""
    if not prepare.needs_fit(session.recipe) or _restore_prepared(session):
        return
    session.progress("prepare", 0, 1)
    recipe = session.recipe
    item = fit_item(session.setup, recipe, session.files(recipe))

    def store(item: WorkItem, learned: Any) -> None:
        keep_prepared(session.directory, learned)

    def use_fitted(item: WorkItem, learned: Any) -> None:
        session.setup = with_learned(session.setup, learned)

    grows = prepare.needs_growth(recipe)
    with session.stage("prepare"):
        run_items(session.engine, [item], use_fitted if grows else store)
    session.progress("prepare", 1, 1)
    if grows:
        links = grow_links(session, Evaluations(session))
        grown = prepare.with_links(session.recipe, links)
        keep_prepared(session.directory, prepare.fitted_fields(grown))
    _restore_prepared(session)


def _restore_prepared(session: Session) -> bool:
    """Take up what was fitted for this run before; return whether there was anything."""
    setup = prepared_setup(session.directory, session.setup)
    session.setup = setup or session.setup
    return setup is not None


def build_parts(session: Session, parts: PartRange | None = None) -> None:
    """Play the mutant episodes that are missing, and those of the policy as it is.

    Of a range of parts, only these; episodes of the policy as it is belong to the first part.
    """
    settings, directory = session.setup.config.settings, session.directory
    chosen = (parts or PartRange()).episodes(settings)
    whole = SuiteChunk(
        session.recipe, settings.seed, settings.mutation_rate, chosen.start, chosen.stop - 1
    )
    ends = chosen.stop == settings.episodes
    before = directory.suite().covered()
    play_parts(session, "suite", directory.suite(), whole, cut=ends)
    if directory.suite().covered() != before:
        say_what_differs(session, directory.suite(), whole)
    if chosen.start == 0:
        own = replace(
            whole,
            mutation_rate=0.0,
            last=settings.unmutated_episodes - 1,
            phase=Phase.UNMUTATED,
        )
        play_parts(session, "unmutated", directory.unmutated(), own, cut=False)


def stored_suite_facts(directory: RunDirectory) -> tuple[SuiteFacts, float]:
    """Return what the stored suite holds before any condition is known, and its mean return."""
    stored = StoredEpisodes(directory.suite(), directory.stored().settings.episodes)
    episodes = stored.episodes()
    counted = tally(stored.chunks(), np.zeros(len(episodes)))
    rate = directory.stored().settings.mutation_rate
    facts = suite_facts(episodes, counted, 0.0, rate)
    return facts, float(episodes.total_return.mean())


def analysis_name(session: Session) -> str:
    """Return a readable name for what is asked of the suite: what differs from the usual."""
    task, config = session.setup.task, session.setup.config
    usual = Settings(**{**recommended(task, Settings()), "measures": STANDARD_MEASURES})
    return session.directory.name_for(config, plain(usual.of_scope(*ASKED)))


def _store_answer(
    session: Session,
    answer: Summary,
    analysis: Analysis,
    evaluations: Evaluations,
    swept: Sweep,
) -> None:
    """Leave what was asked in an analysis, and its rankings, beside others."""
    directory = session.directory
    folder = f"analyses/{answer.analysis}"
    asked = {
        "settings": session.setup.config.analysis_json(),
        "episodes": len(analysis.episodes),
        "evaluations": dict(evaluations.folders),
        "sweep": to_plain(dict(swept.points)),
    }
    directory.write_json(f"{folder}/analysis.json", asked)
    for name, ranking in analysis.rankings.items():
        table = ranking_table(ranking, analysis.counted)
        path = directory.path / folder / "rankings" / f"{file_stem(name)}.parquet"
        table.to_parquet(path, directory.path)


def _store_kept(
    directory: RunDirectory, name: str, smallest: Mapping[float, Smallest | None]
) -> None:
    """Leave the kept states of the smallest policies, and those on the way, with their analysis."""
    for fraction, found in smallest.items():
        if found is not None:
            chosen = found.chosen
            one, way = chosen.tried.candidate, chosen.way
            path = () if way is None else tuple(tuple(step.kept.tolist()) for step in way.path)
            keys, part = tuple(one.kept.tolist()), chosen.tried.part
            kept = KeptStates(fraction, one.measure, one.identity, keys, part, path)
            if found.alone is not None:
                rules = found.alone.rules
                kept = replace(kept, rules=tuple(map(KeptRule, rules.keys, rules.actions)))
            write_kept(directory, name, kept)
