"""The straight line: configuration -> prepare -> suite -> spectrum -> rankings -> pruning."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core import prepare, tables
from rpd_core.components import Executor, Spectrum, WorkItem
from rpd_core.conditions import refuse_one_sided, resolve_condition, weigh
from rpd_core.config import PORTFOLIO, THRESHOLDS, Setup, short_digest
from rpd_core.errors import StoreError
from rpd_core.execution import LocalProcesses, run_items
from rpd_core.hashing import Phase
from rpd_core.jobs import Evaluation, EvaluationJob, SuiteJob, perform_evaluation, perform_suite
from rpd_core.pruning import (
    Candidate,
    Curve,
    candidates,
    curve_from,
    cutoffs_for,
    portfolio,
    refuse_weak_policy,
    target_return,
)
from rpd_core.ranking import Ranking, evidence_for, random_ranking, rank
from rpd_core.registry import Registry
from rpd_core.rollout import Recipe
from rpd_core.spectrum import count_spectrum
from rpd_core.store import RunDirectory
from rpd_core.suite import Episodes, Suite, merge
from rpd_core.versions import versions

if TYPE_CHECKING:
    from rpd_core.components import FloatArray, KeyArray

Progress = Callable[[str, int, int], None]
"""Told (stage, done, total) as work is finished."""


@dataclass
class Workshop:
    """Where a run happens: its setup, its directory, and who does the work."""

    setup: Setup
    directory: RunDirectory
    registry: Registry
    executor: Executor = dataclasses.field(default_factory=LocalProcesses)
    workers: int = 1
    progress: Progress = lambda stage, done, total: None

    @property
    def recipe(self) -> Recipe:
        return self.setup.recipe


@dataclass(frozen=True)
class References:
    """Returns that every threshold stands on."""

    original: Episodes
    default_everywhere: Episodes
    reference: float
    reference_source: str

    @property
    def original_mean(self) -> float:
        return float(self.original.total_return.mean())

    def target(self, fraction: float) -> float:
        return target_return(fraction, self.original_mean, self.reference)


@dataclass(frozen=True)
class Analysis:
    """What a suite says under one condition."""

    suite: Suite
    condition: str
    """The condition in force, with its cut resolved."""
    weights: FloatArray
    spectrum: Spectrum
    rankings: Mapping[str, Ranking]


@dataclass(frozen=True)
class Confirmation:
    """What fresh episodes said about a chosen pruned policy."""

    candidate: Candidate
    """The last one tried."""
    mean_return: float
    step_share: float
    confirmed: bool
    tries: int


@dataclass(frozen=True)
class Pruning:
    """Curves of all rankings and the confirmed choices."""

    curves: Mapping[str, Curve]
    random_curves: Sequence[Curve]
    confirmations: Mapping[tuple[float, str], Confirmation]


@dataclass(frozen=True)
class Results:
    """Everything a finished run knows."""

    setup: Setup
    references: References
    analysis: Analysis
    pruning: Pruning
    pass_rates: Mapping[str, float]
    """Share of episodes that meet the condition: original policy, default everywhere, suite."""


@dataclass(frozen=True)
class Ranked:
    """A setup with its analysis: all that showing a ranking takes."""

    setup: Setup
    analysis: Analysis


def run(shop: Workshop) -> Results:
    """Do it all; whatever the directory already holds is not done again."""
    open_run(shop)
    references = measure_references(shop)
    suite = build_suite(shop)
    analysis = analyse(shop, suite)
    pruning = prune(shop, analysis, references)
    return Results(
        shop.setup, references, analysis, pruning, pass_rates(shop, analysis, references)
    )


def open_run(shop: Workshop) -> None:
    """Make or check the directory, then fit what must be fitted."""
    shop.directory.create(shop.setup.config, versions())
    if not prepare.needs_fit(shop.recipe):
        return
    stored = shop.directory.read_json("prepared.json")
    if stored is None:
        shop.progress("prepare", 0, 1)
        recipe = prepare.fit(shop.recipe, shop.setup.config.suite.seed)
        shop.directory.write_json("prepared.json", {"fitted": prepare.fitted_fields(recipe)})
        shop.progress("prepare", 1, 1)
    else:
        recipe = prepare.restore_fitted(shop.recipe, stored["fitted"])
    shop.setup = dataclasses.replace(shop.setup, recipe=recipe)


def measure_references(shop: Workshop) -> References:
    """Play the policy, the default action everywhere and, where needed, random play."""
    nothing = np.zeros(0, dtype=np.uint64)
    analysis = shop.setup.config.analysis
    asked = {
        "original": _evaluation(shop, nothing, (0,), unranked_kept=True),
        "default-everywhere": _evaluation(shop, nothing, (0,), unranked_kept=False),
    }
    if analysis.reference is None:
        random_play = dataclasses.replace(shop.recipe, policy=prepare.RandomPlay())
        asked["random-play"] = dataclasses.replace(
            asked["original"], recipe=random_play, phase=Phase.REFERENCE
        )
    played = evaluate(shop, "references", asked)
    reference, source = analysis.reference, "given"
    if reference is None:
        reference, source = float(played["random-play"].total_return.mean()), "random play"
    refuse_weak_policy(played["original"].total_return, reference, source)
    return References(played["original"], played["default-everywhere"], reference, source)


def build_suite(shop: Workshop) -> Suite:
    """Play the mutant episodes that are missing and give the whole suite."""
    config, parts = shop.setup.config, shop.directory.suite
    missing = parts.missing(config.episodes, config.chunk)
    done = config.episodes - sum(last - first + 1 for first, last in missing)
    shop.progress("suite", done, config.episodes)
    items = [
        WorkItem(
            perform_suite,
            SuiteJob(shop.recipe, config.suite.seed, config.suite.mutation_rate, first, last),
            f"episodes {first} to {last}",
        )
        for first, last in missing
    ]

    def store(item: WorkItem, chunk: Suite) -> None:
        nonlocal done
        parts.write(item.argument.first, item.argument.last, tables.suite_tables(chunk))
        done += len(chunk.episodes)
        shop.progress("suite", done, config.episodes)

    run_items(shop.executor, shop.workers, items, store)
    return load_suite(shop.directory)


def load_suite(directory: RunDirectory) -> Suite:
    """Read the suite of a run."""
    parts = directory.suite
    covered = parts.covered()
    if not covered:
        raise StoreError(f"{str(directory.path)!r} holds no episodes yet: run rpd suite first")
    return merge([tables.read_suite(parts.read(first, last)) for first, last in covered])


def analyse(shop: Workshop, suite: Suite) -> Analysis:
    """Weigh the episodes, count the spectrum, rank the states by every measure."""
    config = shop.setup.config.analysis
    condition = _stored_condition(shop, suite)
    weights = weigh(shop.registry.make("condition", condition), suite.episodes)
    refuse_one_sided(weights, suite.episodes, condition)
    spectrum = count_spectrum(suite, weights)
    rankings = {}
    for name in config.measures:
        measure = shop.registry.make("measure", name)
        rankings[name] = rank(name, measure, evidence_for(measure, suite, spectrum, weights))
    return Analysis(suite, condition, weights, spectrum, rankings)


def _stored_condition(shop: Workshop, suite: Suite) -> str:
    """Give the condition with its cut resolved, once for the life of the run."""
    asked = shop.setup.config.analysis.condition
    stored = shop.directory.read_json("conditions.json") or {}
    if asked not in stored:
        resolved = resolve_condition(asked, suite.episodes, shop.registry)
        if resolved == asked:
            return asked
        stored[asked] = {"resolved": resolved, "episodes": len(suite.episodes)}
        shop.directory.write_json("conditions.json", stored)
    return str(stored[asked]["resolved"])


def pass_rates(shop: Workshop, analysis: Analysis, references: References) -> dict[str, float]:
    """Give how often the condition is met without mutation, by default alone, and in the suite."""
    condition = shop.registry.make("condition", analysis.condition)
    return {
        "original": float(weigh(condition, references.original).mean()),
        "default_everywhere": float(weigh(condition, references.default_everywhere).mean()),
        "suite": float(analysis.weights.mean()),
    }


def prune(shop: Workshop, analysis: Analysis, references: References) -> Pruning:
    """Sweep over pruned policies of every ranking and confirm the chosen ones."""
    config = shop.setup.config.analysis
    keys = analysis.suite.states.key
    cutoffs = cutoffs_for(config.shares, len(keys))
    randoms = [random_ranking(keys, seed) for seed in range(config.random_rankings)]
    ranked = {ranking.name: ranking for ranking in (*analysis.rankings.values(), *randoms)}
    asked = {
        name: _evaluation(shop, ranking.ranked_keys, cutoffs) for name, ranking in ranked.items()
    }
    played = evaluate(shop, "pruning", asked)
    curves = {
        name: curve_from(name, config.shares, cutoffs, episodes)
        for name, episodes in played.items()
    }
    measured = {name: curves[name] for name in analysis.rankings}
    return Pruning(
        measured,
        [curves[ranking.name] for ranking in randoms],
        _confirm(shop, analysis.rankings, measured, references),
    )


def _confirm(
    shop: Workshop,
    rankings: Mapping[str, Ranking],
    curves: Mapping[str, Curve],
    references: References,
) -> dict[tuple[float, str], Confirmation]:
    """Try each choice on fresh episodes; where it misses, the next larger share on others."""
    groups = {name: [curve] for name, curve in curves.items()}
    groups["portfolio"] = portfolio(curves, PORTFOLIO)
    waiting = {
        (fraction, name): candidates(group, references.target(fraction))
        for fraction in THRESHOLDS
        for name, group in groups.items()
    }
    found: dict[tuple[float, str], Confirmation] = {}
    for attempt in range(max((len(queue) for queue in waiting.values()), default=0)):
        trying = {
            goal: queue[attempt] for goal, queue in waiting.items() if len(queue) > attempt
        }
        asked = {
            f"{one.name}@{one.kept}": _evaluation(
                shop, rankings[one.name].ranked_keys, (one.kept,), phase=Phase.CONFIRM, part=attempt
            )
            for one in trying.values()
        }
        played = evaluate(shop, "confirmation", asked)
        for goal, one in trying.items():
            episodes = played[f"{one.name}@{one.kept}"]
            mean = float(episodes.total_return.mean())
            met = mean >= references.target(goal[0])
            share = float(episodes.policy_steps.sum() / episodes.length.sum())
            found[goal] = Confirmation(one, mean, share, met, attempt + 1)
            if met:
                waiting[goal] = []
    return found


def _evaluation(
    shop: Workshop,
    ranked: KeyArray,
    cutoffs: tuple[int, ...],
    unranked_kept: bool | None = None,
    phase: Phase = Phase.TEST,
    part: int = 0,
) -> Evaluation:
    analysis = shop.setup.config.analysis
    if unranked_kept is None:
        unranked_kept = analysis.unvisited == "policy"
    seed = shop.setup.config.suite.seed
    return Evaluation(
        shop.recipe, seed, phase, part, ranked, cutoffs, unranked_kept, analysis.test_episodes
    )


def evaluate(
    shop: Workshop, stage: str, asked: Mapping[str, Evaluation]
) -> dict[str, Episodes]:
    """Play what is missing of several evaluations and give the episodes of each."""
    parts = {name: shop.directory.evaluation(file_name(name, one)) for name, one in asked.items()}
    total = sum(one.total for one in asked.values())
    items = [
        WorkItem(perform_evaluation, EvaluationJob(one, first, last), name)
        for name, one in asked.items()
        for first, last in parts[name].missing(one.total, shop.setup.config.chunk)
    ]
    done = total - sum(item.argument.last - item.argument.first + 1 for item in items)
    shop.progress(stage, done, total)

    def store(item: WorkItem, episodes: Episodes) -> None:
        nonlocal done
        table = evaluation_table(item.argument.evaluation, episodes)
        parts[item.label].write(item.argument.first, item.argument.last, {"episodes": table})
        done += len(episodes)
        shop.progress(stage, done, total)

    run_items(shop.executor, shop.workers, items, store)
    return {name: _read_evaluation(found) for name, found in parts.items()}


def evaluation_table(asked: Evaluation, episodes: Episodes) -> Any:
    """Give the episodes with the pruned policy and the test episode that each belongs to."""
    table = tables.episodes_table(episodes)
    kept = np.array(asked.cutoffs, dtype=np.int64)[episodes.index // asked.test_episodes]
    table = table.append_column("kept", [kept])
    return table.append_column("test_episode", [episodes.index % asked.test_episodes])


def _read_evaluation(parts: Any) -> Episodes:
    from rpd_core.suite import concat_episodes

    read = [parts.read(first, last)["episodes"] for first, last in parts.covered()]
    return concat_episodes([tables.read_episodes(table) for table in read])


def file_name(name: str, asked: Evaluation) -> str:
    """Give a name that is readable and differs whenever the episodes would."""
    what = [
        asked.phase, asked.part, asked.cutoffs, asked.unranked_kept, asked.test_episodes,
        asked.ranked.tobytes().hex(),
    ]  # fmt: skip
    readable = "".join(c if c.isalnum() or c in "-.@" else "-" for c in name)
    return f"{readable}-{short_digest(what)}"
