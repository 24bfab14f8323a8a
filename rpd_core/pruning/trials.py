"""Sets of kept states, played on fresh episodes: any set can be tried, however it was found."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.suite import concat_episodes
from rpd_core.chance import Phase, combine
from rpd_core.config.configuration import short_digest
from rpd_core.play.chunks import Evaluation
from rpd_core.plugin.protocols import Episodes, Visits
from rpd_core.plugin.protocols.suite import BEGINNING
from rpd_core.pruning.confirm import BLOCKS, LOOKS
from rpd_core.pruning.evaluation import Evaluations, ask
from rpd_core.pruning.records import TRACE_SMALLEST, TRACE_WHOLE, TRACED
from rpd_core.pruning.twins import ranking_of

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import KeyArray


@dataclass(frozen=True, eq=False)
class Candidate:
    """A set of states that are to keep the policy, and what it needs as far as is known."""

    measure: str
    """What it was found by."""
    kept: KeyArray
    """The states, in ascending order of their keys."""
    states: float
    """Share of all states."""
    steps: float
    """Share of steps that the policy decides."""

    @cached_property
    def identity(self) -> str:
        """A short name for the set of states."""
        return short_digest(self.kept.tobytes().hex())


@dataclass(frozen=True)
class Trials:
    """Plays sets of kept states on episodes that did not choose them."""

    evaluations: Evaluations
    keys: KeyArray
    """All states that are known."""
    part: int = 0
    """Distinguishes sets of fresh episodes; each target needs its own."""

    @property
    def episodes(self) -> int:
        """How many episodes a set is tried on first."""
        return self.evaluations.session.setup.config.settings.confirm_episodes

    @property
    def first_part(self) -> int:
        """The part of the fresh episodes of the first look."""
        return self.part * LOOKS

    def confirming(self, candidate: Candidate, look: int) -> tuple[Episodes, Episodes]:
        """Play a candidate and the original on fresh episodes, all up to the given look."""
        asked = self.asked(candidate, look)
        for each in range(look + 1):
            asked[confirm_name("original", self.first_part + each)] = self._ask(None, each)
        played = self.evaluations.play("confirmation", asked)

        def joined(name: str) -> Episodes:
            parts = range(self.first_part, self.first_part + look + 1)
            return concat_episodes([played[confirm_name(name, part)] for part in parts])

        return joined(candidate.identity), joined("original")

    def distinct(self, candidate: Candidate, looks: int, episodes: Episodes) -> int:
        """Return how many of the fresh episodes of a candidate, which are given, differ."""
        parts = range(self.first_part, self.first_part + looks)
        names = [confirm_name(candidate.identity, part) for part in parts]
        return distinct_episodes([self.evaluations.visits(name) for name in names], episodes)

    def asked(self, candidate: Candidate, look: int) -> dict[str, Evaluation]:
        """Describe the fresh episodes of a candidate, all up to the given look, by name."""
        return {
            confirm_name(candidate.identity, self.first_part + each): self._ask(
                candidate.kept, each
            )
            for each in range(look + 1)
        }

    def trace(self, candidate: Candidate) -> None:
        """Play the first fresh episodes of a candidate and of the original again, step by step."""
        few = min(TRACED, BLOCKS[0] * self.episodes)
        asked = {TRACE_SMALLEST: self._ask(candidate.kept, 0), TRACE_WHOLE: self._ask(None, 0)}
        self.evaluations.play(
            "traces",
            {
                name: dataclasses.replace(one, test_episodes=few, traced=True)
                for name, one in asked.items()
            },
        )

    def _ask(self, kept: KeyArray | None, look: int) -> Evaluation:
        """Describe the fresh episodes that a look adds; None: of the policy as it is."""
        session, part = self.evaluations.session, self.first_part + look
        if kept is None:
            asked = ask(session, [self.keys[:0]], [(0, 0)], True, Phase.CONFIRM, part)
        else:
            ranking = [ranking_of(kept, self.keys)]
            asked = ask(session, ranking, [(0, len(kept))], phase=Phase.CONFIRM, part=part)
        return dataclasses.replace(asked, test_episodes=BLOCKS[look] * self.episodes, visits=True)


def confirm_name(identity: str, part: int) -> str:
    """Return what the fresh episodes of a set of states are called; each look is a part."""
    return f"confirm-{part}-{identity}"


def distinct_episodes(sets: Sequence[Visits], episodes: Episodes) -> int:
    """Return how many episodes of some sets differ: in how they begin, where they go, or return.

    Abstract states alone do not tell: where they are coarse, different episodes visit the same.
    """
    found: list[KeyArray] = []
    for visits in sets:
        numbers, place = np.unique(visits.episode, return_inverse=True)
        when, often = visits.first_step.astype(np.uint64), visits.count.astype(np.uint64)
        words = combine(combine(visits.key, when), often)
        prints = np.zeros(len(numbers), dtype=np.uint64)
        np.add.at(prints, place, words)
        found.append(prints)
    columns = [episodes.info[BEGINNING], episodes.total_return, episodes.length]
    seen = np.column_stack(
        [np.concatenate(found), *(one.astype("f8").view("u8") for one in columns)]
    )
    return len(np.unique(seen, axis=0))


def step_share(episodes: Episodes) -> float:
    """Return the share of steps that the policy decided: the ratio of totals."""
    return float(episodes.policy_steps.sum() / episodes.length.sum())


def override_share(episodes: Episodes) -> float:
    """Return the share of steps at which it decided and differed from the default action."""
    return float(episodes.overrides.sum() / episodes.length.sum())
