"""The pilot: small suites at several mutation rates, of which only the chosen rate is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rpd_core.analysis.balance import (
    RATES,
    Pilot,
    choose_rate,
    passing,
    pilot_episodes,
    pilot_rates,
    pilot_words,
)
from rpd_core.chance import Phase
from rpd_core.config.resolve import Setup, with_rate
from rpd_core.config.settings import check_value
from rpd_core.execute.running import run_items
from rpd_core.play import prepare
from rpd_core.play.jobs import SuiteChunk, SuiteJob, perform_suite
from rpd_core.play.recipe import Recipe
from rpd_core.plugin.protocols import Episodes, WorkItem
from rpd_core.store.codec import from_plain
from rpd_core.store.directory import RunDirectory
from rpd_core.store.prepared import fit_item
from rpd_core.store.session import Session

FILE = "pilot.json"
"""What a pilot found, once for the life of a run."""


def known_rate(setup: Setup, directory: RunDirectory) -> Setup:
    """Return a setup with the mutation rate that a pilot found for this run before, if any did."""
    stored = directory.read_json(FILE) if setup.config.open_rate else None
    if stored is None:
        return setup
    found = from_plain(Pilot, stored, repr(str(directory.path / FILE)))
    same = found.configuration == setup.config.digest()
    return with_rate(setup, check_value("mutation_rate", found.mutation_rate)) if same else setup


def find_rate(session: Session) -> Setup:
    """Play a pilot, and return the setup with the mutation rate that it finds."""
    setup, condition = session.setup, session.setup.condition
    settings = setup.config.settings
    count = pilot_episodes(settings.episodes)
    shares = passing(condition, _play(session, pilot_rates(condition), count))
    rate, share = choose_rate(shares, settings.condition)
    digest = setup.config.digest()
    found = Pilot(digest, rate, share, settings.condition, RATES, shares, count)
    session.directory.write_json(FILE, found)
    session.note(pilot_words(found))
    return with_rate(setup, rate)


def _play(session: Session, rates: Sequence[float], count: int) -> dict[float, Episodes]:
    """Play some episodes at each rate; none of them is stored."""
    settings, recipe = session.setup.config.settings, _fitted(session)
    digest, files = session.setup.config.digest(), session.files(recipe)
    whole = SuiteJob(recipe, settings.seed, 0.0, 0, count - 1, Phase.PILOT)
    items = [
        WorkItem(
            f"{digest}/pilot/{rate:g}",
            perform_suite,
            replace(whole, mutation_rate=rate),  # the same episodes: what a lower one mutates, too
            f"a pilot at mutation rate {rate:g}",
            files,
        )
        for rate in rates
    ]
    played: dict[float, Episodes] = {}
    total = len(items) * count
    session.progress("pilot", 0, total)

    def keep(item: WorkItem, answer: SuiteChunk) -> None:
        played[item.argument.mutation_rate] = answer.suite.episodes
        session.progress("pilot", len(played) * count, total)

    run_items(session.engine, items, keep)
    return played


def _fitted(session: Session) -> Recipe:
    """Fit what must be fitted, at the rate that stands in; the run itself fits at its own."""
    recipe = session.recipe
    if not prepare.needs_fit(recipe):
        return recipe
    answers: list[Any] = []

    def keep(item: WorkItem, learned: Any) -> None:
        answers.append(learned)

    run_items(session.engine, [fit_item(session.setup, recipe, session.files(recipe))], keep)
    chain = prepare.restore_fitted(session.setup.abstraction, answers[0])
    return prepare.with_links(recipe, chain.links)
