"""The straight line: configuration -> prepare -> suite -> spectrum -> rankings -> pruning."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rpd_core.analysis.conditions import refuse_one_sided, resolve_condition, weigh
from rpd_core.analysis.ranking import Ranking, evidence_for, rank
from rpd_core.analysis.spectrum import count_spectrum
from rpd_core.analysis.suite import merge
from rpd_core.config.configuration import Setup
from rpd_core.errors import StoreError
from rpd_core.execute.work import WorkItem
from rpd_core.execute.workshop import Workshop
from rpd_core.play import prepare
from rpd_core.play.jobs import SuiteJob, perform_suite
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.protocols import Spectrum
from rpd_core.plugin.records import Suite
from rpd_core.plugin.registry import Registry
from rpd_core.pruning.evaluation import References, measure_references
from rpd_core.pruning.sweep import Pruning, prune
from rpd_core.store import tables
from rpd_core.store.directory import RunDirectory
from rpd_core.store.provenance import versions

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray


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
    pruning = prune(shop, analysis.rankings, references)
    return Results(
        shop.setup, references, analysis, pruning, pass_rates(shop, analysis, references)
    )


def open_run(shop: Workshop) -> None:
    """Make or check the directory, then fit what must be fitted."""
    shop.directory.create(shop.setup.config, versions())
    if not prepare.needs_fit(shop.recipe) or restore_prepared(shop):
        return
    shop.progress("prepare", 0, 1)
    with shop.keeping_failures():
        recipe = prepare.fit(shop.recipe, shop.setup.config)
    shop.directory.write_json("prepared.json", prepare.sealed(prepare.fitted_fields(recipe)))
    shop.setup = dataclasses.replace(shop.setup, recipe=recipe)
    shop.progress("prepare", 1, 1)


def restore_prepared(shop: Workshop) -> bool:
    """Take up what was fitted for this run before; tell whether there was anything."""
    stored = shop.directory.read_json("prepared.json")
    if stored is None:
        return False
    fitted = prepare.unsealed(stored, shop.directory.path / "prepared.json")
    chain = prepare.restore_fitted(Chain(prepare.links_of(shop.recipe)), fitted)
    recipe = dataclasses.replace(shop.recipe, abstraction=chain)
    shop.setup = dataclasses.replace(shop.setup, recipe=recipe)
    return True


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

    shop.run(items, store)
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
    rankings = {
        name: rank_by(shop.registry, name, suite, spectrum, weights) for name in config.measures
    }
    return Analysis(suite, condition, weights, spectrum, rankings)


def rank_by(
    registry: Registry, name: str, suite: Suite, spectrum: Spectrum, weights: FloatArray
) -> Ranking:
    """Rank the states of a suite by a measure given as a spec string."""
    measure = registry.make("measure", name)
    return rank(name, measure, evidence_for(measure, suite, spectrum, weights))


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
    try:
        return str(stored[asked]["resolved"])
    except (KeyError, TypeError):
        raise StoreError(
            f"conditions.json in {str(shop.directory.path)!r} has no cut for {asked!r}: delete it"
        ) from None


def pass_rates(shop: Workshop, analysis: Analysis, references: References) -> dict[str, float]:
    """Give how often the condition is met without mutation, by default alone, and in the suite."""
    condition = shop.registry.make("condition", analysis.condition)
    return {
        "original": float(weigh(condition, references.original).mean()),
        "default_everywhere": float(weigh(condition, references.default_everywhere).mean()),
        "suite": float(analysis.weights.mean()),
    }
