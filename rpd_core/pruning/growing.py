"""Abstractions that learn by playing: what they ask, answered with episodes of their own.

Every question is minimised like a pruned policy of the sweep, from all states or from those that
are named. Episodes are stored as those of pruned policies are, so that growing that is broken off
goes on where it was, on all workers, and with the same bytes.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.chance import Phase, canonical, state_keys
from rpd_core.config.configuration import short_digest, stored_fields
from rpd_core.execute.items import run_items
from rpd_core.play import prepare
from rpd_core.play.prepare import RandomPlay, SampledPolicy
from rpd_core.play.recipe import OneState, Recipe
from rpd_core.plugin.protocols import Abstraction, FitSample, Minimised, States, WorkItem
from rpd_core.plugin.protocols.optional import LearnsByPlaying
from rpd_core.pruning.estimates import Estimate
from rpd_core.pruning.evaluation import Evaluations, ask
from rpd_core.pruning.minimise import Aim, Pace, Way, minimise
from rpd_core.pruning.references import target_return
from rpd_core.pruning.twins import Blocks, Look, Played, play_together

if TYPE_CHECKING:
    from rpd_core.config.settings import Settings
    from rpd_core.plugin.protocols import Array, FloatArray, KeyArray
    from rpd_core.store.session import Session

STAGE = "growing"
EPISODES = 100
"""Episodes of the first look at a question; at most three times as many."""
NOISY = 250
"""The same where returns spread so much that these tell little."""
_TOLD = 0.15
"""Share of what may be lost to which all looks at a question are to tell a mean."""
FIRST = 400
"""Episodes of the whole policy at the first question; at the others a look's."""
TWINS = 30
"""Twins of each state."""
_QUESTION = 20
"""Steps that a question may take, in units of those of the first look at the whole policy."""
_SUITES = 12.0
"""Steps that growing may take before it is asked to end, in suites of as long episodes."""
_FEWEST = 6000
"""The same in episodes, for small suites."""
_LANES = 512
"""Lanes that such looks fill."""
_QUESTION_PARTS = 10**4
"""Blocks that one question may use."""


def most_episodes(settings: Settings) -> float:
    """Return after how many episodes growing is asked to end."""
    return max(_SUITES * settings.episodes, _FEWEST)


def grow_links(session: Session, evaluations: Evaluations) -> list[Abstraction]:
    """Return the abstractions of a run, those that learn by playing grown one after the other."""
    links = list(session.recipe.links)
    for place, link in enumerate(links):
        if isinstance(link, LearnsByPlaying):
            links[place] = link.grow(PlayedGround(evaluations, place, tuple(links)))
    return links


@dataclass
class PlayedGround:
    """The ground of one abstraction of a chain, on which episodes of the run's task are played."""

    evaluations: Evaluations
    place: int
    """Which link of the chain is grown."""
    links: tuple[Abstraction, ...]
    """The chain as far as it has learned."""
    asked: int = 0
    """Questions so far: each has episodes of its own, or the best of many would be luck."""
    steps: int = 0
    """Steps that these took."""
    length: float = 0.0
    """Mean length of the whole policy's episodes."""
    episodes: int = EPISODES
    """Of the first look at a question."""
    original: Estimate = field(default_factory=Estimate)
    """What the whole policy returns, over all questions: what is to be kept is a share of it."""
    _reference: float | None = None
    _sample: FitSample | None = None

    @property
    def sample(self) -> FitSample:
        """Steps of the policy and of mutants."""
        if self._sample is None:
            self._sample = self._sampled(SampledPolicy(self._recipe(self.links[self.place])))
        return self._sample

    @property
    def left(self) -> float:
        """Share of the steps for growing that is left."""
        settings = self.evaluations.session.setup.config.settings
        allowed = most_episodes(settings) * self.length * self.episodes / EPISODES
        return 1.0 - self.steps / allowed if allowed else 1.0

    def minimise(self, abstraction: Any, target: float, start: Array | None = None) -> Minimised:
        """Return what keeps a fraction of the return and can spare none of its states."""
        self.asked += 1
        recipe = self._recipe(abstraction)
        blocks = self._blocks(recipe, abstraction)
        many = self.episodes if self.length else FIRST
        whole = play_together(self.evaluations, STAGE, [blocks.play(None, many)])[0]
        self.original = self.original.joined(whole.episodes.total_return)
        original = self.original.mean
        wanted = target_return(target, original, self.reference)
        if not self.length:
            self.length = float(whole.episodes.length.mean())
            self.episodes = _enough(whole.episodes.total_return, _TOLD * (original - wanted))
        known = np.unique(whole.visits.key)
        kept = known if start is None else np.unique(state_keys(canonical(start)))
        aim = Aim(wanted, max(len(known), 1), "both")
        pace = Pace(self.episodes, 3 * self.episodes, TWINS)
        blocks.keys = known
        budget = _QUESTION * self.episodes * float(whole.episodes.length.mean())
        work = minimise(blocks, kept, aim, pace, budget)
        way = play_together(self.evaluations, STAGE, [work])[0]
        again = blocks.play(way.last.kept, self.episodes)
        last = play_together(self.evaluations, STAGE, [again])[0]
        self.steps += blocks.steps
        gained = (way.last.return_mean - self.reference) / (original - self.reference)
        states = self.evaluations.states(whole.name, last.name)
        sample = self._sampled(SampledPolicy(recipe, way.last.kept, self.asked))
        return _told(way, last, states, gained, sample)

    @property
    def reference(self) -> float:
        """The return that shares are measured from: as given, or that of random play."""
        if self._reference is None:
            self._reference = self._measured_reference()
        return self._reference

    def _measured_reference(self) -> float:
        session = self.evaluations.session
        given = session.setup.config.settings.reference
        if given is not None:
            return float(given)
        nothing = np.zeros(0, dtype=np.uint64)
        asked = ask(session, [nothing], [(0, 0)], True, Phase.GROW)
        random_play = dataclasses.replace(self._plain_recipe(), policy=RandomPlay())
        name = f"{STAGE}-random-play"
        played = self.evaluations.play(
            STAGE, {name: dataclasses.replace(asked, recipe=random_play, variant=name)}
        )
        return float(played[name].total_return.mean())

    def _plain_recipe(self) -> Recipe:
        return dataclasses.replace(self.evaluations.session.recipe, abstraction=OneState())

    def _recipe(self, abstraction: Any) -> Recipe:
        recipe = self.evaluations.session.recipe
        links = [*self.links[: self.place], abstraction]
        lanes = min(recipe.lanes, _LANES)
        return dataclasses.replace(prepare.with_links(recipe, links), lanes=lanes)

    def _blocks(self, recipe: Recipe, abstraction: Any) -> Blocks:
        variant = short_digest([self.place, stored_fields(abstraction)])
        first = self.place * 10**8 + self.asked * _QUESTION_PARTS
        nothing = np.zeros(0, dtype=np.uint64)
        return Blocks(self.evaluations, nothing, Phase.GROW, STAGE, first, recipe, variant)

    def _sampled(self, asked: SampledPolicy) -> FitSample:
        """Play a sample of steps on a worker; it is not stored, and the same whenever played."""
        session = self.evaluations.session
        recipe = asked.recipe
        item = WorkItem(
            f"{session.setup.config.digest()}/{STAGE}/{self.place}-{asked.number}",
            prepare.perform_sample,
            (asked, session.setup.config),
            "a sample of steps",
            session.files(recipe),
        )
        found: list[FitSample] = []
        run_items(session.engine, [item], lambda _, answer: found.append(answer))
        return found[0]


def _enough(returns: FloatArray, error: float) -> int:
    """Return how many episodes a first look takes, so that three of them tell a mean so well."""
    deviation = float(returns.std())
    if deviation >= np.sqrt(3 * NOISY) * error:
        return NOISY if deviation else EPISODES
    return max(int((deviation / error) ** 2 / 3), EPISODES)


def _told(way: Way, last: Played, states: States, share: float, sample: FitSample) -> Minimised:
    """Return what was found, one row for each state that was seen."""
    visits, total = last.visits, float(last.episodes.length.sum())
    at = np.searchsorted(states.key, visits.key)
    kept = np.isin(states.key, way.last.kept)
    overrides = np.bincount(at, visits.overrides, len(states.key)) / total
    return Minimised(
        values=states.value,
        kept=kept,
        loss=_of_look(way.look, states.key, kept, "loss"),
        error=_of_look(way.look, states.key, kept, "error"),
        steps=np.bincount(at, visits.count, len(states.key)) / total,
        overrides=np.where(kept, overrides, 0.0),
        share=share,
        met=way.met,
        sample=sample,
    )


def _of_look(look: Look | None, keys: KeyArray, kept: Array, column: str) -> FloatArray:
    """Return a column of the last look for each state; nan where it is not kept."""
    found = np.full(len(keys), np.nan)
    if look is not None and len(look.kept):
        place = np.minimum(np.searchsorted(look.kept, keys), len(look.kept) - 1)
        values = getattr(look, column)[look.units[place]]
        found = np.where(look.kept[place] == keys, values, np.nan)
    return np.where(kept, found, np.nan)
