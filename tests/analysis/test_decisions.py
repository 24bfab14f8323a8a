"""The list of decisions and what the policy reaches, in a world whose truth is enumerated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import worlds

from rpd_core.analysis.analysis import weigh
from rpd_core.analysis.ranking import Ranking, rank
from rpd_core.analysis.spectrum import tally
from rpd_core.analysis.suite import Reach, reach_of
from rpd_core.analysis.verdicts import Decisions, Rules, decide
from rpd_core.chance import Phase
from rpd_core.play.chunks import SuiteChunk, perform_suite
from rpd_core.play.names import Names
from rpd_core.play.recipe import Recipe
from rpd_core.plugin.protocols import Suite
from rpd_core.plugin.registry import Registry
from rpd_core.pruning.losses import Losses
from rpd_core.results.decisions import decision_rows

RECIPE = Recipe(
    worlds.Corridor(), worlds.Goes(), worlds.Itself(), worlds.Drifts(), 500, worlds.MAX_STEPS
)


def played(rate: float, first: int, last: int) -> Suite:
    phase = Phase.SUITE if rate else Phase.UNMUTATED
    return perform_suite(SuiteChunk(RECIPE, 3, rate, first, last, phase)).suite


@pytest.fixture(scope="module")
def reach() -> Reach:
    return reach_of([played(0.0, 0, 299), played(0.0, 300, 399)])


@pytest.fixture(scope="module")
def judged(registry: Registry, reach: Reach) -> Decisions:
    suite = played(worlds.MUTATION_RATE, 0, 4999)
    weights = weigh(registry.make("condition", worlds.CONDITION), suite.episodes)
    counted = tally([suite], weights)
    measure = registry.make("measure", "effect")
    return decide(counted, rank("effect", measure, counted.evidence()), reach, Rules(10, 0.05))


def of_state(found: Decisions, state: int) -> int:
    return int(np.searchsorted(found.counted.states.key, worlds.corridor_keys()[state]))


def test_reach_counts_episodes_and_steps_of_the_unmutated_policy(reach: Reach) -> None:
    # From 0 and 1 the policy goes 2, 3, 5, 7, 14, 10, 12 to the goal: nine states, no loop.
    keys = worlds.corridor_keys()
    starts = reach.share_of_episodes(keys[:2])
    assert starts.sum() == 1
    assert (starts > 0.4).all()
    path = reach.share_of_episodes(keys[[2, 3, 5, 7, 14, 10, 12]])
    assert path.tolist() == [1.0] * 7
    assert reach.share_of_episodes(keys[[4, 6, 8, 9, 11, 13]]).tolist() == [0.0] * 6
    assert reach.share_of_steps(keys[[2]]).tolist() == [1 / 8]
    assert (reach.total_episodes, reach.total_steps) == (400, 3200)


def test_no_episodes_reach_nothing() -> None:
    nothing = reach_of([])
    assert nothing.share_of_episodes(worlds.corridor_keys()).tolist() == [0.0] * worlds.STATES


def test_verdicts_agree_with_the_enumerated_effects(judged: Decisions) -> None:
    truth = worlds.enumerate_corridor().effect
    rows = np.array([of_state(judged, state) for state in range(worlds.STATES)])
    labels = np.array(judged.verdicts.labels(), dtype=object)[rows]
    assert (judged.effects.low <= judged.effects.high).all()
    inside = (judged.effects.low[rows] <= truth) & (truth <= judged.effects.high[rows])
    assert inside.mean() >= 0.8
    clear = np.abs(truth) > 0.1
    assert clear.sum() >= 8
    assert [str(label) for label in labels[clear & (truth > 0)]] == ["matters"] * int(
        (clear & (truth > 0)).sum()
    )


def test_a_state_whose_default_never_differs_is_never_listed(judged: Decisions) -> None:
    row = of_state(judged, 3)
    differs = judged.differs.copy()
    differs[row] = False
    blind = replace(judged, differs=differs)
    assert row in judged.listed().tolist()
    assert row not in blind.listed(everything=True).tolist()
    assert len(blind.listed()) == len(judged.listed()) - 1


def test_states_with_few_episodes_are_listed_only_on_demand(judged: Decisions) -> None:
    fewest = int(np.argmin(judged.counted.spectrum.mutated_failed))
    evidence = judged.evidence.copy()
    evidence[fewest] = False
    thin = replace(judged, evidence=evidence)
    assert fewest not in thin.listed().tolist()
    assert fewest in thin.listed(everything=True).tolist()


def test_the_list_is_in_the_order_of_the_ranking(judged: Decisions) -> None:
    scores = judged.ranking.scores[judged.listed()]
    assert (np.diff(scores) <= 0).all()
    turned = Ranking(
        "other", judged.ranking.order[::-1], -judged.ranking.scores, judged.ranking.keys
    )
    other = replace(judged, ranking=turned)
    assert other.listed().tolist() == judged.listed().tolist()[::-1]


def test_only_what_is_reached_can_be_asked_for(judged: Decisions) -> None:
    listed = judged.listed(only_reached=True)
    reached = judged.reach.share_of_episodes(judged.counted.states.key[listed])
    assert (reached > 0).all()
    assert len(listed) == 9


@pytest.mark.parametrize("falls", [True, False])
def test_a_loss_that_was_cut_short_is_more_only_where_returns_can_fall(
    reach: Reach, falls: bool
) -> None:
    states = played(worlds.MUTATION_RATE, 0, 9).states
    key, one = states.key[:1], np.ones(1)
    sure = np.ones(1, dtype=bool)
    losses = Losses(
        key, one, one, one, one, one, one, one, needed=sure, cut_short=sure, steps=one,
        overrides=one, reached=one, twins=np.ones(1, dtype=np.int64), return_mean=1.0, episodes=1,
        paired=True, correlation=None, block="", recurring=None,
    )  # fmt: skip
    (row,) = decision_rows(losses, states, {int(key[0]): "0"}, reach, Names(), falls)
    assert row.at_least is falls
