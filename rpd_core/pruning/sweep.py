"""Rankings -> pruned policies: the sweep over shares of the states."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.ranking import Ranking, random_ranking
from rpd_core.config.settings import BASELINES, PORTFOLIO, STANDARD_MEASURES
from rpd_core.play.chunks import Evaluation
from rpd_core.plugin.protocols import Episodes
from rpd_core.plugin.protocols.suite import RANKED_STEPS
from rpd_core.pruning.curves import Curve, cutoffs_for, mean_curve
from rpd_core.pruning.evaluation import Evaluations, ask
from rpd_core.pruning.references import References
from rpd_core.pruning.stored_sweep import PlayedPoints
from rpd_core.pruning.sweep_rule import Rule, episode_looks, rule_for, undecided
from rpd_core.store.directory import SweptPoint

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import IntArray


@dataclass(frozen=True)
class Sweep:
    """Curves of all rankings, before anything is chosen."""

    curves: Mapping[str, Curve]
    random_curves: Sequence[Curve]
    points: Mapping[str, tuple[SweptPoint, ...]] = field(default_factory=dict)
    """What each point of each ranking, random ones too, was played on."""
    episodes: int = 0
    """Episodes that were played for them."""
    steps: int = 0
    """Steps of these."""

    @property
    def whole(self) -> int:
        """Episodes of a full sweep in which every point is played for itself."""
        return sum(curve.returns.size for curve in self.all_curves)

    @property
    def all_curves(self) -> tuple[Curve, ...]:
        """The curves of all rankings."""
        return (*self.curves.values(), *self.random_curves)


def sweep(
    evaluations: Evaluations, rankings: Mapping[str, Ranking], references: References
) -> Sweep:
    """Play pruned policies of every ranking, and of random ones, at the shares of the settings."""
    settings = evaluations.session.setup.config.settings
    keys = next(iter(rankings.values())).keys
    randoms = [random_ranking(keys, seed) for seed in range(settings.random_rankings)]
    cutoffs = cutoffs_for(settings.shares, len(keys))
    sizes = episode_looks(settings.test_episodes)
    if settings.sweep == "full":
        sizes = (settings.test_episodes,)
    ordered = sorted([*rankings.values(), *randoms], key=_is_further)
    groups = point_groups(ordered, pooled=len(sizes) > 1)
    playing = Playing(evaluations, groups, cutoffs, sizes)
    rule = rule_for([references.target(one) for one in settings.target], references)
    playing.play(range(len(playing.policies)))
    while True:
        further = playing.open_rows(list(rankings), [one.name for one in randoms], rule)
        if not further:
            break
        playing.play(further)
    return Sweep(
        {name: playing.curve(name) for name in rankings},
        [playing.curve(one.name) for one in randoms],
        {name: playing.points(name) for name in playing.rows},
        playing.episodes,
        playing.steps,
    )


def _is_further(ranking: Ranking) -> bool:
    """Return whether not every run has it; these come last and take over what others play."""
    known = ranking.name in STANDARD_MEASURES or ranking.name.partition(":")[0] in BASELINES
    return not known


def point_groups(rankings: Sequence[Ranking], pooled: bool) -> dict[str, list[Ranking]]:
    """Return rankings by the set of episodes in which they are played together.

    Where later rounds play a few points each, rankings share batches. The baselines are apart, for
    they stay as they are under another condition, and further measures are by themselves: adding
    one does not play the others again, unless it needs more of a policy that it shares with them.
    """
    found: dict[str, list[Ranking]] = {}
    for one in rankings:
        name = one.name
        if pooled and one.name.partition(":")[0] in BASELINES:
            name = "sweep-baselines"
        elif pooled and one.name in STANDARD_MEASURES:
            name = "sweep-measures"
        found.setdefault(name, []).append(one)
    return found


@dataclass(frozen=True)
class Place:
    """Where a pruned policy is played."""

    group: str
    """The set of episodes."""
    ranking: int
    """Which of its rankings."""
    kept: int
    """How many of the first states keep the policy."""


class Playing:
    """A sweep in the course of being played; equal pruned policies are one row."""

    def __init__(
        self,
        evaluations: Evaluations,
        groups: Mapping[str, Sequence[Ranking]],
        cutoffs: Sequence[int],
        sizes: Sequence[int],
    ) -> None:
        self.evaluations, self.groups = evaluations, groups
        self.cutoffs, self.sizes = tuple(cutoffs), tuple(sizes)
        self.policies: list[Place] = []
        self.rows: dict[str, list[int]] = {}
        """Per ranking, the row of each of its points."""
        self._find_policies()
        self.looks: IntArray = np.zeros(len(self.policies), dtype=np.int64)
        """How many of the sizes each row has been played to."""
        self.played = PlayedPoints.nothing(len(self.policies), self.sizes[-1])
        self.sets: list[list[str]] = [[] for _ in self.policies]
        self.round = self.episodes = self.steps = 0

    def _find_policies(self) -> None:
        known: dict[bytes, int] = {}
        for group, rankings in self.groups.items():
            for number, ranking in enumerate(rankings):
                self.rows[ranking.name] = []
                for cutoff in self.cutoffs:
                    row = known.setdefault(_identity(ranking, cutoff), len(known))
                    if row == len(self.policies):
                        self.policies.append(Place(group, number, cutoff))
                    self.rows[ranking.name].append(row)

    def curve(self, name: str) -> Curve:
        """Return a ranking's curve as far as it is known."""
        states = len(next(iter(self.groups.values()))[0])
        return self.played.curve(name, self.cutoffs, states, self.rows[name])

    def points(self, name: str) -> tuple[SweptPoint, ...]:
        """Return what the points of a ranking were played on."""
        return tuple(
            SweptPoint(
                self.policies[row].kept,
                self.policies[row].ranking,
                int(self.sizes[self.looks[row] - 1]),
                tuple(self.sets[row]),
            )
            for row in self.rows[name]
        )

    # ----------------------------------------------------------------- deciding

    def open_rows(self, measures: Sequence[str], randoms: Sequence[str], rule: Rule) -> list[int]:
        """Return the rows that are to be played on.

        Every measure has thresholds of its own; the random rankings have those of the best of them
        and those of their mean, for which the ones that were played least go on.
        """
        if len(self.sizes) == 1:
            return []
        chosen = np.zeros(len(self.policies), dtype=bool)
        best = randoms[: len(PORTFOLIO)]
        groups = [[name] for name in measures] + [list(best)]
        for names in groups:
            curves = [self.curve(name) for name in names]
            for name, further in zip(names, undecided(curves, rule), strict=True):
                chosen[np.array(self.rows[name])[further]] = True
        rows = np.array([self.rows[name] for name in randoms])
        mean = mean_curve("random", [self.curve(name) for name in randoms]).by_test_episode()
        behind = self.looks[rows] == self.looks[rows].min(axis=0)
        chosen[rows[behind & undecided([mean], rule)[0]]] = True
        return [int(row) for row in np.flatnonzero(chosen & (self.looks < len(self.sizes)))]

    # ------------------------------------------------------------------ playing

    def play(self, rows: Sequence[int]) -> None:
        """Play some rows on their next test episodes."""
        self.round += 1
        asked = dict(self._ask(rows))
        found = self.evaluations.play(
            "pruning", {name: one for name, (_, one) in asked.items()}, self.episodes
        )
        for name, (some, _) in asked.items():
            self._keep(name, some, found[name])
        self.looks[list(rows)] += 1

    def _ask(self, rows: Sequence[int]) -> Iterator[tuple[str, tuple[list[int], Evaluation]]]:
        """Return evaluations of the rows that are played together, by name."""
        together: dict[tuple[str, int], list[int]] = {}
        for row in rows:
            together.setdefault((self.policies[row].group, int(self.looks[row])), []).append(row)
        for (group, look), some in together.items():
            name = group if self.round == 1 else f"{group}-{self.round}-{look + 1}"
            yield name, (some, self._evaluation(group, some, look))

    def _evaluation(self, group: str, rows: Sequence[int], look: int) -> Evaluation:
        rankings = [one.ranked_keys for one in self.groups[group]]
        points = [(self.policies[row].ranking, self.policies[row].kept) for row in rows]
        whole = ask(self.evaluations.session, rankings, points)
        first, last = self._block(look)
        chosen = tuple(range(first, last)) if first else None
        return dataclasses.replace(whole, test_episodes=last - first, chosen=chosen)

    def _block(self, look: int) -> tuple[int, int]:
        return (self.sizes[look - 1] if look else 0), self.sizes[look]

    def _keep(self, name: str, rows: Sequence[int], episodes: Episodes) -> None:
        """Write down what some rows did, all of them at the same look."""
        some = slice(*self._block(int(self.looks[rows[0]])))
        columns = {
            "returns": episodes.total_return,
            "lengths": episodes.length,
            "policy_steps": episodes.policy_steps,
            "overrides": episodes.overrides,
            "ranked_steps": episodes.info[RANKED_STEPS],
        }
        for field_name, column in columns.items():
            getattr(self.played, field_name)[rows, some] = column.reshape(len(rows), -1)
        for row in rows:
            self.sets[row].append(name)
        self.episodes += len(episodes)
        self.steps += int(episodes.length.sum())


def _identity(ranking: Ranking, cutoff: int) -> bytes:
    """Return what is the same for two pruned policies that keep the same states."""
    kept = np.zeros(len(ranking), dtype=bool)
    kept[ranking.order[:cutoff]] = True
    return np.packbits(kept).tobytes()
