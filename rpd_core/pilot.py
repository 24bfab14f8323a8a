"""The pilot of a run: at which mutation rate do about half of the mutant episodes pass?

An episode that surely passes, or surely fails, tells nothing about the states that were mutated in
it: the outcome of a suite varies most, and most decisions can be told from chance, where about as
many episodes pass as fail. A condition that learns from the suite splits it in half at any rate. In
its place stands the mean return: half-way between the policy's own and that of acting by default
everywhere, mutation does as much harm as it can while the policy still gets somewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.analysis.analysis import weigh
from rpd_core.chance import Phase
from rpd_core.config.resolve import Setup, with_rate
from rpd_core.config.settings import check_value
from rpd_core.errors import EvidenceError
from rpd_core.execute.items import run_items
from rpd_core.play import prepare
from rpd_core.play.chunks import PlayedSuite, SuiteChunk, perform_suite
from rpd_core.play.recipe import Recipe, recipe_of
from rpd_core.plugin.protocols import Condition, Episodes, WorkItem
from rpd_core.plugin.protocols.optional import LearnsFromEpisodes
from rpd_core.store.codec import from_plain
from rpd_core.store.directory import RunDirectory
from rpd_core.store.prepared import fit_item, with_learned
from rpd_core.store.session import Session

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray

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
    rates = (*RATES, *ENDS) if isinstance(condition, LearnsFromEpisodes) else RATES
    shares = passing(condition, _play(session, rates, count))
    rate, share = choose_rate(shares, settings.condition)
    digest = setup.config.digest()
    found = Pilot(digest, rate, share, settings.condition, RATES, shares, count)
    session.directory.write_json(FILE, found)
    session.note(_pilot_words(found))
    return with_rate(setup, rate)


def _play(session: Session, rates: Sequence[float], count: int) -> dict[float, Episodes]:
    """Play some episodes at each rate; none of them is stored."""
    settings, recipe = session.setup.config.settings, _fitted(session)
    digest, files = session.setup.config.digest(), session.files(recipe)
    whole = SuiteChunk(recipe, settings.seed, 0.0, 0, count - 1, Phase.PILOT)
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

    def keep(item: WorkItem, answer: PlayedSuite) -> None:
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

    def keep(item: WorkItem, learned: object) -> None:
        answers.append(learned)

    run_items(session.engine, [fit_item(session.setup, recipe, session.files(recipe))], keep)
    return recipe_of(with_learned(session.setup, answers[0]))


RATES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Mutation rates that a pilot tries."""
ENDS = (0.0, 1.0)
"""The policy as it is, and the default action everywhere; tried where the condition learns."""
MOST_EPISODES = 200
FEWEST_EPISODES = 50
SHARE = 50
"""A pilot has at each rate one of so many episodes of the suite, within these limits."""
_BALANCED = 0.25
"""How far from one half a share may be that is called balanced."""


@dataclass(frozen=True)
class Pilot:
    """What a pilot found: the content of `pilot.json`."""

    configuration: str
    """Digest of what fixes every episode but for the mutation rate."""
    mutation_rate: float
    """The rate that was chosen."""
    share: float
    """What was expected to pass at it."""
    condition: str
    """What passing means."""
    rates: tuple[float, ...]
    """Rates that were tried."""
    shares: tuple[float, ...]
    """What passed at each; of a condition that learns, how far the mean return had come."""
    episodes: int
    """Episodes at each rate."""


def pilot_episodes(episodes: int) -> int:
    """Return how many episodes a pilot plays at each rate, for a suite of this size."""
    return min(max(episodes // SHARE, FEWEST_EPISODES), MOST_EPISODES)


def passing(condition: Condition, played: Mapping[float, Episodes]) -> tuple[float, ...]:
    """Return what passes at each of the rates that can be chosen."""
    if not isinstance(condition, LearnsFromEpisodes):
        return tuple(float(weigh(condition, played[rate]).mean()) for rate in RATES)
    means = {rate: float(episodes.total_return.mean()) for rate, episodes in played.items()}
    high, low = (means[rate] for rate in ENDS)
    if high <= low:
        raise EvidenceError(
            f"the policy's mean return {high:.4g} is not above that of acting by default "
            f"everywhere, {low:.4g}: no mutation rate can be found; give --mutation-rate a number"
        )
    return tuple(float(np.clip((means[rate] - low) / (high - low), 0, 1)) for rate in RATES)


def choose_rate(shares: Sequence[float], condition: str) -> tuple[float, float]:
    """Return the rate at which one half passes, between those tried, and what passes there."""
    passed = np.array(shares)
    if (passed == 0).all() or (passed == 1).all():
        fate = "pass" if passed[0] else "fail"
        raise EvidenceError(
            f"all pilot episodes {fate} {condition} at mutation rates from {RATES[0]:g} to "
            f"{RATES[-1]:g}: try --condition auto, or give --mutation-rate a number"
        )
    falling = _falling(passed)
    for at in range(len(RATES) - 1):
        above, below = falling[at], falling[at + 1]
        if above >= 0.5 > below:
            part = (above - 0.5) / (above - below)
            rate = RATES[at] + part * (RATES[at + 1] - RATES[at])
            return round(float(rate), 2), 0.5
    at = int(np.argmin(np.abs(falling - 0.5)))
    return RATES[at], float(falling[at])


def _falling(shares: FloatArray) -> FloatArray:
    """Return the nearest shares that never rise with the rate: neighbours that do are averaged."""
    blocks: list[tuple[float, int]] = []
    for share in shares.tolist():
        mean, size = share, 1
        while blocks and blocks[-1][0] < mean:
            before, count = blocks.pop()
            mean, size = (mean * size + before * count) / (size + count), size + count
        blocks.append((mean, size))
    return np.repeat([mean for mean, _ in blocks], [size for _, size in blocks])


def _pilot_words(found: Pilot) -> str:
    tried = ", ".join(
        f"{share:.0%} at {rate:g}" for rate, share in zip(found.rates, found.shares, strict=True)
    )
    text = (
        f"mutation rate {found.mutation_rate:g}, chosen by {found.episodes} pilot episodes at each "
        f"rate ({found.condition} passed {tried}): about {found.share:.0%} should pass"
    )
    if abs(found.share - 0.5) > _BALANCED:
        text += ", which is not balanced: another --condition would tell more decisions from chance"
    return text
