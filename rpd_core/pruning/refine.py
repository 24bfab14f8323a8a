"""Refining a pruned policy: mutants around it tell which of its states it can do without.

A round mutates a policy that keeps somewhat more of the return than is asked for, the centre: its
kept states at times, and all others nearly always. The effect of each state on the return, given
how the centre acts everywhere else, orders the states anew. The smallest policy of these orders
that reaches the target is trimmed and confirmed like any candidate; the smallest that still has
something to spare is the next centre. A round that does not make the confirmed policy smaller is
the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.intervals import arm_sizes
from rpd_core.analysis.shrinkage import shrunken
from rpd_core.analysis.spectrum import Tally, tally
from rpd_core.analysis.suite import StoredEpisodes
from rpd_core.chance import Phase
from rpd_core.config.identity import short_digest
from rpd_core.config.settings import Settings
from rpd_core.play.chunks import Around, SuiteChunk
from rpd_core.pruning.choice import BATCH, Chosen, choose_policy, size
from rpd_core.pruning.confirm import Goal
from rpd_core.pruning.curves import curve_from
from rpd_core.pruning.evaluation import ask
from rpd_core.pruning.records import REFINED
from rpd_core.pruning.references import References
from rpd_core.pruning.trials import Candidate, Trials, ranking_of, trim
from rpd_core.store.session import play_parts

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray, KeyArray

KEPT_RATE = 0.2
"""Chance that a kept state is mutated."""
OTHER_RATE = 0.98
"""Chance that any other state is mutated, as it always is in the pruned policy itself."""
FRACTIONS = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2)
"""Of the number of the centre's kept states: what is tried."""
SPARE = 0.5
"""Part of what may be lost that the centre does not lose: one with nothing to spare is brittle."""
SURPLUS = 0.01
"""Share of the return beyond the target that a candidate has in the sweep."""
ROUNDS = 3
"""Rounds at most, where their number is not given."""


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
    centre: Candidate
    """The policy that was mutated."""
    folder: str
    """Where its mutants are stored, below the run directory."""
    episodes: int
    """How many they are."""
    found: Chosen | None
    """What was tried; None: nothing smaller reached the target."""
    shrunk: bool
    """Whether a smaller policy was confirmed."""


@dataclass(frozen=True)
class Refining:
    """What stays the same over the rounds."""

    trials: Trials
    references: References
    fraction: float
    """Of the return that the policy is to keep."""
    analysis: str
    """The analysis that is refined."""

    @property
    def settings(self) -> Settings:
        """The settings of the run."""
        return self.trials.evaluations.session.setup.config.settings

    @property
    def episodes(self) -> int:
        """Mutants of each round."""
        return self.settings.refine_episodes or max(self.settings.episodes // 2, 2)

    def size(self, one: Candidate) -> tuple[float, float]:
        """Return what is made small, and what decides between equals."""
        return size(one, self.settings.objective)

    def target(self, fraction: float) -> float:
        """Return the return that counts as this fraction."""
        return self.references.target(fraction)

    @property
    def spared(self) -> float:
        """How much of the return a centre keeps."""
        return self.fraction + SPARE * (1 - self.fraction)

    @property
    def spared_target(self) -> float:
        """The return that a centre reaches."""
        return self.target(self.spared)


def refine(refining: Refining, chosen: Chosen, centre: Candidate, rounds: int) -> list[Round]:
    """Shrink a confirmed policy, round by round."""
    done: list[Round] = []
    present, tried = chosen.tried.candidate, chosen.tries
    for number in range(1, rounds + 1):
        found, following = _play_round(refining, present, centre, number, tried)
        done.append(found)
        tried += found.found.tries if found.found is not None else 0
        if not found.shrunk or found.found is None:
            break
        present, centre = found.found.tried.candidate, following or found.found.tried.candidate
    return done


def rounds_that_pay(refining: Refining, spent: int) -> int:
    """Return how many rounds to play at most: as many as given, or as `spent` steps are worth.

    A round is taken to cost as many steps as if all its episodes were as long as the policy's own:
    it is an estimate in steps, not in seconds, so that the same run does the same everywhere.
    """
    settings = refining.settings
    if settings.rounds is not None:
        return settings.rounds
    tried = settings.test_episodes * len(FRACTIONS) * len(ORDERS)
    fresh = settings.confirm_episodes * (BATCH + 4)
    length = float(refining.references.original.length.mean())
    cost = (refining.episodes + tried + fresh) * length
    return min(ROUNDS, int(spent // cost))


def first_centre(refining: Refining, queue: Sequence[Candidate]) -> Candidate | None:
    """Return the smallest of some candidates that has something to spare, trimmed."""
    pairs = trim(refining.trials, queue[:BATCH], refining.spared_target) if queue else []
    enough = [trimmed for trimmed, _ in pairs if trimmed.reached]
    return min(enough, key=refining.size, default=None)


def _play_round(
    refining: Refining, present: Candidate, centre: Candidate, number: int, tried: int
) -> tuple[Round, Candidate | None]:
    """Play a round after so many tries; return it and the next centre, if there is one."""
    folder = _folder(refining, centre, number)
    counted = _play(refining, centre, folder, number)
    scores = [scores_of(counted, centre.kept, order) for order in ORDERS]
    ranked = [counted.states.key[np.argsort(-one, kind="stable")] for one in scores]
    trials = replace(
        refining.trials,
        keys=np.union1d(refining.trials.keys, counted.states.key),
        suite=refining.trials.suite_keys,
        part=number,
    )
    swept = _sweep(trials, ranked, centre, number)
    following = _smallest(refining, swept, refining.spared)
    better = [
        one
        for one in _reaching(refining, swept, refining.fraction + SURPLUS)
        if refining.size(one) < refining.size(present)
    ]
    goal = Goal(refining.fraction, refining.settings.confirm_margin)
    found = None
    if better:
        found = choose_policy(trials, better, goal, refining.references, tried)
    shrunk = (
        found is not None
        and found.tried.confirmation.outcome == "met"
        and refining.size(found.tried.candidate) < refining.size(present)
    )
    return Round(number, centre, folder, refining.episodes, found, shrunk), following


def _reaching(
    refining: Refining, swept: Sequence[tuple[Candidate, float]], fraction: float
) -> list[Candidate]:
    """Return the policies of a sweep that keep a fraction of the return, smallest first."""
    target = refining.target(fraction)
    return sorted((one for one, mean in swept if mean >= target), key=refining.size)


def _smallest(
    refining: Refining, swept: Sequence[tuple[Candidate, float]], fraction: float
) -> Candidate | None:
    return next(iter(_reaching(refining, swept, fraction)), None)


def _folder(refining: Refining, centre: Candidate, number: int) -> str:
    """Return where the mutants of a round are stored; the name tells apart all that decides it."""
    session = refining.trials.evaluations.session
    asked = session.setup.config.analysis_json()
    asked.pop("rounds")  # more rounds begin with the same ones
    what = [
        session.directory.suite_digest(), asked, centre.kept.tobytes().hex(),
        KEPT_RATE, OTHER_RATE, refining.episodes, number,
    ]  # fmt: skip
    return f"analyses/{refining.analysis}/refine/round-{number}-{short_digest(what)}"


def _play(refining: Refining, centre: Candidate, folder: str, number: int) -> Tally:
    """Play the mutants of a centre and count what they say of each state."""
    session = refining.trials.evaluations.session
    parts = session.directory.round_parts(folder)
    whole = SuiteChunk(
        session.recipe,
        refining.settings.seed,
        KEPT_RATE,
        0,
        refining.episodes - 1,
        Phase.REFINE,
        number,
        Around(centre.kept, OTHER_RATE),
    )
    play_parts(session, f"round {number}", parts, whole)
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


def _sweep(
    trials: Trials, ranked: Sequence[KeyArray], centre: Candidate, number: int
) -> list[tuple[Candidate, float]]:
    """Play policies of the new orders; return each with its mean return."""
    session, states = trials.evaluations.session, len(trials.suite_keys)
    cutoffs = sorted({max(round(part * len(centre.kept)), 1) for part in FRACTIONS})
    cutoffs = [one for one in cutoffs if one <= len(ranked[0])]
    everything = [ranking_of(one, trials.keys) for one in ranked]
    points = [(order, one) for order in range(len(ranked)) for one in cutoffs]
    name = f"refine-{number}-{centre.identity}"
    asked = ask(session, everything, points, phase=Phase.REFINE, part=_SWEEP + number)
    episodes = trials.evaluations.play(f"round {number}", {name: asked})[name]
    shares = [one / states for _, one in points]
    curve = curve_from(REFINED, shares, [one for _, one in points], episodes)
    found = []
    for place, (order, cutoff) in enumerate(points):
        kept, steps = np.sort(ranked[order][:cutoff]), float(curve.step_shares[place])
        new = len(np.setdiff1d(kept, trials.suite_keys))
        one = Candidate(REFINED, kept, cutoff, shares[place], steps, new)
        found.append((one, float(curve.mean_return[place])))
    return found


def last_confirmed(chosen: Chosen, rounds: Sequence[Round]) -> Chosen:
    """Return the smallest policy that was confirmed: of the last round that shrank it, if any."""
    shrunk = [one.found for one in rounds if one.shrunk and one.found is not None]
    return shrunk[-1] if shrunk else chosen
