"""Imitation: plain decision trees that play alone, the baseline of every claim of simplicity.

Two trees are grown: from steps of the policy, and from those together with steps of episodes in
which the first tree acted and the policy said what it would do. Of the smallest size at which one
of them meets a target, the better one counts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.chance import Phase, episode_keys
from rpd_core.config.configuration import short_digest
from rpd_core.errors import EpisodeError, StoreError, counted
from rpd_core.execute.items import run_items
from rpd_core.play.chunks import Evaluation
from rpd_core.play.deciders import always
from rpd_core.play.decision_tree import DecisionTree, PlaysTree, flat_rows, grow_tree
from rpd_core.play.loop import Keep, Plan, Player, Step
from rpd_core.play.recipe import Recipe, in_place_of
from rpd_core.plugin.protocols import WorkItem
from rpd_core.pruning.evaluation import Evaluations, ask
from rpd_core.store.codec import from_plain, to_plain
from rpd_core.store.session import Session

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, BoolArray, FloatArray, IntArray, KeyArray

LADDER = ((1, 2, 3, 4), (6, 8, 12, 16), (24, 32, 48, 64), (96, 128, 192, 256))
"""Numbers of leaves that are tried, those of a rung at once."""
_LEARNED = "imitation.json"
"""Where it is stored what was learned, below the run."""
_LANES = 64
_EPISODES = 64
"""Episodes that a tree learns from: of the policy, and as many of the first tree."""
_ACTING = 16
"""Leaves of the tree that acts while the policy says what it would do."""
_FIRST = 16
"""Episodes that every tree of a rung plays."""
_MORE = 100
"""Fresh episodes that a tree plays which may meet the target, at most."""
_WIDEST = 1000
"""Numbers in an observation, at most: nobody reads a tree that asks about pixels."""
_STEPS = 50_000
"""Steps that a tree learns from, at most, of each kind."""
_SLACK = 1.0
"""Standard errors by which the first episodes of a tree may miss the target."""


@dataclass(frozen=True)
class Imitation:
    """The smallest plain decision tree that meets a target in place of the policy."""

    leaves: int | None
    """None: there is none, for the reason given."""
    return_mean: float | None = None
    episodes: int = 0
    """Fresh episodes behind the mean."""
    reason: str = ""
    """Why there is none: `none up to 256 leaves`."""


def measure_imitation(
    evaluations: Evaluations, targets: Mapping[float, float]
) -> dict[float, Imitation]:
    """Return the smallest tree that plays alone for each target return, by its fraction."""
    learned = _learned(evaluations.session)
    if not learned.trees:
        return {fraction: Imitation(None, reason=learned.reason) for fraction in targets}
    trees = _Trees(evaluations, learned.trees)
    return {fraction: trees.smallest(target) for fraction, target in targets.items()}


class _Trees:
    """What was learned, and what it earns at any number of leaves."""

    def __init__(self, evaluations: Evaluations, learned: Sequence[DecisionTree]) -> None:
        self.evaluations, self.learned = evaluations, learned
        self.digests = [short_digest(to_plain(tree)) for tree in learned]
        self.episodes = 0
        """Played so far."""

    def smallest(self, target: float) -> Imitation:
        """Return the smallest tree that meets a target return."""
        for rung in LADDER:
            sizes = [(tree, leaves) for leaves in rung for tree in self._with(leaves)]
            first = self._returns(sizes, 0, _FIRST)
            hopeful = [one for one in sizes if _upper(first[one]) >= target]
            for leaves in dict.fromkeys(leaves for _, leaves in hopeful):
                found = self._more([one for one in hopeful if one[1] == leaves])
                if found.return_mean is not None and found.return_mean >= target:
                    return found
        most = max(leaves for rung in LADDER for leaves in rung if [*self._with(leaves)])
        return Imitation(None, reason=f"none up to {counted(most, 'leaf', 'leaves')}")

    def _with(self, leaves: int) -> Iterator[int]:
        """Yield which trees have grown to so many leaves."""
        for number, tree in enumerate(self.learned):
            if leaves <= tree.leaves:
                yield number

    def _more(self, sizes: Sequence[tuple[int, int]]) -> Imitation:
        """Return the better of some trees of the same size, on fresh episodes."""
        most = self.evaluations.session.setup.config.settings.test_episodes
        played = self._returns(sizes, 1, min(most, _MORE))
        best = max(played.values(), key=lambda returns: float(returns.mean()))
        return Imitation(sizes[0][1], float(best.mean()), len(best))

    def _returns(
        self, sizes: Sequence[tuple[int, int]], part: int, episodes: int
    ) -> dict[tuple[int, int], FloatArray]:
        """Play trees, each of some number of leaves, and return what each earned."""
        names = {one: f"imitate-{part}-{one[0]}-{one[1]}" for one in sizes}
        asked = {name: self._ask(*one, part, episodes) for one, name in names.items()}
        played = self.evaluations.play("imitation", asked, before=self.episodes)
        self.episodes += len(sizes) * episodes
        return {one: played[name].total_return for one, name in names.items()}

    def _ask(self, number: int, leaves: int, part: int, episodes: int) -> Evaluation:
        session = self.evaluations.session
        nothing = np.zeros(0, dtype=np.uint64)
        whole = ask(session, [nothing], [(0, 0)], True, Phase.IMITATE, part)
        acting = PlaysTree(self.learned[number], leaves)
        return dataclasses.replace(
            whole,
            recipe=in_place_of(session.recipe, acting, _LANES),
            test_episodes=episodes,
            variant=f"{self.digests[number]}/{leaves}",
        )


def _upper(returns: FloatArray) -> float:
    """Return a mean return that is not far above what some episodes gave."""
    error = returns.std(ddof=1) / np.sqrt(len(returns))
    return float(returns.mean() + _SLACK * error)


# -------------------------------------------------------------------------------- learning


@dataclass(frozen=True)
class _Learned:
    """The trees of a policy: the content of `imitation.json`."""

    trees: tuple[DecisionTree, ...]
    """From steps of the policy alone, and with those of a tree; none for the reason given."""
    reason: str = ""


def _learned(session: Session) -> _Learned:
    """Return the trees of a run, grown where they are not stored yet."""
    directory, recipe = session.directory, session.recipe
    if directory.read_json(_LEARNED) is None:
        item = WorkItem(
            f"{session.setup.config.digest()}/imitation",
            perform_imitation,
            (recipe, session.setup.config.settings.seed),
            "learning to imitate the policy",
            session.files(recipe),
        )
        with session.stage("imitation"):
            run_items(session.engine, [item], lambda _, it: directory.write_json(_LEARNED, it))
    where = repr(str(directory.path / _LEARNED))
    try:
        return from_plain(_Learned, directory.read_json(_LEARNED), where)
    except ValueError as error:
        raise StoreError(f"{where}: {error}: delete it and run the same command again") from error


def perform_imitation(asked: tuple[Recipe, int]) -> _Learned:
    """Grow the trees of a policy."""
    recipe, seed = asked
    player = Player(in_place_of(recipe, recipe.policy, _LANES))
    try:
        width = flat_rows(player.lanes.observe()).shape[1]
        if not 0 < width <= _WIDEST:
            numbers = counted(width, "number")
            return _Learned((), f"not tried: an observation has {numbers}")
        own = _sampled(player, seed, 2, always)
        plain = grow_tree(*own, LADDER[-1][-1])
        player.default = PlaysTree(plain, _ACTING).open(player.facts)
        seen = zip(own, _sampled(player, seed, 3, _never), strict=True)
    finally:
        player.close()
    rows, actions = map(np.concatenate, seen)
    second = grow_tree(rows, actions, LADDER[-1][-1])
    return _Learned((plain, second))


def _never(keys: KeyArray, position: IntArray) -> BoolArray:
    """Keep the policy nowhere: it only says what it would do."""
    return np.zeros(len(keys), dtype=bool)


def _sampled(player: Player, seed: int, part: int, keep: Keep) -> tuple[Array, Array]:
    """Play episodes and return what was seen, in rows, and what the policy chose or would have."""
    index = np.arange(_EPISODES)
    steps = _Steps()
    try:
        player.play(Plan(index, episode_keys(seed, Phase.IMITATE, index, part)), keep, steps)
    except EpisodeError as error:
        error.add(", for a tree that imitates the policy")
        raise
    return np.concatenate(steps.rows), np.concatenate(steps.actions)


class _Steps:
    """Collects what was seen and what the policy chose; drops every other step when full."""

    def __init__(self) -> None:
        self.stride = 1
        self.numbers: list[Array] = []
        self.rows: list[Array] = []
        self.actions: list[Array] = []
        self.size = 0

    def __call__(self, step: Step) -> None:
        rows, actions = flat_rows(step.observations), np.asarray(step.choice.actions)
        self.add(step.number, rows[step.lanes], actions[step.lanes])

    def add(self, numbers: IntArray, rows: Array, actions: Array) -> None:
        """Take up some steps, each of some number in its episode."""
        for column, part in zip(self._columns, (numbers, rows, actions), strict=True):
            column.append(part[numbers % self.stride == 0])
        self.size += len(self.numbers[-1])
        while self.size > _STEPS:
            self.stride *= 2
            kept = [some % self.stride == 0 for some in self.numbers]
            for column in self._columns:
                column[:] = [part[some] for part, some in zip(column, kept, strict=True)]
            self.size = sum(map(len, self.numbers))

    @property
    def _columns(self) -> tuple[list[Array], ...]:
        return self.numbers, self.rows, self.actions
