"""What a run found, typed: the content of `summary.json` and of `--json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from rpd_core.analysis.records import Stability
from rpd_core.plugin.blame import Origin
from rpd_core.pruning.records import GoalOutcome, PrunedPoint
from rpd_core.results.words import DecisionColumn, few, most_often, percent, reached_words, signed


def column(heading: str, words: Callable[[Any], str] = str) -> Any:
    """Return a field of a decision that every table of decisions shows, and how."""
    return field(metadata={"heading": heading, "words": words})


TOO_FEW = "too few episodes"
"""What stands in place of a verdict for a state without evidence."""
_SHOWN = 60
"""Characters of a state in the short form of a decision."""


@dataclass(frozen=True)
class Returns:
    """The returns that thresholds stand on."""

    return_mean: float
    """Mean return of the original policy."""
    return_std: float
    """Standard deviation of the same over episodes."""
    episodes: int
    """Number of its episodes."""
    reference: float
    """Return that shares are measured from."""
    reference_source: str
    """`given`, or `random play` where it was measured."""
    default_everywhere: float
    """Mean return of acting by default everywhere."""


@dataclass(frozen=True)
class SuiteFacts:
    """What the suite holds."""

    episodes: int
    """Mutant episodes."""
    passed: float
    """Those that passed the condition; soft conditions pass fractions."""
    states: int
    """Abstract states that were visited."""
    steps: int
    """Steps of all episodes."""
    mutation_rate: float
    """Chance that a state was mutated in an episode."""
    identified: int
    """States with enough episodes in each arm to be judged one by one."""
    enough: int
    """How many that is."""


@dataclass(frozen=True)
class SweepFacts:
    """What the pruning curves stand on."""

    episodes: int
    """Episodes that were played."""
    whole: int
    """Those of a sweep that plays every point of every ranking to the end."""


@dataclass(frozen=True)
class Coverage:
    """Share of steps that fall in states of the ranking."""

    original: float
    """Of the original policy's steps."""
    pruned: float | None
    """Of those of the chosen pruned policy; null if none was tried."""


@dataclass(frozen=True)
class PassRates:
    """Share of episodes that pass the condition."""

    original: float
    """Of the original policy."""
    default_everywhere: float
    """Of acting by default everywhere."""
    suite: float
    """Of the mutant episodes."""


@dataclass(frozen=True)
class FailedTry:
    """A pruned policy that fresh episodes did not confirm."""

    measure: str
    """What it was found by."""
    kept: int
    """Number of states that keep the policy."""
    outcome: GoalOutcome
    """`missed` or `undecided`."""
    share: float
    """Share of the return that it kept."""
    episodes: int
    """Fresh episodes."""


@dataclass(frozen=True)
class Baseline:
    """What another way to choose states, or to say what the policy does, needs for a target."""

    decisions: int
    """States that keep the policy, or leaves of the tree that plays alone."""
    states: float | None
    """Their share of all states; null for the tree."""
    steps: float | None
    """Share of its steps at which the policy decides; null for the tree, which never asks it."""
    overrides: float | None
    """Share of its steps at which the policy decides and differs from the default action."""
    share: float
    """Share of the return that it keeps."""
    episodes: int
    """Episodes behind these figures."""


@dataclass(frozen=True)
class Baselines:
    """What else would do for the same target; null where nothing did, or it was not measured."""

    random: Baseline | None
    """A random choice of states, in the mean over several."""
    differ: Baseline | None
    """States in which the default action differs most often."""
    default_gap: Baseline | None
    """States in which the policy prefers its action most to the default's."""
    imitation: Baseline | None
    """A plain decision tree of what the policy does, playing alone."""
    imitation_note: str = ""
    """Why there is none, where there is none."""


@dataclass(frozen=True)
class FrontPoint:
    """A pruned policy that minimising went through."""

    decisions: int
    """States that keep the policy."""
    states: float
    """Their share of all states."""
    steps: float
    """Share of its steps at which the policy decides."""
    overrides: float
    """Share of its steps at which it decides and differs from the default action."""
    return_mean: float
    """Mean return where it was last looked at."""
    share: float
    """Share of the return that this is."""
    episodes: int
    """Episodes of that look."""


@dataclass(frozen=True)
class Minimising:
    """How a smallest policy was found, and how sure it is that nothing more can go."""

    starts: tuple[str, ...]
    """The rankings whose pruned policies it began with, in the order tried."""
    blocks: int
    """Blocks of fresh episodes, each of which decided once."""
    episodes: int
    """Episodes of these, twins included."""
    steps: int
    """Their steps."""
    budget: int
    """Steps that it was allowed."""
    settled: bool
    """Whether on the last look every single removal was estimated to miss the target."""
    paired: bool
    """Whether twins shared all draws with their episodes; false where that added noise."""
    broken: int
    """Twins that differed from their episodes though no action did; 0 in a repeatable world."""
    correlation: float | None
    """Of the returns of episodes and twins that losses stand on; null: it cannot be told."""
    recurring: float | None
    """Share of the first ten by loss that two halves of the episodes have in common."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Decision:
    """One decision of a smallest policy, in words, and what it is worth."""

    rank: int = column("")
    """Place by loss, from 1."""
    key: int
    """Key of the state."""
    state: str = column("state")
    """The state, or the rule, in words."""
    policy_action: str = column("policy", most_often)
    """What the policy does there, in the environment's names; shares where it does several."""
    default_action: str = column("default", most_often)
    """What the default action would do there."""
    loss: float = column("loss", few)
    """Return lost without it, in the mean over all episodes."""
    loss_low: float
    """Lower end of the 95 % interval of that."""
    loss_high: float
    """Upper end of the same."""
    at_least: bool = False
    """Whether twins ran into a limit of steps with less return, in a task where some returns are
    negative, so that the loss may be larger."""
    return_without: float = column("return without it", few)
    """Mean return without it."""
    return_without_low: float
    """Lower end of the 95 % interval of that."""
    return_without_high: float
    """Upper end of the same."""
    share: float = column("share of losses", percent)
    """Share in the sum of all losses."""
    needed: bool = column("needed", lambda needed: "needed" if needed else "not shown")
    """Whether its loss is above 0, with at most one in twenty such statements expected false."""
    overrides: float = column("overrides", reached_words)
    """Share of all steps at which the policy differs from the default action there."""
    steps: float
    """Share of all steps spent there."""
    reached: float = column("reached", reached_words)
    """Share of the smallest policy's episodes that visit it."""
    reached_whole: float = column("reached by the whole policy", reached_words)
    """Share of the whole policy's episodes that visit it."""
    twins: int
    """Twins behind the loss."""

    def __repr__(self) -> str:
        state = self.state if len(self.state) <= _SHOWN else f"{self.state[:_SHOWN]}..."
        return (
            f"Decision({self.rank}: {state!r}, policy={self.policy_action!r}, "
            f"loss={few(self.loss)} ({few(self.loss_low)} to {few(self.loss_high)}), "
            f"{'needed' if self.needed else 'not shown to be needed'})"
        )


@dataclass(frozen=True)
class Policy:
    """The smallest policy for a target; all figures are of this one policy on fresh episodes."""

    measure: str
    """The rankings that it was found by."""
    kept: int
    """Number of states that keep the policy."""
    states: float
    """Their share of all states."""
    steps: float
    """Share of its steps at which the policy decided."""
    overrides: float
    """Share of its steps at which the policy decided and differed from the default action."""
    overrides_whole: float
    """The same of the whole policy."""
    return_mean: float
    """Its mean return."""
    return_low: float
    """Lower end of the 95 % interval of that."""
    return_high: float
    """Upper end of the same."""
    target: float
    """The return that it was to reach: the fraction of the original's on the same episodes."""
    met: bool
    """Whether it is confirmed: `outcome` is `met`."""
    episodes: int
    """Number of its fresh episodes."""
    outcome: GoalOutcome
    """`met`, `missed`, or `undecided` where all episodes that may be played settle nothing."""
    share: float
    """Share of the return that it keeps, measured from the reference."""
    share_low: float | None
    """Lower end of the 95 % interval of that; null where there is no end to it."""
    share_high: float | None
    """Upper end of the same."""
    return_bound: float
    """Lower bound of its return that holds with `confidence`, all that was tried considered."""
    share_bound: float | None
    """The same for the share of the return."""
    confidence: float
    """Of the bounds, and of `met`."""
    pass_rate: float
    """Share of its episodes that pass the condition."""
    pass_rate_whole: float
    """The same of the whole policy."""
    worst_tenth: float
    """Mean return of the worst tenth of its episodes."""
    distinct: int
    """Different ones among these episodes, by the states they visit and what they return."""
    rules_alone: float | None
    """Share of the return with each state's commonest action in place of the policy; null: not
    measured."""
    rules_alone_bound: float | None
    """Lower bound of that which holds with `confidence`, as `share_bound` does."""
    coverage: float
    """Share of its steps in states of the suite."""
    tries: int
    """Pruned policies that were tried, this one included."""
    calls_saved: float
    """Share of steps at which the policy need not be asked."""
    failed: tuple[FailedTry, ...]
    """The other ones that were tried, in order."""
    baselines: Baselines
    """What else would do for the same target."""
    front: tuple[FrontPoint, ...]
    """The pruned policies that minimising went through, from the start to this one."""
    minimising: Minimising | None
    """How it was found; null: it was taken as it is."""
    decisions: tuple[Decision, ...] = ()
    """Its decisions by loss; of the first target they stand in `decisions` beside it."""


@dataclass(frozen=True)
class Threshold:
    """What it took to meet a target in the sweep, by one ranking or the best of several.

    The two points are usually different pruned policies: neither's share belongs to the other.
    """

    fewest_states: PrunedPoint
    """In the sweep, the pruned policy that met the target with the smallest share of states."""
    fewest_steps: PrunedPoint
    """The one that met it with the smallest share of steps decided by the policy."""


@dataclass(frozen=True)
class Ties:
    """States with equal scores; within a group the order is that of the state keys."""

    groups: int
    """Number of groups of two or more."""
    largest: int
    """Size of the largest."""


@dataclass(frozen=True, repr=False, kw_only=True)
class RankedDecision:
    """One state of the list of a mutated policy, in words."""

    rank: int = column("")
    """Place in the list."""
    key: int
    """Key of the state."""
    state: str = column("state")
    """The state in words."""
    policy_action: str = column("policy", most_often)
    """What the policy does there, in the environment's names; shares where it does several."""
    default_action: str = column("default", most_often)
    """What the default action does there."""
    risk_mutated: float | None = column("risk mutated", percent)
    """Share of the episodes that failed where it was mutated; null if it never was."""
    risk_kept: float | None = column("risk kept", percent)
    """Share of the episodes that failed where it was kept; null if it never was."""
    effect: float = column("effect", signed)
    """Risk if mutated minus risk if kept."""
    low: float
    """Lower end of the effect's 95 % interval."""
    high: float
    """Upper end of the same."""
    reached: float = column("reached", reached_words)
    """Share of the unmutated policy's episodes that visit it."""
    reached_steps: float
    """Share of the unmutated policy's steps that are spent in it."""
    episodes_mutated: int
    """Episodes in which it was mutated."""
    episodes_kept: int
    """Episodes in which it was kept."""
    verdict: str = column("verdict")
    """`matters`, `default-better`, `harmless` or `undecided`; else `too few episodes`."""
    settled_at: int | None
    """Episodes of a suite in which it would get a verdict, if its estimate stays; null: has one."""
    score: float
    """By the measure that the list is sorted by."""
    differed: float
    """Share of visits at which the default action was not what the policy chose."""
    visits: int
    """Steps spent in it, in the suite."""
    in_policy: bool = column("in the smallest policy", lambda inside: "yes" if inside else "no")
    """Whether it is a decision of the smallest policy of the first target."""
    rank_low: int | None = None
    """Lower end of the 90 % interval of its rank, over resampled suites; null: not computed."""
    rank_high: int | None = None
    """Upper end of the same."""

    def __repr__(self) -> str:
        state = self.state if len(self.state) <= _SHOWN else f"{self.state[:_SHOWN]}..."
        return (
            f"RankedDecision({self.rank}: {state!r}, policy={self.policy_action!r}, "
            f"effect={signed(self.effect)} ({signed(self.low)} to {signed(self.high)}), "
            f"{self.verdict})"
        )


def columns_of_table(record: type[Decision | RankedDecision]) -> tuple[DecisionColumn, ...]:
    """Return what every table of decisions, or of the list, shows, in order."""
    return tuple(
        DecisionColumn(one.name, one.metadata["heading"], one.metadata["words"])
        for one in fields(record)
        if "heading" in one.metadata
    )


_ARRANGED = {
    "rank", "state", "policy_action", "default_action", "risk_mutated", "risk_kept", "effect",
    "reached", "verdict", "in_policy",
}  # fmt: skip
"""Columns that the terminal and the page draw in a way of their own."""


def further_columns() -> tuple[DecisionColumn, ...]:
    """Return the columns that the terminal and the page append as they are."""
    return tuple(one for one in columns_of_table(RankedDecision) if one.name not in _ARRANGED)


@dataclass(frozen=True)
class ListFacts:
    """What the list of decisions holds, and what it leaves out."""

    measure: str
    """What it is sorted by."""
    listed: int
    """Decisions in the whole list."""
    evidence: int
    """Episodes in each arm that a state needs to be listed."""
    margin: float
    """Effect below which a decision counts as harmless."""
    too_few: int
    """States set aside: too few episodes in an arm."""
    never_differed: int
    """States set aside: the default action never differed from the policy's."""
    verdicts: Mapping[str, int]
    """Decisions of the list by verdict."""
    unmutated_episodes: int
    """Episodes of the unmutated policy, which tell what it reaches."""
    reached: int
    """Decisions among the first fifty that more than one in a hundred of them reach."""
    note: str = ""
    """What the names of actions mean, where they are relative to the state."""


@dataclass(frozen=True)
class Growth:
    """On how many episodes decisions were weighed until the first of them were settled."""

    looks: tuple[int, ...]
    """Episodes of each look."""
    top: int
    """Decisions that were to be settled: needed, or with a loss below the margin."""
    stable: bool
    """Whether they are."""
    open_ranks: tuple[int, ...]
    """Which of them are not."""
    max_episodes: int
    """Episodes that were allowed."""


@dataclass(frozen=True)
class Played:
    """Who played some parts of the run."""

    parts: int
    """Number of part files."""
    origin: Origin


@dataclass(frozen=True)
class Summary:
    """Everything a finished analysis found."""

    analysis: str
    """Its name."""
    env: str
    policy_spec: str
    """The policy that was analysed."""
    condition: str
    """The condition in force, in words."""
    condition_asked: str
    """The condition as asked for."""
    original: Returns
    suite: SuiteFacts
    coverage: Coverage
    pass_rates: PassRates
    sweep: SweepFacts
    targets: Mapping[str, float]
    """The return behind each threshold, by the fraction of the return."""
    thresholds: Mapping[str, Mapping[str, Threshold | None]]
    """By fraction, then by measure, `portfolio`, `random` and `random_best`; null: never met."""
    policy: Policy | None
    """The chosen pruned policy for the first fraction; null: no pruned policy reached it."""
    policies: Mapping[str, Policy | None]
    """The chosen pruned policy by fraction of the return."""
    ties: Mapping[str, Ties]
    """By measure."""
    decisions: tuple[Decision, ...]
    """The decisions of the smallest policy of the first target, by loss; none: not confirmed."""
    list: ListFacts
    """What the list of a mutated policy holds."""
    ranking: tuple[RankedDecision, ...]
    """The first of that list, in its order."""
    stability: Stability | None
    """Whether the list comes back; null: nothing is listed, or single episodes do not make it."""
    growth: Growth | None
    """How long decisions were weighed; null where the number of episodes was given."""
    configuration: Mapping[str, Any]
    """`suite` and `analysis`: every setting, resolved."""
    played: tuple[Played, ...]
    """Versions and distributions, part by part; more than one entry where they changed."""
    seed: int
