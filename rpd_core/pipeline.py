"""The straight line: configuration -> prepare -> suite -> spectrum -> rankings -> pruning."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from rpd_core.analysis.analysis import Analysis, analyse, keep_condition, weigh
from rpd_core.analysis.decisions import (
    Decisions,
    Looks,
    decide,
    judge_in_looks,
    look_sizes,
    open_ranks,
    rules_of,
)
from rpd_core.analysis.recurrence import Recurrence
from rpd_core.analysis.spectrum import tally
from rpd_core.analysis.suite import StoredEpisodes, stored_reach
from rpd_core.chance import Phase
from rpd_core.config.part_range import PartRange
from rpd_core.config.settings import Values
from rpd_core.execute.items import run_items
from rpd_core.play import prepare
from rpd_core.play.chunks import SuiteChunk
from rpd_core.plugin.protocols import Task, WorkItem
from rpd_core.pruning.choice import candidates_for
from rpd_core.pruning.evaluation import Evaluations
from rpd_core.pruning.references import References, measure_references
from rpd_core.pruning.refine import (
    Refining,
    Round,
    first_centre,
    last_confirmed,
    refine,
    rounds_that_pay,
)
from rpd_core.pruning.sweep import Pruning, Sweep, prune
from rpd_core.pruning.trials import Trials
from rpd_core.results import summary
from rpd_core.results.kept import KeptStates, write_kept
from rpd_core.results.records import PassRates, SuiteFacts, Summary
from rpd_core.results.tables import ranking_table
from rpd_core.store.codec import to_plain
from rpd_core.store.directory import RunDirectory
from rpd_core.store.files import file_stem
from rpd_core.store.prepared import fit_item, keep_prepared, prepared_chain
from rpd_core.store.session import Session, play_parts


def run(session: Session, name: str | None = None, grow: bool = True) -> Summary:
    """Do it all; whatever the directory already holds is not done again.

    Where the suite is to be stable and may not `grow`, what is stored has to do.
    """
    if name is not None:
        session.directory.refuse_taken(name, session.setup.config)
    session.remember_origins(session.directory.suite())
    prepare_run(session)
    evaluations = Evaluations(session)
    analysis, references = rank_suite(session, evaluations, grow)
    setup, directory = session.setup, session.directory
    pruning = prune(evaluations, analysis.rankings, references)
    pruning, rounds = _refine_policy(evaluations, analysis, pruning, references)
    name = name or analysis_name(session)
    rates = pass_rates(analysis, references)
    origins = itertools.chain(
        (record.origin for record in directory.suite().records()),
        (record.origin for record in directory.unmutated().records()),
        *(
            (record.origin for record in directory.evaluation(folder).records())
            for folder in evaluations.folders.values()
        ),
        *((r.origin for r in directory.round_parts(one.folder).records()) for one in rounds),
    )
    settings = setup.config.settings
    with session.stage("ranking"):
        judged = _judge_decisions(session, analysis)
        measure = setup.measures[settings.list_by]
        recurrence = Recurrence(analysis, measure, settings.evidence)
        answer = summary.summarise(
            name, setup.config, references, analysis, pruning, rounds, rates, judged, recurrence,
            directory.names(), origins,
        )  # fmt: skip
    with session.stage("storing"):
        _store_answer(session, answer, analysis, evaluations, pruning.sweep)
        _store_kept(directory, answer.analysis, pruning)
        _finish_answer(directory, answer)
    return answer


def rank_suite(
    session: Session, evaluations: Evaluations, grow: bool
) -> tuple[Analysis, References]:
    """Rank the states of the suite, played where it is missing, and measure what to compare to."""
    if _suite_is_there(session):  # a question that it cannot answer is refused before playing
        analysis = _analyse_suite(session, grow)
        with session.directory.asking(session.setup.config):
            references = measure_references(session, evaluations)
    else:  # and a policy that is no good before the long work
        with session.directory.asking(session.setup.config):
            references = measure_references(session, evaluations)
        analysis = _analyse_suite(session, grow)
    keep_condition(session.directory, session.setup.config.settings.condition, analysis)
    return analysis, references


def _refine_policy(
    evaluations: Evaluations, analysis: Analysis, pruning: Pruning, references: References
) -> tuple[Pruning, list[Round]]:
    """Make the policy of the first threshold smaller, where that was asked for or pays."""
    fraction, chosen = next(iter(pruning.chosen.items()))
    session = evaluations.session
    settings = session.setup.config.settings
    if chosen is None or chosen.tried.confirmation.outcome != "met":
        return pruning, []
    trials = Trials(evaluations, analysis.counted.states.key)
    refining = Refining(trials, references, fraction, _refined_name(session))
    spent = int(analysis.episodes.length.sum()) + _steps_worth(evaluations, pruning.sweep)
    rounds = rounds_that_pay(refining, spent)
    centre = None
    if rounds and len(chosen.tried.candidate.kept):
        queue = candidates_for(settings, analysis.rankings, pruning.curves, refining.spared_target)
        centre = first_centre(refining, queue)
    if centre is None:
        return pruning, []
    done = refine(refining, chosen, centre, rounds)
    found = {**pruning.chosen, fraction: last_confirmed(chosen, done)}
    return replace(pruning, chosen=found), done


def _steps_worth(evaluations: Evaluations, swept: Sweep) -> int:
    """Return the steps of all pruned episodes, as if each point of the sweep had all of its own.

    A sweep that plays less must not be a reason to refine less.
    """
    sets = {name for points in swept.points.values() for point in points for name in point.sets}
    own = {evaluations.folders[name] for name in sets}
    others = sum(count for folder, count in evaluations.lengths.items() if folder not in own)
    return others + swept.whole_steps


def _refined_name(session: Session) -> str:
    """Return the name of the analysis whose policy is refined: the one without given rounds."""
    setup = session.setup
    usual = replace(setup.config.settings, rounds=None, refine_episodes=None)
    config = replace(setup.config, settings=usual)
    return session.directory.name_for(config, _usual_settings(setup.task))


def _judge_decisions(session: Session, analysis: Analysis) -> Decisions:
    """Judge the states of a suite, in the order of the list."""
    settings = session.setup.config.settings
    rules, ranking = rules_of(settings), analysis.rankings[settings.list_by]
    verdicts = judge_in_looks(analysis, rules, settings.first_episodes)
    return decide(analysis.counted, ranking, stored_reach(session.directory), rules, verdicts)


def _suite_is_there(session: Session) -> bool:
    settings, directory = session.setup.config.settings, session.directory
    own = directory.unmutated().gaps(settings.unmutated_episodes, settings.chunk)
    return not own and not directory.suite().gaps(settings.episodes, settings.chunk)


def _analyse_suite(session: Session, grow: bool) -> Analysis:
    """Play the mutant episodes that are missing and rank their states."""
    build_parts(session)
    if session.setup.config.settings.until == "stable":
        _grow_until_stable(session, grow)
    setup = session.setup
    settings = setup.config.settings
    with session.stage("ranking"):
        return analyse(
            session.directory, setup.condition, settings.condition, setup.measures,
            settings.episodes,
        )  # fmt: skip


def _grow_until_stable(session: Session, grow: bool) -> None:
    """Double the suite until the first decisions of its list have a verdict, or it is too large.

    Each look stands on the first episodes of the stored suite, so that a run that was broken off
    takes the same looks again.
    """
    setup, directory = session.setup, session.directory
    settings = setup.config.settings
    most = settings.most_episodes
    if not grow:
        most = min(most, directory.suite().count())
    measure = {settings.list_by: setup.measures[settings.list_by]}
    looks, reach = Looks(rules_of(settings)), stored_reach(directory)
    for size in look_sizes(settings.episodes, most):
        session.ask_for(size)
        build_parts(session)
        found = analyse(directory, setup.condition, settings.condition, measure, size)
        keep_condition(directory, settings.condition, found)  # every look has the same condition
        ranking, verdicts = found.rankings[settings.list_by], looks.add(found.counted)
        judged = decide(found.counted, ranking, reach, looks.rules, verdicts)
        if not open_ranks(judged, settings.top):
            return


def prepare_run(session: Session) -> None:
    """Fit what must be fitted before the first episode, or take up what was fitted before."""
    if not prepare.needs_fit(session.recipe) or _restore_prepared(session):
        return
    session.progress("prepare", 0, 1)
    recipe = session.recipe
    item = fit_item(session.setup, recipe, session.files(recipe))

    def store(item: WorkItem, learned: Any) -> None:
        keep_prepared(session.directory, learned)

    with session.stage("prepare"):
        run_items(session.engine, [item], store)
    _restore_prepared(session)
    session.progress("prepare", 1, 1)


def _restore_prepared(session: Session) -> bool:
    """Take up what was fitted for this run before; return whether there was anything."""
    chain = prepared_chain(session.directory, session.setup.abstraction)
    if chain is None:
        return False
    session.use(prepare.with_links(session.recipe, chain.links))
    return True


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
    play_parts(session, "suite", directory.suite(), whole, cut=ends)
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
    facts = summary.suite_facts(episodes, counted, 0.0, rate)
    return facts, float(episodes.total_return.mean())


def pass_rates(analysis: Analysis, references: References) -> PassRates:
    """Return how often the condition is met without mutation, by default alone, in the suite."""
    return PassRates(
        float(weigh(analysis.condition, references.original).mean()),
        float(weigh(analysis.condition, references.default_everywhere).mean()),
        float(analysis.weights.mean()),
    )


def analysis_name(session: Session) -> str:
    """Return a readable name for what is asked of the suite."""
    task, config = session.setup.task, session.setup.config
    return session.directory.name_for(config, _usual_settings(task))


def _usual_settings(task: Task) -> Values:
    """Return the analysis settings that a task's user gets without asking."""
    from rpd_core.config.configuration import plain
    from rpd_core.config.settings import ASKED, STANDARD_MEASURES, Settings, recommended

    usual = Settings(**{**recommended(task, Settings()), "measures": STANDARD_MEASURES})
    return plain(usual.of_scope(*ASKED))


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


def _store_kept(directory: RunDirectory, name: str, pruning: Pruning) -> None:
    """Leave the kept states of the chosen pruned policies with their analysis."""
    for fraction, chosen in pruning.chosen.items():
        if chosen is not None:
            one = chosen.tried.candidate
            keys, part = tuple(one.kept.tolist()), chosen.tried.part
            write_kept(directory, name, KeptStates(fraction, one.measure, one.identity, keys, part))


def _finish_answer(directory: RunDirectory, answer: Summary) -> None:
    """Leave the summary, last of all, and mark its analysis as the latest."""
    directory.write_json(f"analyses/{answer.analysis}/summary.json", answer)
    directory.write_json("analyses/latest.json", {"analysis": answer.analysis})
