"""The tables of a suite: what measures and conditions look at, and how each column is stored.

A field with a `Column` is a stored column: its Arrow type, what may stand in it and how parts of a
suite merge are said here and nowhere else. Files are written, read, checked and described from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from rpd_core.plugin.protocols.arrays import Array, BoolArray, FloatArray, IntArray, KeyArray

SCHEMA_VERSION = 5
"""Stored with every run and table; raised when a column changes its meaning."""
ENDINGS = ("terminated", "truncated", "step-cap")
"""How an episode can end: by the environment's rules, its own time limit, or the loop's cap."""
INFO = "info."
"""What the stored columns of the entries of `info` begin with."""
RANKED_STEPS = "rpd.ranked_steps"
"""Entry of `info` of pruned episodes: steps spent in states of the ranking."""
BEGINNING = "rpd.beginning"
"""Entry of `info` of pruned episodes whose visits are stored: tells first observations apart."""
ColumnType = Literal["int32", "int64", "uint64", "float64", "bool", "word", "text", "number"]


@dataclass(frozen=True)
class Column:
    """How a column is stored."""

    type: ColumnType
    """Its Arrow type; `word`: one of `words`; `number`: as the abstraction gives it.

    In memory, whole numbers have 64 bits, and a word is its place among the words.
    """
    each: str = ""
    """What every row has a number for, where it holds a list; left out of files without entries."""
    words: tuple[str, ...] = ()
    """What a word can be."""
    least: float | None = None
    """The smallest number that may stand in it."""
    most: float | str | None = None
    """The largest one, or the column that holds it."""
    finite: bool = False
    """Whether NaN and infinity may not."""
    wrong: str = ""
    """What is said of a file with other values."""
    adds_up: bool = False
    """Whether parts of a suite add up by state; else the first part that has the state counts."""


def _stored(kind: ColumnType, **more: Any) -> Mapping[str, Column]:
    return {"column": Column(kind, **more)}


def columns_of(table: type) -> dict[str, Column]:
    """Return the stored columns of a table by name, in the order of the files.

    Single numbers come first.
    """
    found = {one.name: one.metadata["column"] for one in fields(table) if "column" in one.metadata}
    return dict(sorted(found.items(), key=lambda one: bool(one[1].each or one[1].words)))


@dataclass(frozen=True)
class Episodes:
    """One row per episode."""

    index: IntArray = field(metadata=_stored("int64"))
    """Position in the suite, from 0; ascending."""
    seed: IntArray = field(metadata=_stored("int64"))
    """What the environment was reset with."""
    total_return: FloatArray = field(
        metadata=_stored("float64", finite=True, wrong="a return is no number")
    )
    """Sum of the rewards."""
    length: IntArray = field(metadata=_stored("int32", least=1, wrong="an episode has no steps"))
    """Number of steps, at least 1."""
    ended: IntArray = field(
        metadata=_stored("word", words=ENDINGS, wrong="an episode ended in a way that is not known")
    )
    """How it ended: by the environment's rules, its own time limit, or the loop's cap."""
    policy_steps: IntArray = field(
        metadata=_stored("int32", least=0, most="length", wrong="'policy_steps' is beyond 'length'")
    )
    """Steps at which the policy decided."""
    overrides: IntArray = field(
        metadata=_stored(
            "int32", least=0, most="policy_steps", wrong="'overrides' is beyond 'policy_steps'"
        )
    )
    """Of these, steps at which its action differed from the default's.

    Numbers that are not whole differ beyond a tolerance that the action space sets.
    """
    info: dict[str, FloatArray] = field(default_factory=dict)
    """Scalar entries of the final `info`, by name; NaN where an episode had none."""

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True)
class PrunedColumns:
    """What the files of pruned episodes hold beside the columns of all episodes."""

    ranking: IntArray = field(metadata=_stored("int64"))
    """Which of the rankings in its folder."""
    kept: IntArray = field(metadata=_stored("int64"))
    """The number of its first states that keep the policy."""
    test_episode: IntArray = field(metadata=_stored("int64"))
    """Which test episode it is."""


@dataclass(frozen=True)
class Visits:
    """One row per episode and state visited in it, ordered by episode, then by state key."""

    episode: IntArray = field(metadata=_stored("int64"))
    """Index of the episode."""
    key: KeyArray = field(metadata=_stored("uint64"))
    """Key of the state."""
    mutated: BoolArray = field(metadata=_stored("bool"))
    """Whether the state got the default action in this episode."""
    mutation_rate: FloatArray = field(
        metadata=_stored("float64", least=0, most=1, wrong="a mutation rate is no probability")
    )
    """Chance of being mutated that was in force."""
    first_step: IntArray = field(metadata=_stored("int32"))
    """Step of the first visit; 0 for the state in which the episode starts."""
    count: IntArray = field(
        metadata=_stored("int32", least=1, wrong="a visit is counted less than once")
    )
    """Number of visits."""
    return_before: FloatArray = field(
        metadata=_stored("float64", finite=True, wrong="a return is no number")
    )
    """Return collected before the first visit; 0 for the state in which the episode starts."""
    differed: IntArray = field(metadata=_stored("int32"))
    """Visits at which the default action was not what the policy chose."""
    differed_first: BoolArray = field(metadata=_stored("bool"))
    """Whether it was not at the first visit.

    At the first step, `repeat` and others that need an action before do their `first` one.
    """
    overrides: IntArray = field(
        metadata=_stored("int32", least=0, most="count", wrong="'overrides' is beyond 'count'")
    )
    """Visits at which the two differed beyond the tolerance of the action space, whoever decided.

    For whole numbers, as many as `differed`.
    """

    def __len__(self) -> int:
        return len(self.episode)


@dataclass(frozen=True)
class States:
    """One row per abstract state, ordered by key."""

    key: KeyArray = field(metadata=_stored("uint64"))
    """Key of the state, a hash of its value; ascending."""
    value: Array = field(metadata=_stored("number", each="..."))
    """What the abstraction gave.

    The metadata of a file hold its shape and dtype; one without entries is stored as one zero.
    """
    first_episode: IntArray = field(metadata=_stored("int64"))
    """First episode that visited it."""
    first_step: IntArray = field(metadata=_stored("int64"))
    """Step of that episode at which it was first seen, from 0."""
    visits: IntArray = field(
        metadata=_stored("int64", least=1, adds_up=True, wrong="a state was never visited")
    )
    """Steps spent in it, over all episodes."""
    choices: IntArray = field(metadata=_stored("int64", each="actions", adds_up=True))
    """How often the policy chose each discrete action there; no columns for other actions.

    Actions relative to the state where the abstraction relates them (`RelatesActions`).
    """
    default_choices: IntArray = field(metadata=_stored("int64", each="actions", adds_up=True))
    """How often the default action was each discrete action there, done or not; likewise."""
    action_sum: FloatArray = field(metadata=_stored("float64", each="entries", adds_up=True))
    """Sum over visits of the policy's actions, entry by entry; no columns for discrete ones."""
    action_squares: FloatArray = field(metadata=_stored("float64", each="entries", adds_up=True))
    """Sum over visits of their squares."""
    default_sum: FloatArray = field(metadata=_stored("float64", each="entries", adds_up=True))
    """Sum over visits of the default actions, done or not."""
    default_squares: FloatArray = field(metadata=_stored("float64", each="entries", adds_up=True))
    """Sum over visits of their squares."""
    value_gap: FloatArray = field(metadata=_stored("float64", adds_up=True))
    """Sum over visits of best minus worst action value; NaN if the policy has none."""
    entropy: FloatArray = field(metadata=_stored("float64", adds_up=True))
    """Sum over visits of the entropy of the action probabilities in nats; NaN likewise."""
    default_gap: FloatArray = field(metadata=_stored("float64", adds_up=True))
    """Sum over visits of how much the policy prefers its own action to the default's.

    A difference of action values, else of log probabilities, else of log densities; NaN if the
    policy offers none of them.
    """

    def __len__(self) -> int:
        return len(self.key)


@dataclass(frozen=True)
class Trace:
    """One row per step of episodes that are kept step by step, ordered by episode, then by step."""

    episode: IntArray = field(metadata=_stored("int64"))
    """Index of the episode."""
    step: IntArray = field(metadata=_stored("int32", least=0, wrong="a step has a number below 0"))
    """Number of the step, from 0; the last ones of a very long episode are left out."""
    key: KeyArray = field(metadata=_stored("uint64"))
    """Key of the state."""
    kept: BoolArray = field(metadata=_stored("bool"))
    """Whether the policy decided; else the default action did."""
    override: BoolArray = field(metadata=_stored("bool"))
    """Whether the two differed beyond the tolerance of the action space, whoever decided."""
    reward: FloatArray = field(
        metadata=_stored("float64", finite=True, wrong="a reward is no number")
    )
    """What the step gave."""
    policy: FloatArray = field(metadata=_stored("float64", each="entries"))
    """What the policy chose; a discrete action counts from 0."""
    default: FloatArray = field(metadata=_stored("float64", each="entries"))
    """What the default action was; likewise."""
    observation: FloatArray = field(metadata=_stored("float64", each="entries"))
    """What the policy saw, where that is a vector of a few numbers; else no columns."""

    def __len__(self) -> int:
        return len(self.episode)


@dataclass(frozen=True)
class StateWords:
    """What the files of states hold beside the columns of `States`."""

    words: Sequence[str] = field(metadata=_stored("text"))
    """The value in words, as the abstraction puts it."""


@dataclass(frozen=True)
class Suite:
    """Episodes, the states they visited, and what was done there."""

    episodes: Episodes
    """One row per episode."""
    visits: Visits
    """One row per episode and state visited in it."""
    states: States
    """One row per state."""

    def state_of_visit(self) -> IntArray:
        """Return the row in `states` of each visit."""
        return self.states.key.searchsorted(self.visits.key)

    def episode_of_visit(self) -> IntArray:
        """Return the row in `episodes` of each visit."""
        return self.episodes.index.searchsorted(self.visits.episode)
