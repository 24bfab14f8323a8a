"""A smallest policy for every target: starts, minimising, confirmation, and what each loss is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rpd_core.analysis.ranking import Ranking
from rpd_core.chance import Phase, canonical, state_keys
from rpd_core.config.settings import Settings
from rpd_core.play.actions import asks_policy
from rpd_core.plugin.protocols.optional import KnowsStart
from rpd_core.pruning.choice import (
    TARGET_PARTS,
    Choosing,
    Chosen,
    Start,
    blocks_for,
    candidates_for,
    start_of,
    starts_for,
)
from rpd_core.pruning.confirm import Goal
from rpd_core.pruning.evaluation import Evaluations
from rpd_core.pruning.losses import FOREMOST, LONGER, Expected, Losses, measure_losses
from rpd_core.pruning.references import References
from rpd_core.pruning.rules_alone import RulesAlone, measure_rules_alone
from rpd_core.pruning.sweep import Sweep
from rpd_core.pruning.trials import Trials, confirm_name
from rpd_core.pruning.twins import Blocks, play_together

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import IntArray, KeyArray

SPARE = 0.8
"""Part of what may be lost that a start does not lose: dropping needs something to spend."""
LOOKS = 12
"""Times the confirming episodes that minimising may play of a policy in any case."""
_MORE = 1, 2
"""States more than those that an abstraction has learned, with which minimising begins, too."""
_LATER = 0.25
"""Part of the steps that targets after the first may take, or as many as some looks do: they go on
from its policy."""
FOR_LOSSES = 0.25
"""Part of the steps that the losses of the decisions may take beside."""


@dataclass(frozen=True)
class Smallest:
    """The smallest policy of a target, and what its decisions are worth."""

    chosen: Chosen
    losses: Losses | None
    """None: it is not confirmed."""
    minimised: Effort
    """What minimising took."""
    alone: RulesAlone | None
    """As rules alone, on the confirming episodes; None likewise."""


@dataclass(frozen=True)
class Effort:
    """What minimising took."""

    blocks: int
    """Blocks of episodes, each of which decided once."""
    episodes: int
    """Episodes of these, twins included."""
    steps: int
    """Their steps."""
    budget: int
    """Steps that it was allowed."""
    paired: bool
    """Whether twins shared the identity of their episodes to the end."""
    broken: int
    """Twins that differed from their episodes though no action did."""


def allowed_steps(settings: Settings, lengths: IntArray, swept: int) -> int:
    """Return how many steps minimising may take: as asked, or as many as suite and sweep took.

    `lengths` are those of the suite's episodes. With few states suite and sweep are soon done, and
    would leave too little to look at any policy.
    """
    if settings.minimise_steps is not None:
        return settings.minimise_steps
    least = LOOKS * settings.confirm_episodes * float(lengths.mean())
    return max(int(lengths.sum()) + swept, int(least))


def budgets_of(first: float, looks: float, targets: int) -> list[int]:
    """Return what minimising may take for each target, in the unit of `first` and of some looks."""
    return [int(first), *[int(max(_LATER * first, min(first, looks)))] * (targets - 1)]


def find_smallest(
    evaluations: Evaluations,
    rankings: Mapping[str, Ranking],
    swept: Sweep,
    references: References,
    budget: int,
) -> dict[float, Smallest | None]:
    """Return the smallest policy for each target; None: no point of the sweep reached it."""
    settings = evaluations.session.setup.config.settings
    keys = next(iter(rankings.values())).keys
    found: dict[float, Smallest | None] = {}
    before: Start | None = None
    looks = LOOKS * settings.confirm_episodes * float(references.original.length.mean())
    budgets = budgets_of(budget, looks, len(settings.target))
    for number, (fraction, allowed) in enumerate(zip(settings.target, budgets, strict=True)):
        trials = Trials(evaluations, keys, number)
        goal = Goal(fraction, settings.confirm_margin)
        choosing = Choosing(trials, references, goal, allowed)
        chosen = _choose(choosing, rankings, swept, before)
        found[fraction] = None
        if chosen is not None:
            effort = _effort(choosing.blocks, allowed)
            losses = _losses_of(trials, chosen, effort.paired, allowed, references)
            alone = _as_rules(trials, chosen, losses)
            found[fraction] = Smallest(chosen, losses, effort, alone)
            if number == 0 and losses is not None:
                trials.trace(chosen.tried.candidate)
            one = chosen.tried.candidate
            before = Start(one.measure, one.kept)
    return found


def _effort(blocks: Sequence[Blocks], budget: int) -> Effort:
    return Effort(
        sum(one.count for one in blocks),
        sum(one.episodes for one in blocks),
        sum(one.steps for one in blocks),
        budget,
        all(one.paired for one in blocks),
        sum(one.broken for one in blocks),
    )


def _choose(
    choosing: Choosing, rankings: Mapping[str, Ranking], swept: Sweep, before: Start | None
) -> Chosen | None:
    """Choose a policy from the sweep, or from the one of the target before, if that is higher."""
    settings = choosing.settings
    points = candidates_for(settings, swept.curves, choosing.aim.target)
    fraction = choosing.goal.fraction + SPARE * (1 - choosing.goal.fraction)
    spared = choosing.references.target(fraction)
    strong = candidates_for(settings, swept.curves, spared)
    best = points[0].measure if points else next(iter(rankings))
    starts = [
        *starts_for(points, strong, rankings, settings.objective),
        *_learned_starts(choosing.trials, rankings[best]),
    ]
    if before is not None:
        starts = [before]
    used = {np.sort(one.kept).tobytes() for one in starts}
    others = [start_of(point, rankings) for point in points]
    others = [one for one in others if np.sort(one.kept).tobytes() not in used]
    return choosing.choose(starts, others)


def _learned_starts(trials: Trials, ranking: Ranking) -> list[Start]:
    """Return where the abstraction says that the policy has to decide, if it does.

    Where that misses by a hair, the foremost of the other states may be all that it lacks.
    """
    last: Any = trials.evaluations.session.recipe.links[-1]
    rows = np.asarray(last.start_states()) if isinstance(last, KnowsStart) else np.zeros((0, 1))
    if not len(rows):
        return []
    keys = np.unique(state_keys(canonical(rows)))
    kept = keys[np.isin(keys, trials.keys)]
    others = ranking.ranked_keys[~np.isin(ranking.ranked_keys, kept)]
    more = [
        Start(f"as learned and {many} more", np.concatenate([kept, others[:many]]), True)
        for many in _MORE
        if many <= len(others)
    ]
    return [Start("as learned", kept, True), *more]


def _losses_of(
    trials: Trials, chosen: Chosen, paired: bool, budget: int, references: References
) -> Losses | None:
    """Measure what the decisions of a confirmed policy are worth, on blocks of their own.

    Where they are to be settled, each look has a block of its own, twice as large as the last.
    """
    if chosen.tried.confirmation.outcome != "met":
        return None
    settings = trials.evaluations.session.setup.config.settings
    kept, stage = chosen.tried.candidate.kept, "losses"
    blocks = blocks_for(trials, trials.part * TARGET_PARTS, Phase.LOSS, stage)
    blocks.paired = paired
    sizes = look_sizes(settings.confirm_episodes, settings.most_episodes)
    expected = _expected(trials, chosen, kept, 1 if settings.until == "stable" else LONGER)
    for number, episodes in enumerate(sizes, start=1):
        most = FOR_LOSSES * budget * episodes / sizes[0]
        confidence = settings.confidence if len(sizes) == 1 else look_level(number, settings)
        work = measure_losses(blocks, kept, expected, episodes, most, confidence)
        losses = play_together(trials.evaluations, stage, [work])[0]
        if not losses.open_ranks(settings.top, references.worth(settings.margin)):
            break
    taken = sizes[:number] if settings.until == "stable" else ()
    return replace(losses, looks=taken)


def look_sizes(first: int, last: int) -> tuple[int, ...]:
    """Return sizes that double from `first` to `last`."""
    sizes = [min(first, last)]
    while sizes[-1] < last:
        sizes.append(min(2 * sizes[-1], last))
    return tuple(sizes)


def look_level(number: int, settings: Settings) -> float:
    """Return the confidence of a look, the first one of number 1.

    Over any number of looks the shares of false claims add up to what is allowed.
    """
    return 1 - (1 - settings.confidence) / 2.0**number


def _as_rules(trials: Trials, chosen: Chosen, losses: Losses | None) -> RulesAlone | None:
    """Play a confirmed policy as rules alone, each as the policy acts in the losses' episodes.

    None: there are no losses, or no states without the policy.
    """
    if losses is None or asks_policy(trials.evaluations.session.recipe.abstraction):
        return None
    asked = trials.asked(chosen.tried.candidate, chosen.tried.confirmation.looks - 1)
    evaluations = trials.evaluations
    return measure_rules_alone(evaluations, asked, evaluations.states(losses.block))


def _expected(trials: Trials, chosen: Chosen, kept: KeyArray, longer: int) -> Expected:
    """Return what confirming and minimising saw of the decisions of a policy.

    Where looks grow by themselves, none is longer than asked for.
    """
    name = confirm_name(chosen.tried.candidate.identity, trials.first_part)
    visits = trials.evaluations.visits(name, 0, trials.episodes - 1)
    own = np.flatnonzero(np.isin(visits.key, kept))
    place = np.searchsorted(kept, visits.key[own])
    reach = np.bincount(place, minlength=len(kept)) / trials.episodes
    loss = np.zeros(len(kept)) if chosen.way is None else chosen.way.known.losses(kept)
    foremost = np.zeros(len(kept), dtype=bool)
    foremost[np.lexsort((kept, -loss))[:FOREMOST]] = True
    return Expected(reach, foremost & (loss > 0), longer)
