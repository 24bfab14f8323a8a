"""Refining a pruned policy: mutants around it tell which of its states it can do without.

In a round the kept states of the present policy are mutated at times, and the others kept at times.
The effect of each state on the return, given how the pruned policy acts everywhere else, gives a
new ranking; its first states, as many as the present policy has or fewer, are tried, trimmed and
confirmed like any candidate. A round that does not make the confirmed policy smaller is the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.intervals import arm_sizes
from rpd_core.analysis.reading import StoredEpisodes
from rpd_core.analysis.shrinkage import shrunken
from rpd_core.analysis.spectrum import Tally, tally
from rpd_core.config.identity import short_digest
from rpd_core.play.chance import Phase
from rpd_core.play.jobs import Around, SuiteJob
from rpd_core.pruning.choice import Chosen, choose_policy, size
from rpd_core.pruning.confirm import Goal
from rpd_core.pruning.curves import curve_from
from rpd_core.pruning.evaluation import ask
from rpd_core.pruning.references import References
from rpd_core.pruning.trials import Candidate, Trials
from rpd_core.store.suites import play_parts

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray, KeyArray

MEASURE = "refined"
"""What a policy that a round found is said to be found by."""
KEPT_RATE = 0.2
"""Chance that a kept state is mutated."""
OTHER_RATE = 0.98
"""Chance that any other state is mutated, as it always is in the pruned policy itself."""
FRACTIONS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Of the number of kept states: what is tried."""


@dataclass(frozen=True)
class Order:
    """By which powers of its chance of a visit and of its visits a state's effect is weighed."""

    chance: float
    visits: float


ORDERS = (Order(0.5, 1.0), Order(0.5, 0.0), Order(1.0, 1.0))
"""Orders that are tried: which is best depends on whether states or steps are scarce."""
CAUTION = 2.0
"""Standard deviations that are taken off the effect of states that are not kept now."""
_SWEEP = 1000
"""Added to the number of a round to tell its sweep from its suite."""
_LEAST = 5
"""Episodes in each arm from which on a state takes part in the fit of how effects are spread."""


@dataclass(frozen=True)
class Round:
    """What one round did."""

    number: int
    """From 1."""
    before: Candidate
    """The policy that was mutated."""
    folder: str
    """Where its suite is stored, below the run directory."""
    episodes: int
    """Mutants of it."""
    found: Chosen | None
    """What was tried for it; None: nothing smaller reached the target."""
    shrunk: bool
    """Whether a smaller policy was confirmed."""


def refine(
    trials: Trials, chosen: Chosen, references: References, analysis: str, rounds: int
) -> list[Round]:
    """Shrink a confirmed policy, round by round."""
    done: list[Round] = []
    present = chosen.tried.candidate
    for number in range(1, rounds + 1):
        found = _round(trials, present, chosen, references, analysis, number)
        done.append(found)
        if not found.shrunk or found.found is None:
            break
        present = found.found.tried.candidate
    return done


def _round(
    trials: Trials,
    present: Candidate,
    chosen: Chosen,
    references: References,
    analysis: str,
    number: int,
) -> Round:
    session = trials.evaluations.session
    settings = session.setup.config.settings
    folder = _folder(trials, present, analysis, number)
    counted = _play(trials, present, folder, number)
    scores = [scores_of(counted, present.kept, order) for order in ORDERS]
    ranked = [counted.states.key[np.argsort(-one, kind="stable")] for one in scores]
    keys = np.union1d(trials.keys, counted.states.key)
    wider = replace(trials, keys=keys, part=number, states=trials.denominator)
    smaller = _candidates(wider, ranked, present, references.target(chosen.fraction), number)
    goal = Goal(chosen.fraction, settings.confirm_margin)
    found = choose_policy(wider, smaller, goal, references) if smaller else None
    shrunk = (
        found is not None
        and found.tried.confirmation.outcome == "met"
        and size(found.tried.candidate, settings.objective) < size(present, settings.objective)
    )
    return Round(number, present, folder, settings.refine_episodes, found, shrunk)


def _folder(trials: Trials, present: Candidate, analysis: str, number: int) -> str:
    """Return where the suite of a round is stored; the name tells apart all that decides it."""
    session = trials.evaluations.session
    config, directory = session.setup.config, session.directory
    what = [
        directory.suite_digest(), config.analysis_json(), present.kept.tobytes().hex(),
        KEPT_RATE, OTHER_RATE, config.settings.refine_episodes, number,
    ]  # fmt: skip
    return f"analyses/{analysis}/refine/round-{number}-{short_digest(what)}"


def _play(trials: Trials, present: Candidate, folder: str, number: int) -> Tally:
    """Play the mutants of a policy and count what they say of each state."""
    session = trials.evaluations.session
    settings = session.setup.config.settings
    parts = session.directory.round_parts(folder)
    job = SuiteJob(
        session.recipe,
        settings.seed,
        KEPT_RATE,
        0,
        settings.refine_episodes - 1,
        Phase.REFINE,
        number,
        Around(present.kept, OTHER_RATE),
    )
    play_parts(session, f"round {number}", parts, job)
    stored = StoredEpisodes(parts)
    return tally(stored.chunks(), np.zeros(len(stored)))


def scores_of(counted: Tally, kept: KeyArray, order: Order) -> FloatArray:
    """Return what each state is worth to the policy that was mutated, in one of the orders.

    The effect of keeping it on the return, drawn towards those of its kind (kept states, and
    others), times powers of the chance that an episode visits it and of its visits there. What is
    not kept now has to earn its place: a lower bound of its effect counts.
    """
    mutated, unmutated = arm_sizes(counted.spectrum)
    estimate, error = return_effects(counted)
    known = (mutated >= _LEAST) & (unmutated >= _LEAST)
    present = np.isin(counted.states.key, kept)
    worth = np.zeros(len(estimate))
    for group, caution in ((present, 0.0), (~present, CAUTION)):
        mean, deviation = shrunken(estimate[group], error[group], known[group])
        worth[group] = mean - caution * deviation
    visiting = mutated + unmutated
    chance = visiting / max(counted.episodes, 1)
    visits = counted.states.visits / np.maximum(visiting, 1)
    return np.asarray(worth * chance**order.chance / visits**order.visits)


def return_effects(counted: Tally) -> tuple[FloatArray, FloatArray]:
    """Return how much higher returns are where a state is kept, and the standard error of that."""
    mutated, unmutated = arm_sizes(counted.spectrum)
    returns = counted.returns
    low, low_variance = _means(returns.mutated_sum, returns.mutated_squares, mutated)
    high, high_variance = _means(returns.kept_sum, returns.kept_squares, unmutated)
    least = _least_variance(counted)
    variance = np.maximum(low_variance, least) / np.maximum(mutated, 1)
    variance = variance + np.maximum(high_variance, least) / np.maximum(unmutated, 1)
    return np.where((mutated > 0) & (unmutated > 0), high - low, 0.0), np.sqrt(variance)


def _means(
    sums: FloatArray, squares: FloatArray, count: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of the returns in an arm."""
    many = np.maximum(count, 1)
    mean = sums / many
    return mean, np.maximum(squares / many - mean**2, 0.0)


def _least_variance(counted: Tally) -> float:
    """Return a small part of the variance of all returns: no arm is taken to have less."""
    returns, spectrum = counted.returns, counted.spectrum
    count = float(sum(arm.sum() for arm in arm_sizes(spectrum)))
    total = float((returns.mutated_sum + returns.kept_sum).sum())
    squares = float((returns.mutated_squares + returns.kept_squares).sum())
    return 0.1 * max(squares / count - (total / count) ** 2, 1e-12)


def _candidates(
    trials: Trials, ranked: Sequence[KeyArray], present: Candidate, target: float, number: int
) -> list[Candidate]:
    """Return policies of the new orders that reach the target and are smaller, smallest first."""
    session = trials.evaluations.session
    settings = session.setup.config.settings
    cutoffs = sorted({max(round(part * len(present.kept)), 1) for part in FRACTIONS})
    cutoffs = [one for one in cutoffs if one <= len(ranked[0])]
    everything = [np.concatenate([one, np.setdiff1d(trials.keys, one)]) for one in ranked]
    points = [(order, one) for order in range(len(ranked)) for one in cutoffs]
    name = f"refine-{number}-{present.identity}"
    asked = ask(session, everything, points, phase=Phase.REFINE, part=_SWEEP + number)
    episodes = trials.evaluations.play(f"round {number}", {name: asked})[name]
    shares = [one / trials.denominator for _, one in points]
    curve = curve_from(MEASURE, shares, [one for _, one in points], episodes)
    found = []
    for point in np.flatnonzero(curve.mean_return >= target).tolist():
        order, cutoff = points[point]
        kept, steps = np.sort(ranked[order][:cutoff]), float(curve.step_shares[point])
        found.append(Candidate(MEASURE, kept, cutoff, shares[point], steps))
    limit = size(present, settings.objective)
    smaller = [one for one in found if size(one, settings.objective) < limit]
    return sorted(smaller, key=lambda one: size(one, settings.objective))


def newly_met(kept: KeyArray, keys: KeyArray) -> int:
    """Return how many kept states the first suite never saw."""
    return len(np.setdiff1d(kept, keys))


def last_confirmed(chosen: Chosen, rounds: Sequence[Round]) -> Chosen:
    """Return the smallest policy that was confirmed: of the last round that shrank it, if any."""
    shrunk = [one.found for one in rounds if one.shrunk and one.found is not None]
    return shrunk[-1] if shrunk else chosen
