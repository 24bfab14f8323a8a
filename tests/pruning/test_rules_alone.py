"""Rules in place of the policy, on the very episodes of a pruned policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import worlds
from gymnasium import spaces
from lines import Cell, Does, Gives, Line, always
from stores import corridor, session_at

from rpd_core.chance import Phase
from rpd_core.config.settings import Request
from rpd_core.play.chunks import Evaluation
from rpd_core.play.recipe import Recipe
from rpd_core.plugin.protocols import Choice, Facts, Policy, PolicyInput, States
from rpd_core.pruning.evaluation import Evaluations, ask
from rpd_core.pruning.rules_alone import measure_rules_alone, usual_actions


def table(keys: Any, **columns: Any) -> States:
    """Return states with some columns; all others are empty."""
    count = len(keys)
    nothing = np.zeros((count, 0))
    empty = dict.fromkeys(
        ("choices", "default_choices", "action_sum", "action_squares", "default_sum",
         "default_squares"), nothing,
    )  # fmt: skip
    single = ("first_episode", "first_step", "value_gap", "entropy", "default_gap")
    zeros = dict.fromkeys(single, np.zeros(count))
    given = {"value": np.zeros((count, 1)), "visits": np.ones(count), **empty, **zeros, **columns}
    return States(key=np.array(keys, dtype=np.uint64), **given)


def test_the_usual_action_is_the_commonest_or_the_mean() -> None:
    whole = table([1, 2, 3], choices=np.array([[1, 4, 0], [2, 2, 2], [0, 0, 1]]))
    assert usual_actions(whole).tolist() == [[1], [0], [2]]
    sums = np.array([[2.0, -1.0], [3.0, 3.0]])
    real = table([1, 2], action_sum=sums, visits=np.array([2, 4]))
    assert usual_actions(real).tolist() == [[1.0, -0.5], [0.75, 0.75]]


def confirming(session: Any, kept: Any, episodes: int, unranked: bool = False) -> Evaluation:
    asked = ask(session, [kept], [(0, len(kept))], unranked, Phase.CONFIRM)
    return replace(asked, test_episodes=episodes, visits=True)


def test_a_policy_of_one_action_per_state_is_its_rules(tmp_path: Path) -> None:
    session = session_at(tmp_path, corridor())
    evaluations = Evaluations(session)
    kept = worlds.corridor_keys()[[0, 1, 2, 3, 5, 7, 10, 12]]
    looks = {
        name: replace(confirming(session, kept, 20), part=part)
        for part, name in enumerate(("one", "two"))
    }
    played = evaluations.play("confirmation", looks)
    alone = measure_rules_alone(evaluations, looks, evaluations.states("one")).episodes
    pruned = np.concatenate([played[name].total_return for name in looks])
    assert alone.total_return.tolist() == pruned.tolist()
    assert alone.policy_steps.tolist() == [*played["one"].policy_steps, *played["two"].policy_steps]
    assert alone.total_return.mean() > 3


def test_a_kept_state_without_a_known_action_and_unknown_states_act_by_default(
    tmp_path: Path,
) -> None:
    session = session_at(tmp_path, corridor())
    keys = worlds.corridor_keys()
    whole = confirming(session, keys, 40, unranked=True)
    known = [0, 1, 3, 5, 7, 10, 12]  # not 2, from which everything goes on
    states = table(np.sort(keys[known]), choices=np.tile([0, 1], (len(known), 1)))
    alone = measure_rules_alone(Evaluations(session), {"whole": whole}, states).episodes
    mutated = np.ones((2, worlds.STATES), dtype=bool)
    mutated[:, known] = False
    returns, _ = worlds.play_fates(mutated, np.arange(2))
    assert alone.total_return.tolist() == returns[alone.seed & 1].tolist()


@dataclass(frozen=True)
class PushesUnder:
    """Pushes the cart to the side that the pole falls to, as one rule says of any state."""

    def load(self, facts: Facts) -> Policy:
        def decide(seen: PolicyInput) -> Choice:
            rows: Any = seen.observations
            return Choice((rows[:, 2] + 0.2 * rows[:, 3] > 0).astype(np.int64))

        return decide


def test_actions_relative_to_mirrored_states_are_mapped_back(tmp_path: Path) -> None:
    session = session_at(tmp_path, Request("cartpole", PushesUnder(), lanes=32))
    evaluations = Evaluations(session)
    nothing = np.zeros(0, dtype=np.uint64)
    evaluations.play("whole", {"whole": confirming(session, nothing, 32, unranked=True)})
    states = evaluations.states("whole")
    assert (states.choices[:, 1] == 0).all(), "always under, never away"
    asked = {"pruned": confirming(session, states.key, 32)}
    pruned = evaluations.play("confirmation", asked)["pruned"]
    alone = measure_rules_alone(evaluations, asked, states).episodes
    assert alone.total_return.tolist() == pruned.total_return.tolist()
    assert pruned.total_return.mean() > 100


@dataclass(frozen=True)
class Halves:
    """Two states: whether the corridor's place is even or odd."""

    def __call__(self, values: Any, views: Mapping[str, Any]) -> Any:
        return values % 2


@dataclass(frozen=True)
class Hesitates:
    """Goes, but drifts at place 10, where going has a prize."""

    def load(self, facts: Facts) -> Policy:
        return lambda seen: Choice((np.asarray(seen.observations)[:, 0] != 10).astype(np.int64))


def test_a_state_with_two_actions_is_not_its_rule(tmp_path: Path) -> None:
    session = session_at(tmp_path, corridor())
    recipe = replace(session.recipe, policy=Hesitates(), abstraction=Halves())
    nothing = np.zeros(0, dtype=np.uint64)
    whole = replace(confirming(session, nothing, 10, True), recipe=recipe, variant="halves")
    evaluations = Evaluations(session)
    own = evaluations.play("whole", {"whole": whole})["whole"]
    states = evaluations.states("whole")
    asked = replace(whole, rankings=(states.key,), points=((0, len(states)),))
    alone = measure_rules_alone(evaluations, {"all": asked}, states).episodes
    assert own.total_return.tolist() == [2.5] * 10
    assert alone.total_return.tolist() == [3.5] * 10, "where places are even it mostly goes"


def test_discrete_actions_are_counted_from_where_their_space_begins(tmp_path: Path) -> None:
    session = session_at(tmp_path, corridor())
    line = Line(spaces.Discrete(3, start=5), truncate_at=3)
    recipe = Recipe(line, Does(always(6)), Cell(), Gives(always(5)), 4, 3)
    nothing = np.zeros(0, dtype=np.uint64)
    whole = replace(confirming(session, nothing, 2, True), recipe=recipe, variant="line")
    evaluations = Evaluations(session)
    evaluations.play("whole", {"whole": whole})
    states = evaluations.states("whole")
    asked = replace(whole, rankings=(states.key,), points=((0, len(states)),))
    alone = measure_rules_alone(evaluations, {"all": asked}, states).episodes
    assert alone.total_return.tolist() == [18.0, 18.0]
