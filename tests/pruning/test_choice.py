"""Pruned policies chosen, trimmed and confirmed.

On the line, with the policy going right for six steps, a pruned policy that keeps the first k
cells earns exactly k of 6. The curves are made up and promise more, and so does the return of the
original where references are made up, so that confirmation has something to refuse.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lines import Cell, Does, Gives, Line, always
from stores import session_at

from rpd_core.analysis.ranking import Ranking
from rpd_core.chance import canonical, state_keys
from rpd_core.config.settings import Request
from rpd_core.plugin.protocols import Episodes
from rpd_core.pruning.choice import (
    BATCH,
    BATCHES,
    Chosen,
    batches,
    choose_policies,
    choose_policy,
    headline_measures,
    in_order,
)
from rpd_core.pruning.confirm import Goal
from rpd_core.pruning.curves import Curve
from rpd_core.pruning.evaluation import Evaluations
from rpd_core.pruning.records import PrunedPoint
from rpd_core.pruning.references import References, measure_references
from rpd_core.pruning.trials import Candidate, Trials
from rpd_core.results.summary import policy_of
from rpd_core.store.session import Session

KEPT = np.arange(7)
CELLS = state_keys(canonical(np.arange(6.0)[:, None]))


def session(path: Path, **settings: Any) -> Session:
    components = {"abstraction": (Cell(),), "default_action": Gives(always(0))}
    asked = {"test_episodes": 3, "confirm_episodes": 200, "lanes": 50, "reference": 0.0, **settings}
    return session_at(path, Request(Line(), Does(always(1)), **components, **asked))


def promising(name: str, means: Sequence[float], steps: Sequence[int] = (1,) * 7) -> Curve:
    returns = np.repeat(np.array(means, dtype=float)[:, None], 3, axis=1)
    lengths = np.full(returns.shape, 10)
    used = np.repeat(np.array(steps)[:, None], 3, axis=1)
    return Curve(name, KEPT / 6, KEPT, returns, lengths, used, used, lengths)


def references(original: float = 6.0, reference: float = 0.0) -> References:
    index = np.arange(3)
    played = Episodes(index, index, np.full(3, original), index + 1, index * 0, index, index)
    return References(played, played, reference, "given")


def ranking(name: str, order: Sequence[int] = range(6)) -> Ranking:
    return Ranking(name, np.array(order), np.zeros(6), CELLS)


def choose(
    path: Path,
    curves: dict[str, Curve],
    standing: References | None = None,
    rankings: dict[str, Ranking] | None = None,
    **settings: Any,
) -> tuple[Evaluations, dict[float, Chosen | None]]:
    evaluations = Evaluations(session(path, **settings))
    orders = rankings or {name: ranking(name) for name in curves}
    trials = Trials(evaluations, CELLS)
    return evaluations, choose_policies(trials, orders, curves, standing or references())


def cells(chosen: Chosen | None) -> list[int]:
    assert chosen is not None
    return np.flatnonzero(np.isin(CELLS, chosen.tried.candidate.kept)).tolist()


EVERYWHERE = [0, 9, 9, 9, 9, 9, 9]


def test_a_choice_that_holds_is_confirmed_at_once(tmp_path: Path) -> None:
    _, found = choose(tmp_path, {"tarantula": promising("tarantula", KEPT.tolist())})
    assert cells(found[0.5]) == [0, 1, 2]
    assert cells(found[0.9]) == [0, 1, 2, 3, 4, 5]
    policy = policy_of(found[0.5])
    assert policy is not None
    assert (policy.measure, policy.kept, policy.states, policy.steps) == ("tarantula", 3, 0.5, 0.5)
    assert (policy.return_mean, policy.target, policy.share) == (3.0, 3.0, 0.5)
    assert (policy.met, policy.outcome, policy.episodes) == (True, "met", 200)
    # None of 200 episodes earned less; what may be unseen is below 2.5 %, or the level of a try.
    for low, whole, high in (
        (policy.share_low, 0.5, policy.share_high),
        (policy.return_low, 3.0, policy.return_high),
    ):
        assert low == pytest.approx(whole * 0.975, rel=0.01)
        assert high == pytest.approx(whole, rel=1e-6)
    assert policy.share_bound is not None
    assert 0.48 < policy.share_bound < policy.share_low
    assert policy.return_bound == pytest.approx(6 * policy.share_bound, rel=1e-3)
    assert policy.confidence == 0.95
    assert (policy.coverage, policy.tries, policy.untrimmed) == (1.0, 1, 3)
    assert (policy.calls_saved, policy.failed) == (0.5, ())


def test_what_trimming_episodes_show_to_fall_short_is_tried_last(tmp_path: Path) -> None:
    _, found = choose(tmp_path, {"tarantula": promising("tarantula", EVERYWHERE)})
    half = found[0.5]
    assert cells(half) == [0, 1, 2]
    assert half is not None
    assert half.failed == ()


def test_what_falls_short_waits_for_all_that_do_not(tmp_path: Path) -> None:
    """A sweep flatters six small policies; the seventh, of the next batch, earns what it needs."""
    orders = {
        f"m{number}": ranking(f"m{number}", np.roll(range(6), number)) for number in range(1, 6)
    }
    curves = {name: promising(name, [-9, -9, 9, -9, -9, -9, -9]) for name in orders}
    curves["tarantula"] = promising("tarantula", [0, 9, 9, 9, 9, 9, 9])
    orders["tarantula"] = ranking("tarantula")
    _, found = choose(tmp_path, curves, rankings=orders)
    policy = policy_of(found[0.9])
    assert policy is not None
    assert (policy.kept, policy.met, policy.tries, policy.failed) == (6, True, 1, ())


def test_choices_that_fail_are_named_before_the_one_that_holds(tmp_path: Path) -> None:
    """With an original of 4, 3.6 would do: but on fresh episodes it earns 6, and 5.4 is needed."""
    curve = promising("tarantula", EVERYWHERE)
    _, found = choose(tmp_path, {"tarantula": curve}, references(4.0))
    policy = policy_of(found[0.9])
    assert policy is not None
    assert (policy.kept, policy.met, policy.tries, policy.return_mean) == (6, True, 3, 6.0)
    failed = [(one.kept, one.outcome, round(one.share, 3)) for one in policy.failed]
    assert failed == [(4, "missed", 0.667), (5, "missed", 0.833)]


def test_when_all_fail_the_nearest_is_shown_as_what_it_is(tmp_path: Path) -> None:
    curve = promising("tarantula", [0, 9, 9, 0, 0, 0, 0])
    _, found = choose(tmp_path, {"tarantula": curve})
    policy = policy_of(found[0.9])
    assert policy is not None
    assert (policy.kept, policy.met, policy.outcome, policy.tries) == (2, False, "missed", 2)
    assert [one.kept for one in policy.failed] == [1]


def test_where_no_point_reached_the_target_there_is_no_policy(tmp_path: Path) -> None:
    _, found = choose(tmp_path, {"tarantula": promising("tarantula", EVERYWHERE)}, references(99))
    assert found == {0.9: None, 0.5: None}
    assert policy_of(None) is None


def test_where_the_default_action_is_enough_nothing_is_kept(tmp_path: Path) -> None:
    standing = references(6.0, -600.0)
    _, found = choose(
        tmp_path, {"tarantula": promising("tarantula", KEPT.tolist())}, standing, reference=-600.0
    )
    policy = policy_of(found[0.9])
    assert policy is not None
    assert (policy.kept, policy.states, policy.steps, policy.met) == (0, 0.0, 0.0, True)
    assert policy.calls_saved == 1.0


def test_kept_states_that_are_never_visited_are_dropped(tmp_path: Path) -> None:
    """Cells 0, 1 and 5 are kept: the walk ends in cell 2, so the last one does nothing."""
    orders = {"tarantula": ranking("tarantula", [0, 1, 5, 4, 3, 2])}
    curve = promising("tarantula", [-9, -9, -9, 9, -9, -9, -9])
    _, found = choose(tmp_path, {"tarantula": curve}, references(6, -6), orders, reference=-6.0)
    assert cells(found[0.5]) == [0, 1]
    policy = policy_of(found[0.5])
    assert policy is not None
    assert (policy.kept, policy.untrimmed, policy.states) == (2, 3, 2 / 6)
    assert (policy.return_mean, policy.share) == (2.0, 8 / 12)


def test_trimming_and_confirming_share_no_episode_with_the_sweep(tmp_path: Path) -> None:
    curve = promising("tarantula", EVERYWHERE)
    evaluations, _ = choose(tmp_path, {"tarantula": curve}, references(4.0))
    measure_references(evaluations.session, evaluations)
    seeds: dict[str, set[int]] = {"original": set(), "trim": set(), "confirm": set()}
    for name, folder in evaluations.folders.items():
        parts = evaluations.session.directory.evaluation(folder)
        rows = parts.read(*parts.covered()[0])["episodes"]["seed"].to_pylist()
        if name.partition("-")[0] in seeds:
            seeds[name.partition("-")[0]].update(rows)
    assert [len(some) for some in seeds.values()] == [3, 200, 200]
    assert len(set.union(*seeds.values())) == 403


class Scripted(Trials):
    """Trims to what is written, and lets each number of kept states earn what is written."""

    visits: Any
    earns: dict[int, float]

    def trimming(self, tried: Sequence[Candidate]) -> list[tuple[Episodes, Any]]:
        return [(_flat(6.0, 200), self.visits) for _ in tried]

    def confirming(self, candidate: Candidate, look: int) -> tuple[Episodes, Episodes]:
        count = 200 * (1, 2, 4)[look]
        spread = np.resize([-1.0, 1.0], count) * (4 * (self.earns[len(candidate.kept)] % 1))
        return _flat(self.earns[len(candidate.kept)] + spread, count), _flat(6.0, count)


def _flat(returns: Any, count: int) -> Episodes:
    index = np.arange(count)
    return Episodes(index, index, np.zeros(count) + returns, index + 1, index * 0, index, index)


def scripted(path: Path, earns: dict[int, float], visits: Sequence[int]) -> Chosen:
    trials = Scripted(Evaluations(session(path)), CELLS)
    object.__setattr__(trials, "visits", CELLS[list(visits)])
    object.__setattr__(trials, "earns", earns)
    kept = [Candidate("m", np.sort(CELLS[:k]), k, k / 6, 0.1) for k in (4, 5)]
    found = choose_policy(trials, kept, Goal(0.9, 0.02), references())
    assert found is not None
    return found


def test_where_the_trimmed_policy_misses_the_untrimmed_one_is_tried_next(tmp_path: Path) -> None:
    found = scripted(tmp_path, {2: 3.0, 4: 6.0, 5: 6.0}, visits=[0, 1])
    assert len(found.tried.candidate.kept) == 4
    assert [len(one.candidate.kept) for one in found.failed] == [2]


def test_the_same_set_is_tried_once_however_it_was_found(tmp_path: Path) -> None:
    """Both candidates are trimmed to the same two cells; then each is tried untrimmed."""
    found = scripted(tmp_path, {2: 3.0, 4: 3.0, 5: 6.0}, visits=[0, 1])
    assert len(found.tried.candidate.kept) == 5
    assert [len(one.candidate.kept) for one in found.failed] == [2, 4]


def test_what_stays_open_after_all_looks_gives_way_to_the_next(tmp_path: Path) -> None:
    found = scripted(tmp_path, {4: 5.4, 5: 6.0}, visits=range(6))
    assert len(found.tried.candidate.kept) == 5
    assert [(one.confirmation.outcome, len(one.episodes)) for one in found.failed] == [
        ("undecided", 800)
    ]


# --------------------------------------------------------------------------- what comes first


def point(name: str, states: float, steps: float) -> PrunedPoint:
    return PrunedPoint(name, int(states * 100), states, steps, steps, 9.0, 5)


POINTS = [
    point("few-states", 0.1, 0.7),
    point("beaten", 0.3, 0.75),
    point("balanced", 0.3, 0.3),
    point("few-steps", 0.9, 0.1),
    point("beaten-twice", 0.4, 0.8),
]


@pytest.mark.parametrize(
    ("objective", "order"),
    [
        ("states", ["few-states", "balanced", "few-steps"]),
        ("steps", ["few-steps", "balanced", "few-states"]),
        ("both", ["balanced", "few-states", "few-steps"]),
    ],
)
def test_the_objective_orders_what_is_not_beaten_in_both_shares(
    objective: str, order: list[str]
) -> None:
    found = [one.measure for one in in_order(POINTS, objective)]
    assert found == [*order, "beaten", "beaten-twice"], "those that are beaten come last"


def test_baselines_are_candidates_only_where_they_are_named() -> None:
    curves = dict.fromkeys(["tarantula", "freqvis", "random:seed=3", "differ", "mine:a=1"])
    measures: Any = curves
    assert headline_measures(measures, "best") == ["tarantula", "mine:a=1"]
    assert headline_measures(measures, "freqvis") == ["freqvis"]


def test_batches_hold_each_set_once_and_end_with_the_largest() -> None:
    keys = np.arange(40, dtype=np.uint64)
    made = [Candidate("a", keys[:k], k, k / 40, 0.5) for k in range(1, 41)]
    again = Candidate("b", keys[:1], 1, 1 / 40, 0.5)
    found = list(batches([made[0], again, *made[1:]]))
    assert [len(batch) for batch in found] == [BATCH] * BATCHES
    sizes = [len(one.kept) for batch in found for one in batch]
    assert sizes == [*range(1, 18), 40]
    assert found[0][0].measure == "a"
    assert list(batches([])) == []
