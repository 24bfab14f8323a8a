"""Rules grown by experiment, on a road where the truth is known."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import worlds
from growing import SmallGround

import rpd
from rpd_basics.rule_growth import Growth, Peel, Steps, idle_sides
from rpd_basics.rules import Rules
from rpd_basics.tree_nodes import Leaf, Split, Tree, simplified
from rpd_core.config.configuration import stored_fields
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.play import prepare
from rpd_core.play.recipe import recipe_of
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.protocols import Minimised
from rpd_core.plugin.protocols.optional import LearnsByPlaying
from rpd_core.plugin.registry import installed

KEPT, LEFT, GONE = Leaf(), Leaf(action=(0,)), Leaf(kept=False)


@dataclass
class Watched(SmallGround):
    """A ground that remembers what was found."""

    found: list[Minimised] = field(default_factory=list)

    def minimise(self, abstraction: Any, target: float, start: Any = None) -> Minimised:
        assert type(abstraction) is Rules
        self.found.append(super().minimise(abstraction, target, start))
        return self.found[-1]


def road(**chosen: Any) -> tuple[Rules, Watched]:
    """Return rules fitted to the road, and where they can grow."""
    setup = resolve(Request(worlds.Road(), worlds.Brakes(), **chosen), installed())
    recipe = recipe_of(setup)
    sample = prepare.sample_steps(recipe, setup.config)
    fitted: Any = recipe.links[0]
    fitted = fitted.fit(sample)
    ground = Watched(prepare.with_links(recipe, [fitted]), sample, 0.0, setup.config.settings.seed)
    return fitted, ground


def shown(rules: Rules) -> list[str]:
    return [rules.show(np.array([leaf])) for leaf in range(rules.entries.count(-1))]


def test_a_side_without_overrides_is_cut_off_unasked() -> None:
    """Steps at 0 to 99: the policy overrides the default from 40 to 59, and once at 5."""
    rows = np.arange(1000.0)[:, None] // 10
    differ = (rows[:, 0] >= 40) & (rows[:, 0] < 60)
    differ[50] = True
    steps = Steps(rows, np.zeros(1000, dtype=np.int64), differ)
    (lower, below), (upper, above) = idle_sides(steps, 0)
    assert (below, above) == (Peel(0, 40.0, False), Peel(0, 60.0, True))
    assert (int(lower.sum()), int(upper.sum())) == (400, 400)


def test_a_rule_that_no_sampled_step_reaches_has_nothing_to_be_split_by() -> None:
    steps = Steps(np.zeros((3, 2)), np.array([4, 5, 5]), np.array([False, True, True]))
    assert steps.kinds.tolist() == [0, 2, 2]
    assert steps.commonest() == (5,)
    none = steps.some(np.zeros(3, dtype=bool))
    assert none.kinds.tolist() == []
    assert none.commonest() == ()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_policy_is_left_where_it_must_decide_and_nowhere_else(seed: int) -> None:
    fitted, ground = road(seed=seed)
    assert isinstance(fitted, LearnsByPlaying)
    grown = fitted.grow(ground)
    assert shown(grown) == ["place < 4", "4 <= place < 6", "place >= 6"]
    assert grown.start_states().tolist() == [[1]]
    assert fitted.start_states().tolist() == []
    last = ground.found[-1]
    assert last.values[last.kept].tolist() == [[1]]
    assert last.loss[last.kept].tolist() == [1.0]
    assert last.overrides.sum() == pytest.approx(8 / 40)  # the policy brakes at 24 of 40 steps
    assert all(found.met for found in ground.found)


@dataclass
class Doubting(Watched):
    """A ground on which some rules keep nothing when they are asked about again."""

    doubted: tuple[float, ...] = ()
    """Their cuts."""
    known: bool = False

    def minimise(self, abstraction: Any, target: float, start: Any = None) -> Minimised:
        found = super().minimise(abstraction, target, start)
        if abstraction.cuts != self.doubted:
            return found
        again, self.known = self.known, True
        return replace(found, share=0.0) if again else found


def test_the_best_rules_are_asked_again_and_where_they_fail_the_next_are_taken() -> None:
    fitted, ground = road()
    best: Tree = Split(0, 4.0, GONE, Split(0, 6.0, KEPT, GONE))
    wider: Tree = Split(0, 3.0, GONE, Split(0, 7.0, KEPT, GONE))
    for doubted, taken in (((), best), ((4.0, 0.0, 6.0, 0.0, 0.0), wider)):
        doubting = Doubting(ground.recipe, ground.sample, 0.0, doubted=doubted)
        growth = Growth(doubting, fitted._questions, 0.9, fitted._with_tree)
        grown = [growth._minimised(tree) for tree in (best, wider)]
        assert all(one.found.met for one in grown)
        rows = Steps.of(ground.sample, fitted._questions).rows
        assert _cuts(growth._checked(grown, rows).tree) == _cuts(taken)


def _cuts(tree: Tree) -> list[float]:
    return [] if isinstance(tree, Leaf) else [tree.cut, *_cuts(tree.below), *_cuts(tree.other)]


def test_what_was_grown_is_the_same_again_and_survives_json() -> None:
    fitted, ground = road()
    grown = fitted.grow(ground)
    assert road()[0].grow(road()[1]) == grown
    stored = json.loads(json.dumps(stored_fields(grown)))
    assert prepare.restore_fitted(Chain((Rules(),)), [stored]).links[0] == grown


def test_where_the_default_does_as_well_the_first_tree_stays() -> None:
    fitted, ground = road(default_action="constant:1")  # who always brakes arrives, too
    grown = fitted.grow(ground)
    assert shown(grown) == shown(fitted)
    assert not ground.found[0].kept.any()


@pytest.mark.parametrize(
    ("tree", "simple"),
    [
        (Split(0, 1.0, GONE, GONE), GONE),
        (Split(0, 1.0, KEPT, KEPT), KEPT),
        (Split(0, 1.0, KEPT, LEFT), Split(0, 1.0, KEPT, LEFT)),
        (Split(0, 1.0, GONE, Split(0, 2.0, GONE, KEPT)), Split(0, 2.0, GONE, KEPT)),
        (Split(0, 2.0, Split(0, 1.0, KEPT, GONE), GONE), Split(0, 1.0, KEPT, GONE)),
        (
            Split(0, 2.0, Split(1, 5.0, KEPT, GONE), Split(1, 5.0, KEPT, GONE)),
            Split(1, 5.0, KEPT, GONE),
        ),
        (
            Split(0, 1.0, GONE, Split(1, 5.0, KEPT, Split(0, 2.0, GONE, KEPT))),
            Split(0, 1.0, GONE, Split(1, 5.0, KEPT, Split(0, 2.0, GONE, KEPT))),
        ),
    ],
)
def test_a_split_that_tells_nothing_apart_is_undone(tree: Tree, simple: Tree) -> None:
    assert simplified(tree) == simple


def test_a_run_grows_its_rules_and_answers_with_the_true_one(tmp_path: Path) -> None:
    stages: list[str] = []
    small = {"episodes": 200, "confirm_episodes": 100, "finish": ()}
    small["progress"] = lambda stage, done, total: stages.append(stage)
    run = rpd.run(worlds.Road(), worlds.Brakes(), out=tmp_path / "run", workers=1, **small)
    assert [name for name, _ in groupby(stages)][:2] == ["prepare", "growing"]
    assert [name for name, _ in groupby(stages)].count("prepare") == 1, "growing is no part of it"
    (decision,) = run.decisions
    assert decision.state == "4 <= place < 6"
    assert (decision.return_without, decision.needed) == (0.0, True)
    policy = run.policy(0.9)
    assert (policy.kept, policy.share) == (1, 1.0)
    assert policy.steps == policy.overrides == pytest.approx(8 / 40)
