"""Decisions dropped by twins, in worlds whose truth is known.

On the line, with the policy going right for six steps and the default staying, a policy without
cell j never leaves it: it returns j, and the loss of the cell is 6 - j. So the smallest policy that
keeps half of the return is the first three cells, and no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import worlds
from lines import Cell, Does, Gives, Line, LineLanes, always
from stores import contents, corridor, finish, session_at

from rpd_core.analysis.verdicts import benjamini_hochberg
from rpd_core.chance import Phase, canonical, state_keys
from rpd_core.config.settings import Request
from rpd_core.plugin.protocols import Lanes, Opening, StepResult
from rpd_core.pruning.estimates import Estimate, PooledLosses
from rpd_core.pruning.evaluation import Evaluations
from rpd_core.pruning.losses import (
    FOREMOST,
    TWINS,
    Expected,
    _chance,
    _recurring,
    _Sample,
    measure_losses,
)
from rpd_core.pruning.minimise import (
    MOST_UNITS,
    Aim,
    Descent,
    Pace,
    Step,
    Way,
    _Stand,
    minimise,
)
from rpd_core.pruning.twins import Blocks, Look, look_at, play_together

CELLS = state_keys(canonical(np.arange(6.0)[:, None]))
BY_KEY = np.sort(CELLS)
LOST = {int(key): 6.0 - place for place, key in enumerate(CELLS.tolist())}
PACE = Pace(8, 16, 4)


def blocks_at(path: Path, world: Any = None, **more: Any) -> Blocks:
    components = {"abstraction": (Cell(),), "default_action": Gives(always(0))}
    request = Request(world or Line(), Does(always(1)), **components, lanes=16, reference=0.0)
    return Blocks(Evaluations(session_at(path, request)), BY_KEY, **more)


def looked(blocks: Blocks, kept: Any, units: Any = None, count: int = 8) -> Look:
    kept = np.sort(kept)
    units = np.arange(len(kept)) if units is None else units
    return play_together(blocks.evaluations, "test", [look_at(blocks, kept, units, count, 4)])[0]


def minimised(blocks: Blocks, start: Any, target: float, **more: Any) -> Way:
    aim = Aim(target, len(BY_KEY), more.pop("objective", "both"))
    work = minimise(blocks, start, aim, PACE, **more)
    return play_together(blocks.evaluations, "test", [work])[0]


def test_the_loss_of_a_decision_is_what_its_twins_return_less(tmp_path: Path) -> None:
    look = looked(blocks_at(tmp_path), CELLS)
    assert look.mean == 6
    assert look.loss.tolist() == [LOST[key] for key in look.kept.tolist()]
    assert look.error.tolist() == [0.0] * 6
    assert look.state_steps.tolist() == [1 / 6] * 6 == look.state_overrides.tolist()
    assert look.twins == 6 * 4


def test_a_decision_saves_the_steps_that_its_twins_do_not_ask_for(tmp_path: Path) -> None:
    look = looked(blocks_at(tmp_path), CELLS)
    # without cell j the policy decides in j of six steps
    assert look.saved.tolist() == pytest.approx([LOST[key] / 6 for key in look.kept.tolist()])


def test_units_are_given_to_the_default_together(tmp_path: Path) -> None:
    places = {key: place for place, key in enumerate(CELLS.tolist())}
    units = np.array([places[key] // 2 for key in BY_KEY.tolist()])
    look = looked(blocks_at(tmp_path), CELLS, units)
    assert look.loss.tolist() == [6.0, 4.0, 2.0]


def test_an_episode_that_never_gets_there_is_its_own_twin(tmp_path: Path) -> None:
    look = looked(blocks_at(tmp_path), CELLS[[0, 1, 4]])
    lost = dict(zip(look.kept.tolist(), look.loss.tolist(), strict=True))
    assert [lost[int(CELLS[place])] for place in (0, 1, 4)] == [2.0, 1.0, 0.0]
    assert look.visited.sum() == 2
    assert look.twins == 2 * 4


def test_the_known_smallest_policy_is_found(tmp_path: Path) -> None:
    for number, start in enumerate((CELLS, CELLS[::-1], np.append(CELLS, np.uint64(7)))):
        way = minimised(blocks_at(tmp_path / str(number)), start, 3.0)
        assert way.last.kept.tolist() == np.sort(CELLS[:3]).tolist()
        assert (way.last.return_mean, way.met, way.settled) == (3.0, True, True)
        sizes = [len(step.kept) for step in way.path]
        assert sizes == sorted(sizes, reverse=True)


def test_nothing_goes_where_every_decision_is_needed(tmp_path: Path) -> None:
    way = minimised(blocks_at(tmp_path), CELLS, 5.5)
    assert way.last.kept.tolist() == BY_KEY.tolist()
    assert way.settled


def test_a_start_that_misses_is_left_as_it_is(tmp_path: Path) -> None:
    way = minimised(blocks_at(tmp_path), CELLS[:2], 3.0)
    assert [step.kept.tolist() for step in way.path] == [np.sort(CELLS[:2]).tolist()]
    assert (way.met, way.settled) == (False, False)


@pytest.mark.parametrize(
    ("returns", "sizes"),
    [((6.0, 3.5, 2.9, 2.8), [6, 5]), ((6.0, 2.9, 3.1, 2.8), [6, 5, 4]), ((2.9, 2.8), [6, 5])],
)
def test_a_way_that_ends_below_the_target_goes_back_to_where_it_was_met(
    tmp_path: Path, returns: tuple[float, ...], sizes: list[int]
) -> None:
    descent = Descent(blocks_at(tmp_path), CELLS, Aim(3.0, 6, "both"), PACE)
    descent.path = [
        _Stand(Step(CELLS[: 6 - place], 1.0, 1.0, Estimate(mean, 8.0)))
        for place, mean in enumerate(returns)
    ]
    way = descent.regained()
    assert [len(step.kept) for step in way.path] == sizes
    assert way.met == (returns[0] >= 3.0)


def test_where_the_default_is_enough_nothing_is_kept(tmp_path: Path) -> None:
    way = minimised(blocks_at(tmp_path), CELLS, 0.0)
    assert len(way.last.kept) == 0
    assert way.met


@dataclass(frozen=True)
class Reserves(Line):
    """Six cells, one after the other; two pairs of them stand in for each other.

    A pair of which the policy holds no cell costs 10, one cell of it 0.1, each other cell 4.
    """

    pairs: tuple[tuple[int, int], ...] = ()

    def open(self, opening: Opening) -> Lanes:
        return ReserveLanes(self, opening.lanes)


class ReserveLanes(LineLanes):
    """Lanes that go on whatever is done, and pay at the end."""

    def reset(self, lanes: Any, seeds: Any) -> None:
        super().reset(lanes, seeds)
        if not hasattr(self, "held"):
            self.held = np.zeros((len(self.steps), 6))
        self.held[lanes] = 0

    def step(self, actions: Any, active: Any) -> StepResult:
        lanes = np.flatnonzero(active)
        self.held[lanes, self.steps[lanes]] = np.ravel(actions[lanes])
        told = super().step(np.ones_like(actions), active)
        return StepResult(self.paid(), told.terminated, told.truncated)

    def paid(self) -> Any:
        world: Any = self.line
        kept = np.stack([self.held[:, pair].sum(axis=1) for pair in world.pairs], axis=1)
        others = np.delete(self.held, np.ravel(world.pairs), axis=1)
        total = np.take([0.0, 9.9, 10.0], kept.astype(int)).sum(axis=1) + 4 * others.sum(axis=1)
        return np.where(self.steps == 6, total, 0.0)


def test_a_drop_that_costs_far_more_than_its_decisions_is_taken_back(tmp_path: Path) -> None:
    first, second, third, fourth, *_ = np.argsort(CELLS).tolist()  # ties are broken by key
    world = Reserves(pairs=((first, second), (third, fourth)))
    way = minimised(blocks_at(tmp_path, world), CELLS, 17.5)
    # Both cells of the first pair together would leave 17.9, and no room to give up the others.
    assert way.last.return_mean == pytest.approx(19.8)
    assert len(way.last.kept) == 2
    assert way.settled


def test_a_policy_must_seem_better_than_the_target_by_what_its_returns_leave_open(
    tmp_path: Path,
) -> None:
    """Returns of standard deviation 4 over 64 episodes: their mean is known to 0.5."""
    known = _Stand(Step(CELLS, 0.5, 0.5, Estimate(6.0, 64)), spread=4.0)
    descents = [
        Descent(blocks_at(tmp_path / str(doubt)), CELLS, Aim(5.5, 6, "both", doubt), PACE)
        for doubt in (0.0, 0.5, 2.0)
    ]
    for one in descents:
        one.path = [known]
    assert [one.slack for one in descents] == [0.5, 0.25, -0.5]


def test_errors_below_what_a_block_tells_do_not_hold_up_a_drop(tmp_path: Path) -> None:
    """Of 4 points of slack 1.6 may go; a block of 8 tells a mean to 1, so that 0.5 is free."""
    descent = Descent(blocks_at(tmp_path), BY_KEY, Aim(1.0, 6, "states"), PACE)
    descent.present.step = Step(BY_KEY, 1.0, 1.0, Estimate(5.0, 64))
    returns = np.sqrt(8.0) * np.array([-1.0, 1.0] * 4)

    def spared(errors: float) -> int:
        each, ones = np.full(6, 0.25), np.ones(6)
        error = np.full(6, errors)
        seen = ones > 0
        look = Look(BY_KEY, np.arange(6), returns, seen, each, each, each, error, 0 * each, 6, None)
        pooled = PooledLosses()
        pooled.add(look)
        descent.present.look = look
        return len(descent._spared(pooled))

    assert spared(0.0) == 6, "1.5 in all"
    assert spared(0.5 / np.sqrt(6)) == 6, "its error is no more than the block's"
    assert spared(0.7 / np.sqrt(6)) == 5
    assert spared(9.0) == 1, "one at least"


def test_steps_are_counted_and_not_exceeded_by_more_than_a_look(tmp_path: Path) -> None:
    whole = blocks_at(tmp_path / "whole")
    minimised(whole, CELLS, 3.0)
    little = blocks_at(tmp_path / "little")
    way = minimised(little, CELLS, 3.0, budget=0.0)
    assert len(way.path) == 1
    assert little.steps < whole.steps
    assert whole.steps == 6 * whole.episodes


def test_many_decisions_go_in_blocks_by_rank(tmp_path: Path) -> None:
    strangers = np.arange(1, 3 * MOST_UNITS, dtype=np.uint64)
    way = minimised(blocks_at(tmp_path), np.concatenate([CELLS, strangers]), 3.0)
    assert way.last.kept.tolist() == np.sort(CELLS[:3]).tolist()


def test_every_block_is_used_once_and_work_ends_the_same_beside_others(tmp_path: Path) -> None:
    alone = [
        minimised(blocks_at(tmp_path / f"alone-{n}", used=1000 * n), CELLS, 1.0 + n) for n in (1, 2)
    ]
    first = blocks_at(tmp_path / "both", used=1000)
    second = Blocks(first.evaluations, BY_KEY, used=2000)
    aims = [Aim(1.0 + n, 6, "both") for n in (1, 2)]
    works = [
        minimise(one, CELLS, aim, PACE) for one, aim in zip((first, second), aims, strict=True)
    ]
    both = play_together(first.evaluations, "test", works)
    for one, other in zip(alone, both, strict=True):
        assert [s.kept.tolist() for s in one.path] == [s.kept.tolist() for s in other.path]
    names = list(first.evaluations.folders)
    assert len({name.removesuffix("-twins") for name in names}) == first.count + second.count


def test_twins_that_differ_without_reason_are_noticed_and_no_longer_paired(tmp_path: Path) -> None:
    calls = iter(range(10**9))
    moody = Line(reward=lambda step: float(next(calls) % 7))
    blocks = blocks_at(tmp_path, moody)
    idle = np.append(CELLS, state_keys(canonical(np.array([[99.0]]))))
    components = {"abstraction": (Cell(),), "default_action": Gives(always(1))}  # never differs
    request = Request(moody, Does(always(1)), **components, lanes=16, reference=0.0)
    blocks.evaluations = Evaluations(session_at(tmp_path / "same", request))
    looked(blocks, idle)
    assert blocks.broken > 0
    assert not blocks.paired
    look = looked(blocks, CELLS)  # on fresh episodes, which pair with none
    assert look.correlation is None
    assert look.twins == 6 * 4


def exact_losses(kept: set[int], states: list[int], start: int) -> dict[int, float]:
    def play(kept: set[int]) -> float:
        mutated = np.array([[state not in kept for state in range(worlds.STATES)]])
        return float(worlds.play_fates(mutated, np.array([start]))[0][0])

    return {state: play(kept) - play(kept - {state}) for state in states}


def test_losses_are_the_exact_ones_of_the_corridor(tmp_path: Path) -> None:
    evaluations = Evaluations(session_at(tmp_path, corridor(confirm_episodes=60)))
    keys = worlds.corridor_keys()
    states = [0, 1, 2, 3, 5, 7, 10, 12]
    kept = np.sort(keys[states])
    blocks = Blocks(evaluations, np.sort(keys), Phase.LOSS, "losses")
    expected = Expected(np.ones(len(kept)), np.zeros(len(kept), dtype=bool))
    work = measure_losses(blocks, kept, expected, 60, np.inf, 0.95)
    found = play_together(evaluations, "losses", [work])[0]
    same = Blocks(evaluations, np.sort(keys), Phase.LOSS, "losses").play(kept, 60)
    played = play_together(evaluations, "losses", [same])
    starts = played[0].episodes.seed & 1
    expected = [exact_losses(set(states), states, start) for start in (0, 1)]
    for key, loss in zip(found.keys.tolist(), found.loss.tolist(), strict=True):
        state = int(np.flatnonzero(keys == np.uint64(key))[0])
        assert loss == pytest.approx(np.mean([expected[int(start)][state] for start in starts]))


def test_the_foremost_decisions_get_their_twins_before_the_others() -> None:
    reach = np.array([1.0, 0.5, 0.125, 0.5])
    foremost = np.array([True, False, True, False])
    expected = Expected(reach, foremost)
    assert expected.block(400) == TWINS / 0.125
    assert expected.block(100) == 400  # no more than four times as many
    assert expected.speaking(400, 2 * TWINS + 60).tolist() == [TWINS, 60, 800, 60]
    assert expected.speaking(400, np.inf).tolist() == [TWINS, 200, 800, 200]
    assert expected.speaking(400, 60).tolist() == [30, 40, 240, 40], "what can be afforded"


def test_first_decisions_recur_in_halves_if_their_losses_are_clear() -> None:
    generator = np.random.default_rng(3)
    ladder = np.arange(FOREMOST)[::-1]

    def recurring(noise: float) -> float | None:
        before = generator.normal(0, noise, (FOREMOST, 50))
        after = np.broadcast_to(-ladder[:, None], before.shape)
        pairs = zip(before, after, strict=True)
        return _recurring([_Sample(*pair, True, False) for pair in pairs])

    assert recurring(0.0) == 1.0
    chance = recurring(1e6)  # ten of twenty at random
    assert chance == pytest.approx(0.5, abs=0.15)
    assert _recurring([]) is None


def test_needed_is_false_in_at_most_one_of_twenty_families() -> None:
    generator = np.random.default_rng(5)
    wrong = 0
    for _ in range(400):
        visits = generator.random((12, 200)) < generator.uniform(0.02, 0.6, (12, 1))
        size = np.where(generator.random((12, 200)) < 0.1, 9.0, -1.0)  # rare large losses, mean 0
        shared = generator.random(200) < 0.7  # decisions share their episodes
        losses = np.where(visits & shared, size, 0.0)
        chances = np.array([_chance(one) for one in losses])
        wrong += bool(benjamini_hochberg(chances, 0.05).any())
    assert wrong <= 400 * 0.05 + 2 * np.sqrt(400 * 0.05 * 0.95)


def test_needed_is_seldom_false_where_others_are_needed_and_all_share_their_episodes(
    tmp_path: Path,
) -> None:
    """The truth about the corridor is known: in state 14, for one, both lead to the same place."""
    keys = worlds.corridor_keys()
    states = [0, 1, 2, 3, 5, 7, 10, 12, worlds.IRRELEVANT]
    kept, false, missed = np.sort(keys[states]), 0, 0
    lost = [exact_losses(set(states), states, start) for start in (0, 1)]
    harmless = {state for state in states if max(one[state] for one in lost) <= 0}
    assert worlds.IRRELEVANT in harmless
    for seed in range(20):
        request = corridor(confirm_episodes=30, seed=seed)
        evaluations = Evaluations(session_at(tmp_path / str(seed), request))
        blocks = Blocks(evaluations, np.sort(keys), Phase.LOSS, "losses")
        expected = Expected(np.ones(len(kept)), np.zeros(len(kept), dtype=bool))
        work = measure_losses(blocks, kept, expected, 30, np.inf, 0.95)
        found = play_together(evaluations, "losses", [work])[0]
        needed = {int(np.flatnonzero(keys == key)[0]) for key in found.keys[found.needed]}
        false += bool(needed & harmless)
        missed += len(set(states) - harmless - needed)
    assert (false, missed) == (0, 0)


def test_the_ends_of_an_unpaired_loss_hold_for_rare_large_ones() -> None:
    """One episode of ten loses 10 points without the decision, 1 in the mean."""
    generator = np.random.default_rng(9)
    outside = np.zeros(2)
    for _ in range(400):
        before = generator.normal(100, 1, 200)
        after = generator.normal(100, 1, 60) - 10 * (generator.random(60) < 0.1)
        _, low, high, *_ = _Sample(before, after, False, False).row()
        outside += low > 1, high < 1
    assert (outside <= 400 * 0.025 + 2.5 * np.sqrt(400 * 0.025 * 0.975)).all(), outside


def test_a_run_that_is_broken_off_while_minimising_ends_with_the_same_bytes(tmp_path: Path) -> None:
    whole = finish(tmp_path / "whole")
    looks = 0

    def interrupt(stage: str, done: int, total: int) -> None:
        nonlocal looks
        looks += stage == "minimising" and done == total
        if looks == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finish(tmp_path / "broken", progress=interrupt)
    assert not (tmp_path / "broken/analyses/latest.json").exists()
    again = finish(tmp_path / "broken")
    assert contents(tmp_path / "broken") == contents(tmp_path / "whole")
    assert again.summary.decisions == whole.summary.decisions
    assert again.summary.policy == whole.summary.policy


def test_the_decisions_of_a_run_are_those_of_its_smallest_policy(tmp_path: Path) -> None:
    run = finish(tmp_path)
    kept = run.kept()
    assert kept is not None
    assert {one.key for one in run.decisions} == set(kept.keys)
    losses = [one.loss for one in run.decisions]
    assert losses == sorted(losses, reverse=True)
    assert [one.rank for one in run.decisions] == list(range(1, len(losses) + 1))
    assert sum(one.share for one in run.decisions) == pytest.approx(1)
    assert {one.key for one in run.effects(100) if one.in_policy} <= set(kept.keys)
    assert run.top(2) == run.decisions[:2]
    assert kept.path[-1] == kept.keys
